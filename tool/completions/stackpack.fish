# Completion of stackpack(1) for fish.
#
# Commands, options and their values are taken from what `stackpack --help` and `stackpack COMMAND --help` print, so that
# they are those of the version that is installed: see tool/commands.h for the form of a help.

# The subcommand on the command line, before the cursor.
function __stackpack_command
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if not string match -q -- '-*' $word
            echo $word
            return 0
        end
    end
    return 1
end

# The help of the command that is called, or of its subcommand.
function __stackpack_help
    set -l program (commandline -opc | string replace -r '^~' $HOME)[1]
    type -q -- $program; and $program $argv --help 2>/dev/null
end

# Commands with their purpose.
function __stackpack_commands
    __stackpack_help | string match -r '^  [a-z]+ .*' | string replace -r '^  ([a-z]+) +(.*)' '$1\t$2'
end

# Lines `SHORT<tab>LONG<tab>VALUE<tab>TEXT` of the options in a subcommand's help.
function __stackpack_options
    __stackpack_help (__stackpack_command) |
        string match -r '^  (?:-[a-z], |    )--[a-z-]+.*' |
        string replace -r '^  (?:(-[a-z]), |    )(--[a-z-]+)(?:=(\S+))?(?: +(.*))?$' '$1\t$2\t$3\t$4'
end

# Options.
function __stackpack_options_with_text
    __stackpack_options | while read -l -d \t short long value text
        test -z "$short"; or printf '%s\t%s\n' $short $text
        test -z "$value"; or set long $long=
        printf '%s\t%s\n' $long $text
    end
end

# What stands for the value that the cursor is at, in `--option=VALUE` or after `-o`. Nothing where it's at none.
function __stackpack_value
    set -l option (commandline -opc)[-1]
    if string match -q -- '--*=*' (commandline -ct)
        set option (commandline -ct | string replace -r '=.*' '')
    end
    __stackpack_options | while read -l -d \t short long value text
        if test -n "$value"; and contains -- $option $short $long
            echo $value
        end
    end
end

# Whether the cursor is at a value that isn't a file's name.
function __stackpack_at_choice
    string match -q -r '\||^(PATTERN|REGEX|NAME|FUNCTION|ADDRESS|START-END|N|PERCENT)$' -- (__stackpack_value)
end

# The values that there are to choose from.
function __stackpack_choices
    set -l option (commandline -ct | string match -r -- '^--.*=')
    for word in (__stackpack_value | string match -- '*|*' | string split '|')
        echo "$option$word"
    end
end

complete -c stackpack -n 'not __stackpack_command' -f -a '(__stackpack_commands)'
complete -c stackpack -n 'not __stackpack_command' -f -a help -d 'Describe a command'
complete -c stackpack -n 'contains help (__stackpack_command)' -f -a '(__stackpack_commands)'
complete -c stackpack -n 'not __stackpack_command' -l help -d 'Print help'
complete -c stackpack -n 'not __stackpack_command' -l version -d 'Print the version'
complete -c stackpack -n '__stackpack_command; and __stackpack_at_choice' -f -a '(__stackpack_choices)'
complete -c stackpack -n '__stackpack_command; and not __stackpack_at_choice' -a '(__stackpack_options_with_text)'
