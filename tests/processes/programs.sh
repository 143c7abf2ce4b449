#!/usr/bin/env bash
# programs.sh - what a person sees of a program (tests/programs/layers.c): one that does wrong is named with its reason, one
# that a signal ends or that hangs is started again, the commands take it, and no text of a run starts anything. That its bits
# are those of --model is in same_bits.sh. And the Python package (worker/python): its own tests (tests/python), then whole
# jobs and the examples, with PyTorch where that is installed.
# needs: everything
# test: once later
# promises: programs programs-seen python
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

program="$build/tests/programs/layers softmax synthetic:500 3"
job=(--global-batch 40 --micro-batch 8 --seed 3 --steps 20)
bits_of() { member "$1" parameters_sha256; }
# makes NAME PROGRAM ARGUMENT... - a run of the program.
makes() { run "$1" 0 syncopate run --program "$2" "${job[@]}" --out "$work/$1" "${@:3}"; }
# as NAME - it has the bits of one process.
as()
{
    if [ "$(bits_of "$work/$1")" != "$expected" ]; then
        fail "$1 ends with '$(bits_of "$work/$1")', not with '$expected'"
    fi
}
makes alone "$program" --ps 0
expected=$(bits_of "$work/alone")
[ -n "$expected" ] || fail "alone has no bits"

# --- does wrong ------------------------------------------------------------------------------------
# wrong NAME FAULTS CODE PATTERN ARGUMENT... - two workers have such a program.
wrong()
{
    run "$1" "$3" syncopate run --program "$program $2" "${job[@]}" --ps 1 --workers 2 --out "$work/$1" "${@:5}"
    says "$1" "^syncopate run: $4"
    nothing_runs
}
worker="worker/[01] ended with exit code 7: program:"
wrong fails "--fail 3" 7 "$worker as it was given to$"
wrong exits "--exit 3" 7 "$worker it ended with exit code 3$"
wrong closes "--close 3" 7 "$worker it closed its socket$"
wrong speaks "--say kind 3" 7 "$worker it breaks the protocol \(proto/PROGRAM.md\): it sent a message of kind 42$"
wrong dies "--kill 3" 7 "$worker it was killed by signal 9 \(Killed\), as often as it may be started again$" --max-restarts 2
wrong random "--random 1" 7 "worker/[01] ended with exit code 7: leaf [0-4] of step 0 came out differently the second time \(dense1/kernel, 1 of 7840 values\): the program is not deterministic$"
wrong writes "--writes 1" 7 "worker/[01] ended with exit code 7: leaf [0-4] of step 0: the program has changed its parameters \(dense1/kernel, 1 of 7840 values\), which it must only read$"
wrong not-finite "--nan 5" 1 ".*training diverged: the gradient of step [0-9]+, leaf [0-9]+ is not finite"
started="--program \"$program .*\":"
wrong early "--exit 0" 7 "$started it ended with exit code 3 before it declared what it computes$"
wrong declares "--declare {}" 7 "$started declaration: \"name\" is missing$"
for name in fails exits closes speaks dies random writes early declares; do one_line "$name"; done
if said fails "started again"; then fail "a worker whose program fails is started again"; fi
wrong before "--given 1 --fail 1" 7 "worker/[01] ended with exit code 7: program:"
[ ! -e "$work/before/initial.safetensors" ] || fail "before: a run that has not begun leaves its initial values"
run absent 7 syncopate run --program /no/such/program "${job[@]}" --out "$work/absent"
says absent '^syncopate run: --program "/no/such/program": it ended with exit code 127 before it declared'
run alone-fails 7 syncopate-worker --ps 0 --program "$program --fail 3" "${job[@]}" --out "$work/alone-fails"
says alone-fails "error: program: as it was given to$"
run virtual-fails 7 syncopate simulate --program "$program --fail 3" "${job[@]}" --workers 2 --out "$work/virtual-fails"
says virtual-fails "^syncopate simulate: worker/[01]: program: as it was given to$"
hosts=127.0.0.1:$(free_port)
start task-server syncopate-ps --ps-hosts "$hosts" --out "$work/task"
SYNCOPATE_JOB_NAME=worker SYNCOPATE_TASK_INDEX=0 run task-fails 7 syncopate task --ps_hosts "$hosts" --worker_hosts x:1 \
    --program "$program --fail 3" "${job[@]}"
