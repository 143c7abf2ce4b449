#!/bin/sh
# build_step.sh NUMBER TOTAL NAME COMMAND... - one step of the build, as the Makefile takes it.
#
# On a terminal the line "[ 37/130] common/wire/message.c" is written over by the next one; elsewhere every
# tenth of the way has a line. What the command says (warnings, errors) is shown by itself, on lines
# of its own. With V=1 in the environment every step and its command has a line.
set -u
number=$1 total=$2 name=$3
shift 3
line=$(printf '[%*d/%d] %s' ${#total} "$number" "$total" "$name")

if [ -n "${V-}" ]; then
    printf '%s\n    %s\n' "$line" "$*"
    exec "$@"
fi

if [ -t 1 ]; then
    printf '\r\033[K%.79s' "$line"
elif [ $((number * 10 / total)) -ne $(((number - 1) * 10 / total)) ]; then
    printf '%s\n' "$line"
fi
code=0
said=$("$@" 2>&1) || code=$?
if [ -n "$said" ]; then
    if [ -t 1 ]; then printf '\r\033[K'; fi
    printf '%s\n' "$said" >&2
elif [ -t 1 ] && [ "$number" -eq "$total" ]; then
    echo
fi
exit "$code"
