#!/usr/bin/env bash
# voices.sh - what programs tell people: processes started by hand say how training goes and where
# the result is, the launcher says it once, every figure is the same wherever it stands, and whoever
# does not read holds up nobody.
# test: later
# promises: progress run
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:2000 --model softmax --seed 3)
timed=(--compute constant:25ms) # Some three seconds, whatever this machine is doing.
steps=32 # Updates an epoch of 2,000 examples.

# speaks NAME PROGRAM ARGUMENT... - start, with report and log in files of their own.
speaks()
{
    env --default-signal=INT "$build/$2" "${@:3}" >"$work/$1.out" 2>"$work/$1.log" </dev/null &
    pids[$1]=$!
}
# told NAME PATTERN [COUNT] - its report has so many lines like that.
told()
{
    local count
    count=$(grep -cE -- "$2" "$work/$1.out" || true)
    if [ "$count" -ne "${3:-1}" ]; then
        cp "$work/$1.out" "$work/$1-report.log"
        fail "$1 reports $count times, not ${3:-1}: $2"
    fi
}
rounded() { awk -v value="$(member "$1" "$2")" -v times="${4:-1}" "BEGIN { printf \"%.$3f\", value * times }"; }

# One figure of the last epoch, in its line, in the summary and in run.json.
same_figures()
{
    local loss accuracy
    loss=$(rounded "$2" train_loss 4) accuracy=$(rounded "$2" train_accuracy 2 100)
    told "$1" "^epoch 2  step $((2 * steps))  loss $loss  accuracy $accuracy %  test loss [0-9.]+, [0-9.]+ %$"
    told "$1" "^  train loss +$loss, accuracy $accuracy % \(mean over epoch 2 as trained\)$"
    if [ "$(member "$2" train_epoch)" != 2 ] || [ "$(member "$2" train_examples)" != 2000 ]; then
        fail "$1: train_loss is of $(member "$2" train_examples) examples of epoch $(member "$2" train_epoch)"
    fi
}

# --- by hand ------------------------------------------------------------------------------------
declare -A ports=()
# server HOW START ARGUMENT..., worker HOW INDEX ARGUMENT... - of one of three jobs of two workers.
server()
{
    ports[$1]=$(free_port)
    "$2" "$1-ps" syncopate-ps --ps-hosts "127.0.0.1:${ports[$1]}" --out "$work/$1" "${@:3}"
}
worker()
{
    speaks "$1-$2" syncopate-worker --task-index "$2" --ps-hosts "127.0.0.1:${ports[$1]}" \
        --workers 2 "${small[@]}" --epochs 2 "${timed[@]}" "${@:3}"
}
server sync speaks --log-every 0.1
server async speaks --log-every 0.1
server together start --log-every 0.1 # Report and log in one place.
worker sync 0 --mode sync --log-every 1
worker async 0 --mode async --log-every 1
worker together 0
says together-ps "Z ps/0 waiting .* for worker/1" 20
within 20 grep -q "^waiting .* for worker/1" "$work/sync-ps.out" || fail "no report of who is missing"
worker sync 1 --mode sync
worker async 1 --mode async
worker together 1
for how in sync async together; do
    for name in ps 0 1; do ends "$how-$name" 0; done
done
for how in sync async; do
    told "$how-ps" "^training on 2,000 examples, $steps batches an epoch, $((2 * steps)) in all$"
    told "$how-ps" "^epoch 1  step $steps  loss [0-9.]+  accuracy [0-9.]+ %  test loss"
    same_figures "$how-ps" "$work/$how"
    told "$how-ps" "^$how, 1 server, 2 workers: done$"
    told "$how-ps" "^  files +$work/$how:$"
    told "$how-ps" "^                 run.json .*checkpoints/"
    told "$how-ps" "^                 model.safetensors"
    lines=$(grep -cE "^epoch [0-9.]+ of 2  step [0-9]+ of 64  loss [0-9.]+ " "$work/$how-ps.out" || true)
    if [ "$lines" -lt 1 ]; then fail "$how: there are no progress lines with --log-every 0.1"; fi
    if grep -qE "^[0-9]{4}-" "$work/$how-ps.out"; then fail "the log is in the report"; fi
    for name in 0 1; do
        if [ -s "$work/$how-$name.out" ]; then fail "worker $name reports, too"; fi
    done
    says "$how-0" "ignored, as options of syncopate-ps: --log-every$"
    ok "$how by hand: server 0 reports training, epochs and result; progress lines: $lines"
done
says together-ps "^training on"
if said together-ps "^waiting"; then fail "who is waited for is said twice"; fi
if grep -qvE "^(20[0-9-]+T[0-9:.]+Z ps/0 |training on|epoch |sync, 1 server|  +[a-z0-9(])" \
    "$work/together-ps.log"
then
    fail "report and log are mixed up"
fi
ok "report and log in one place: whole lines, and nothing said twice"

# --- alone --------------------------------------------------------------------------------------
speaks alone syncopate-worker --ps 0 --out "$work/alone" "${small[@]}" --epochs 2 "${timed[@]}" --log-every 0.1
ends alone 0
same_figures alone "$work/alone"
told alone "^  files +$work/alone:$"
told alone "^                 run.json"
told alone "^epoch [0-9.]+ of 2  step [0-9]+ of 64 " "$(grep -c " of 2  step " "$work/alone.out")"
if ! grep -q " of 2  step " "$work/alone.out"; then fail "a worker alone has no progress lines"; fi
ok "a worker that trains alone reports the same"

