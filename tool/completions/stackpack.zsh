#compdef stackpack
# Completion of stackpack(1) for zsh: to be called _stackpack, in a folder of fpath.
#
# Commands, options and their values are taken from what `stackpack --help` and `stackpack COMMAND --help` print, so that
# they are those of the version that is installed: see tool/commands.h for the form of a help.

# A text in an argument of _arguments or _describe.
_stackpack_quoted() { # TEXT
  print -r -- "${${${1//\\/\\\\}//:/\\:}//(#b)([\[\]])/\\$match[1]}"
}

# What _arguments is to do for a value that a help calls this.
_stackpack_action() { # VALUE
  case $1 in
  *'|'*) print -r -- "(${1//|/ })" ;;
  PATTERN | REGEX | NAME | FUNCTION | ADDRESS | START-END | N | PERCENT) print -r -- ' ' ;; # nothing that can be told from here
  *) print -r -- _files ;;
  esac
}

# Adds to `specs` what _arguments needs to know of the options in a help.
_stackpack_specs() { # HELP
  local line short long value text
  for line in ${(f)1}; do
    [[ $line == (#b)'  '((-[a-z]), |    )(--[a-z-]##)(=([^ ]##)|)(  *|) ]] || continue
    short=$match[2] long=$match[3] value=$match[5]
    text=$(_stackpack_quoted "${match[6]##[ ]##}")
    if [[ -n $value ]]; then
      value=":${value//:/\\:}:$(_stackpack_action $value)"
      specs+=("${long}=[$text]$value")
      [[ -z $short ]] || specs+=("${short}+[$text]$value")
    else
      specs+=("${long}[$text]")
      [[ -z $short ]] || specs+=("${short}[$text]")
    fi
  done
}

_stackpack() {
  local program=${~words[1]} line curcontext=$curcontext state
  local -a commands specs
  typeset -A opt_args
  _arguments -C '--help[print help]' '--version[print the version]' '1: :->command' '*:: :->argument' && return
  case $state:$words[1] in
  command:* | argument:help)
    for line in ${(f)"$($program --help 2>/dev/null)"}; do
      [[ $line != (#b)'  '([a-z]##)' '##(*) ]] || commands+=("${match[1]}:$(_stackpack_quoted $match[2])")
    done
    [[ $state != command ]] || commands+=('help:describe a command')
    _describe command commands
    ;;
  argument:*)
    _stackpack_specs "$($program $words[1] --help 2>/dev/null)"
    _arguments -s -S $specs '*:file:_files'
    ;;
  esac
}

_stackpack "$@"
