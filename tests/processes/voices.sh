#!/usr/bin/env bash
# voices.sh - what programs tell people and programs: processes started by hand report how training goes and where the
# result is, the launcher does it once, every figure is the same wherever it stands; --json is one object, --watch ends
# with the job, --quiet is quiet; and whoever does not read holds up nobody. What is told of times, controlled or not.
# test: later
# promises: compute inspect json progress run run-json trace-times
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
does() # NAME CODE ARGUMENT... - syncopate, to its end.
{
    speaks "$1" syncopate "${@:3}"
    ends "$1" "$2" 60
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
# is NAME MEMBER VALUE - of the object that it printed, which is all that it printed.
is()
{
    local value
    value=$("$build/tests/processes/json_value" "$work/$1.out" "$2") ||
        fail "$1 does not print an object with $2: $(head -c 200 "$work/$1.out")"
    if [ "$value" != "$3" ]; then fail "$1: $2 is $value, not $3"; fi
}
silent() # NAME
{
    if [ -s "$work/$1.out" ] || [ -s "$work/$1.log" ]; then
        fail "$1 says with --quiet: $(cat "$work/$1.out" "$work/$1.log")"
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
progressed() { [ "$(grep -cs '"event": "progress"' "$work/$1/events.jsonl" || true)" -ge "${2:-1}" ] 2>/dev/null; }

# --- by hand ------------------------------------------------------------------------------------
declare -A ports=()
# server HOW START, worker HOW INDEX ARGUMENT... - of a job of two workers.
server()
{
    ports[$1]=$(free_port)
    "$2" "$1-ps" syncopate-ps --ps-hosts "127.0.0.1:${ports[$1]}" --out "$work/$1" --log-every 0.1
}
worker()
{
    speaks "$1-$2" syncopate-worker --task-index "$2" --ps-hosts "127.0.0.1:${ports[$1]}" --workers 2 "${small[@]}" \
        --epochs 2 "${timed[@]}" "${@:3}"
}
server async speaks
server together start # Report and log in one place.
worker async 0 --mode async --log-every 1
worker together 0
says together-ps "Z ps/0 waiting .* for worker/1" 20
within 20 grep -q "^waiting .* for worker/1" "$work/async-ps.out" || fail "no report of who is missing"
worker async 1 --mode async
worker together 1
for how in async together; do
    for name in ps 0 1; do ends "$how-$name" 0; done
done
told async-ps "^training on 2,000 examples, $steps batches an epoch, $((2 * steps)) in all$"
told async-ps "^epoch 1  step $steps  loss [0-9.]+  accuracy [0-9.]+ %  test loss"
same_figures async-ps "$work/async"
told async-ps "^async, 1 server, 2 workers: done$"
told async-ps "^  files +$work/async:$"
grep -qE "^epoch [0-9.]+ of 2  step [0-9]+ of 64  loss [0-9.]+ " "$work/async-ps.out" || fail "no progress lines with --log-every 0.1"
if grep -qE "^[0-9]{4}-" "$work/async-ps.out"; then fail "the log is in the report"; fi
for name in 0 1; do
    if [ -s "$work/async-$name.out" ]; then fail "worker $name reports, too"; fi
done
says async-0 "ignored, as options of syncopate-ps: --log-every$"
says together-ps "^training on"
if said together-ps "^waiting"; then fail "who is waited for is said twice"; fi
if grep -qvE "^(20[0-9-]+T[0-9:.]+Z ps/0 |training on|epoch |sync, 1 server|  +[a-z0-9(])" "$work/together-ps.log"; then
    fail "report and log are mixed up"
fi
ok "by hand server 0 reports training, epochs and result, in whole lines beside its log"

# --- alone, stopped, under the launcher -----------------------------------------------------------
speaks alone syncopate-worker --ps 0 --out "$work/alone" "${small[@]}" --epochs 2 "${timed[@]}" --log-every 0.1
ends alone 0
same_figures alone "$work/alone"
if ! grep -q "^epoch [0-9.]* of 2  step " "$work/alone.out"; then fail "a worker alone has no progress lines"; fi
ok "a worker that trains alone reports the same"

stopped=(--ps-hosts "127.0.0.1:$(free_port)")
job=("${small[@]}" --steps 100000 --checkpoint-every 0 --workers 1 --slow 0:50)
speaks stop-ps syncopate-ps "${stopped[@]}" --out "$work/stopped"
speaks stop-0 syncopate-worker "${stopped[@]}" "${job[@]}"
within 20 progressed stopped || fail "the job to stop makes no progress"
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
speaks more-0 syncopate-worker "${stopped[@]}" "${job[@]}"
within 20 progressed stopped $((before + 1)) || fail "the job does not go on"
kill -INT "${pids[more-ps]}"
ends more-ps 130
ends more-0 130
told more-ps "; going on after batch $reached$"
told more-ps "^  this session +from step "
if [ "$(member "$work/stopped" session_step)" != "$reached" ]; then fail "the session did not begin at step $reached"; fi
ok "a job stopped by hand says how to go on, and then where it went on"

does launched 0 run --out "$work/launched" "${small[@]}" --epochs 2
same_figures launched "$work/launched"
told launched "^training on 2,000 examples"
told launched "^sync, 1 server, 2 workers: done$"
if grep -vE "^20[0-9-]+T[0-9:.]+Z ps/0 " "$work/launched/logs/ps-0.log"; then fail "server 0 reports in its log"; fi
if grep -q "ignored" "$work"/launched/logs/*.log; then fail "the launcher's children are given what is not theirs"; fi
ok "under the launcher the report is there once, and logs are logs"

# --- whoever does not read ------------------------------------------------------------------------
# The job needs more room than a pipe has: a log that waits would never come to its end.
mkfifo "$work/pipe"
exec 3<>"$work/pipe" # Somebody who could read.
head -c 65536 /dev/zero >"$work/pipe" # All the room there is.
port=$(free_port)
"$build/syncopate-ps" --ps-hosts "127.0.0.1:$port" --out "$work/deaf" --log-every 0.001 --verbose >"$work/pipe" 2>&1 </dev/null &
pids[deaf-ps]=$!
speaks deaf-0 syncopate-worker --ps-hosts "127.0.0.1:$port" --workers 1 "${small[@]}" --epochs 2
ends deaf-0 0
ends deaf-ps 0
exec 3>&-
port=$(free_port)
speaks gone-0 syncopate-worker --ps-hosts "127.0.0.1:$port" --workers 1 "${small[@]}" --epochs 2
"$build/syncopate-ps" --ps-hosts "127.0.0.1:$port" --out "$work/gone" 2>"$work/gone-ps.log" | head -n 1 >"$work/first"
ends gone-0 0
for run in deaf gone; do
    if [ "$(member "$work/$run" state)" != "done" ]; then fail "$run: the job ended with its reader"; fi
done
ok "a job goes on whoever stops reading, or goes"

does json 0 run --out "$work/json" "${small[@]}" --epochs 1 --verbose --log-format json
for log in "$work/json.log" "$work"/json/logs/*.log; do
    if [ ! -s "$log" ] ||
        grep -vE '^\{"time":"20[0-9-]+T[0-9:.]+Z","level":"(info|debug)","who":"[a-z]+/[0-9]","text":".*\}$' "$log"
    then
        fail "$log has lines that are no objects"
    fi
done
does wrong 5 run --out "$work/wrong" --data /nowhere/at/all --log-format json
grep -qE '^\{.*"level":"error".*/nowhere/at/all.*\}$' "$work/wrong.log" || fail "what is wrong is said in another way"
ok "--log-format json: every line of launcher, servers and workers is an object"

# --- for those who look on ------------------------------------------------------------------------
address=127.0.0.1:$(free_port)
speaks ps syncopate-ps --ps-hosts "$address" --out "$work/watched" --worker-timeout 600
says ps "listening on"
does idle 0 inspect "$address"
grep -qE "^state: waiting for a job, for [0-9]+ s$" "$work/idle.out" || fail "inspect does not say that it waits"
does idle-json 0 inspect "$address" --json
is idle-json state "waiting for a job"
for name in mode step steps workers train_loss exit_code; do is idle-json "$name" null; done
ok "inspect of a server without a job says that it waits, and invents nothing"

speaks watch syncopate inspect "$address" --watch --log-every 0.1
speaks watch-json syncopate inspect "$address" --watch --log-every 0.1 --json
within 10 grep -q "^waiting for a job" "$work/watch.out" || fail "--watch does not begin"
# Two epochs of one worker, 250 leaves: it is stopped long before they are done, whatever this machine is doing.
speaks worker syncopate-worker --ps-hosts "$address" --workers 1 "${small[@]}" --epochs 2 --compute constant:15ms \
    --worker-timeout 600 --report-every 1
shown() { progressed watched && grep -q "^running  epoch " "$work/watch.out"; }
within 20 shown || fail "the job does not get on"
kill -STOP "${pids[worker]}" # It runs as long as it is looked at.
does look 0 inspect "$address"
for line in "mode: sync" "train loss: [0-9.]+, accuracy [0-9.]+ % \(mean over [0-9,]+ examples? of epoch [12]\)" "window: batch .*"; do
    grep -qE "^$line$" "$work/look.out" || fail "inspect does not say $line"
done
does look-json 0 inspect "$address" --json
is look-json state running
is look-json steps 64
waits() { "$build/syncopate" inspect "$address" --json | grep -q '"waiting": "step [0-9]* waits for worker/0 on .*: nothing heard for'; }
within 10 waits || fail "inspect does not say for whom the step waits"
kill -CONT "${pids[worker]}"
for name in ps worker watch watch-json; do ends "$name" 0; done
if ! said watch "has gone$" && [ "$(tail -n 1 "$work/watch.out")" != "the job has ended; 64 of 64 updates; $work/watched" ]; then
    fail "--watch ends with: $(tail -n 1 "$work/watch.out")"
fi
"$build/tests/processes/json_value" "$work/watch-json.out" exit_code >"$work/codes" ||
    fail "--watch --json prints lines that are no objects"
# The last word of a server is said once: on a busy machine it may be lost with the server.
if said watch-json "has gone$"; then echo 0 >>"$work/codes"; fi
if [ "$(sed '$d' "$work/codes" | sort -u)" != null ] || [ "$(tail -n 1 "$work/codes")" != 0 ]; then
    fail "exit codes: $(tr '\n' ' ' <"$work/codes")"
fi
does late 5 inspect "$address" --watch
ok "--watch shows the job until it has ended, says how, and exits 0"

# --- objects --------------------------------------------------------------------------------------
does run 0 run --json --out "$work/run" "${small[@]}" --epochs 2 --workers 2
is run exit_code 0
is run state "done"
is run path "$work/run"
for name in step train_loss train_accuracy test_accuracy parameters_sha256 seconds; do is run "$name" "$(member "$work/run" "$name")"; done
grep -q "^epoch 2  step 64 " "$work/run.log" || fail "with --json progress is not on standard error"
does again 5 run --json --out "$work/run" "${small[@]}" --epochs 2 --workers 2
is again state failed
speaks stop syncopate run --json --out "$work/stop" "${small[@]}" --steps 100000 --compute constant:15ms
within 20 progressed stop || fail "the run to stop makes no progress"
kill -TERM "${pids[stop]}"
ends stop 143
is stop exit_code 143
is stop step "$(member "$work/stop" step)"
does score 0 evaluate "$work/run" --json
is score test_accuracy "$(member "$work/run" test_accuracy)"
does see-run 0 inspect "$work/run" --json
is see-run latest.step 64
does see-checkpoint 0 inspect "$(find "$work/run/checkpoints" -name 'step-*64')" --json
is see-checkpoint parameters_sha256 "$(member "$work/run" parameters_sha256)"
does see-model 0 inspect "$work/run/model.safetensors" --json
is see-model parameters 7850
ok "run --json: one object, of runs that are done, stopped, or fail; evaluate and inspect --json: one object each"

does quiet-run 0 run --quiet --out "$work/quiet-run" "${small[@]}" --epochs 1
does quiet-export 0 export "$work/run" --quiet --out "$work/model.safetensors"
does quiet-keygen 0 keygen "$work/keys" --quiet --workers 1
does quiet-verify 0 verify --quiet --seed 7
address=127.0.0.1:$(free_port)
speaks quiet-ps syncopate-ps --quiet --ps-hosts "$address" --out "$work/quiet-ps-run"
speaks quiet-worker syncopate-worker --quiet --ps-hosts "$address" --workers 1 "${small[@]}" --epochs 1
for name in ps worker; do ends "quiet-$name" 0; done
for name in run export keygen verify ps worker; do silent "quiet-$name"; done
does quiet-compare 0 compare --quiet --virtual --out "$work/quiet-compare" "${small[@]}" --epochs 1
if [ -s "$work/quiet-compare.log" ] || grep -E "^(run |epoch |training|  done)" "$work/quiet-compare.out"; then
    fail "compare --quiet says more than the table"
fi
does quiet-wrong 5 run --quiet --data "$work/nowhere"
one_line quiet-wrong
ok "--quiet: nothing but what is wrong, and results where they are what a command prints"

# --- seconds --------------------------------------------------------------------------------------
value() { "$build/tests/processes/json_value" "$work/$1/run.json" "$2"; }
for run in run stop launched; do # Each part is of no other, and none is left out.
    awk -v total="$(value $run total_seconds)" -v parts="$(value $run parts | tr -c '0-9.e+-' ' ')" 'BEGIN {
        n = split(parts, part, " "); for (i = 1; i <= n; i++) { sum += part[i]; if (part[i] < 0) exit 1 }
        exit !(n > 10 && total > 0 && sum - total < 2e-5 && total - sum < 2e-5) }' ||
        fail "$run: the parts do not add up to $(value $run total_seconds) s: $(value $run parts)"
