# bash completion for gossamer; works with and without the package bash-completion.
# Where the operand is a program, the program's own completion goes on behind it.

_gossamer_words() {
    local IFS=$'\n'
    # shellcheck disable=SC2207 # one word a line
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

# Processes that have the library mapped, as far as we may look.
_gossamer_pids() {
    local maps pids=''
    for maps in /proc/[0-9]*/maps; do
        grep -q '/libgossamer\.so' "$maps" 2>/dev/null || continue
        maps=${maps%/maps}
        pids+=${maps#/proc/}$'\n'
    done
    _gossamer_words "$pids"
}

_gossamer_files() {
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -f -- "$cur"))
}

# The word at $1 is a program: its name, or its arguments.
_gossamer_program() {
    if [ "$1" -lt "$COMP_CWORD" ] && declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif [ "$1" -lt "$COMP_CWORD" ]; then
        _gossamer_files
    else
        compopt -o filenames 2>/dev/null
        local IFS=$'\n'
        # shellcheck disable=SC2207
        COMPREPLY=($(compgen -c -- "$cur"; compgen -d -- "$cur") ${2:+$(compgen -W "$2" -- "$cur")})
    fi
}

# The options of command $1, one a line; those with an operand end in "=".
_gossamer_options() {
    case $1 in
    check) printf '%s\n' -p= ;;
    compare) printf '%s\n' -n= --runs= --json --help ;;
    ps) printf '%s\n' -a --all --sort= --state= --json --help ;;
    stacks) printf '%s\n' -g= --goid= -e --each -r --runtime --core= --help ;;
    profile) printf '%s\n' --wait --cpu --growth --seconds= --svg -o= --output= -r --runtime --help ;;
    top) printf '%s\n' -b --batch -d= --delay= -n= --count= --sort= --help ;;
    *) printf '%s\n' -p= -s= --children= --require -q --help --version ;;
    esac
}

# What may stand behind option $2 of command $1.
_gossamer_value() {
    case $1$2 in
    ps--sort) _gossamer_words $'goid\nwait\ncpu\nruns\nstate\nname\nstart' ;;
    ps--state) _gossamer_words $'running\nrunnable\nsyscall\nwaiting\ndead' ;;
    top--sort) _gossamer_words $'cpu\nruns\nwait' ;;
    --children) _gossamer_words $'keep\ndrop' ;;
    -s) _gossamer_words $'64K\n256K\n1M\n8M' ;;
    stacks--core | profile-o | profile--output) _gossamer_files ;;
    *) COMPREPLY=() ;;
    esac
}

_gossamer() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev='' command='' i word ended='' core='' options

    COMPREPLY=()
    # up to the operand before the cursor
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        options=$'\n'$(_gossamer_options "$command")$'\n'
        [ "$word" = --core ] && core=1
        case $word in
        --) ended=1; i=$((i + 1)); break ;;
        --*)
            if [ "${COMP_WORDS[i + 1]:-}" = '=' ]; then   # readline has split --option=value
                prev=$word i=$((i + 1))
                [ "$i" -lt "$COMP_CWORD" ] && [ $((i + 1)) -lt "$COMP_CWORD" ] && prev='' i=$((i + 1))
                continue
            fi
            prev=''
            [[ $options == *$'\n'"$word="$'\n'* ]] && prev=$word ;;
        -?*)
            prev=''
            [[ $options == *$'\n'"$word="$'\n'* ]] && prev=$word ;;
        *)
            if [ -n "$prev" ]; then
                prev=''
            elif [ -z "$command" ]; then
                case $word in
                check | compare | ps | stacks | profile | top) command=$word ;;
                *) _gossamer_program "$i"; return ;;
                esac
            else
                break           # the operand of a command
            fi ;;
        esac
    done
    if [ -n "$prev" ]; then
        [ "$cur" = '=' ] && cur=''
        _gossamer_value "$command" "$prev"
        return
    fi
    case $command$ended in
    '' | check | compare) ;;
    1 | check1 | compare1) _gossamer_program "$i"; return ;;
    stacks) [ -n "$core" ] && [[ $cur != -* ]] && { _gossamer_files; return; }
        [ "$i" -lt "$COMP_CWORD" ] && return ;;
    *) [ "$i" -lt "$COMP_CWORD" ] && return ;;
    esac
    case $cur in
    -*)
        options=$(_gossamer_options "$command")
        _gossamer_words "${options//=/}" ;;
    *)
        case $command in
        '') _gossamer_program "$COMP_CWORD" $'check\ncompare\nps\nstacks\nprofile\ntop' ;;
        check | compare) _gossamer_program "$i" ;;
        *) _gossamer_pids ;;
        esac ;;
    esac
}

complete -F _gossamer gossamer
