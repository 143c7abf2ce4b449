#!/usr/bin/env bash
# windows.sh - --report-every: every batch is in one window and counted there once, in every mode; in sync
# with the digits of --ps 0, whoever was killed and wherever it was stopped and went on; the last is named
# as shorter.
# test: later
# promises: windows
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# Epochs of 40 batches, the last of 40 examples; 12 windows and the last 3 batches; checkpoints within windows.
base=(--data synthetic:1990 --model "flatten, dense 10" --steps 123 --report-every 10 --checkpoint-every 7)
batch=(--global-batch 50)

# windows OUT - of each window: from step batches loss accuracy examples of.
windows()
{
    local look=$work/look name
    "$build/syncopate" inspect --json "$1" >"$look" || fail "$1 cannot be inspected"
    for name in from step batches loss accuracy examples of; do
        sed -n '/"windows": \[/,/^  \]/p' "$look" | sed -nE "s/^ *\"$name\": ([^,]*),?$/\1/p" >"$look.$name"
    done
    (cd "$work" && paste -d ' ' look.from look.step look.batches look.loss look.accuracy look.examples look.of)
}
# whole OUT - all 123 batches and their examples: three epochs of 1990, and three batches of 50.
whole()
{
    windows "$1" | awk '
        $1 != 10 * (NR - 1) || $2 != (NR < 13 ? 10 * NR : 123) || $3 != $2 - $1 || $6 != $7 { bad = 1 }
        { examples += $6 }
        END { exit bad || NR != 13 || examples != 3 * 1990 + 150 }' ||
        fail "$1: its windows are not those of its batches: $(windows "$1")"
}
part()
{
    local pid words
    for pid in $(survivors); do
        words=" $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null || true)"
        if [[ $words == *" --job-name=$1 "* && $words == *" --task-index=$2 "* ]]; then echo "$pid"; fi
    done
}
told() { [ "$(grep -cs '"event": "window"' "$1/events.jsonl" || true)" -ge "$2" ] 2>/dev/null; }

# --- the digits of one process --------------------------------------------------------------------
run alone 0 syncopate run "${base[@]}" "${batch[@]}" --ps 0 --workers 1 --out "$work/alone"
whole "$work/alone"
expected=$(windows "$work/alone")
said alone '^batches 1 to 10  loss [0-9.]+  accuracy [0-9.]+ %  500 examples  [0-9.e-]+ s$' ||
    fail "no line of the first window"
said alone '^batches 121 to 123, the last 3  loss .*  150 examples  ' || fail "the last window is not named as such"
run glance 0 syncopate inspect "$work/alone"
said glance '^  window +batches 121 to 123, the last 3  loss ' || fail "inspect does not say the last window"
if [ "$("$build/tests/processes/json_value" "$work/alone/run.json" window.from)" != 120 ]; then
    fail "run.json does not have the last window"
fi

same() { if [ "$(windows "$1")" != "$expected" ]; then fail "$1: other windows than one process: $(windows "$1")"; fi; }
run three 0 syncopate run "${base[@]}" "${batch[@]}" --ps 2 --workers 3 --out "$work/three"
same "$work/three"
run replicas 0 syncopate run "${base[@]}" "${batch[@]}" --mode allreduce --ps 2 --workers 3 --out "$work/replicas"
same "$work/replicas"
ok "windows in sync are those of one process, digit by digit, and the last is named as shorter"

# replayed NAME - the windows of its replay are its own: each batch at the values that it was computed from.
replayed()
{
    run "$1-replay" 0 syncopate replay "$work/$1" --out "$work/$1-replay"
    if [ "$(windows "$work/$1-replay" | sort -n)" != "$(windows "$work/$1" | sort -n)" ]; then
        fail "$1: its replay has other windows: $(windows "$work/$1-replay")"
    fi
}
for kind in async ssp:1; do
    run "many-$kind" 0 syncopate run "${base[@]}" --worker-batch 50 --mode "$kind" --ps 2 --workers 3 \
        --out "$work/many-$kind"
    whole "$work/many-$kind"
    replayed "many-$kind"
done
replayed three
run backup 0 syncopate run "${base[@]}" --global-batch 48 --mode sync+backup:1 --ps 2 --workers 3 --micro-batch 8 \
    --compute constant:2ms --slow 2:4 --out "$work/backup"
replayed backup
if windows "$work/backup" | awk '$6 >= $7 { bad = 1 } END { exit bad }'; then
    ok "a replay has the windows of its run; those with backup workers are over what was not dropped"
else
    fail "with a late worker nothing is left out of a window: $(windows "$work/backup")"
fi
ok "in async and ssp every batch is in its window once"