done
ok "the parts of a run that is done or stopped add up to all its seconds"

# of_worker NAME FIELD INDEX - a number of worker_details; at_least WHAT NUMBER LEAST.
of_worker() { grep -oE "^      \"$2\": [0-9.e-]+" "$work/$1/run.json" | sed -n "$(($3 + 1))s/.*: //p"; }
at_least() { awk -v a="$2" -v b="$3" 'BEGIN { exit !(a >= b) }' || fail "$1 is $2, less than $3"; }
short=(--data synthetic:500 --model softmax --global-batch 32 --micro-batch 8 --checkpoint-every 0 --steps 10)
does plain 0 run "${short[@]}" --out "$work/plain" --workers 2
does leaves 0 run "${short[@]}" --out "$work/leaves" --workers 2 --compute constant:20ms --slow 1:2
at_least "what worker 0 computed in 20 leaves of 20 ms" "$(of_worker leaves compute_seconds 0)" 0.4
at_least "what worker 1 computed in 20 leaves of 40 ms" "$(of_worker leaves compute_seconds 1)" 0.8
does hermit 0 run "${short[@]}" --out "$work/hermit" --ps 0 --workers 1 --compute uniform:8ms,12ms
at_least "seconds of 40 leaves of 8 ms and more" "$(member "$work/hermit" seconds)" 0.32
for name in leaves hermit; do
    if [ "$(model_hash "$work/$name")" != "$(model_hash "$work/plain")" ]; then fail "$name has other bits than without --compute"; fi
