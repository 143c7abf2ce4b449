#!/usr/bin/env bash
# initial.sh - a run begins with the values of a file, a checkpoint or a run: the same bits in every mode, at every
# number of processes, resumed and replayed; and what does not fit is named before anything starts.
# promises: initial
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work"
digest_of() { sed -nE 's/^ *"initial_digest": "([0-9a-f]*)",?$/\1/p' "$1/run.json" | head -n 1; }

# Variables that are no multiple of 16 elements, in chunks that cut them.
job=(--data synthetic:400 --model "flatten, dense 5 relu, dense 10" --global-batch 32 --micro-batch 8 --quiet)
run before 0 syncopate run "${job[@]}" --seed 3 --steps 20 --ps 1 --workers 1 --out before
job+=(--seed 7 --chunk-bytes 256 --optimizer adam)

# begins NAME OPTION... - a run that begins with the values of the one before.
begins() { run "$1" 0 syncopate "${how:-run}" "${job[@]}" --initial "${from:-before}" --out "$1" "${@:2}"; }
# as NAME - it has the bits of all others.
as()
{
    local bits
    bits=$(member "$1" parameters_sha256)
    if [ -z "$bits" ] || [ "$bits" != "$expected" ]; then fail "$1 ends with '$bits', not with '$expected'"; fi
}

# --- one sha --------------------------------------------------------------------------------------
begins alone --steps 30 --ps 0
expected=$(member alone parameters_sha256)
run fresh 0 syncopate run "${job[@]}" --steps 30 --ps 0 --out fresh
if [ "$expected" = "$(member fresh parameters_sha256)" ]; then fail "alone begins as if nothing were given"; fi
begins one --steps 30 --ps 1 --workers 1; as one
begins two --steps 30 --ps 2 --workers 2; as two
begins replicas --steps 30 --ps 2 --workers 2 --mode allreduce; as replicas
begins beside --steps 30 --ps colocated --workers 2; as beside
how=simulate begins virtual --steps 30 --ps 2 --workers 3; as virtual
cmp -s alone/initial.safetensors two/initial.safetensors || fail "two keeps other initial values"
cmp -s before/model.safetensors two/initial.safetensors || fail "two keeps other values than it was given"
ok "a run begins with given values: the same bits alone, with servers, as replicas, beside workers, in virtual time"

from=before/model.safetensors begins file --steps 30 --ps 1 --workers 2; as file
from=before/checkpoints/step-000000000020 begins checkpoint --steps 30 --ps 1 --workers 2; as checkpoint
ok "a file, a checkpoint and a run give the same values"

begins resumed --steps 10 --ps 2 --workers 2
begins resumed --steps 30 --ps 1 --workers 1; as resumed
ok "a run that goes on, with other processes, ends with the same bits"

# Server 0 is killed before there is a checkpoint, and the file is gone: OUT has the values.
port=$(free_port) other=$(free_port)
hosts=127.0.0.1:$port,127.0.0.1:$other
cp before/model.safetensors moved.safetensors
by_hand=("${job[@]}" --steps 30 --ps-hosts "$hosts" --worker-hosts 127.0.0.1:1 --checkpoint-every 0)
SERVER0=(syncopate-ps --job-name ps --task-index 0 --ps-hosts "$hosts" --out killed)
holds ps0 "ps/0 updated:5" start ps0 "checked/${SERVER0[0]}" "${SERVER0[@]:1}" --initial moved.safetensors
start ps1 syncopate-ps --job-name ps --task-index 1 --ps-hosts "$hosts" --out elsewhere
start worker0 syncopate-worker --job-name worker --task-index 0 "${by_hand[@]}" --initial before
reached ps0
murder ps0
rm moved.safetensors
start again "${SERVER0[@]}"
for name in again ps1 worker0; do ends "$name" 0 40; done
as killed
says again "beginning with given values"
ok "a server 0 that is killed before the first checkpoint begins with them again, out of its own folder"

# --- replay ---------------------------------------------------------------------------------------
begins async --steps 60 --ps 2 --workers 3 --mode async
run replayed 0 syncopate replay async
says replayed "as recorded"
cp alone/model.safetensors async/initial.safetensors
run spoilt 3 syncopate replay async
says spoilt "initial values: [0-9a-f]{8}\.\.\. in async/initial.safetensors, [0-9a-f]{8}\.\.\. in the job"
one_line spoilt
rm async/initial.safetensors
run lost 3 syncopate replay async
says lost "async/initial.safetensors is missing"
ok "an async run is replayed to the bit from the values that it keeps; others are noticed"

# --- of a program ---------------------------------------------------------------------------------
# It gives the values that --model has by the seed.
export LAYERS=$build/tests/programs/layers
given="\"\$LAYERS\" 'flatten, dense 5 relu, dense 10' synthetic:400 7 --given 1"
expected=$(member fresh parameters_sha256)
asks() { run "$1" 0 syncopate "${how:-run}" --program "$given" --seed 7 --chunk-bytes 256 --optimizer adam \
    --global-batch 32 --micro-batch 8 --quiet --out "$1" "${@:2}"; }
