#!/usr/bin/env bash
# colocated.sh - --ps colocated: each declared worker's place also runs a server, in every mode, and there
# are no others. The bits are those of --ps 0 in sync and of the replay otherwise; of a place either
# process may die alone; who joins beyond the declared owns nothing and may leave, and nobody else can.
# test: later
# promises: colocated virtual
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--data synthetic:1000 --model "conv 4x3 relu, pool 4, flatten, dense 10" --global-batch 32 --seed 5
    --chunk-bytes 1K --steps 60)

# reference STEPS - the digest of one process without servers.
reference()
{
    if [ ! -e "$work/alone-$1" ]; then
        run "alone-$1" 0 syncopate run "${job[@]}" --steps "$1" --ps 0 --quiet --out "$work/alone-$1"
    fi
    member "$work/alone-$1" parameters_sha256
}
# as_alone NAME STEPS, as_recorded NAME - what came of the run in $work/NAME.
as_alone()
{
    if [ "$(member "$work/$1" parameters_sha256)" != "$(reference "$2")" ]; then fail "$1: other bits"; fi
}
as_recorded()
{
    run "$1-replay" 0 syncopate replay "$work/$1"
    said "$1-replay" "^parameters_sha256 .*: as recorded" || fail "$1: other bits in its replay"
}
# right_bits NAME MODE - of as many steps as it made.
right_bits()
{
    case $2 in
        sync | allreduce) as_alone "$1" "$(member "$work/$1" step)" ;;
        *) as_recorded "$1" ;;
    esac
}
# trained NAME MODE - to its end, and to the right bits.
trained()
{
    if [ "$(member "$work/$1" step)" != 60 ]; then fail "$1 made $(member "$work/$1" step) steps of 60"; fi
    right_bits "$1" "$2"
}
# places NAME MODE WORKERS ARGUMENT... - so many places under the launcher.
places()
{
    run "$1" 0 syncopate run "${job[@]}" --mode "$2" --ps colocated --workers "$3" --out "$work/$1" "${@:4}"
    trained "$1" "$2"
    if [ "$(member "$work/$1" servers)" != "$3" ]; then fail "$1: not a server at each place"; fi
}

# --- every mode ----------------------------------------------------------------------------------------
if short_run; then
    places sync sync 3
    places one sync 1
    places tcp sync 4 --transport tcp
    places async async 3
    places ssp ssp:1 2 --transport shm
    places sums allreduce 3 --verify-every 1
    said sync "^sync training on synthetic:1000, 3 workers, each with a server beside it$" ||
        fail "the plan does not say where servers are"
    said sync "^sync, 3 workers, each with a server beside it: done$" || fail "nor does the summary"
    said one "^sync, 1 worker, with a server beside it: done$" || fail "the summary of one place"
    grep -q '"colocated": true' "$work/sync/run.json" || fail "run.json does not say colocated"
    grep -q '"colocated"' "$work/alone-60/run.json" && fail "run.json says colocated without servers"
    ok "every place has a server: sync and allreduce have the bits of --ps 0 over shared memory and tcp, async and ssp those of their replay"

    run keygen 0 syncopate keygen "$work/keys" --workers 2
    places keyed sync 2 --keys "$work/keys"
    ok "with keys the same bits"
fi
if long_run; then
    places locking async 3 --use-locking --transport tcp
    places groups async 4 --accumulate 2
    places sums-tcp allreduce 4 --transport tcp --verify-every 3
    places zero ssp:0 3
    places slow sync 3 --compute constant:1ms --slow 1:4 --checkpoint-every 7
    places stale async 3 --max-staleness 2 --staleness-rate inverse
    ok "with locking, sums, ssp:0, a slow place and --max-staleness as well"
fi

