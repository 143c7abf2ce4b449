#!/usr/bin/env bash
# parts.sh - all the seconds of a run by what they went for, in run.json: they add up to the total, none
# is below nothing, and the total is what passed; of a run that is done, resumed, stopped, gated, without
# servers and in virtual time.
# test: asan
# promises: run-json
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

quick=(--data synthetic:400 --model softmax --seed 3 --ps 1 --workers 1)

# value FILE PATH
value() { "$build/tests/processes/json_value" "$1" "$2"; }

# parts NAME - that they are whole; sets total, and the associative array part.
declare -A part=()
parts()
{
    local file=$work/$1/run.json name sum=0
    total=$(value "$file" total_seconds)
    for name in waiting opening gathering first_step training recovering evaluation checkpoints \
        last_values last_checkpoint model_file end; do
        part[$name]=$(value "$file" "parts.$name")
        sum="$sum + ${part[$name]}"
        holds "${part[$name]} >= 0" "$1: $name is ${part[$name]} s"
    done
    holds "near($sum, $total, 2e-5)" "$1: the parts do not add up to $total s: $sum"
    holds "near(${part[checkpoints]} + ${part[last_checkpoint]}, $(value "$file" checkpoint_seconds), 0.005 * $patience)" \
        "$1: checkpoint_seconds is something else"
    holds "near(${part[evaluation]}, $(value "$file" evaluation_seconds), 0.005 * $patience)" \
        "$1: evaluation_seconds is something else"
    # A score that is heard behind the last update may have begun before it was counted.
    holds "near(${part[first_step]} + ${part[training]} + ${part[recovering]}, $(value "$file" seconds), ${part[evaluation]} + 0.005 * $patience)" \
        "$1: seconds is something else"
}

# holds CONDITION SAYING - in awk's words, with near(a, b, by how much).
holds()
{
    awk "function near(a, b, most) { return a - b <= most && b - a <= most } BEGIN { exit !($1) }" ||
        fail "$2"
}

# --- what passed ----------------------------------------------------------------------------------
"$build/syncopate" run "${quick[@]}" --steps 200 --checkpoint-every 50 --out "$work/done" --json \
    >"$work/done.json" 2>"$work/done.log" || fail "a run fails"
parts "done"
holds "$total > 0 && $total < $(value "$work/done.json" command_seconds)" "the total is more than the command took"
holds "$(value "$work/done.json" command_seconds) - $total < $patience" "the total leaves seconds out"
holds "${part[last_checkpoint]} > 0 && ${part[model_file]} > 0" "the last checkpoint or the model took no time"
holds "${part[checkpoints]} == 0" "in sync a checkpoint stopped training"
holds "$(value "$work/done/run.json" checkpoint_beside_seconds) > 0" "no checkpoint was written beside training"
ok "the parts of a run add up to all its seconds, and those are what passed"

# --- stopped, and resumed -------------------------------------------------------------------------
start stopped syncopate run "${quick[@]}" --steps 100000000 --compute constant:1ms --out "$work/stopped"
at_work() { grep -qs '"event": "progress"' "$work/stopped/events.jsonl"; } # Behind its first steps.
within 20 at_work || fail "it does not begin"
pause 1
kill -INT "${pids[stopped]}"
ends stopped 130
parts stopped
holds "$total < 20 * $patience && ${part[training]} > 0.2" "a stopped run has trained ${part[training]} s"
cp "$work/stopped/run.json" "$work/before.json"
run resumed 0 syncopate run "${quick[@]}" --steps 200 --out "$work/resumed"
run resumed 0 syncopate run "${quick[@]}" --steps 300 --out "$work/resumed"
parts resumed
holds "${part[last_checkpoint]} > 0" "the last checkpoint took no time"
ok "so do those of one that was stopped, and of one that went on"

# --- other modes ----------------------------------------------------------------------------------
run gated 0 syncopate run "${quick[@]}" --mode async --steps 200 --checkpoint-every 50 --out "$work/gated"
parts gated
holds "${part[checkpoints]} > 0" "a checkpoint behind a gate did not stop training"
run alone 0 syncopate run --data synthetic:400 --model softmax --seed 3 --ps 0 --steps 200 \
    --checkpoint-every 50 --out "$work/alone"
parts alone
holds "${part[checkpoints]} > 0 && ${part[waiting]} + ${part[gathering]} == 0" "alone it waited for somebody"
run virtual 0 syncopate simulate --data synthetic:400 --model softmax --steps 40 --ps 2 --workers 3 \
    --compute constant:5ms --out "$work/virtual"
parts virtual
holds "${part[training]} > 0.02" "virtual training took ${part[training]} s"
ok "so do those of async, of one process and of virtual time"

# --- a server that is lost ------------------------------------------------------------------------
hosts="127.0.0.1:$(free_port),127.0.0.1:$(free_port)"
ps() { start "$2" syncopate-ps --task-index "$1" --ps-hosts "$hosts" --out "$work/lost"; }
ps 0 ps0
ps 1 ps1
start worker syncopate-worker --task-index 0 --ps-hosts "$hosts" --workers 1 --data synthetic:400 \
    --model softmax --seed 3 --steps 100000000 --compute constant:1ms --checkpoint-every 50
cut() { grep -qs '"event": "checkpoint"' "$work/lost/events.jsonl"; }
within 20 cut || fail "there is no checkpoint"
murder ps1
pause 0.5
went_back() # And has trained since.
{
    awk '/"event": "generation"/ { back = 1 } back && /"event": "progress"/ { trains = 1 } END { exit !trains }' \
        "$work/lost/events.jsonl"
}
ps 1 ps1-again
within 30 went_back || fail "nobody goes back"
kill -INT "${pids[ps0]}"
for name in worker ps0 ps1-again; do ends $name 130; done
parts lost
holds "${part[recovering]} > 0" "going back took ${part[recovering]} s"
ok "and so do those of one that went back to a checkpoint"
nothing_runs
