#!/usr/bin/env bash
# trace.sh - --trace: what every process did and for whom it waited, of real runs and of virtual ones, as
# other programs read it (trace.py is no program of ours): in every mode, over both transports; the sums of
# a virtual run's are its run.json's; processes started by hand on several hosts; whoever is killed has left
# what it did.
# promises: trace
# needs: python3
# uses: chromium chromedriver
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
reader=$(dirname "$0")/trace.py

# Seven chunks; a step of four leaves.
base=(--data synthetic:640 --model "flatten, dense 16 relu, dense 10" --chunk-bytes 8K --global-batch 64)

# reads NAME ARGUMENT... - the trace of a run is what it should be.
reads()
{
    local name=$1
    shift
    python3 "$reader" "$work/$name/trace.json" "$@" >"$work/${name//\//-}-read.log" || fail "the trace of $name is wrong"
}

# pictured NAME - its trace.spans is read by ours, and there is a picture of a step.
pictured()
{
    run "$1-picture" 0 syncopate trace "$work/$1/trace.spans" --out "$work/$1.svg"
    grep -qF "</svg>" "$work/$1.svg" || fail "there is no picture of $1"
    says "$1-picture" "took "
}

if short_run; then
    for mode in sync async ssp:1; do
        for transport in tcp shm; do
            name=$mode-$transport owners=0
            if [ "$transport" = tcp ]; then owners=2; fi
            run "$name" 0 syncopate run "${base[@]}" --mode "$mode" --workers 2 --ps 2 --epochs 2 \
                --transport "$transport" --owner-threads $owners --trace --out "$work/$name"
            says "$name" "trace +[0-9]+ steps in "
            reads "$name" --steps 20 --processes 4 --hosts 1
            paths=$(sed -nE 's/.*, ([0-9]+) paths.*/\1/p' "$work/$name-read.log")
            if [ "$paths" -lt 15 ]; then fail "$name: of 20 steps $paths have a critical path"; fi
        done
    done
    pictured sync-tcp
    ok "a trace of real processes is read by others: lanes nest, arrows are critical paths, clocks are known"

    run alone 0 syncopate run "${base[@]}" --ps 0 --epochs 2 --trace --out "$work/alone"
    reads alone --steps 20 --processes 1 --paths 0
    pictured alone
    ok "one process without servers is traced, too"

    slow=(--compute constant:5ms --slow 1:3)
    run real 0 syncopate run "${base[@]}" --workers 2 --steps 12 "${slow[@]}" --trace --trace-steps 5 --out "$work/real"
    reads real --steps 5 --paths 5 --waits-for worker/1
    ok "whoever waits is seen to wait for the slow one"

    for mode in sync async ssp:1 allreduce sync+backup; do
        spare=() kind=$mode
        if [ "$mode" = sync+backup ]; then spare=(--backup-workers 1) kind=sync; fi
        run "virtual-$mode" 0 syncopate simulate "${base[@]}" --mode "$kind" "${spare[@]}" --workers 4 --ps 2 --epochs 2 \
            --compute lognormal:20ms,0.3 --slow 3:2 --trace --trace-steps 1000 --out "$work/virtual-$mode"
        reads "virtual-$mode" --processes 6 --sums "$work/virtual-$mode/run.json"
    done
    run untraced 0 syncopate simulate "${base[@]}" --mode async --workers 4 --ps 2 --epochs 2 \
        --compute lognormal:20ms,0.3 --slow 3:2 --out "$work/untraced"
    for what in parameters_sha256 seconds; do
        [ "$(member "$work/untraced" $what)" = "$(member "$work/virtual-async" $what)" ] || fail "tracing changes $what"
    done
    ok "of a virtual run every second of a worker is in its trace, and tracing takes none"

    # Server 0 is on one host, all else on another; by hand, with files of their own.
    mkdir "$work/spans"
    port=$(free_port) other=$(free_port)
    hosts=127.0.0.1:$port,127.0.0.1:$other
    start ps0 syncopate-ps --task-index 0 --ps-hosts "$hosts" --out "$work/hand" --trace "$work/spans/alpha.spans"
    start ps1 syncopate-ps --task-index 1 --ps-hosts "$hosts" --trace "$work/spans/beta.spans"
    for i in 0 1; do
        start "worker$i" syncopate-worker --task-index $i --ps-hosts "$hosts" --workers 2 "${base[@]}" --epochs 2 \
            --trace "$work/spans/beta.spans"
    done
    for name in ps0 ps1 worker0 worker1; do ends $name 0; done
    run merged 0 syncopate trace "$work/spans" --trace-steps 6 --out "$work/merged.json"
    mkdir "$work/merged" && mv "$work/merged.json" "$work/merged/trace.json"
    reads merged --steps 6 --processes 4 --hosts 1 --paths 6
    ok "files of processes started by hand are made one trace"

    # A comparison: in real time the runs before those that count are traced, in virtual time each arm's first.
    run compared 0 syncopate compare "${base[@]}" --modes sync,async --workers 2 --epochs 2 --out "$work/compared"
    run modelled 0 syncopate compare --virtual "${base[@]}" --modes sync,async --workers 2 --epochs 2 --seeds 2 \
        --slow 1:3 --out "$work/modelled"
    for arm in sync async; do
        reads "compared/warm-up/$arm-w2" --steps 20 --processes 3
        reads "modelled/runs/$arm-w2-s1" --steps 5 --processes 3
        for name in compared modelled; do
            grep -q ">$arm, 2 workers: \(step\|batch\) [0-9]*</text>" "$work/$name/report.html" || fail "the page of $name shows no step of $arm"
            grep -qF "</svg>" "$work/$name/step-$arm-w2.svg" || fail "$name has no picture of a step of $arm"
        done
    done
    if [ -n "$(find "$work"/compared/runs "$work"/modelled/runs/*-s2 -name 'trace.*')" ]; then fail "more is traced than should be"; fi
    ok "a comparison shows a step of each arm, and traces nothing that counts in real time"

    run none 5 syncopate trace "$work/hand" --out "$work/none.json"
    one_line none
    run text 5 syncopate trace "$work/hand/run.json" --out "$work/none.json"
    one_line text
    says text "no trace of this version"
    ok "what is no trace is refused in one line"

    # Worker 1 is killed when it has been seen to compute three steps; the other goes on for as long as it is let.
    mkdir "$work/killed"
    port=$(free_port)
    start kps syncopate-ps --task-index 0 --ps-hosts "127.0.0.1:$port" --out "$work/killed/run" --trace "$work/killed/all.spans"
    for i in 0 1; do
        start "kworker$i" syncopate-worker --task-index $i --ps-hosts "127.0.0.1:$port" --workers 2 "${base[@]}" \
            --steps 100000000 --checkpoint-every 0 --compute constant:20ms --trace "$work/killed/all.spans"
    done
    computed() # Three steps of worker 1's are in the file.
    {
        "$build/syncopate" trace "$work/killed/all.spans" --trace-steps 1000 --out "$work/killed/trace.json" >"$work/look.log" 2>&1 &&
            python3 "$reader" "$work/killed/trace.json" --computes worker/1:3 >"$work/look.log" 2>&1
    }
    within 20 computed || fail "worker 1 is not seen to compute"
    murder kworker1
    # The steps between what the server has heard last of worker 1 and its loss are none.
    has_lost() { grep -qs '"event": "lost"' "$work/killed/run/events.jsonl"; }
    within 20 has_lost || fail "worker 1 is not missed"
    steps_made() { grep -oE '"event": "progress",.* "step": [0-9]+' "$work/killed/run/events.jsonl" | tail -n 1 | grep -oE '[0-9]+$'; }
    since=$(steps_made)
    goes_on() { [ "$(steps_made)" -gt $((since + 5)) ]; }
    within 20 goes_on || fail "the other does not go on"
    kill -TERM "${pids[kps]}"
    for name in kps kworker0; do ends $name 143; done
    run killed-trace 0 syncopate trace "$work/killed/all.spans" --trace-steps 1000 --out "$work/killed/trace.json"
    reads killed --processes 3 --computes worker/1:3
    reads killed --computes "worker/0:$(($(member "$work/killed/run" step) - 1))"
    ok "whoever is killed has left what it did"

    missing=
    if [ ! -e "${SPEEDSCOPE:-}/dist/release/index.html" ]; then missing="SPEEDSCOPE=FOLDER (npm's, which Debian has not)"; fi
    if ! python3 -c 'import selenium' 2>/dev/null; then missing+="${missing:+, }python3-selenium"; fi
    if ! command -v chromium >/dev/null; then missing+="${missing:+, }chromium"; fi
    if ! command -v chromedriver >/dev/null; then missing+="${missing:+, }chromium-driver"; fi
    if [ -n "$missing" ]; then
        skip "traces in speedscope: no $missing"
    else
        python3 "$(dirname "$0")/speedscope.py" "$SPEEDSCOPE" "$work/sync-tcp/trace.json" "$work/virtual-async/trace.json" \
            "$work/alone/trace.json" >"$work/speedscope.log" 2>&1 || fail "speedscope does not read it"
        ok "speedscope reads them, every lane"
    fi
fi
