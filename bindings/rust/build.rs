//! Links the library that pkg-config finds.
use std::process::Command;

fn main() {
    let output = Command::new("pkg-config").args(["--libs", "stackpack"]).output().expect("pkg-config runs");
    assert!(output.status.success(), "pkg-config doesn't know stackpack: {}", String::from_utf8_lossy(&output.stderr));
    for word in String::from_utf8(output.stdout).expect("flags are text").split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
}
