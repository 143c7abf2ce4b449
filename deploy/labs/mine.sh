#!/usr/bin/env bash
# mine.sh [FILE [PROGRAM]] - lab 9 in an unpacked class: compiles the mode in FILE (mine.c), and links it into PROGRAM
# (bin/syncopate-mine).
set -euo pipefail
class=$(cd "$(dirname "$0")/.." && pwd) object=$(mktemp --suffix=.o)
program=${2:-$class/bin/syncopate-mine}
trap 'rm -f "$object"' EXIT
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -DCHECKED=1 -O2 -Wall -I"$class/include" -x c -c -o "$object" "${1:-mine.c}"
"${CC:-cc}" -o "$program" "$class/lib/syncopate.o" "$object" "$class"/lib/*.so* -lm -pthread \
    -Wl,--disable-new-dtags,-rpath,"$class/lib"
echo "$program has --mode mine"