# --- with others, and with none --------------------------------------------------------------------------
if short_run; then
    # stopped NAME MODE - at a checkpoint, with three places.
    started() { grep -qs '"event": "progress"' "$work/$1/events.jsonl"; }
    for of in sync async; do
        start "cut-$of" syncopate run "${job[@]}" --mode $of --ps colocated --workers 3 --out "$work/cut-$of" \
            --compute constant:200ms --checkpoint-every 5 # It must not be done before it is stopped.
        within 30 started "cut-$of" || fail "cut-$of makes no progress"
        kill -INT "${pids[cut-$of]}"
        ends "cut-$of" 130
    done
    places cut-sync sync 2 # Another number of servers: dealt anew.
    ok "stopped with three places it goes on with two, to the same bits"
    run cut-async-more 0 syncopate run "${job[@]}" --mode async --ps 2 --workers 1 --out "$work/cut-async"
    trained cut-async async
    grep -q '"colocated"' "$work/cut-async/run.json" && fail "run.json has the places of before"
    ok "or with servers of their own; run.json says where they were last"
fi

# --- a place loses one of its processes --------------------------------------------------------------------
# child ROLE INDEX - the launcher's process of this place.
child()
{
    local pid
    for pid in $(survivors); do
        if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q "syncopate-$1 .*--task-index=$2 "; then echo "$pid"; fi
    done
}
checkpoints() { grep -c '"event": "checkpoint' "$work/$1/events.jsonl"; }
progressed() { [ -e "$work/$1/events.jsonl" ] && [ "$(checkpoints "$1")" -ge "$2" ]; }
# dies NAME MODE ROLE INDEX ARGUMENT... - it is killed in the middle, and started again by itself. No number of
# steps is so large that none of them is done before the kill: the job is stopped when it has gone on.
dies()
{
    local name=$1 mode=$2 role=$3 index=$4 beside=worker before made
    if [ "$role" = worker ]; then beside="ps"; fi
    shift 4
    start "$name" syncopate run "${job[@]}" --mode "$mode" --ps colocated --workers 3 --out "$work/$name" \
        --compute constant:10ms --checkpoint-every 5 --steps 1000000 "$@"
    within 30 progressed "$name" 2 || fail "$name makes no progress"
    before=$(child "$beside" "$index")
    kill -KILL "$(child "$role" "$index")"
    says "$name" "$role/$index .*started again"
    if [ -z "$before" ] || [ "$before" != "$(child "$beside" "$index")" ]; then
        fail "$name: $beside/$index did not outlive $role/$index"
    fi
    made=$(checkpoints "$name")
    within 60 progressed "$name" $((made + 2)) || fail "$name does not go on"
    kill -TERM "${pids[$name]}"
    ends "$name" 143 60
    right_bits "$name" "$mode"
}
if short_run; then
    dies worker-dies sync worker 1
    if [ "$(member "$work/worker-dies" generation)" != 0 ]; then fail "for a worker nobody goes back"; fi
    dies server-dies sync ps 1
    if [ "$(member "$work/server-dies" generation)" != 1 ]; then fail "for a server all go back"; fi
    ok "a place's worker is killed, or its server: the other goes on, and the bits are the same"
    dies async-server-dies async ps 2
    ok "async: a place's server is killed, and the replay has the bits of the run"
fi
if long_run; then
    dies first-dies sync ps 0 --transport tcp
    dies async-worker-dies async worker 0
    dies sums-worker-dies allreduce worker 2 --verify-every 1
    dies sums-server-dies allreduce ps 0 --verify-every 1
    dies ssp-worker-dies ssp:1 worker 2
    dies ssp-server-dies ssp:1 ps 1 --transport tcp
    ok "server 0 of a place, workers of async and ssp, a server of ssp, and both of allreduce"
fi

