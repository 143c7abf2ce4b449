#!/usr/bin/env bash
# bits.sh - a sync run leaves the same bytes in model.safetensors whatever the number of workers and
# servers, with none at all, under slow workers, and stopped and resumed with other counts.
#
# By default on a short epoch with a ragged last batch; FULL=1 does a whole epoch of cnn on
# Fashion-MNIST for every count (minutes).
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

fashion=/usr/share/datasets/fashion-mnist # Where Debian's package puts it.
small=(--mode sync --quiet --seed 5 --data synthetic:1000 --chunk-bytes 512
    --model "conv 4x3 relu, pool 4, flatten, dense 10")
reference= # Hash that every run must give.
longest=60 # Seconds that a run may take.
if [ -n "${FULL:-}" ]; then longest=1200; fi

# begin NAME ARGUMENT..., compare NAME: a run with these arguments must give the reference's bytes.
begin() { start "$1" syncopate run --out "$work/$1" "${@:2}"; }
compare()
{
    local hash
    ends "$1" 0 "$longest"
    hash=$(model_hash "$work/$1")
    if [ -z "$reference" ]; then reference=$hash; fi
    if [ "$hash" != "$reference" ]; then fail "$1 gives $hash, not $reference"; fi
}
same()
{
    begin "$@"
    compare "$1"
}

# every_count TITLE WORKERS SERVERS ARGUMENT...
every_count()
{
    local title=$1 all_workers=$2 all_servers=$3 workers servers
    shift 3
    reference=
    same "$title-alone" --ps 0 "$@"
    for servers in $all_servers; do
        for workers in $all_workers; do
            begin "$title-$workers-$servers" --ps "$servers" --workers "$workers" "$@"
        done
        for workers in $all_workers; do compare "$title-$workers-$servers"; done
    done
    ok "$title: $all_workers workers x $all_servers servers and --ps 0 give $reference"
}

if [ -n "${FULL:-}" ]; then
    every_count full "1 2 3 4" "1 2 3" --mode sync --quiet --model cnn --epochs 1
elif sanitized; then
    every_count short "1 3" "2" "${small[@]}" --epochs 1
else
    every_count short "1 2 3 4" "1 2 3" "${small[@]}" --epochs 1
fi

# --- resumed -----------------------------------------------------------------------------------
if [ -z "${FULL:-}" ]; then
    long=("${small[@]}" --epochs 3)
else
    long=(--mode sync --quiet --model cnn --epochs 1)
fi
reference=
same straight --ps 2 --workers 2 "${long[@]}"
steps=$(member "$work/straight" step)

# The first half of it as a job of its own, then the whole from its checkpoint.
half=$((steps / 2))
run first-half 0 syncopate run --out "$work/first-half" --ps 3 --workers 1 "${long[@]}" \
    --steps "$half"
checkpoint=$work/first-half/checkpoints/step-$(printf %012d "$half")
same second-half --ps 1 --workers 4 "${long[@]}" --restore "$checkpoint"
same second-half-alone --ps 0 "${long[@]}" --restore "$checkpoint"
ok "stopped at step $half of $steps and resumed with other counts: the same bytes"

# In the middle of it: Ctrl-C, then the same folder with other counts, twice.
events() { { grep -s '"event": "progress"' "$work/interrupted/events.jsonl" || true; } | wc -l; }
progressed() { [ "$(events)" -gt "$1" ]; } # Sessions before this one have left theirs.
interrupt()
{
    local name=$1 before
    before=$(events)
    shift
    start "$name" syncopate run --out "$work/interrupted" "$@" "${long[@]}"
    within 30 progressed "$before" || fail "$name makes no progress"
    kill -INT "${pids[$name]}"
    ends "$name" 130
    reached=$(member "$work/interrupted" step)
    if [ "$reached" -lt 1 ] || [ "$reached" -ge "$steps" ]; then
        fail "$name was stopped at step $reached of $steps, which shows nothing"
    fi
}
slow=200
if sanitized || [ -n "${FULL:-}" ]; then slow=10; fi
interrupt stopped-once --ps 1 --workers 3 --slow "0:$slow,1:$slow,2:$slow"
first=$reached
interrupt stopped-twice --ps 3 --workers 2 --slow "0:$slow,1:$slow"
if [ "$reached" -le "$first" ]; then fail "the second session did not go on from step $first"; fi
run third 0 syncopate run --out "$work/interrupted" --ps 2 --workers 4 "${long[@]}"
if [ "$(model_hash "$work/interrupted")" != "$reference" ]; then fail "resuming changed bits"; fi
ok "interrupted at steps $first and $reached, resumed with other counts: the same bytes"

# --- arrival shuffled ----------------------------------------------------------------------------
same slow-first --ps 2 --workers 2 "${long[@]}" --slow 0:4
same slow-last --ps 2 --workers 4 "${long[@]}" --slow 3:4,1:2
ok "slow workers change the order of arrival, not the bytes"

# --- the model of the tutorial -------------------------------------------------------------------
if [ -z "${FULL:-}" ] && [ -d "$fashion" ]; then
    cnn=(--mode sync --quiet --model cnn --steps 12)
    if sanitized; then cnn+=(--data synthetic:1000); fi
    reference=
    same cnn-alone --ps 0 "${cnn[@]}"
    same cnn-4-3 --ps 3 --workers 4 "${cnn[@]}"
    ok "cnn: 4 workers of 16 examples and 3 servers give what one process gives"
elif [ -z "${FULL:-}" ]; then
    skip "cnn on Fashion-MNIST: $fashion is not there"
fi