says task-fails "error: program: as it was given to$"
ends task-server 7
ok "a program that does wrong ends its job with exit code 7, and one line says what it did"

makes unchecked "$program --random 1" --ps 0 --check-leaves 0
makes checked-late "$program --random 45" --ps 0 --check-leaves 1000
ok "leaves are computed twice as often as --check-leaves says"

# --- started again in its place --------------------------------------------------------------------
makes killed-once "$program --kill 30 --once $work/killed-mark" --ps 2 --workers 2
says killed-once "the program was killed by signal 9 \(Killed\); it is started again \(1 of 5\)"
if said killed-once "restart 1 of 5"; then fail "its worker was started again"; fi
as killed-once
export TEST_CLOCK=$work/clock # The time in which it does not answer.
: >"$TEST_CLOCK"
hosts=127.0.0.1:$(free_port)
start hung-server checked/syncopate-ps --ps-hosts "$hosts" --out "$work/hung-once"
start hung-once checked/syncopate-worker --ps-hosts "$hosts" --workers 1 --program "$program --hang 9 --once $work/hung" "${job[@]}"
within 20 test -e "$work/hung" || fail "the program does not come to its ninth leaf"
passes 151 900
says hung-once "the program did not answer for 150 s; it is started again \(1 of 5\)"
for name in hung-once hung-server; do ends "$name" 0; done
unset TEST_CLOCK
as hung-once
ok "a program that is killed, or does not answer, is started again, and its worker has not left"

# --- kills of workers, joins, other numbers ---------------------------------------------------------
hosts=127.0.0.1:$(free_port)
# worker INDEX NAME PROGRAM - of two, for the server at $hosts.
worker() { start "$2" "$3" --ps-hosts "$hosts" --workers 2 --task-index "$1" --program "$program" "${job[@]}"; }
start server syncopate-ps --ps-hosts "$hosts" --out "$work/by-hand" --worker-timeout "$patience"
worker 0 worker0 syncopate-worker
holds dies "worker/1 computed:8" worker 1 worker1 checked/syncopate-worker
reached dies
murder worker1
says server "lost worker/1" 20
worker 1 joins syncopate-worker
for name in worker0 joins server; do ends "$name" 0 60; done
as by-hand
nothing_runs
ok "a worker is killed with its program, another joins, and no bit is another"

job+=(--steps 100000000 --checkpoint-every 0)
hosts=127.0.0.1:$(free_port)
start stopped-server syncopate-ps --ps-hosts "$hosts" --out "$work/stopped"
for i in 0 1; do worker "$i" "stopped$i" syncopate-worker; done
within 20 grep -qs '"event": "progress"' "$work/stopped/events.jsonl" || fail "stopped does not get on"
kill -INT "${pids[stopped-server]}"
for name in stopped-server stopped0 stopped1; do ends "$name" 130; done
for i in 0 1; do says "stopped$i" "^layers: the job has ended: "; done
unset 'job[-1]' 'job[-1]' 'job[-1]' 'job[-1]'
ok "a program hears why its job ends"

# --- what computes on another host -----------------------------------------------------------------
hosts=127.0.0.1:$(free_port)
start mixed-server syncopate-ps --ps-hosts "$hosts" --out "$work/mixed"
worker 0 mixed0 syncopate-worker
says mixed-server "worker/0 joined"
program="$program --differs 1" worker 1 mixed1 syncopate-worker
ends mixed1 3
says mixed1 "error: the program on .* does not give the same bits as on .*: give all the same files, versions, threads and data"
one_line mixed1
worker 1 mixed1 syncopate-worker
for name in mixed0 mixed1 mixed-server; do ends "$name" 0 60; done
as mixed
ok "a program that gives other bits than that of another worker is refused"

