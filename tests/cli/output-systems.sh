#!/bin/bash
# Files are written on small systems, too: without /proc, in a folder that is deeper than any path, where system calls are
# forbidden. New files obey the umask; an owner or a set-user-ID bit that can't be kept is told in a line.
. "$TOP/tests/cli/common.sh"

many_functions 20 >many.ll
make_program lld raw ./many.ll
compile ./many.ll many.o -function-sections
expect_status 0 "$stackpack" pack --reader=elsewhere --keep-raw=kept -o packed raw
expect_status 0 "$stackpack" split -o split.o many.o
only_these() { # FOLDER NAME...
  [[ $(ls -A "$1" | sort | tr '\n' ' ') == "${*:2} " ]] || fail "$1 has other files: $(ls -A "$1")"
}

# ---- Without /proc ----
# The leak sanitizer needs /proc.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0

without_proc() { # COMMAND...
  if [[ $(id -u) == 0 ]]; then
    unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
  else
    unshare --map-root-user --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
  fi
}
if without_proc true 2>err; then
  mkdir noproc
  cp raw noproc/app
  expect_status 0 without_proc "$stackpack" pack --reader=elsewhere --keep-raw=noproc/kept noproc/app
  [[ ! -s err ]] || fail "a complaint: $(<err)"
  expect_same noproc/app packed
  expect_same noproc/kept kept
  expect_status 0 without_proc "$stackpack" unpack --raw=noproc/kept noproc/app
  expect_same noproc/app raw
  expect_status 0 without_proc "$stackpack" report -o noproc/page.html raw
  expect_status 0 without_proc "$stackpack" split -o noproc/split.o many.o
  expect_same noproc/split.o split.o
  only_these noproc app kept page.html split.o
  # A link whose words are too many for a command line.
  for ((i = 0; i < 3000; i++)); do echo "--defsym=some_long_symbol_name_$i=$i"; done >words
  expect_status 0 without_proc "$LLVM/bin/clang" -no-pie --ld-path="$BUILD/stackpack-ld" -Wl,@words -Wl,--stackpack-ld=ld.lld \
    -o linked main.o many.o
  expect_packed linked
  [[ -z $(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'stackpack-ld-*' -newer words) ]] || fail "a response file was left"
fi

# ---- A deep folder ----
python3 - "$stackpack" <<'PYTHON'
import os, subprocess, sys

raw, packed, kept = (open(name, "rb").read() for name in ("raw", "packed", "kept"))
start = os.open(".", os.O_RDONLY)
for _ in range(25):
    os.makedirs("d" * 200, exist_ok=True)
    os.chdir("d" * 200)
def put(name, data):
    with open(name, "wb") as file:
        file.write(data)
    os.chmod(name, 0o755)
def run(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, (arguments, done)
put("app", raw)
os.symlink("app", "link")
os.symlink("later", "dangling")
run("pack", "--reader=elsewhere", "--keep-raw=kept", "link")
assert os.path.islink("link") and open("app", "rb").read() == packed and open("kept", "rb").read() == kept
run("unpack", "--raw=kept", "-o", "dangling", "app")
assert os.path.islink("dangling") and open("later", "rb").read() == raw
run("pack", "--reader=elsewhere", "-o", "./other", "later")
run("report", "-o", "page.html", "later")
assert open("other", "rb").read() == packed
refused = subprocess.run([sys.argv[1], "pack", "--keep-raw=./later", "dangling"], capture_output=True, text=True)
assert refused.returncode == 2 and "names the program itself" in refused.stderr, refused
assert sorted(os.listdir(".")) == ["app", "dangling", "kept", "later", "link", "other", "page.html"], os.listdir(".")
os.fchdir(start)
PYTHON
rm -rf dddd*

# ---- The umask ----
mode() { # EXPECTED FILE
  [[ $(stat -c %a "$2") == "$1" ]] || fail "$2 has mode $(stat -c %a "$2"), not $1"
}
modes() { # UMASK MODE-OF-THE-PROGRAM EXPECTED
  rm -rf modes
  mkdir modes
  cp raw modes/app
  cp many.o modes/many.o
  chmod "$2" modes/app modes/many.o
  (
    umask "$1"
    expect_status 0 "$stackpack" report -o modes/page.html modes/app
    expect_status 0 "$stackpack" split -o modes/split.o modes/many.o
    expect_status 0 "$stackpack" pack --reader=elsewhere --keep-raw=modes/kept modes/app
    expect_status 0 "$stackpack" split modes/many.o
  )
  for name in page.html split.o kept; do mode "$3" modes/$name; done
  mode "$2" modes/app
  mode "$2" modes/many.o
}
modes 022 755 644
modes 077 755 600
modes 002 775 664
modes 000 700 600 # readable by nobody who can't read the program
# A file that is replaced keeps its own mode.
chmod 640 modes/page.html
chmod 755 modes/app
expect_status 0 "$stackpack" report -o modes/page.html modes/app
mode 640 modes/page.html

# ---- Owners ----
if [[ $(id -u) == 0 ]]; then
  mkdir owned
  chmod 777 owned .
  as() { setpriv --reuid="$1" --regid="$2" --clear-groups "${@:3}"; }
  if as 12345 23456 test -x "$stackpack"; then
    place() { # MODE OWNER
      rm -f owned/app
      cp raw owned/app
      chown "$2" owned/app
      chmod "$1" owned/app
    }
    place 755 12345:23456
    expect_status 0 as 12345 23456 "$stackpack" pack --reader=elsewhere owned/app
    [[ ! -s err ]] || fail "a complaint: $(<err)"
    place 4755 12345:23456
    expect_status 0 as 12345 23456 "$stackpack" pack --reader=elsewhere owned/app
    [[ ! -s err && $(stat -c %a owned/app) == 4755 ]] || fail "the bit is lost: $(<err)"
    place 4755 0:0
    expect_status 0 as 12345 23456 "$stackpack" pack --reader=elsewhere --quiet owned/app
    [[ $(grep -cE "^stackpack: owned/app: warning: the (owner|set-user-ID bit) isn't kept: " err) == 2 && $(wc -l <err) == 2 ]] || fail "$(<err)"
    [[ $(stat -c '%u %a' owned/app) == "12345 755" ]] || fail "$(stat -c '%u %a' owned/app)"
    place 2755 12345:0
    expect_status 0 as 12345 23456 "$stackpack" pack --reader=elsewhere --quiet owned/app
    [[ $(grep -cE "^stackpack: owned/app: warning: the (group|set-group-ID bit) isn't kept: " err) == 2 && $(wc -l <err) == 2 ]] || fail "$(<err)"
    place 6755 12345:0
    expect_status 0 as 12345 23456 "$stackpack" pack --reader=elsewhere --quiet owned/app
    [[ $(stat -c '%u %a' owned/app) == "12345 4755" ]] || fail "$(stat -c '%u %a' owned/app)"
    place 755 0:0 # a copy is the user's own, without a word
    expect_status 0 as 12345 23456 "$stackpack" pack --reader=elsewhere --quiet -o owned/copy owned/app
    [[ ! -s err ]] || fail "a complaint: $(<err)"
    only_these owned app copy
  fi
fi
