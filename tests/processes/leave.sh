#!/usr/bin/env bash
# leave.sh - `syncopate leave`: one worker goes, as server 0 is asked, and the job goes on without it; who may ask,
# and what is said of a worker that is not there.
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
says asked-w1 "leaving, exit=0, as ps/0 was asked; the job goes on without this worker"
says asked-ps "worker/1 has to leave: it was asked of ps/0"
stays asked 0
refused left 3 "syncopate leave: worker/1 is not there: it has left$" "$hosts/worker/1"
refused never 3 "syncopate leave: worker/9 is not there: it never was$" "$hosts/worker/9"
worker asked 1 "${endless[@]}" # Its place may be taken, and who takes it stays.
within 20 grep -qs "assignment 3: 2 workers" "$work/asked-ps.log" || fail "nobody takes the place"
pause 1
stays asked 1
if grep -q '"event": "lost"' "$work/asked/events.jsonl"; then fail "leaving is a loss"; fi
ok "syncopate leave HOST:PORT/worker/I: that worker goes with 0, and the job goes on; who is not there is said"

refused nothing 2 "needs a worker, as server 0's host:port/worker/I"
refused bare 2 "is not HOST:PORT/worker/I, such as alpha:7000/worker/3" "$hosts"
refused old 2 "unknown option --self: SIGTERM lets a worker leave that runs with --on-term leave; or name it as" --self
kill -TERM "${pids[asked-ps]}"
for name in ps w0 w1; do ends "asked-$name" 143; done
refused silent 5 "no server 0 answers: connection refused" "$hosts/worker/0"

# What waits longer than it may: a worker that is stopped cannot leave.
job stuck
kill -STOP "${pids[stuck-w1]}"
# In a second a server that is kept waiting may not have answered once.
refused late 195 "worker/1 has been told, and has not left within $patience s" "$hosts/worker/1" --stop-timeout "$patience"
kill -CONT "${pids[stuck-w1]}"
ends stuck-w1 0 # It was told, and goes when it can.
kill -TERM "${pids[stuck-ps]}"
for name in ps w0; do ends "stuck-$name" 143; done
ok "a deadline ends the waiting, not the request"

# --- a place that also serves ---------------------------------------------------------------------
hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
for index in 0 1; do
    start "place-ps$index" syncopate-ps --task-index $index --ps-hosts "$hosts" --out "$work/place"
    start "place-w$index" syncopate-worker --task-index $index --ps colocated --ps-hosts "$hosts" "${endless[@]}" \
        --on-term leave
done
within 20 progressed place || fail "places make no progress"
refused owner 3 "the place of worker/1 owns chunks of the model, and cannot leave" "${hosts%,*}/worker/1"
kill -TERM "${pids[place-w1]}"
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
