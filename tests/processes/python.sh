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

