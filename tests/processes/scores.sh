#!/usr/bin/env bash
# scores.sh - the test score is of a model that exists, to the digits of `syncopate evaluate`, in every
# mode and whoever scores which share; nobody waits for it; and whoever is killed takes no share away.
# test: later
# promises: scores
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# digits - a loss and an accuracy as they are written; evaluated PATH - those of a model.
digits() { sed -nE 's/.*"test_loss": ([^,]+), "test_accuracy": ([^,}]+).*/\1 \2/p'; }
evaluated()
{
    run evaluated 0 syncopate evaluate "$@" --json
    tr -d '\n' <"$work/evaluated.log" | tr -s ' ' | digits
}
score_at() { grep "\"event\": \"evaluation\",.* \"step\": $2," "$1/events.jsonl" 2>/dev/null | digits | tail -n 1; }

# is_scored OUT STEP... - the score after each of these steps is that of the checkpoint there, if it was
# not skipped; and the last that of the model.
compared=0
is_scored()
{
    local out=$1 step place theirs
    shift
    for step; do
        place=$out/checkpoints/$(printf 'step-%012d' "$step")
        if [ ! -e "$place/manifest.json" ]; then continue; fi
        theirs=$(evaluated "$place")
        compared=$((compared + 1))
        if [ -z "$theirs" ]; then fail "$out: nothing was evaluated at $step"; fi
        if [ "$(score_at "$out" "$step")" != "$theirs" ]; then
            fail "$out: at $step '$(score_at "$out" "$step")' was told, and the model scores '$theirs'"
        fi
    done
    if [ "$(member "$out" test_loss) $(member "$out" test_accuracy)" != "$(evaluated "$out")" ]; then
        fail "$out: run.json does not have the score of its model"
    fi
    if [ "$(member "$out" test_step)" != "$(member "$out" step)" ]; then
        fail "$out: its last score is not of its last step"
    fi
}

# Epochs of 20 batches, and an end within the third.
base=(--data synthetic:1000 --model "flatten, dense 10" --global-batch 50 --steps 50 --keep 9 --verbose)
# Of a worker that is kept from its share while the others make an epoch the score is dropped: an epoch, of 80
# leaves, is to be long against what this machine may do to a worker; and what it has done once it need not do again.
leaf=8ms
if sanitized; then leaf=16ms; fi
# trains NAME OUT ARGUMENT... - a run of which no score was dropped.
trains()
{
    local name=$1 out=$2
    shift 2
    for _ in 1 2 3; do
        rm -rf "$out"
        run "$name" 0 syncopate run "${base[@]}" "$@" --out "$out"
        if [ "$(member "$out" scores_dropped)" = 0 ]; then return; fi
    done
    fail "$name: scores were dropped, three times: $*"
}
count=0
hows=("sync 1 1 auto" "sync 3 2 tcp" "sync 4 1 auto" "async 1 1 auto" "async 2 2 tcp" "async 4 2 auto" \
    "ssp:1 2 1 tcp" "ssp:0 3 2 auto" "allreduce 3 2 auto" "sync+backup:1 3 1 auto")
if ! short_run; then hows=("${hows[0]}"); fi
for how in "${hows[@]}"; do
    read -r kind workers servers transport <<<"$how"
    out=$work/score-$((++count))
    trains "score-$count" "$out" --mode "$kind" --workers "$workers" --ps "$servers" --transport "$transport" \
        --compute "constant:$leaf"
    is_scored "$out" 20 40 50
done
run alone 0 syncopate run "${base[@]}" --ps 0 --workers 1 --out "$work/alone"
is_scored "$work/alone" 20 40 50
if short_run && [ "$compared" -lt 25 ]; then fail "of 33 checkpoints only $compared are there"; fi
ok "scores of every mode and of one process alone have the digits of evaluate, after every epoch and at the end"

