#!/usr/bin/env bash
# wrong_input.sh - what people and machines get wrong is answered by one clear line and the right
# exit code; nothing is left running and nothing overwritten.
# test: first asan
# promises: environment exit-codes
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

quick=(--data synthetic:200 --model softmax --steps 5 --quiet)
count=0

# refused CODE PATTERN PROGRAM ARGUMENT... - it must end with this code and say this in one line.
refused()
{
    local code=$1 pattern=$2 name
    count=$((count + 1))
    name=refused-$count
    run "$name" "$code" "${@:3}"
    if ! said "$name" "$pattern"; then fail "${*:3} does not say: $pattern"; fi
    one_line "$name"
    nothing_runs
}
# A path that must not have come into being.
absent() { if [ -e "$1" ]; then fail "$1 was made"; fi; }
# Everything under a folder, to compare.
snapshot() { (cd "$1" && find . -type f -exec sha256sum {} + | sort); }

# --- options --------------------------------------------------------------------------------------
refused 2 "unknown option --lerning-rate.*--learning-rate" syncopate run --lerning-rate 0.1
refused 2 "mode.*parallel" syncopate run --mode parallel --out "$work/none"
refused 2 "epochs.*many" syncopate run --epochs many --out "$work/none"
refused 2 "workers.*0" syncopate run --workers 0 --out "$work/none"
refused 2 "use-locking" syncopate run --mode sync --use-locking --out "$work/none"
refused 2 "task-index" syncopate-worker --ps-hosts 127.0.0.1:1 --worker-hosts a:1,b:1 --task-index 5
refused 2 "ps-hosts" syncopate-ps --task-index 1
refused 2 "127.0.0.1" syncopate-worker --ps-hosts 127.0.0.1 --workers 1
absent "$work/none"
ok "unknown options and values are usage errors"

SYNCOPATE_WORKER=3 refused 2 "variable SYNCOPATE_WORKER .*did you mean SYNCOPATE_WORKERS" \
    syncopate run --out "$work/none"
SYNCOPATE_WORKER=3 refused 2 "SYNCOPATE_WORKERS" syncopate-ps --bind 127.0.0.1:0
refused 2 "localhost:7000 is a different host for everyone.*beta:7000 is not" \
    syncopate-ps --ps-hosts localhost:7000,beta:7000 --insecure
refused 2 "a:7000 is named twice" syncopate-worker --ps-hosts a:7000,tcp://a:7000 --workers 1
refused 2 "global-batch=0" syncopate-ps --bind 127.0.0.1:0 --global-batch 0
refused 2 "max-restarts is not an option of this program .of syncopate run" \
    syncopate-worker --ps-hosts a:1 --workers 1 --max-restarts 1
absent "$work/none"
ok "misspelt variables, hosts that cannot be meant and options of nobody here are usage errors"

# One list of options for all four processes of a job: each says what it leaves to the others.
port=$(free_port)
both=(--ps-hosts "tcp://127.0.0.1:$port,127.0.0.1:$(free_port)" --workers 2 "${quick[@]:0:6}"
    --seed 3 --insecure --restore never --out "$work/one-list")
for i in 0 1; do
    start "list-ps$i" syncopate-ps --task-index "$i" "${both[@]}"
    start "list-worker$i" syncopate-worker --task-index "$i" "${both[@]}"
done
for i in 0 1; do
    ends "list-ps$i" 0
    ends "list-worker$i" 0
    says "list-ps$i" "ignored, as options of syncopate-worker: .*--model, .*--seed, .*--workers"
    says "list-worker$i" "ignored, as options of syncopate-ps: --insecure, --out, --restore"
done
run inspected 5 syncopate inspect "tcp://127.0.0.1:$port"
says inspected "no server 0 answers: connection refused by 127.0.0.1:$port: nothing"
ok "one list of options serves servers and workers, and tcp:// is understood"

# --- data -----------------------------------------------------------------------------------------
images=(syncopate run --model softmax --steps 2 --global-batch 40 --quiet --out "$work/none" --data)
idx "$work/whole"
run whole 0 syncopate run --model softmax --steps 2 --global-batch 40 --quiet --out "$work/whole-out" \
    --data "$work/whole"

refused 5 "nowhere.*No such file" "${images[@]}" "$work/nowhere"
idx "$work/missing"
rm "$work/missing/train-labels-idx1-ubyte"
refused 5 "train-labels-idx1-ubyte" "${images[@]}" "$work/missing"
idx "$work/cut"
truncate --size=-1 "$work/cut/t10k-images-idx3-ubyte"
refused 5 "t10k-images-idx3-ubyte" "${images[@]}" "$work/cut"
idx "$work/cut-gz"
gzip "$work/cut-gz/train-images-idx3-ubyte"
truncate --size=-9 "$work/cut-gz/train-images-idx3-ubyte.gz"
refused 5 "train-images-idx3-ubyte.gz" "${images[@]}" "$work/cut-gz"
idx "$work/labels"
printf '\12' | dd of="$work/labels/train-labels-idx1-ubyte" bs=1 seek=15 conv=notrunc status=none
refused 5 "train-labels-idx1-ubyte.*(label|10)" "${images[@]}" "$work/labels"
idx "$work/fewer"
{ be32 0x801; be32 39; head -c 39 /dev/zero; } >"$work/fewer/train-labels-idx1-ubyte"
refused 5 "40.*39|39.*40" "${images[@]}" "$work/fewer"
absent "$work/none"
ok "missing, truncated and contradictory data and labels out of range are named"

