#!/bin/bash
# A cargo project with managed code, offline, in its release profile: a position-independent program, linked with
# --gc-sections, by what doc/packing.md says; and by the defaults, which drop the stack maps: `pack` says so.
. "$TOP/tests/cli/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "the example's code is x86-64's"
cargo=$(PATH=/usr/bin:$PATH command -v cargo) || skip "no cargo"
install_tree
mapfile -t flags < <(library_flags)
((${#flags[@]} == 0)) || skip "the installed library has sanitizers, and the bindings' programs haven't"
prefix=$PWD/installed/opt/stackpack
export PATH=${cargo%/*}:$LLVM/bin:$PATH CARGO_HOME=$PWD/home RUSTC=${cargo%/*}/rustc
CARGO_TARGET_DIR=$PWD/target
export CARGO_TARGET_DIR

mkdir -p app/src app/.cargo
cp -r "$TOP/bindings/rust" crate
cp "$TOP/bindings/rust/examples/collector.rs" app/src/main.rs
"$LLVM/bin/llc" -O2 -function-sections -relocation-model=pic -filetype=obj -o app/managed.o "$TOP/samples/builds/managed.ll"
cat >app/build.rs <<'RUST'
fn main() {
    println!("cargo:rustc-link-arg={}/managed.o", std::env::var("CARGO_MANIFEST_DIR").unwrap());
}
RUST
cat >app/Cargo.toml <<'TOML'
[package]
name = "app"
version = "0.1.0"
edition = "2021"
[dependencies]
stackpack = { path = "../crate" }
[profile.release]
strip = true
TOML

build() { # RUSTFLAG...
  printf '[target.x86_64-unknown-linux-gnu]\n%s\nrustflags = [%s]\n' "${linker:+linker = \"$linker\"}" "${1:+$(printf '"%s",' "$@")}" >app/.cargo/config.toml
  touch app/build.rs # only the link depends on the flags that cargo ignores
  (cd app && "$cargo" build --release --offline --quiet) >log 2>&1 || { cat log; fail "cargo with $*"; }
  cp target/release/app app.linked
}
expect_collected() {
  expect_packed app.linked
  readelf --file-header app.linked | grep 'Type: *DYN' || fail "not position-independent"
  expect_status 0 ./app.linked
  expect_output '^338350$'
}

export STACKPACK_OPTIONS=--always
linker=clang build "-Clink-arg=--ld-path=$prefix/bin/stackpack-ld"
expect_collected
own=()
"$RUSTC" -C help >options
! grep -q linker-features options || own=(-Clinker-features=-lld)
build "${own[@]}" "-Clink-arg=-B$prefix/libexec/stackpack/"
expect_collected
build
expect_refusal 'app.linked: .*gc-sections' "$stackpack" pack app.linked

# The crate links another library as soon as pkg-config finds another one, in the environment of packagers too; not an older one.
expect_folder() { # FOLDER CARGO...
  "${@:2}" build --release --offline --manifest-path=crate/Cargo.toml >log 2>&1 || { cat log; fail "the crate isn't built"; }
  grep -qxF "cargo:rustc-link-search=native=$1" "$CARGO_TARGET_DIR"/release/build/stackpack-*/output || fail "not linked from $1"
}
unset PKG_CONFIG_SYSROOT_DIR
other_config() { # FOLDER SED-SCRIPT
  mkdir -p "$1"
  sed "s|^libdir=.*|libdir=$PWD/$1|; $2" "$prefix/lib/pkgconfig/stackpack.pc" >"$1/stackpack.pc"
}
export CARGO_TARGET_DIR=$PWD/crate-target
other_config first ''
other_config second ''
expect_folder "$PWD/first" env PKG_CONFIG_LIBDIR="$PWD/first" "$cargo"
expect_folder "$PWD/second" env PKG_CONFIG_LIBDIR="$PWD/second" "$cargo"
printf '#!/bin/sh\nPKG_CONFIG_LIBDIR="%s/first" exec pkg-config "$@"\n' "$PWD" >wrapper
chmod +x wrapper
expect_folder "$PWD/first" env PKG_CONFIG="$PWD/wrapper" "$cargo"
other_config older 's/^Version:.*/Version: 0.2.0/'
! PKG_CONFIG_LIBDIR=$PWD/older "$cargo" build --release --offline --manifest-path=crate/Cargo.toml >log 2>&1 || fail "an older library"
grep -q "pkg-config doesn't know stackpack >= 0" log || { cat log; fail "another complaint about an older library"; }
