#!/usr/bin/env bash
# python.sh - the Python package (worker/python): its own tests (tests/python), with PyTorch where that is installed.
# needs: everything
# test: once later
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(command -v /usr/bin/python3 || command -v python3) || true
if ! "$python" -c 'import numpy' 2>/dev/null; then
    skip "the Python package: no python3-numpy"
    exit 0
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/worker/python SYNCOPATE_BIN_DIR=$build

# --- its own tests -----------------------------------------------------------------------------------
# unit FILE - a line of ours for each of its tests.
unit()
{
    "$python" -m unittest discover -v -s "$root/tests/python" -p "$1.py" >"$work/$1.log" 2>&1 || fail "$1 finds a fault"
    sed -nE "s/^(test_\w+) .* \.\.\. ok$/ok - \1/p; s/^(.*) \.\.\. skipped ['\"](.*)['\"]$/SKIPPED - \1: \2/p" "$work/$1.log" |
        sed 's/^ok - test_/ok - /; /^ok/s/_/ /g'
}
unit test_numpy
unit test_torch

# --- whole jobs --------------------------------------------------------------------------------------
# trains NAME PROGRAM ARGUMENT... - a run by the program itself: python3 net.py run ...
trains()
{
    (cd "$work" && exec "$python" "$2" run --seed 5 --quiet --out "$work/$1" "${@:3}") >"$work/$1.log" 2>&1 </dev/null ||
        fail "$1 ends with $?"
}
sha() { member "$work/$1" parameters_sha256; }
net=$root/tests/python/net.py
job=(--global-batch 56 --micro-batch 16 --epochs 2) # Four leaves a step, the last of 8; an epoch's last step of 40.

ok_when_bits_are_the_same()
{
    local name line
    trains alone "$net" "${job[@]}" --ps 0 --workers 1
    while read -r name line; do
        # shellcheck disable=SC2086 # Words.
        trains "$name" "$net" "${job[@]}" $line
        if [ "$(sha "$name")" != "$(sha alone)" ]; then fail "$name has other bits than one process"; fi
        if [ "$(member "$work/$name" test_loss)" != "$(member "$work/alone" test_loss)" ]; then fail "$name has another score"; fi
    done <<'END'
one --workers 1 --ps 1
two --workers 2 --ps 2 --overlap
three --workers 3 --ps 1 --transport tcp
allreduce --mode allreduce --workers 2
colocated --ps colocated --workers 2
backup --mode sync+backup:0 --workers 2
END
    "$python" "$net" simulate "${job[@]}" --seed 5 --workers 16 --ps 2 --quiet --out "$work/virtual" >"$work/virtual.log" 2>&1 ||
        fail "virtual ends with $?"
    if [ "$(sha virtual)" != "$(sha alone)" ]; then fail "virtual has other bits than one process"; fi
    ok "dropout, a tied weight and BatchNorm in PyTorch: one sha256 and one score for 1, 2 and 3 workers, overlap, tcp, allreduce, colocated, backup 0, 16 virtual workers and one process"
}
