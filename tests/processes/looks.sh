#!/usr/bin/env bash
# looks.sh - what programs tell programs, and those who look on: --json is one object that says of
# what each number is, inspect says what there is and no more, --watch ends with the job, and
# --quiet is quiet.
# promises: inspect json
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:2000 --model softmax --seed 3)
# Two epochs of one worker, 250 leaves: it is stopped long before they are done, whatever this machine is doing.
leaf=15ms
if sanitized; then leaf=60ms; fi

# speaks NAME PROGRAM ARGUMENT... - start, with what it prints and what it complains of apart.
speaks()
{
    "$build/$2" "${@:3}" >"$work/$1.out" 2>"$work/$1.log" </dev/null &
    pids[$1]=$!
}
does() # NAME CODE ARGUMENT... - syncopate, to its end.
{
    speaks "$1" syncopate "${@:3}"
    ends "$1" "$2" 60
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

# --- a server without a job, and then with one --------------------------------------------------
port=$(free_port)
address=127.0.0.1:$port
speaks ps syncopate-ps --ps-hosts "$address" --out "$work/watched" --worker-timeout 600
says ps "listening on"
does idle 0 inspect "$address"
grep -qE "^state: waiting for a job, for [0-9]+ s$" "$work/idle.out" || fail "inspect does not say that it waits"
if [ "$(wc -l <"$work/idle.out")" -ne 2 ] || ! grep -q "^out: $work/watched$" "$work/idle.out"; then
    fail "inspect says more of a server without a job: $(cat "$work/idle.out")"
fi
does idle-json 0 inspect "$address" --json
is idle-json state "waiting for a job"
for member in mode step steps workers train_loss exit_code; do is idle-json "$member" null; done
ok "inspect of a server without a job says that it waits, and invents nothing"

speaks watch syncopate inspect "$address" --watch --log-every 0.1
speaks watch-json syncopate inspect "$address" --watch --log-every 0.1 --json
within 10 grep -q "^waiting for a job" "$work/watch.out" || fail "--watch does not begin"
speaks worker syncopate-worker --ps-hosts "$address" --workers 1 "${small[@]}" --epochs 2 --compute "constant:$leaf" \
    --worker-timeout 600
shown() { grep -qs '"event": "progress"' "$work/watched/events.jsonl" && grep -q "^running  epoch " "$work/watch.out"; }
within 20 shown || fail "the job does not get on"
kill -STOP "${pids[worker]}" # It runs as long as it is looked at.
speaks follow syncopate inspect "$work/watched" --watch --log-every 0.1
does look 0 inspect "$address"
grep -qE "^mode: sync$" "$work/look.out" || fail "inspect does not say the mode"
grep -qE "^train loss: [0-9.]+, accuracy [0-9.]+ % \(mean over [0-9,]+ examples? of epoch [12]\)$" "$work/look.out" ||
    fail "inspect does not say of what the loss is"
does look-json 0 inspect "$address" --json
is look-json kind job
is look-json state running
is look-json steps 64
is look-json workers 1
is look-json exit_code null
waits() { "$build/syncopate" inspect "$address" --json | grep -q '"waiting": "step [0-9]* waits for worker/0 on .*: nothing heard for'; }
within 10 waits || fail "inspect does not say for whom the step waits"
kill -CONT "${pids[worker]}"
for name in ps worker watch watch-json follow; do ends "$name" 0; done
if ! said watch "has gone$" && [ "$(tail -n 1 "$work/watch.out")" != "the job has ended; 64 of 64 updates; $work/watched" ]; then
    fail "--watch ends with: $(tail -n 1 "$work/watch.out")"
fi
grep -qE "^running  epoch [0-9.]+ of 2  step [0-9]+ of 64  loss [0-9.]+  accuracy [0-9.]+ %  1 of 1 worker$" \
    "$work/watch.out" || fail "--watch does not show how it trains"
"$build/tests/processes/json_value" "$work/watch-json.out" exit_code >"$work/codes" ||
    fail "--watch --json prints lines that are no objects"
# The last word of a server is said once: on a busy machine it may be lost with the server.
if said watch-json "has gone$"; then echo 0 >>"$work/codes"; fi
if [ "$(sed '$d' "$work/codes" | sort -u)" != null ] || [ "$(tail -n 1 "$work/codes")" != 0 ]; then
    fail "exit codes: $(tr '\n' ' ' <"$work/codes")"
fi
if [ "$(tail -n 1 "$work/follow.out")" != "the run has ended: done" ] || ! grep -q "^epoch 2  step 64 " "$work/follow.out"; then
    fail "--watch of a run directory ends with: $(tail -n 1 "$work/follow.out")"
fi
does late 5 inspect "$address" --watch
ok "--watch shows the job until it has ended, says how, and exits 0"

# A job that fails has ended, too. (Once more where the server's last word is lost with it.)
for try in 1 2 3; do
    port=$(free_port)
    address=127.0.0.1:$port
    speaks fail-ps syncopate-ps --ps-hosts "$address" --out "$work/fails-$try" --on-worker-loss fail --worker-timeout 3
    speaks fail-worker syncopate-worker --ps-hosts "$address" --workers 1 "${small[@]}" --steps 1000000 --compute "constant:$leaf"
    says fail-ps "training starts"
    speaks fail-watch syncopate inspect "$address" --watch --json --log-every 100
    within 10 test -s "$work/fail-watch.out" || fail "--watch does not begin"
    murder fail-worker
    ends fail-ps 195
    ends fail-watch 0
    if ! said fail-watch "has gone$"; then break; fi
done
if [ "$("$build/tests/processes/json_value" "$work/fail-watch.out" exit_code | tail -n 1)" != 195 ]; then
    fail "--watch does not tell the exit code"
fi
ok "--watch tells of a job that fails, without waiting for the next look"

# --- run ----------------------------------------------------------------------------------------
does run 0 run --json --out "$work/run" "${small[@]}" --epochs 2 --workers 2
is run exit_code 0
is run state "done"
is run reason ""
is run path "$work/run"
for member in step train_loss train_accuracy test_accuracy parameters_sha256 seconds; do
    is run "$member" "$(member "$work/run" "$member")"
done
is run verdicts.rejected 0
grep -q "^epoch 2  step 64 " "$work/run.log" || fail "with --json progress is not on standard error"
does again 5 run --json --out "$work/run" "${small[@]}" --epochs 2 --workers 2
is again exit_code 5
is again state failed
is again path "$work/run"
does nowhere 5 run --json --data "$work/nowhere"
is nowhere exit_code 5
is nowhere path null
"$build/tests/processes/json_value" "$work/nowhere.out" reason | grep -q nowhere || fail "there is no reason"
started() { grep -q '"event": "progress"' "$work/stop/events.jsonl" 2>/dev/null; }
speaks stop syncopate run --json --out "$work/stop" "${small[@]}" --steps 100000 --compute "constant:$leaf"
within 20 started || fail "the run to stop makes no progress"
kill -TERM "${pids[stop]}"
ends stop 143
is stop exit_code 143
is stop state stopped
is stop step "$(member "$work/stop" step)"
ok "run --json: one object, of runs that are done, stopped, or fail"

# --- evaluate, inspect --------------------------------------------------------------------------
does score 0 evaluate "$work/run" --json
is score data synthetic:2000
is score as_trained true
is score step 64
is score test_examples 400
is score test_accuracy "$(member "$work/run" test_accuracy)"
is score test_loss "$(member "$work/run" test_loss)"
does scored 0 evaluate "$work/run" --quiet
if [ "$(grep -vcE '^test (loss|accuracy) ' "$work/scored.out")" -ne 0 ] || [ -s "$work/scored.log" ]; then
    fail "evaluate --quiet says more than the score: $(cat "$work/scored.out" "$work/scored.log")"
fi
does see-run 0 inspect "$work/run" --json
is see-run kind run
is see-run state "done"
is see-run latest.step 64.0
is see-run train_loss "$(member "$work/run" train_loss)"
checkpoint=$(find "$work/run/checkpoints" -name 'step-*64')
does see-checkpoint 0 inspect "$checkpoint" --json
is see-checkpoint kind checkpoint
is see-checkpoint step 64
is see-checkpoint parameters_sha256 "$(member "$work/run" parameters_sha256)"
does see-model 0 inspect "$work/run/model.safetensors" --json
is see-model kind model
is see-model parameters 7850
is see-model parameters_sha256 "$(member "$work/run" parameters_sha256)"
does no-watch 2 inspect "$work/run/model.safetensors" --watch
does no-json 5 inspect "$work/nowhere" --json
if [ -s "$work/no-json.out" ]; then fail "what is not there is shown as: $(cat "$work/no-json.out")"; fi
ok "evaluate and inspect --json: one object each"

# --- quiet --------------------------------------------------------------------------------------
does quiet-run 0 run --quiet --out "$work/quiet-run" "${small[@]}" --epochs 1
silent quiet-run
does quiet-export 0 export "$work/run" --quiet --out "$work/model.safetensors"
silent quiet-export
does quiet-keygen 0 keygen "$work/keys" --quiet --workers 1
silent quiet-keygen
does quiet-verify 0 verify --quiet --seed 7
silent quiet-verify
does quiet-compare 0 compare --quiet --out "$work/quiet-compare" "${small[@]}" --epochs 1
if [ -s "$work/quiet-compare.log" ] || grep -qE "^(run |epoch |training|  done)" "$work/quiet-compare.out"; then
    fail "compare --quiet says more than the table: $(cat "$work/quiet-compare.out")"
fi
grep -qE "^async +2 " "$work/quiet-compare.out" || fail "compare --quiet has no table"
port=$(free_port)
speaks quiet-ps syncopate-ps --quiet --ps-hosts "127.0.0.1:$port" --out "$work/quiet-ps-run"
speaks quiet-worker syncopate-worker --quiet --ps-hosts "127.0.0.1:$port" --workers 1 "${small[@]}" --epochs 1
for name in quiet-ps quiet-worker; do
    ends "$name" 0
    silent "$name"
done
speaks quiet-alone syncopate-worker --quiet --ps 0 --out "$work/quiet-alone" "${small[@]}" --epochs 1
ends quiet-alone 0
silent quiet-alone
does quiet-wrong 5 run --quiet --data "$work/nowhere"
one_line quiet-wrong
ok "--quiet: nothing but what is wrong, and results where they are what a command prints"
nothing_runs