# --- kept as files ---------------------------------------------------------------------------------
# is_kept OUT - each epoch's model is there, and scores what its epoch's event says; and nothing else is.
is_kept()
{
    local out=$1 epoch file step theirs
    for epoch in 1:20 2:40 3:50; do
        file=$out/scored/epoch-${epoch%:*}.safetensors step=${epoch#*:}
        if [ ! -s "$file" ]; then fail "$out: no $file"; fi
        theirs=$(evaluated "$file" --data synthetic:1000)
        if [ -z "$theirs" ] || [ "$(score_at "$out" "$step")" != "$theirs" ]; then
            fail "$out: after $step '$(score_at "$out" "$step")' was told, and $file scores '$theirs'"
        fi
    done
    if [ "$(find "$out/scored" -type f | wc -l)" != 3 ]; then fail "$out: not three models in $out/scored"; fi
    if ! cmp -s "$file" "$out/model.safetensors"; then fail "$out: the last is not the run's model"; fi
}
if long_run; then
    count=0
    for how in "sync 2 1" "sync 2 2" "async 2 1" "async 3 2" "ssp:1 2 1" "ssp:1 2 2" "sync 1 0"; do
        read -r kind workers servers <<<"$how"
        out=$work/kept-$((++count))
        trains "kept-$count" "$out" --mode "$kind" --workers "$workers" --ps "$servers" --keep-scored \
            --checkpoint-every 0 --compute "constant:$leaf"
        is_kept "$out"
    done

    # models OUT MEMBER - of "scored" in run.json: files, missing.
    models() { sed -n '/^  "scored": {/,/}/s/.*"'"$2"'": \([0-9]*\).*/\1/p' "$1/run.json"; }
    for servers in 1 0; do
        out=$work/missing-$servers
        lost=("${base[@]:0:6}" --mode sync --workers 1 --ps "$servers" --keep-scored --compute constant:1ms --out "$out")
        run lost 0 syncopate run "${lost[@]}" --epochs 1
        if [ "$(models "$out" files) $(models "$out" missing)" != "1 0" ]; then fail "a model that is there is not counted"; fi
        rm -r "$out/scored"
        : >"$out/scored"
        run lost 0 syncopate run "${lost[@]}" --epochs 3
        said lost "3 models are missing in scored/" || fail "models that could not be written are not in the summary"
        rm "$out/scored"
        run lost 0 syncopate run "${lost[@]}" --epochs 4
        if [ "$(models "$out" files) $(models "$out" missing)" != "1 3" ]; then
            fail "run.json has $(models "$out" files) models and $(models "$out" missing) missing, not 1 and 3"
        fi
    done
    if ! grep -q '"scored": null' "$work/score-1/run.json"; then fail "without --keep-scored run.json speaks of kept models"; fi
    if [ -e "$work/score-1/scored" ] || [ -e "$work/alone/scored" ]; then fail "models are kept of runs that were not asked to"; fi
    ok "with --keep-scored each score's model is a file of which evaluate says the same, in sync, async, ssp and alone"
fi

if ! short_run; then exit; fi

# --- while one of two workers is stopped ----------------------------------------------------------
# part ROLE INDEX - the process of this test that is it.
part()
{
    local pid words
    for pid in $(survivors); do
        words=" $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null || true)"
        if [[ $words == *" --job-name=$1 "* && $words == *" --task-index=$2 "* ]]; then echo "$pid"; fi
    done
}
made() { [ "$(grep -oE '"event": "progress",.* "step": [0-9]+' "$1/events.jsonl" 2>/dev/null | tail -n 1 | grep -oE '[0-9]+$' || echo 0)" -gt "$2" ]; }
scored() { [ -n "$(score_at "$1" "$2")" ]; }

# Two epochs of 800 batches: there are seconds in which worker 1 can be stopped before the first ends, and the other
# has 800 more of its own, more seconds, before the first score is dropped.
# stopped NAME - worker 1 is stopped in the first epoch; when the other has left that behind, the score
# waits for worker 1, and training does not.
stopped()
{
    start "$1" syncopate run --data synthetic:12800 --model "flatten, dense 10" --worker-batch 16 --mode async \
        --workers 2 --ps 2 --epochs 2 --checkpoint-every 0 --compute constant:6ms --worker-timeout 60 \
        --out "$work/$1" --verbose
    within 20 made "$work/$1" 0 || fail "$1 does not train"
    victim=$(part worker 1)
    if [ -z "$victim" ]; then fail "$1: no worker 1 is named"; fi
    kill -STOP "$victim"
    within 30 made "$work/$1" 820 || fail "$1: with one worker stopped the other does not go on"
    if scored "$work/$1" 800; then fail "$1 was scored without its second share"; fi
}
stopped slow
kill -CONT "$victim"
within 20 scored "$work/slow" 800 || fail "the score is not made when its last worker goes on"
ends slow 0 60
is_scored "$work/slow" 1600
ok "the others train on while one that scores is stopped, and its share is in the score when it goes on"

stopped killed
kill -KILL "$victim"
within 20 scored "$work/killed" 800 || fail "the share of a worker that was killed is not dealt again"
ends killed 0 60
is_scored "$work/killed" 1600
ok "the share of a worker that is killed is scored by another"

# --- a server is killed ---------------------------------------------------------------------------
out=$work/server
start server syncopate run "${base[@]}" --mode async --workers 2 --ps 2 --compute constant:60ms --out "$out"
within 20 scored "$out" 20 || fail "no first score"
victim=$(part ps 1)
if [ -z "$victim" ]; then fail "server: no server 1 is named"; fi
kill -KILL "$victim"
ends server 0 60
if [ "$(member "$out" servers_lost)" != 1 ]; then fail "no server was lost"; fi
is_scored "$out" 20 40 50
ok "after a server was lost scores are of the model that was gone on from"
