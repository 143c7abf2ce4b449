#!/usr/bin/env bash
# requeue.sh - what backup workers' steps do not wait for makes steps at the end of its epoch: every epoch is
# trained with all its examples, and the bits are those of the recorded sets, whoever is killed or stopped.
# test: later
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# 2,000 examples: 31 batches of 64 and one of 16, in leaves of 8.
base=(--mode sync --backup-workers 1 --dropped requeue --data synthetic:2000 --global-batch 64 --micro-batch 8
    --chunk-bytes 1K --model "conv 4x3 relu, pool 4, flatten, dense 10" --workers 4
    --compute "lognormal:2ms,0.5" --slow 3:6 --epochs 3 --report-every 10)

# whole NAME - all examples are in every epoch, some of them in steps that were made for them.
whole()
{
    local epochs steps
    epochs=$(grep -c '"event": *"epoch".*"examples": 2000, "of": 2000' "$work/$1/events.jsonl")
    steps=$(member "$work/$1" steps_made_up)
    if [ "$epochs" -lt 3 ]; then fail "$1: $epochs of 3 epochs have all their examples"; fi
    if [ "${steps:-0}" -lt 3 ]; then fail "$1: ${steps:-no} steps are made of what was dropped"; fi
    if [ "$(member "$work/$1" step)" -ne $((96 + steps)) ]; then
        fail "$1 has $(member "$work/$1" step) steps, and not 96 and $steps"
    fi
}
# again NAME - one process makes the steps of the leaves that were recorded, with the bits of the run, and its windows.
again()
{
    run "$1-again" 0 syncopate replay "$work/$1" --out "$work/$1-again"
    says "$1-again" "^parameters_sha256 $(member "$work/$1" parameters_sha256): as recorded$"
    if [ "$(member "$work/$1-again" step)" != "$(member "$work/$1" step)" ]; then fail "$1-again has other steps"; fi
    windows "$work/$1" >"$work/one"
    windows "$work/$1-again" >"$work/other"
    cmp -s "$work/one" "$work/other" || fail "$1: its replay has other windows"
}
# windows FOLDER - the newest of each, without when it was.
windows() { grep '"event": *"window"' "$1/events.jsonl" | sed -E 's/^\{"time": [0-9.]+, //; s/, "seconds.*//' | sort -V | uniq | sort -t: -k3 -s; }
# A batch that takes as long as to leave seconds for what is done to a run before its end.
slower=(--compute "lognormal:25ms,0.5")
kill_one()
{
    local id
    id=$(pgrep -P "${pids[$1]}" -f "^[^ ]*$2 .*--task-index=$3 ")
    if [ -z "$id" ]; then fail "there is no $2 $3"; fi
    kill -KILL "$id"
}
has_come() { [ -f "$work/$1/events.jsonl" ] && [ "$(grep -c "\"event\": *\"$2\"" "$work/$1/events.jsonl")" -ge "$3" ]; }
at() { within 60 has_come "$@" || fail "$1 gets nowhere"; }

for wire in tcp shm; do
    run $wire 0 syncopate run "${base[@]}" --ps 2 --transport $wire --out "$work/$wire"
    whole $wire
    says $wire "^epoch 1: [0-9]+ steps? more, of the [0-9,]+ examples that were dropped$"
    again $wire
done
ok "every epoch has all its examples, over TCP and in shared memory, and its replay the same bits and windows"

# With every server and a worker killed; the second time within the steps that are made up.
start killed syncopate run "${base[@]}" "${slower[@]}" --ps 2 --checkpoint-every 10 --out "$work/killed"
at killed progress 3
kill_one killed syncopate-worker 1
at killed requeued 1
kill_one killed syncopate-ps 1
at killed requeued 2
kill_one killed syncopate-ps 0
ends killed 0
whole killed
again killed
ok "workers and servers killed: nothing is lost or trained with twice"

# Stopped within an epoch; it goes on, with another number of servers, with what the checkpoint says is owed.
start stopped syncopate run "${base[@]}" "${slower[@]}" --ps 1 --out "$work/stopped"
at stopped requeued 1
at stopped window 6
kill -TERM "${pids[stopped]}"
ends stopped 143
rm "$work/stopped/record/0001-sets.log" # Its checkpoint has what matters.
run resumed 0 syncopate run "${base[@]}" --ps 2 --out "$work/stopped"
whole stopped
ok "a run that was stopped within an epoch goes on with what it owes, by its checkpoint alone"

run plain 0 syncopate run "${base[@]}" --record off --ps colocated --out "$work/plain"
whole plain
ok "without a record, servers beside workers"

run arms 0 syncopate compare --modes sync,sync+backup:1 --dropped requeue --data synthetic:2000 --model softmax \
    --global-batch 64 --micro-batch 8 --compute "lognormal:2ms,0.5" --workers 4 --epochs 3 --out "$work/arms"
runs=("$work"/arms/runs/*)
[ "${#runs[@]}" -eq 2 ] || fail "not two runs: ${runs[*]}"
whole "arms/runs/$(basename "$(ls -d "$work"/arms/runs/*backup*)")"
ok "compare requeues in the modes that drop"

for words in "--steps 10" "--keep-scored" "--global-batch 60" "--backup-workers 0"; do
    # shellcheck disable=SC2086
    run wrong 2 syncopate run "${base[@]}" $words
done
ok "what cannot be requeued is refused before anything is started"