# --- commands --------------------------------------------------------------------------------------
own=$(awk "BEGIN { printf \"%.2f\", 100 * $(member "$work/alone" test_accuracy) }")
run scored 0 syncopate evaluate "$work/alone" --program "$program"
says scored "^test accuracy +$own %$"
run probed 0 syncopate probe --program "$program"
says probed "^  program +[0-9a-f]{64}$"
run probed-early 0 syncopate probe --program "$program --exit 0"
says probed-early "^  program +it ended with exit code 3 before it declared what it computes$"
# As another tool saves it, without metadata.
LC_ALL=C sed 's/"model":/"other":/' "$work/alone/model.safetensors" >"$work/bare"
run bare 0 syncopate evaluate "$work/bare" --program "$program"
says bare "^test accuracy +$own %$"
says bare "^data +synthetic:500.*, 100 test examples$"
run measured 0 syncopate calibrate --program "$program" --micro-batch 8 --out "$work/here.json"
says measured "a leaf's gradient .* ms"
run compared 0 syncopate compare --program "$program" --modes sync,async --global-batch 40 --steps 20 --workers 2 --ps 1 \
    --out "$work/compared"
says compared "^ *sync "
run inspected 0 syncopate inspect "$work/alone"
says inspected "program: layers: softmax"
again="$build/tests/programs/layers mlp synthetic:500 3"
for command in "evaluate" "replay"; do
    run "needs-$command" 3 syncopate "$command" "$work/killed-once"
    says "needs-$command" "killed-once.* was trained by a program \(layers: softmax\): give it with --program$"
    run "other-$command" 3 syncopate "$command" "$work/killed-once" --program "$again"
    for name in "needs-$command" "other-$command"; do one_line "$name"; done
done
says other-replay 'program.* is "program: layers: mlp", and the run.s "program: layers: softmax"$'
says other-evaluate 'has dense1/kernel .784,10. where the program makes .784,128.$'
ok "evaluate, calibrate, compare and inspect take a program; evaluate and replay need the run's own"

# --- scores of loss alone --------------------------------------------------------------------------
makes loss "$program --loss 1" --ps 1 --workers 2
run loss-inspect 0 syncopate inspect "$work/loss"
run loss-evaluate 0 syncopate evaluate "$work/loss" --program "$program --loss 1"
run loss-compare 0 syncopate compare --program "$program --loss 1" --modes sync,async --global-batch 40 --steps 20 --workers 2 \
    --ps 1 --out "$work/loss-compared"
for name in loss loss-inspect loss-evaluate loss-compare; do
    if said "$name" "[Aa]ccuracy"; then fail "$name: there is no accuracy to say"; fi
done
if grep -E '"[a-z_]*accuracy": *[0-9]' "$work/loss/run.json" "$work/loss/events.jsonl"; then fail "loss: files have an accuracy"; fi
says loss-evaluate "^test loss +[0-9]"
if grep -i accuracy "$work/loss-compared"/{table.*,methods.txt} ||
    grep -oE '"[a-z_]*accuracy": *(\{"mean": *)?[0-9]|,[a-z_]*accuracy,[0-9.,e+-]+' "$work/loss-compared/report.html"; then
    fail "loss-compare: tables or the page have an accuracy"
fi
ok "where a program scores by its loss alone nothing says an accuracy"

# --- a stream --------------------------------------------------------------------------------------
stream="$program --stream 7"
run endless 2 syncopate run --program "$stream" --epochs 1 --out "$work/endless"
says endless "^syncopate run: --steps: examples are a stream, which has no epochs: give a number of steps$"
one_line endless
makes stream "$stream" --ps 0
stream_bits=$(bits_of "$work/stream")
for how in "sync 2" "allreduce 3"; do
    read -r kind workers <<<"$how"
    makes "stream-$kind" "$stream" --mode "$kind" --workers "$workers"
    # This one is of the step alone.
    if [ "$(bits_of "$work/stream-$kind")" != "$stream_bits" ]; then fail "stream-$kind has other bits than stream"; fi
done
makes stream-async "$stream" --mode async --workers 2
run stream-virtual 0 syncopate simulate --program "$stream" "${job[@]}" --workers 5 --ps 2 --compute constant:5ms --out "$work/stream-virtual"
run stream-further 0 syncopate run --program "$stream" "${job[@]}" --steps 30 --out "$work/stream"
for name in stream-sync stream-async; do
    run "$name-replay" 3 syncopate replay "$work/$name" --program "$stream"
    says "$name-replay" "its examples were a stream, which cannot be given again$"
    one_line "$name-replay"
