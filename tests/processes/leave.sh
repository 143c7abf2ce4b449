#!/usr/bin/env bash
# leave.sh - `syncopate leave`: one worker goes, asked of server 0 or by its process on this host, and
# the job goes on without it; who may ask, and what is said of a worker that is not there.
# test: asan
# promises: joins
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:500 --model softmax --seed 3 --compute constant:5ms)
endless=("${small[@]}" --steps 100000000 --checkpoint-every 0)
progressed() { grep -qs '"event": "progress"' "$work/$1/events.jsonl"; }
# job RUN OPTION... - a server and two workers, with what else they are to be told.
job()
{
    hosts=127.0.0.1:$(free_port)
    start "$1-ps" syncopate-ps --ps-hosts "$hosts" --out "$work/$1" --worker-timeout 600 "${@:2}"
    for index in 0 1; do worker "$1" "$index" "${endless[@]}" "${@:2}"; done
    within 20 progressed "$1" || fail "$1 makes no progress"
}
worker()
{
    start "$1-w$2" syncopate-worker --ps-hosts "$hosts" --workers 2 --task-index "$2" "${@:3}"
}
# stays RUN WORKER - it is there yet, and so is the server.
stays()
{
    running "$1-w$2" || fail "$1: worker/$2 has gone"
    running "$1-ps" || fail "$1: the server has gone"
}
# refused NAME CODE PATTERN ARGUMENT...
refused()
{
    run "$1" "$2" syncopate leave "${@:4}"
    says "$1" "$3"
    one_line "$1"
}

# --- asked of server 0 ----------------------------------------------------------------------------
job asked
run asked-leave 0 syncopate leave "tcp://$hosts/worker/1"
says asked-leave "^worker/1 has left$"
ends asked-w1 0
says asked-w1 "leaving, exit=0, as somebody asked of ps/0; the job goes on without this worker"
says asked-ps "worker/1 is to leave: somebody has asked for it"
stays asked 0
refused left 3 "syncopate leave: worker/1 is not there: it has left$" "$hosts/worker/1"
refused never 3 "syncopate leave: worker/9 is not there: it never was$" "$hosts/worker/9"
worker asked 1 "${endless[@]}" # Its place may be taken, and who takes it stays.
within 20 grep -qs "assignment 3: 2 workers" "$work/asked-ps.log" || fail "nobody takes the place"
pause 1
stays asked 1
if grep -q '"event": "lost"' "$work/asked/events.jsonl"; then fail "leaving is a loss"; fi
ok "syncopate leave HOST:PORT/worker/I: that worker goes with 0, and the job goes on; who is not there is said"

# --- by its process -------------------------------------------------------------------------------
run process 0 syncopate leave --pid "${pids[asked-w1]}"
ends asked-w1 0
refused typed 2 "keys=nowhere: only used with HOST:PORT/worker/I" --self --keys nowhere
# But a container's variables are for all its processes.
SYNCOPATE_KEYS=nowhere run evicted 0 syncopate leave --pid "${pids[asked-w0]}" --evicted
ends asked-w0 143
says asked-ps "no worker is left; waiting 1 min for one to join"
refused stranger 3 "process $$ is no syncopate-worker" --pid $$
for kind in self pid=1 pid=0x; do
    code=0
    "$build/syncopate" leave "--$kind" "$hosts/worker/0" >"$work/both.log" 2>&1 || code=$?
    if [ "$code" -ne 2 ]; then fail "--$kind beside an address ended with $code"; fi
    one_line both
done
refused nothing 2 "needs a worker, as server 0's host:port/worker/I; or --self or --pid"
refused bare 2 "is not HOST:PORT/worker/I, such as alpha:7000/worker/3" "$hosts"
refused alone 2 "evicted: only used with --self or --pid" "$hosts/worker/0" --evicted
kill -TERM "${pids[asked-ps]}"
ends asked-ps 143
refused silent 5 "no server 0 answers: connection refused" "$hosts/worker/0"

# What waits longer than it may: a worker that is stopped cannot leave.
job stuck
kill -STOP "${pids[stuck-w1]}"
# In a second a server that is kept waiting may not have answered once.
refused late 195 "worker/1 has been told, and has not left within $patience s" "$hosts/worker/1" --stop-timeout "$patience"
refused late-process 195 "process ${pids[stuck-w1]} has not left within 1 s" --pid "${pids[stuck-w1]}" \
    --stop-timeout 1