done
ok "a leaf takes its time in sync training and alone, and no bit depends on it"

does bound 0 run "${short[@]}" --out "$work/bound" --workers 2 --compute constant:1us
told bound "leaf times +100.0 % of leaves took longer to compute than they should: processor-bound"
if [ "$(member "$work/bound" processor_bound)" != true ]; then fail "run.json does not say so"; fi
ok "where the processor is too slow for a time it is said"

does paused 0 run "${short[@]}" --mode async --out "$work/paused" --workers 1 --compute constant:1ms --pause 1:constant:50ms
at_least "what ten batches behind 50 ms took" "$(of_worker paused compute_seconds 0)" 0.5
# As if worker 0's had taken 30 to 32 ms and worker 1's 60 to 64 ms.
mkdir "$work/slower"
sed -E -e '/"least_ns"/c\        "least_ns": [TIMES],' -e 's/^( *"counts": ).*/\1[5]/' "$work/plain/run.json" |
    awk '/TIMES/ { sub(/TIMES/, ++seen == 1 ? "30408704" : "60817408") } { print }' >"$work/slower/run.json"
does drawn 0 run "${short[@]}" --workers 2 --out "$work/drawn" --compute "trace:$work/slower"
at_least "what worker 0 computed in 20 leaves of 30 ms" "$(of_worker drawn compute_seconds 0)" 0.6
at_least "what worker 1 computed in 20 leaves of 60 ms" "$(of_worker drawn compute_seconds 1)" 1.2
does virtual 0 simulate "${short[@]}" --workers 2 --out "$work/virtual" --compute "trace:$work/slower"
at_least "what virtual worker 1 computed" "$(of_worker virtual compute_seconds 1)" 1.2
at_least "1.3 s, and virtual worker 1's" 1.3 "$(of_worker virtual compute_seconds 1)"
does refused 5 run "${short[@]}" --workers 2 --out "$work/refused" --compute "trace:$work/virtual"
says refused "--compute: .*/virtual is a run in virtual time"
ok "--compute trace:RUN: each worker's leaves take what a real run's took, in real and in virtual time; --pause is a pause"

# A computation of an hour is nothing to wait for when the worker leaves, or trains alone and is to stop.
address=127.0.0.1:$(free_port)
start stayer syncopate-ps --ps-hosts "$address" --out "$work/left" --recovery-timeout 1
start leaver syncopate-worker --ps-hosts "$address" --workers 1 "${short[@]}" --on-term leave --compute constant:3600s
says stayer "training starts" 20
kill -TERM "${pids[leaver]}"
ends leaver 143 15
ends stayer 195 15
start lonely syncopate-worker --ps 0 "${short[@]}" --out "$work/lonely" --compute constant:3600s
within 20 grep -qs '"event": "start"' "$work/lonely/events.jsonl" || fail "the one alone does not begin"
kill -TERM "${pids[lonely]}"
ends lonely 143 15
ok "nobody waits for a time that nobody needs any more"
nothing_runs