# --- model ----------------------------------------------------------------------------------------
for model in "pool 40, dense 10" "conv 8x5 relu, dense 9" "convolve 3" "dense 10, conv 8x3" ""; do
    refused 2 "." syncopate run --model "$model" --data synthetic:200 --out "$work/none"
done
# What only a worker can tell, which has read the images: 8x8.
refused 2 "pool|8x8" syncopate run --global-batch 40 --model "pool 9, flatten, dense 10" --data "$work/whole" --out \
    "$work/none"
absent "$work/none"
ok "a layer list that does not fit is a usage error"

# --- addresses ------------------------------------------------------------------------------------
port=$(free_port)
start holder syncopate-ps --ps-hosts "127.0.0.1:$port" --out "$work/holder"
says holder listening
refused_while_running()
{
    run "$1" "$2" "${@:4}"
    if ! said "$1" "$3"; then fail "${*:4} does not say: $3"; fi
    one_line "$1"
}
refused_while_running in-use 5 "127.0.0.1:$port.*in use" \
    syncopate-ps --ps-hosts "127.0.0.1:$port" --out "$work/none"
kill -TERM "${pids[holder]}"
ends holder 143
nothing_runs
absent "$work/holder"
absent "$work/none"
ok "a port in use is named, and the server that has it goes on until it is asked to stop"

refused 5 "nowhere.invalid" syncopate-ps --ps-hosts nowhere.invalid:4711 --out "$work/none"
refused 5 "no such address" syncopate-ps --ps-hosts 192.0.2.1:4711 --insecure --out "$work/none"
lonely=$(free_port)
start no-name syncopate-worker --ps-hosts nowhere.invalid:4711 --workers 1 "${quick[@]}" \
    --start-timeout 1
start no-ps syncopate-worker --ps-hosts "127.0.0.1:$port" --workers 1 "${quick[@]}" \
    --start-timeout 1
start no-ps0 syncopate-ps --task-index 1 --start-timeout 2 --out "$work/none" \
    --ps-hosts "127.0.0.1:$port,127.0.0.1:0"
start no-worker syncopate-ps --ps-hosts "127.0.0.1:$lonely" --start-timeout 1 --out "$work/none"
# gives_up NAME PATTERN
gives_up()
{
    ends "$1" 4
    says "$1" "error: start timed out.*$2"
    one_line "$1"
}
gives_up no-name "nowhere.invalid:4711: host name does not resolve"
gives_up no-ps "connection refused by 127.0.0.1:$port: nothing listens there; is syncopate-ps running"
gives_up no-ps0 "connection refused by 127.0.0.1:$port"
gives_up no-worker "no worker has declared a job"
nothing_runs
absent "$work/none"
ok "hosts that do not resolve, do not exist here or do not answer are named"

other=$(free_port)
start half-ps0 syncopate-ps --ps-hosts "127.0.0.1:$port,127.0.0.1:$other" --out "$work/half" \
    --start-timeout 3
start half-worker0 syncopate-worker --ps-hosts "127.0.0.1:$port,127.0.0.1:$other" --workers 1 \
    "${quick[@]}"
for name in half-ps0 half-worker0; do
    ends "$name" 4
    says "$name" "error: start timed out after .* waiting for ps/1 \(never seen\)"
    one_line "$name"
done
nothing_runs
ok "a server missing at start is named, with exit code 4 for all"

# --- --out ------------------------------------------------------------------------------------------
run finished 0 syncopate run "${quick[@]}" --out "$work/finished"
before=$(snapshot "$work/finished")
refused 5 "finished" syncopate run "${quick[@]}" --out "$work/finished"
refused 5 "finished" syncopate run "${quick[@]}" --ps 0 --out "$work/finished"
# The servers refuse by themselves too, when no launcher has looked first.
start direct-ps syncopate-ps --ps-hosts "127.0.0.1:$port" --out "$work/finished"
start direct-worker syncopate-worker --ps-hosts "127.0.0.1:$port" --workers 1 "${quick[@]}"
for name in direct-ps direct-worker; do
    ends "$name" 5
    one_line "$name"
