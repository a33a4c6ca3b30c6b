#!/bin/bash
# Files are written on small systems, too: with /proc missing, in a folder that is deeper than any path, with system calls
# forbidden. New files obey the umask; losing an owner or a set-user-ID bit gets a line.
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
# Sanitizers need it: even their options come from there.
without_proc() { # COMMAND...
  if [[ $(id -u) == 0 ]]; then
    unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
  else
    unshare --map-root-user --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
  fi
}
can_go_without_proc() {
  without_proc true 2>err && ! nm -D "$stackpack" | grep __asan_init >/dev/null
}
if can_go_without_proc; then
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

# ---- Without linkat, and without /proc and linkat ----
# forbid.py ERROR COMMAND...: linkat fails with the error, by a filter of system calls (seccomp(2), SECCOMP_SET_MODE_FILTER).
cat >forbid.py <<'PYTHON'
import ctypes, os, struct, sys
LINKAT = 265 if os.uname().machine == "x86_64" else 37
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, LINKAT), (0x06, 0, 0, 0x50000 | int(sys.argv[1])), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]
program = Program(len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program)):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
    sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
PYTHON
without_link() { # ERROR COMMAND...
  python3 forbid.py "$@"
}
without_both() { # ERROR COMMAND...
  without_proc python3 "$PWD/forbid.py" "$@"
}
if without_link 1 /bin/true; then
  ! without_link 1 "$(command -v python3)" -c 'import os; os.link("raw", "hard", follow_symlinks=False)' 2>err || fail "linkat isn't forbidden"
  ways=(without_link)
  ! can_go_without_proc || ways+=(without_both)
  for way in "${ways[@]}"; do
    for error in 1 38; do # EPERM, ENOSYS
      rm -rf nolink
      mkdir nolink
      cp raw nolink/app
      expect_status 0 "$way" $error "$stackpack" pack --reader=elsewhere --keep-raw=nolink/kept nolink/app
      [[ ! -s err ]] || fail "a complaint: $(<err)"
      expect_same nolink/app packed
      expect_same nolink/kept kept
      expect_status 0 "$way" $error "$stackpack" split -o nolink/split.o many.o
      expect_same nolink/split.o split.o
      only_these nolink app kept split.o
    done
  done
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
