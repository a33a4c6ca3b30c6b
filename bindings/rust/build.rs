//! Links the library that pkg-config finds: this version's or a newer one.
use std::{env, process::Command};

fn main() {
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let pkg_config = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let library = format!("stackpack >= {}", env!("CARGO_PKG_VERSION"));
    let output = Command::new(&pkg_config).args(["--libs", &library]).output();
    let output = output.unwrap_or_else(|error| panic!("{pkg_config} doesn't run: {error}"));
    assert!(output.status.success(), "{pkg_config} doesn't know {library}: {}", String::from_utf8_lossy(&output.stderr));
    for word in String::from_utf8(output.stdout).expect("flags are text").split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
            println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
}