# --- stopped ------------------------------------------------------------------------------------
# has_progressed COUNT - times.
has_progressed() { [ "$(grep -cs '"event": "progress"' "$work/stopped/events.jsonl" || true)" -ge "$1" ] 2>/dev/null; }
port=$(free_port)
stopped=(--ps-hosts "127.0.0.1:$port")
job=("${small[@]}" --steps 100000 --checkpoint-every 0 --workers 1)
speaks stop-ps syncopate-ps "${stopped[@]}" --out "$work/stopped"
speaks stop-0 syncopate-worker "${stopped[@]}" "${job[@]}" --slow 0:50
within 20 has_progressed 1 || fail "the job to stop makes no progress"
kill -INT "${pids[stop-ps]}"
ends stop-ps 130
ends stop-0 130
says stop-0 "worker/0 done exit=130 reason: stopped$"
told stop-ps "^sync, 1 server, 1 worker: stopped"
told stop-ps "^the same commands with --out $work/stopped go on from there$"
speaks again-ps syncopate-ps "${stopped[@]}" --out "$work/stopped"
says again-ps "listening on"
kill -INT "${pids[again-ps]}"
ends again-ps 130
if [ -s "$work/again-ps.out" ]; then fail "a session that did not begin reports one"; fi
reached=$(member "$work/stopped" step)
before=$(grep -c '"event": "progress"' "$work/stopped/events.jsonl")
speaks more-ps syncopate-ps "${stopped[@]}" --out "$work/stopped"
speaks more-0 syncopate-worker "${stopped[@]}" "${job[@]}" --slow 0:50
# Not only begun, which the server says before its worker has heard so.
within 20 has_progressed $((before + 1)) || fail "the job does not go on"
kill -INT "${pids[more-ps]}"
ends more-ps 130
ends more-0 130
told more-ps "; going on after batch $(awk -v n="$reached" 'BEGIN { while (n >= 1000) { r = sprintf(",%03d%s", n % 1000, r); n = int(n / 1000) } print n r }')$"
told more-ps "^  this session +from step "
if [ "$(member "$work/stopped" session_step)" != "$reached" ]; then
    fail "the session began at step $(member "$work/stopped" session_step), not $reached"
fi
ok "a job stopped by hand says how to go on, and then where it went on"

# --- under the launcher -------------------------------------------------------------------------
speaks launched syncopate run --out "$work/launched" "${small[@]}" --epochs 2
ends launched 0
same_figures launched "$work/launched"
told launched "^training on 2,000 examples"
told launched "^sync, 1 server, 2 workers: done$"
if [ "$(grep -c . "$work/launched/logs/ps-0.log")" -lt 3 ]; then fail "server 0 has no log"; fi
if grep -qvE "^20[0-9-]+T[0-9:.]+Z ps/0 " "$work/launched/logs/ps-0.log"; then
    fail "server 0 reports in its log: $(grep -vE "^20" "$work/launched/logs/ps-0.log" | head -n 1)"
fi
if grep -q "ignored" "$work"/launched/logs/*.log; then fail "the launcher's children are given what is not theirs"; fi
ok "under the launcher the report is there once, and logs are logs"

# --- whoever does not read ----------------------------------------------------------------------
# The job needs more room than a pipe has: a log that waits would never come to its end.
mkfifo "$work/pipe"
exec 3<>"$work/pipe" # Somebody who could read.
deaf()
{
    head -c 65536 /dev/zero >"$work/pipe" # All the room there is.
    "$build/$2" "${@:3}" >"$work/pipe" 2>&1 </dev/null &
    pids[$1]=$!
}
port=$(free_port)
deaf deaf-ps syncopate-ps --ps-hosts "127.0.0.1:$port" --out "$work/deaf" --log-every 0.001 --verbose
speaks deaf-0 syncopate-worker --ps-hosts "127.0.0.1:$port" --workers 1 "${small[@]}" --epochs 2
ends deaf-0 0
ends deaf-ps 0
exec 3>&-
if [ "$(member "$work/deaf" state)" != "done" ]; then fail "the job is not done"; fi
port=$(free_port)
speaks gone-0 syncopate-worker --ps-hosts "127.0.0.1:$port" --workers 1 "${small[@]}" --epochs 2
if [ "$("$build/syncopate-ps" --ps-hosts "127.0.0.1:$port" --out "$work/gone" 2>"$work/gone-ps.log" | head -n 1)" \
    != "training on 2,000 examples, $steps batches an epoch, $((2 * steps)) in all" ]; then
    fail "the first line of a report is another"
fi
ends gone-0 0
if [ "$(member "$work/gone" state)" != "done" ]; then fail "the job ended with its reader"; fi
ok "a job goes on whoever stops reading, or goes"

# --- logs ---------------------------------------------------------------------------------------
speaks json syncopate run --out "$work/json" "${small[@]}" --epochs 1 --verbose --log-format json
ends json 0
for log in "$work/json.log" "$work"/json/logs/*.log; do
    if [ ! -s "$log" ] ||
        grep -qvE '^\{"time":"20[0-9-]+T[0-9:.]+Z","level":"(info|debug)","who":"[a-z]+/[0-9]","text":".*\}$' "$log"
    then
        fail "$log has lines that are no objects"
    fi
done
grep -q '"text":"done exit=0","exit":0}$' "$work/json.log" || fail "pairs are no members"
speaks wrong syncopate run --out "$work/wrong" --data /nowhere/at/all --log-format json
ends wrong 5
if [ "$(grep -cE '^\{.*"level":"error".*/nowhere/at/all.*\}$' "$work/wrong.log")" != 1 ]; then
    fail "what is wrong is said in another way"
fi
ok "--log-format json: every line of launcher, servers and workers is an object"
nothing_runs
