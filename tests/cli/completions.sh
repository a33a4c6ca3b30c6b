#!/bin/bash
# Real shells complete the commands, each option of each command, and the values of options: few words, or files.
. "$TOP/tests/cli/common.sh"

install_tree
share=$PWD/installed/opt/stackpack/share
unset LD_LIBRARY_PATH PYTHONPATH
export HOME=$PWD
mkdir -p files/other
cd files
touch app gc.policy 'two words'

helps() {
  python3 "$TOP/tests/cli/helps.py" "$stackpack" "$@"
}

# ---- The shells: each prints the words that come of a line, one a line, and an empty line after each line's ----

cat >../bashrc <<END
PS1='READY>'
HISTFILE=
PATH='$PATH'
. /usr/share/bash-completion/bash_completion
. '$share/bash-completion/completions/stackpack'
bind '"\C-x*": insert-completions'
END
complete_in_bash() { # LINE...
  python3 "$TOP/tests/cli/complete.py" bash ../bashrc "$@"
}

mkdir ../zsh
cat >../zsh/.zshrc <<END
PS1='READY>'
PATH='$PATH'
bindkey -e
fpath=('$share/zsh/site-functions' \$fpath)
autoload -Uz compinit
compinit -u -d ../zsh/dump
zle -C all-matches complete-word _generic
bindkey '^X*' all-matches
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
END
complete_in_zsh() { # LINE...
  python3 "$TOP/tests/cli/complete.py" zsh ../zsh "$@"
}

complete_in_fish() { # LINE...
  # shellcheck disable=SC2016 # fish's own
  fish --no-config -c 'source $argv[1]
    for line in $argv[2..-1]
      complete -C $line | string replace -r "\t.*" ""
      echo
    end' "$share/fish/vendor_completions.d/stackpack.fish" "$@"
}

# ---- The expected completions ----

lines=() expected=()
expect() { # LINE WORD...: what the last word of the line may become
  lines+=("$1")
  shift
  expected+=("$(printf '%s\n' "$@" | sort -u)")
}

mapfile -t commands < <(helps commands)
expect "stackpack w" why
expect "stackpack un" unpack
expect "stackpack " help "${commands[@]}"
expect "stackpack help un" unpack
expect "stackpack help " "${commands[@]}"
expect "stackpack he" help
expect "stackpack --v" --version
expect "stackpack pack ap" app
expect "stackpack pack --policy=gc" gc.policy
expect "stackpack pack --policy gc" gc.policy
expect "stackpack pack --output=ap" app
expect "stackpack pack -o ap" app
expect "stackpack pack --quiet app --rep" --report
expect "$stackpack du" dump
for command in "${commands[@]}"; do
  mapfile -t options < <(helps options "$command" | tr ' ' '\n' | grep -e '^--')
  expect "stackpack $command --" "${options[@]}"
  while read -r option values; do
    read -ra values <<<"$values"
    expect "stackpack $command $option=" "${values[@]}"
    expect "stackpack $command $option " "${values[@]}"
    choices=yes
  done < <(helps choices "$command")
done
[[ -n ${choices-} ]] || fail "no option takes one of a few words"

# The words that a shell printed for one line, from standard input, in a form that all shells share. Bash and zsh print the
# words before the last one, too; bash shows options beside commands; some have a = after an option that takes a
# value, or the option before the value.
common_form() { # SHELL LINE
  local before=0
  if [[ $1 != fish ]]; then
    # shellcheck disable=SC2086 # a list of words
    set -- "$1" "$2" ${2% *}
    before=$(($# - 2))
  fi
  tail -n +$((before + 1)) | sed -E 's/^--[a-z-]+=(.+)/\1/; s/=$//' |
    { [[ $2 == *" " ]] && grep -v -e '^--' || cat; } | sort -u
}

for shell in bash zsh fish; do
  command -v $shell >/dev/null || skip "no $shell"
  "complete_in_$shell" "${lines[@]}" >printed
  for number in "${!lines[@]}"; do
    awk -v number="$number" '/^$/ { n++; next } n == number' printed | common_form $shell "${lines[number]}" >found
    diff - found <<<"${expected[number]}" >&2 || fail "$shell: '${lines[number]}' isn't completed as it should be"
  done
done

# ---- Bash alone: its words end at some characters of names ----

touch -- e=quals c:olon -dash
lines=() expected=()
for file in e=quals c:olon; do
  for line in "stackpack pack " "stackpack pack --output=" "stackpack pack --output "; do
    expect "$line${file:0:1}" "$file"
    expect "$line${file:0:2}" "$file"
  done
done
expect "stackpack pack -- -d" -dash
complete_in_bash "${lines[@]}" >printed
for number in "${!lines[@]}"; do
  found=$(awk -v number="$number" '/^$/ { n++; next } n == number' printed | tail -n 1)
  [[ ${found#--output=} == "${expected[number]}" ]] || fail "bash makes of '${lines[number]}': $found"
done