done
ok "a stream is trained in every mode, in virtual time and further, and not replayed"

# --- texts that are commands -----------------------------------------------------------------------
# The name of the program and of its data stand in each file of the run.
texts=("; touch $work/owned #" "\$(touch $work/owned)" "touch $work/owned" "|touch $work/owned|" "/bin/sh -c 'touch $work/owned'")
for i in "${!texts[@]}"; do
    named="$program --name $(printf %q "${texts[i]}")"
    makes "text-$i" "$named" --mode async --workers 2
    for command in replay evaluate inspect; do
        run "text-$i-$command" "$([ $command = inspect ] && echo 0 || echo 3)" syncopate "$command" "$work/text-$i"
    done
    run "text-$i-further" 3 syncopate run "${job[@]}" --steps 30 --mode async --workers 2 --out "$work/text-$i"
    run "text-$i-again" 0 syncopate replay "$work/text-$i" --program "$named"
    run "text-$i-score" 0 syncopate evaluate "$work/text-$i" --program "$named"
    run "text-$i-resume" 0 syncopate run --program "$named" "${job[@]}" --steps 30 --mode async --workers 2 --out "$work/text-$i"
    run "text-$i-export" 0 syncopate export "$work/text-$i" --out "$work/text-$i.safetensors"
    if grep -rqaF "$build/tests/programs" "$work/text-$i"; then fail "text-$i: a file of the run has the command"; fi
    if [ -e "$work/owned" ]; then fail "text-$i: the text of a run was run"; fi
done
ok "a run's texts start nothing: replay, evaluate, inspect, export, resume; and none is the program's command"
nothing_runs

# --- the Python package -----------------------------------------------------------------------------
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
# alike NAME OTHER - the same bits, and the same score.
alike()
{
    local figure
    for figure in parameters_sha256 test_loss; do
        if [ "$(member "$work/$1" $figure)" != "$(member "$work/$2" $figure)" ]; then fail "$1 has another $figure than $2"; fi
    done
}

trains numpy "$examples/softmax.py" run --steps 300 --ps 0 --workers 1 --quiet
trains numpy-two "$examples/softmax.py" run --steps 300 --workers 2 --ps 2 --quiet
trains numpy-virtual "$examples/softmax.py" simulate --steps 300 --workers 16 --ps 1 --quiet
alike numpy-two numpy
alike numpy-virtual numpy
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
trains torch-alone "$net" run "${job[@]}" --ps 0 --workers 1
while read -r name words; do
    # shellcheck disable=SC2086
    trains "$name" "$net" $words "${job[@]}"
    alike "$name" torch-alone
done <<'END'
two run --workers 2 --ps 2 --overlap
three run --workers 3 --ps 1 --transport tcp
allreduce run --mode allreduce --workers 2 --overlap
virtual simulate --workers 16 --ps 2
END
ok "dropout, a tied weight and BatchNorm in PyTorch: the same bits and scores by one process, by 2 and 3 workers, overlap, tcp, allreduce, 16 virtual workers"

# Each leaf takes 20 ms, so that the job is at work for seconds after its first checkpoint.
sed 's/^    out = /    __import__("time").sleep(0.02)\n&/' "$net" >"$work/slow.py"
(cd "$work" && exec "$python" slow.py run "${job[@]}" --workers 2 --checkpoint-every 4 --out "$work/killed") >"$work/killed.log" 2>&1 </dev/null &
pids[killed]=$!
within 60 grep -qs '"event": "checkpoint"' "$work/killed/events.jsonl" || fail "killed does not get on"
kill -KILL "$(pgrep -nf "^$python $work/slow.py$")"
ends killed 0 60
grep -q 'the program was killed by signal 9' "$work"/killed/logs/worker-?.log || fail "killed: no program was started again"
alike killed torch-alone
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
alike notebook-virtual torch-alone
alike notebook-solo torch-alone
ok "a notebook's net is trained by simulate() and by solo(), with the bits of a run; Ctrl-C stops a job in its order"
nothing_runs