# --- in virtual time ----------------------------------------------------------------------------------------
# simulates NAME MODE ARGUMENT... - four places, each with a host that its two processes share.
simulates()
{
    run "$1" 0 syncopate simulate "${job[@]}" --mode "$2" --ps colocated --workers 4 --out "$work/$1" \
        --compute lognormal:5ms,0.3 "${@:3}"
    trained "$1" "$2"
}
if short_run; then
    for of in sync allreduce async ssp:1; do simulates "virtual-${of%:*}" "$of"; done
    says virtual-sync "cluster .*every worker on a host with its server"
    # A host that is lost takes both of its processes; then one of each alone, one more joins and leaves.
    gone=(--checkpoint-every 10 --kill "worker/1@100ms+100ms,ps/1@100ms+150ms,worker/2@400ms+50ms,ps/3@550ms+50ms"
        --join @50ms --leave worker/4@300ms)
    for of in sync allreduce async ssp:1; do
        simulates "virtual-gone-${of%:*}" "$of" "${gone[@]}"
        says "virtual-gone-${of%:*}" "faults +4 kills, 4 restarts, 1 join, 1 leave"
    done
    run owner 2 syncopate simulate "${job[@]}" --ps colocated --workers 2 --leave worker/1@1s
    said owner "leave: with --ps=colocated the place of worker/1 owns chunks, and cannot leave" ||
        fail "simulate lets an owner leave"
    one_line owner
    simulates virtual-drawn sync --checkpoint-every 10 --faults 3:200
    ok "in virtual time, each place a host: every mode, and hosts that are lost with both of their processes"
fi

# --- by hand ---------------------------------------------------------------------------------------------
# hosts COUNT - so many addresses, in $hosts.
hosts()
{
    local i
    hosts=''
    for ((i = 0; i < $1; i++)); do hosts+=${hosts:+,}127.0.0.1:$(free_port); done
}
# server NAME INDEX, worker NAME INDEX ARGUMENT...
server()
{
    start "$1" syncopate-ps --task-index "$2" --ps-hosts "$hosts" --out "$work/hand" --worker-timeout 5
}
worker()
{
    start "$1" syncopate-worker --task-index "$2" --ps colocated --ps-hosts "$hosts" "${job[@]}" \
        --checkpoint-every 5 --compute constant:15ms "${@:3}"
}
inspected() { "$build/syncopate" inspect "${hosts%%,*}" >"$work/inspected.log" 2>&1 && said inspected "$1"; }

if short_run && ! sanitized; then
    hosts 2
    for i in 0 1; do server "ps$i" "$i"; worker "w$i" "$i" --steps 1000000; done
    within 20 progressed hand 1 || fail "two places started by hand make no progress"
    within 10 inspected '^servers: 2 of 2, beside the workers$' || fail "inspect does not say where servers are"
    worker w2 2 --steps 1000000 # One more: it has no server, and owns nothing.
    within 10 inspected '^workers: 3 of 2$' || fail "a third worker does not join"
    run leave-w1 3 syncopate leave "${hosts%%,*}/worker/1"
    says leave-w1 "the place of worker/1 owns chunks of the model, and cannot leave"
    run leave-w2 0 syncopate leave "${hosts%%,*}/worker/2"
    ends w2 0
    said w2 "leaving, exit=0" || fail "who owns nothing does not leave"
    running w1 || fail "a worker whose place owns chunks has left"
    murder w1
    worker w1again 1 --steps 1000000
    murder ps1
    server ps1again 1
    says ps0 "generation 1: going back to step" 40
    made=$(checkpoints hand)
    within 40 progressed hand $((made + 2)) || fail "two places do not go on"
    kill -TERM "${pids[ps0]}"
    for i in w0 w1again ps0 ps1again; do ends "$i" 143 40; done
    cp -r "$work/hand" "$work/by-hand"
    right_bits by-hand sync
    grep -q '"event": "left"' "$work/hand/events.jsonl" || fail "nobody has left"
    ok "by hand: one more joins and leaves, a place's worker may not; killed, each comes back alone, to the same bits"

    # Workers must agree that they have servers beside them.
    hosts 2
    rm -r "$work/hand"
    for i in 0 1; do server "ps$i" "$i"; done
    worker w0 0
    within 10 inspected '^mode: sync' || fail "there is no job"
    run other 3 syncopate-worker --task-index 1 --workers 2 --ps-hosts "$hosts" "${job[@]}" \
        --checkpoint-every 5
    said other "servers beside the workers \(--ps colocated\): on in the running job, off in worker/1" ||
        fail "a worker that knows nothing of places is not told"
    one_line other
    worker w1 1
    for i in w0 w1 ps0 ps1; do ends "$i" 0 40; done
    ok "a worker that does not say colocated is told what differs"
fi
nothing_runs