# --- killed ---------------------------------------------------------------------------------------
# dies NAME ROLE INDEX WINDOWS ARGUMENT... - it is killed when so many windows are told. A batch takes as long as
# to leave seconds for that before the end.
dies()
{
    local name=$1 role=$2 index=$3 count=$4 victim
    shift 4
    start "$name" syncopate run "${base[@]}" "$@" --compute constant:15ms --ps 2 --workers 3 --out "$work/$name" --verbose
    within 30 told "$work/$name" "$count" || fail "$name does not train"
    victim=$(part "$role" "$index")
    if [ -z "$victim" ]; then fail "$name: no $role $index is named"; fi
    kill -KILL "$victim"
    ends "$name" 0 90
    whole "$work/$name"
}
dies server ps 1 2 "${batch[@]}"
same "$work/server"
if ! grep -q '"event": "generation"' "$work/server/events.jsonl"; then fail "nobody went back"; fi
ok "a server killed: the windows are told again, with the same digits"
dies first ps 0 4 "${batch[@]}"
same "$work/first"
dies worker worker 1 3 "${batch[@]}"
same "$work/worker"
ok "server 0 or a worker killed: the same digits"
dies async ps 1 2 --worker-batch 50 --mode async
dies async-worker worker 2 3 --worker-batch 50 --mode async
dies ssp ps 0 3 --worker-batch 50 --mode ssp:2
ok "async and ssp, killed: every batch once"

# --- stopped, and gone on -------------------------------------------------------------------------
for how in alone servers; do
    out=$work/parts-$how
    servers=(--ps 2 --workers 2)
    if [ $how = alone ]; then servers=(--ps 0 --workers 1); fi
    start "parts-$how" syncopate run "${base[@]}" "${batch[@]}" "${servers[@]}" --compute constant:20ms --out "$out"
    within 30 told "$out" 3 || fail "$out does not train"
    kill -INT "${pids[parts-$how]}"
    ends "parts-$how" 130 30
    if grep -q '"step": 123,' "$out/events.jsonl"; then fail "$out had ended"; fi
    run "more-$how" 0 syncopate run "${base[@]}" "${batch[@]}" "${servers[@]}" --out "$out"
    same "$out"
    run "longer-$how" 0 syncopate run "${base[@]}" "${batch[@]}" "${servers[@]}" --steps 130 --out "$out"
    if [ "$(windows "$out" | tail -n 1 | cut -d ' ' -f 1-3)" != "120 130 10" ]; then
        fail "the last window of a run that was made longer: $(windows "$out" | tail -n 2)"
    fi
done
ok "a window within which a run was stopped is told whole when it goes on; the last one of a run made longer, too"

# --- looked at while it runs ----------------------------------------------------------------------
# It has no end of its own: whoever looks late has something to look at.
port=$(free_port)
start looked-ps syncopate-ps --task-index 0 --ps-hosts "127.0.0.1:$port" --out "$work/looked"
start looked syncopate-worker --task-index 0 --ps-hosts "127.0.0.1:$port" --workers 1 "${base[@]}" "${batch[@]}" \
    --l2 0.01 --compute constant:10ms --steps 100000000
look() { "$build/syncopate" inspect "$@" "127.0.0.1:$port" >"$work/glanced.log" 2>&1; }
looks() { look && said glanced "$1"; }
within 30 looks '^window: batches [0-9]*1 to [0-9]+0  loss [0-9.]+  accuracy [0-9.]+ %  500 examples  [0-9.e-]+ s$' ||
    fail "inspect does not tell the newest window of a running job"
within 30 looks '^test accuracy: .*, regularisation loss [0-9.]+ \(after step [0-9,]*[048]0\)$' ||
    fail "inspect does not tell the regularisation loss of a running job"
look --json || fail "the job has ended before it was asked as a program asks"
value() { "$build/tests/processes/json_value" "$1" "$2"; }
cp "$work/glanced.log" "$work/glanced.json"
number=$(value "$work/glanced.json" window.window) loss=$(value "$work/glanced.json" window.loss)
l2=$(value "$work/glanced.json" regularisation_loss)
kill -TERM "${pids[looked-ps]}"
ends looked 143
ends looked-ps 143
if [ "$(windows "$work/looked" | sed -n "${number}p" | cut -d ' ' -f 4)" != "$loss" ]; then
    fail "inspect tells another window $number of a running job than the run has: $loss"
fi
grep '"event": "evaluation"' "$work/looked/events.jsonl" | grep -qF "\"regularisation_loss\": $l2," ||
    fail "inspect tells another regularisation loss than the run has: $l2"
ok "inspect tells of a running job its newest window and the regularisation loss, as the run has them"

# Of other windows than before nothing is known: of the first batches of the one gone on in nothing is said.
out=$work/others
run others 0 syncopate run "${base[@]}" "${batch[@]}" --steps 25 --ps 0 --workers 1 --out "$out"
run others-more 0 syncopate run "${base[@]}" "${batch[@]}" --report-every 15 --steps 60 --ps 0 --workers 1 --out "$out"
if [ "$(windows "$out" | sed -n 4p | cut -d ' ' -f 1-3,6,7)" != "15 30 5 250 750" ]; then
    fail "the first window of another size: $(windows "$out")"
fi
said others-more '^batches 16 to 30  loss .* over 250 of 750 examples$' || fail "it is not said what it is over"
ok "windows of another size begin with what is known"
nothing_runs
