#!/usr/bin/env bash
# python.sh - the Python package (worker/python): its own tests (tests/python), then whole jobs and the examples, with
# PyTorch where that is installed.
# needs: everything
# test: once later
# promises: python
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
examples=$root/worker/python/examples
net=$root/tests/python/net.py
job=(--seed 5 --quiet --global-batch 56 --micro-batch 16 --epochs 2) # Four leaves a step, the last of 8.

# python NAME CODE ARGUMENT... - it must end with this exit code.
python()
{
    local code=0
    (cd "$work" && exec "$python" "${@:3}") >"$work/$1.log" 2>&1 </dev/null || code=$?
    if [ "$code" -ne "$2" ]; then fail "$1 ends with $code, not with $2"; fi
}
# trains NAME PROGRAM COMMAND ARGUMENT... - by the program itself.
trains() { python "$1" 0 "$2" "${@:3}" --out "$work/$1"; }
# as NAME OTHER - the same bits, and the same score.
as()
{
    local figure
    for figure in parameters_sha256 test_loss; do
        if [ "$(member "$work/$1" $figure)" != "$(member "$work/$2" $figure)" ]; then fail "$1 has another $figure than $2"; fi
    done
}

trains numpy "$examples/softmax.py" run --steps 300 --ps 0 --workers 1 --quiet
trains numpy-two "$examples/softmax.py" run --steps 300 --workers 2 --ps 2 --quiet
trains numpy-virtual "$examples/softmax.py" simulate --steps 300 --workers 16 --ps 1 --quiet
as numpy-two numpy
as numpy-virtual numpy
awk -v loss="$(member "$work/numpy" test_loss)" 'BEGIN { exit !(loss > 0 && loss < 0.8) }' || fail "numpy learns nothing"
ok "softmax in NumPy learns, with the same bits by one process, two workers and sixteen virtual ones"

sed 's/    rows = /    if 4711 in i and not test: raise ValueError("example 4711")\n&/' "$examples/softmax.py" >"$work/raises.py"
cp "$examples/fashion_mnist.py" "$work"
python raises 7 raises.py run --epochs 1 --workers 2 --out raises --quiet
says raises '^syncopate run: worker/[01] ended with exit code 7: program: ValueError: example 4711'
grep -q '^Traceback' "$work"/raises/logs/worker-?.log || fail "raises: no log has the traceback"
ok "an exception ends the job with its own words, and its traceback is in the worker's log"

if ! "$python" -c 'import torch' 2>/dev/null; then
    skip "whole jobs of PyTorch: no python3-torch"
    exit 0
fi
trains alone "$net" run "${job[@]}" --ps 0 --workers 1
while read -r name words; do
    # shellcheck disable=SC2086
    trains "$name" "$net" $words "${job[@]}"
    as "$name" alone
done <<'END'
one run --workers 1 --ps 1
two run --workers 2 --ps 2 --overlap
three run --workers 3 --ps 1 --transport tcp
allreduce run --mode allreduce --workers 2 --overlap
colocated run --ps colocated --workers 2
backup run --backup-workers 0 --workers 2
virtual simulate --workers 16 --ps 2
END
ok "dropout, a tied weight and BatchNorm in PyTorch: the same bits and scores by one process, by 1, 2 and 3 workers, overlap, tcp, allreduce, colocated, backup 0, 16 virtual workers"

# Each leaf takes 20 ms, so that the job is at work for seconds after its first checkpoint.
sed 's/^    out = /    __import__("time").sleep(0.02)\n&/' "$net" >"$work/slow.py"
(cd "$work" && exec "$python" slow.py run "${job[@]}" --workers 2 --checkpoint-every 4 --out "$work/killed") >"$work/killed.log" 2>&1 </dev/null &
pids[killed]=$!
within 60 grep -qs '"event": "checkpoint"' "$work/killed/events.jsonl" || fail "killed does not get on"
kill -KILL "$(pgrep -nf "^$python $work/slow.py$")"
ends killed 0 60
grep -q 'the program was killed by signal 9' "$work"/killed/logs/worker-?.log || fail "killed: no program was started again"
as killed alone
ok "a program that is killed is started again in place, with the same bits"

trains async "$net" run --mode async --workers 2 --epochs 4 --quiet
python replayed 0 "$net" replay "$work/async"
says replayed ': as recorded$'
ok "async is replayed to the bit"

for name in mlp cnn transformer; do trains "$name" "$examples/$name.py" run --steps 40 --ps 0 --workers 1 --quiet; done
awk -v mlp="$(member "$work/mlp" test_accuracy)" -v cnn="$(member "$work/cnn" test_accuracy)" \
    -v loss="$(member "$work/transformer" test_loss)" 'BEGIN { exit !(mlp > 0.6 && cnn > 0.6 && loss > 1 && loss < 3.7) }' ||
    fail "an example learns too little"
ok "the examples in PyTorch learn: a perceptron, a convolutional net, a transformer"

python notebook 0 "$root/tests/python/notebook.py"
as notebook-virtual alone
as notebook-solo alone
ok "a notebook's net is trained by simulate() and by solo(), with the bits of a run; Ctrl-C stops a job in its order"
nothing_runs