asks asked --steps 30 --ps 0; as asked
asks asked-two --steps 10 --ps 2 --workers 2
asks asked-two --steps 30 --ps 1 --workers 1; as asked-two
how=simulate asks asked-virtual --steps 30 --ps 2 --workers 3; as asked-virtual
if [ ! -s asked/initial.safetensors ]; then fail "asked does not keep what it began with"; fi
cmp -s asked/initial.safetensors asked-two/initial.safetensors || fail "asked-two began with other values"
asks asked-async --steps 60 --ps 2 --workers 2 --mode async
run asked-replay 0 syncopate replay asked-async --program "$given"
says asked-replay "parameters_sha256 [0-9a-f]*: as recorded"
run asked-compare 0 syncopate compare --program "$given" --seeds 2 --workers 1 --modes async,sync --steps 10 \
    --global-batch 32 --micro-batch 8 --out asked-compare
for seed in 1 2; do
    if [ ! -s "asked-compare/runs/sync-w1-s$seed/initial.safetensors" ]; then
        fail "asked-compare has no initial values of seed $seed"
    fi
done
ok "the initial values that a program gives are those of every mode, resumed, replayed and compared"

expected=$(member alone parameters_sha256)
asks tuned --steps 30 --ps 1 --workers 2 --initial before; as tuned
ok "--initial takes the place of a program's own values"

# --- what does not fit ----------------------------------------------------------------------------
# refused NAME CODE PATTERN OPTION... - in one line, and nothing is begun.
refused()
{
    run "$1" "$2" syncopate run --data synthetic:400 --steps 5 --quiet --out none "${@:4}"
    says "$1" "$3"
    one_line "$1"
    if [ -e none ]; then fail "$1 begins all the same"; fi
}
refused shape 3 "has dense1/kernel \[784,5\], and the model's is \[784,10\]; it has dense1/bias" --initial before --model softmax
refused absent 3 "has no dense3/kernel \[10,10\]; it has no dense3/bias \[10\] \(--initial-missing new" \
    --initial before --model "flatten, dense 5 relu, dense 10, dense 10"
refused shape-new 3 "has dense2/bias \[10\], and the model's is \[4\]" \
    --initial before --initial-missing new --model "flatten, dense 5 relu, dense 4, dense 10"
refused nothing 5 "cannot read nowhere" --initial nowhere
part=$(echo before/checkpoints/step-000000000020/part-0*)
refused part 5 "is one server's part of a checkpoint" --initial "$part"
ok "a variable that the file does not have in this shape is named before anything starts"

larger=(--data synthetic:400 --model "flatten, dense 5 relu, dense 10, dense 10" --steps 5 --quiet)
run new 0 syncopate run "${larger[@]}" --initial before --initial-missing new --out new --ps 0
run new-two 0 syncopate run "${larger[@]}" --initial before --initial-missing new --out new-two --workers 2
if [ "$(member new parameters_sha256)" != "$(member new-two parameters_sha256)" ]; then
    fail "new variables begin otherwise with two workers"
fi
grep -q glorot_uniform new/run.json || fail "no variable of new begins by the seed"
ok "--initial-missing new: other variables begin by the seed"

# Two workers whose files differ.
port=$(free_port)
by_hand=("${job[@]}" --steps 30 --ps-hosts "127.0.0.1:$port" --worker-hosts "127.0.0.1:1,127.0.0.1:2")
start odd-ps syncopate-ps --job-name ps --task-index 0 --ps-hosts "127.0.0.1:$port" --out odd --initial before
start odd0 syncopate-worker --job-name worker --task-index 0 "${by_hand[@]}" --initial before
says odd-ps "worker/0" 20
start odd1 syncopate-worker --job-name worker --task-index 1 "${by_hand[@]}" --initial alone
ends odd1 3 40
says odd1 "initial values: [0-9a-f]{8}\.\.\. in the running job, [0-9a-f]{8}\.\.\. in worker/1"
kill -TERM "${pids[odd-ps]}" "${pids[odd0]}"
within 20 gone odd-ps || fail "odd-ps does not end"
within 20 gone odd0 || fail "odd0 does not end"
wait "${pids[odd-ps]}" "${pids[odd0]}" || true
ok "a worker whose file has other values is refused, with both digests"

# A server 0 whose file differs from the workers'.
port=$(free_port)
by_hand=("${job[@]}" --steps 30 --ps-hosts "127.0.0.1:$port" --worker-hosts 127.0.0.1:1)
start mine syncopate-ps --job-name ps --task-index 0 --ps-hosts "127.0.0.1:$port" --out mine --initial alone
start mine0 syncopate-worker --job-name worker --task-index 0 "${by_hand[@]}" --initial before
within 40 gone mine || fail "a server 0 with other values goes on"
says mine0 "initial values: [0-9a-f]{8}\.\.\. in alone, [0-9a-f]{8}\.\.\. in the job"
within 20 gone mine0 || fail "mine0 does not end"
wait "${pids[mine]}" "${pids[mine0]}" || true
nothing_runs
ok "a server 0 whose file has other values than the job declares ends it, with both digests"