kill -CONT "${pids[stuck-w1]}"
ends stuck-w1 0 # It was told, and goes when it can.
ok "--pid and --evicted ask the process itself, with 0 or 143; a deadline ends the waiting, not the request"
kill -TERM "${pids[stuck-ps]}"
for name in ps w0; do ends "stuck-$name" 143; done

# In a namespace of processes, as a container has it, there is one worker: PID 1, or its child.
if [ "$(id -u)" -eq 0 ] && unshare --pid --fork --mount-proc true 2>/dev/null; then
    job contained
    # shellcheck disable=SC2016 # For the inner shell.
    unshare --pid --fork --mount-proc --kill-child bash -c '
        build=$1; shift
        "$build/syncopate-worker" "$@" & worker=$!
        until "$build/syncopate" leave --self --evicted; do sleep 0.1; done
        code=0; wait "$worker" || code=$?
        "$build/syncopate" leave --self; echo "worker $code, then $?"' \
        bash "$build" --ps-hosts "$hosts" --workers 2 --task-index 2 "${endless[@]}" \
        >"$work/contained.log" 2>&1 </dev/null &
    pids[contained]=$!
    ends contained 0 30
    says contained "^worker 143, then 3$"
    stays contained 1
    kill -TERM "${pids[contained-ps]}"
    for name in ps w0 w1; do ends "contained-$name" 143; done
    ok "--self finds the one worker of a container, without a shell in it"
else
    skip "--self in a container: no namespace of processes may be made here"
fi

# --- the launcher's -------------------------------------------------------------------------------
start launched syncopate run "${endless[@]}" --workers 2 --verbose --out "$work/launched"
within 20 progressed launched || fail "the launcher's job makes no progress"
for pid in $(survivors); do
    case " $(tr '\0' ' ' <"/proc/$pid/cmdline") " in
        *" --job-name=worker "*" --task-index=0 "*) "$build/syncopate" leave --quiet --pid "$pid" ;;
    esac
done
says launched "worker/0 leaves"
pause 1
if grep -qE "started again" "$work/launched.log"; then fail "a worker that left is started again"; fi
running launched || fail "the launcher's job has ended with one worker's leave"
kill -INT "${pids[launched]}"
ends launched 130
ok "the launcher takes a worker that leaves for no failure, and does not start it again"

# --- a place that also serves ---------------------------------------------------------------------
hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
for index in 0 1; do
    start "place-ps$index" syncopate-ps --task-index $index --ps-hosts "$hosts" --out "$work/place"
    start "place-w$index" syncopate-worker --task-index $index --ps colocated --ps-hosts "$hosts" "${endless[@]}"
done
within 20 progressed place || fail "places make no progress"
refused owner 3 "the place of worker/1 owns chunks of the model, and cannot leave" "${hosts%,*}/worker/1"
refused stays 195 "has not left within 1 s" --pid "${pids[place-w1]}" --stop-timeout 1
says place-w1 "asked to leave, and going on"
run place 0 syncopate leave --pid "${pids[place-w1]}" --evicted
for name in ps0 ps1 w0 w1; do ends "place-$name" 143; done
if [ "$(member "$work/place" state)" != stopped ]; then fail "a place that is taken away stops no job"; fi
ok "a place that also serves is not let go, and when it is evicted stops the job at a checkpoint"

# --- keys -----------------------------------------------------------------------------------------
keys=$work/keys
"$build/syncopate" keygen "$keys" --workers 2 --quiet
"$build/syncopate" keygen "$keys/spare" --quiet
job keyed --keys "$keys"
refused unkeyed 6 "it wants keys" "$hosts/worker/1"
for who in worker-0 observer; do
    refused "$who" 6 "is the certificate of (worker/0|any observer), and this is worker/1" "$hosts/worker/1" --keys "$keys" \
        --certificate "$keys/$who.key_secret"
done
stays keyed 1
run keyed-own 0 syncopate leave "$hosts/worker/1" --keys "$keys"
ends keyed-w1 0
run keyed-spare 0 syncopate leave "$hosts/worker/0" --keys "$keys" --certificate "$keys/spare.key_secret"
ends keyed-w0 0
kill -TERM "${pids[keyed-ps]}"
ends keyed-ps 143
ok "with keys a worker is sent away by its own key, or by one that may be anything, and by nobody else's"
