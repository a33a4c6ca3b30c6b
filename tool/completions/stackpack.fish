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
    set -l program (commandline -opc)[1]
    eval (string escape -n -- $program | string replace -r '^\\\\~' '~') $argv --help 2>/dev/null
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

# Options, with their values where these are few.
function __stackpack_arguments
    __stackpack_options | while read -l -d \t short long value text
        test -z "$short"; or printf '%s\t%s\n' $short $text
        if test -z "$value"
            printf '%s\t%s\n' $long $text
        else if string match -q '*|*' -- $value
            printf "$long=%s\t$text\n" (string split '|' -- $value)
        else
            printf '%s=\t%s\n' $long $text
        end
    end
end

# The values that the option before the cursor takes, where these are few.
function __stackpack_values
    set -l previous (commandline -opc)[-1]
    __stackpack_options | while read -l -d \t short long value text
        if contains -- $previous $short $long; and string match -q '*|*' -- $value
            string split '|' -- $value
        end
    end
end

complete -c stackpack -n 'not __stackpack_command' -f -a '(__stackpack_commands)'
complete -c stackpack -n 'not __stackpack_command' -l help -d 'Print help'
complete -c stackpack -n 'not __stackpack_command' -l version -d 'Print the version'
complete -c stackpack -n __stackpack_command -a '(__stackpack_arguments; __stackpack_values)'
