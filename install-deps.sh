#!/bin/bash
# install-deps.sh [build|test|all] - installs what stackpack needs, from the distribution's own packages: Debian 12 and 13,
# Ubuntu 24.04. Runs as root or through sudo. Where everything is there already it changes nothing.
#
#   build    for the command, the library, the samples and `make demo`
#   test     for `make check`, `make bench`, `make lint` and `make deb`
#   all      for both: the default
set -eu
export LC_ALL=C

build=(
  build-essential pkg-config                    # the build, by gcc and make
  libelf-dev libdw-dev libdwarf-dev libiberty-dev libzstd-dev libxxhash-dev libzydis-dev libjansson-dev
)
test=(
  clang                                         # a second compiler: the distribution's default
  clang-format cppcheck                         # `make lint`
  check                                         # the unit tests
  abigail-tools                                 # the library's binary interface
  musl-tools binutils mold elfutils patchelf dwz gdb gdb-multiarch valgrind  # the tests compare what these say of a file before and after
  python3 zstd                                  # the tests' independent reader, and the corpus
  tcl xz-utils                                  # `make corpus`, and what `make bench` compares with
  libunwind-dev                                 # `make bench` compares with it
  cmake meson ninja-build                       # the example builds
  g++-aarch64-linux-gnu libc6-dev-arm64-cross   # programs for other machines are linked, and run by an emulator
  g++-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user
  bash-completion zsh fish mandoc               # the completions and manual pages are tried in what reads them
  debhelper lintian                             # `make deb`
  rustc cargo bindgen rustfmt                   # the bindings for Rust
)
oldest_llvm=18
part=${1:-all}

fail() {
  echo "install-deps.sh: $*" >&2
  exit 1
}

llvm_packages() { # VERSION: clang and lld link managed code; a pass is built with llvm-dev; sanitizers are of the tests
  echo "clang-$1 llvm-$1 llvm-$1-dev lld-$1$([[ $part == build ]] || echo " libclang-rt-$1-dev")"
}

# Whether the package lists offer every one of the packages.
available() { # PACKAGE...
  [[ $(apt-cache policy "$@" | grep -c '^  Candidate: [0-9]') -eq $# ]]
}

# Whether every one of the packages is installed.
installed() { # PACKAGE...
  ! dpkg-query --show --showformat='${db:Status-Status}\n' "$@" 2>&1 | grep -qvx installed
}

# The newest LLVM for which the distribution has all that is needed; nothing where it has none.
newest_llvm() {
  local version
  for version in $(apt-cache pkgnames llvm- | sed -nE 's/^llvm-([0-9]+)$/\1/p' | sort -rn); do
    # shellcheck disable=SC2046 # a list of words
    if ((version >= oldest_llvm)) && available $(llvm_packages "$version"); then
      echo "$version"
      return
    fi
  done
}

[[ -r /etc/os-release ]] || fail "unknown distribution: no /etc/os-release (known: Debian 12 and 13, Ubuntu 24.04)"
# shellcheck disable=SC1091 # the system's file
distribution=$(. /etc/os-release && echo "$ID ${VERSION_ID-}")
case $distribution in
"debian 12") test+=(chromium chromium-driver) ;; # tests look at the pages of `stackpack report`
"debian 13") test+=(chromium chromium-driver binutils-gold) ;; # where it isn't a part of binutils any more
"ubuntu 24.04") ;; # has no package of a browser, but a snap: these tests are skipped
*) fail "unknown distribution '$distribution' (known: Debian 12 and 13, Ubuntu 24.04)" ;;
esac

case $part in
build) packages=("${build[@]}") ;;
test) packages=("${test[@]}") ;;
all) packages=("${build[@]}" "${test[@]}") ;;
*) fail "no part '$part' (build, test or all)" ;;
esac

root=()
[[ $(id -u) == 0 ]] || root=(sudo)
llvm=$(newest_llvm)
# shellcheck disable=SC2046
if [[ -z $llvm ]] || ! installed "${packages[@]}" $(llvm_packages "$llvm"); then
  ((${#root[@]} == 0)) || command -v sudo >/dev/null || fail "needs root: run it as root, or install sudo"
  "${root[@]}" apt-get update -qq
  llvm=$(newest_llvm)
  [[ -n $llvm ]] || fail "this distribution's packages have no LLVM $oldest_llvm or newer"
  echo "install-deps.sh: installing packages of this distribution: some minutes the first time" >&2
  quiet=(-qq)
  [[ ! -t 1 ]] || quiet=(-q -o Dpkg::Progress-Fancy=1)
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y "${quiet[@]}" -o DPkg::Lock::Timeout=300 --no-install-recommends "${packages[@]}" $(llvm_packages "$llvm")
fi
echo "LLVM $llvm: /usr/lib/llvm-$llvm"