done
mkdir "$work/others"
echo precious >"$work/others/thesis.txt"
refused 5 "others" syncopate run "${quick[@]}" --out "$work/others"
if [ "$(snapshot "$work/finished")" != "$before" ]; then fail "a finished run was changed"; fi
if [ "$(ls "$work/others")" != thesis.txt ]; then fail "a folder of other things was changed"; fi
ok "--out of a finished run or with other files in it is refused and stays as it is"

touch "$work/file"
refused 5 "file" syncopate run "${quick[@]}" --out "$work/file"
refused 5 "file/below" syncopate run "${quick[@]}" --out "$work/file/below"
if [ "$(id -u)" -ne 0 ]; then
    mkdir -m 555 "$work/read-only"
    refused 5 "read-only/run" syncopate run "${quick[@]}" --out "$work/read-only/run"
elif [ -d /proc/1 ]; then # Root may write everywhere but there.
    refused 5 "/proc/1" syncopate run "${quick[@]}" --out /proc/1/run
fi
ok "an --out that cannot be written is named"

# --- a full disk ------------------------------------------------------------------------------------
# The folder is made and claimed, the model of 94 KB (with its slots) does not fit.
clean_up_more() { if [ -n "${mounted:-}" ]; then umount -l "$work/disk"; fi; }
mkdir "$work/disk"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k syncopate-test "$work/disk" 2>/dev/null; then
    mounted=yes
    refused 5 "No space left" syncopate run "${quick[@]}" --ps 2 --out "$work/disk/run"
    refused 5 "No space left" syncopate run "${quick[@]}" --ps 0 --out "$work/disk/alone"
    if [ -e "$work/disk/run/model.safetensors" ]; then fail "half a model lies on a full disk"; fi
    ok "a full disk is named, and nothing half-written counts"
else
    skip "a full disk: only root may mount a small one (and a container may not)"
fi

# --- damaged checkpoints ----------------------------------------------------------------------------
# A run of 30 steps with checkpoints at 10, 20 and 30: made in three pieces, because one that falls due while the
# one before is being written is skipped, and the last of a piece never is.
long=(--data synthetic:200 --model softmax)
for steps in 10 20 30; do
    run thirty 0 syncopate run "${long[@]}" --steps $steps --checkpoint-every 10 --ps 2 --out "$work/thirty"
done
straight=$work/straight
run straight 0 syncopate run "${long[@]}" --steps 40 --out "$straight"
part() { echo "$1/checkpoints/step-$(printf %012d "$2")"/part-0-of-2*.safetensors; } # Each piece has a name of its own.
# unfinished NAME - a copy that counts as stopped, so that it may be resumed.
unfinished()
{
    cp -r "$work/thirty" "$work/$1"
    sed -i 's/"state": "done"/"state": "stopped"/' "$work/$1/run.json"
}
flip() { printf '\377' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 9)) conv=notrunc status=none; }

unfinished flipped
flip "$(part "$work/flipped" 30)"
run flipped 0 syncopate run "${long[@]}" --steps 40 --out "$work/flipped"
says flipped "warning: .*damaged.*part-0-of-2"
if [ "$(model_hash "$work/flipped")" != "$(model_hash "$straight")" ]; then
    fail "falling back changed the result"
fi
unfinished truncated
truncate --size=-100 "$(part "$work/truncated" 30)"
run truncated 0 syncopate run "${long[@]}" --steps 40 --ps 0 --out "$work/truncated"
says truncated "warning: .*damaged.*part-0-of-2"
if [ "$(model_hash "$work/truncated")" != "$(model_hash "$straight")" ]; then
    fail "falling back without servers changed the result"
fi
ok "a damaged checkpoint is noticed, named, and the one before it is taken"

unfinished hopeless
for step in 10 20 30; do flip "$(part "$work/hopeless" "$step")"; done
before=$(snapshot "$work/hopeless/checkpoints")
refused 5 "checkpoint" syncopate run "${long[@]}" --steps 40 --out "$work/hopeless"
if [ "$(snapshot "$work/hopeless/checkpoints")" != "$before" ]; then
    fail "damaged checkpoints were changed"
fi
refused 5 "part-0-of-2" syncopate run "${long[@]}" --steps 40 --out "$work/none" \
    --restore "$(dirname "$(part "$work/hopeless" 20)")"
refused 5 "nothing-here" syncopate run "${long[@]}" --out "$work/none" \
    --restore "$work/nothing-here"
refused 5 "part-0-of-2" syncopate export "$(dirname "$(part "$work/hopeless" 30)")" \
    --out "$work/exported.safetensors"
absent "$work/exported.safetensors"
absent "$work/none/model.safetensors"
ok "without a whole checkpoint nothing is started anew by mistake"

refused 3 "optimizer: adam in the checkpoint, sgd in this job" syncopate run "${long[@]}" \
    --steps 40 --optimizer sgd --out "$work/sgd" \
    --restore "$(dirname "$(part "$work/thirty" 30)")"
ok "a checkpoint of another job is refused with both values"
