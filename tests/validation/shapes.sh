#!/usr/bin/env bash
# shapes.sh [BUILD] - the four published shapes, one after the other: what each script says at its end, and how many are
# there. All are wanted; the exit code says whether they are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
said=$(mktemp)
trap 'rm -f "$said"' EXIT
trap 'exit 1' INT TERM
there=0
for shape in ho chen zhang networks; do
    "$here/$shape.sh" "$@" >"$said" || {
        cat "$said"
        exit 1
    }
    grep -E ': (yes|no), ' "$said"
    if grep -E -m 1 ': (yes|no), ' "$said" | grep -q ': yes, '; then there=$((there + 1)); fi
done
echo "$there of 4 shapes are as published"
[ "$there" -ge 4 ]
