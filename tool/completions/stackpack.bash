# shellcheck shell=bash
# Completion of stackpack(1) for bash, with the functions of the package bash-completion.
#
# Commands, options and their values are taken from what `stackpack --help` and `stackpack COMMAND --help` print, so that
# they are those of the version that is installed: see tool/commands.h for the form of a help.

# The help of the command, or of a subcommand.
_stackpack_help() { # [SUBCOMMAND]
  "${words[0]/#\~/$HOME}" ${1:+"$1"} --help 2>/dev/null
}

# The options in a help from standard input, without what stands for a value: `--output=`, `-o`.
_stackpack_options() {
  sed -nE 's/^  (-[a-z], +| {4})?(--[a-z-]+=?).*/\1 \2/p; s/^  (--help), (--version)$/\1 \2/p' | tr -d ,
}

# What an option takes, as a help from standard input has it: `FILE`, `text|json`; nothing for one without value.
_stackpack_value() { # OPTION
  sed -nE "s/^  ((-[a-z]), | {4})?(--[a-z-]+)=([^ ]+)  .*/\2 \3 \4/p" |
    awk -v option="$1" '$NF != option && (" " $0 " ") ~ (" " option " ") { print $NF; exit }'
}

# Files; of a name with characters that bash takes for a word's end, what is after the last one.
_stackpack_files() {
  local typed=${cur%"${cur##*[=:]}"}
  _filedir
  mapfile -t COMPREPLY < <(((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]#"$typed"}")
}

_stackpack() {
  local cur prev words cword split value i others command='' has_end=false
  _init_completion -s -n : || return
  for ((i = 1; i < cword; i++)); do
    if [[ ${words[i]} == -- ]]; then has_end=true; fi
    if [[ -z $command && ${words[i]} != -* ]]; then command=${words[i]}; fi
  done
  if [[ -z $command || $command == help ]]; then
    [[ -z $command ]] && others='help --help --version' || others=''
    mapfile -t COMPREPLY < <(compgen -W "$(_stackpack_help | sed -nE 's/^  ([a-z]+) .*/\1/p') $others" -- "$cur")
    return
  fi
  if $has_end; then
    _stackpack_files
    return
  fi
  value=$([[ $prev != -* ]] || _stackpack_help "$command" | _stackpack_value "$prev")
  case $value in
  '') ;;
  *'|'*)
    mapfile -t COMPREPLY < <(compgen -W "${value//|/ }" -- "$cur")
    return ;;
  PATTERN | REGEX | NAME | FUNCTION | ADDRESS | START-END | N | PERCENT) return ;; # nothing that can be told from here
  *)
    _stackpack_files
    return ;;
  esac
  ! $split || return
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_stackpack_help "$command" | _stackpack_options)" -- "$cur")
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
    return
  fi
  _stackpack_files
} &&
  complete -F _stackpack stackpack
