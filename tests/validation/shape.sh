# shellcheck shell=bash
# shape.sh - what the scripts share that make one comparison in virtual time, as `syncopate compare` makes it, and ask
# whether it has a shape that was published. Source it with the script's arguments, [BUILD] [SEEDS]:
#
#     default_seeds=5
#     . "$(dirname "$0")/shape.sh"
#     compared calm --modes sync,async --workers 8       runs, table and report are in $out/calm
#     shown calm                                          the table that compare prints
#     if held calm time async-w8 sync-w8 below 1; then    whether a whole interval is so; it is in $interval
#     verdict "Somebody 2016" yes "async $interval of sync's time"
#
# Intervals are of 95 %, by pairs of one seed; nothing is judged by a mean. A script fails where something cannot be
# measured, and not where the answer is no. With OUT=FOLDER the comparisons, their reports too, stay there, and the
# script goes on with what is there; else they are thrown away. SEED=N is the first seed, 1 if nothing is said. A
# script may set $seed, and $data to other examples, before it compares.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "${1:-$here/../../build/release}")
seeds=${2:-${default_seeds:-5}}
seed=${SEED:-1}
for variable in $(compgen -e SYNCOPATE_ || true); do unset "$variable"; done
if ! command -v python3 >/dev/null; then
    echo "SKIPPED - $(basename "$0" .sh): no python3"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
out=${OUT:-$work}
data=fashion-mnist
if [ ! -e /usr/share/datasets/fashion-mnist ]; then data=synthetic:20000; fi

# compared NAME OPTION... - nothing of the runs is kept but what is compared.
compared()
{
    local name=$1
    shift
    "$build/syncopate" compare --virtual --quiet --data "$data" --seed "$seed" --seeds "$seeds" --record off \
        --checkpoint-every 0 --out "$out/$name" "$@" >"$work/$name.said" 2>&1 || {
        cat "$work/$name.said"
        exit 1
    }
}
# shown NAME - the answer and the first table.
shown() { awk 'NF > 0 { said = 1 } NF == 0 && said { exit } said' "$out/$1/table.txt"; }

# measured NAME NUMBER ARM [BESIDE] - "1.18 [1.02, 1.37]" (pairs.py).
measured() { python3 "$here/pairs.py" "$out/$1" "${@:2}"; }
# held NAME NUMBER ARM [BESIDE] below|above|within LIMIT...
held()
{
    local code=0
    # shellcheck disable=SC2034 # It is for whoever asks.
    interval=$(measured "$@") || code=$?
    if [ $code -gt 1 ]; then exit 1; fi
    return $code
}
verdict() { echo "$1: $2, $3"; }
