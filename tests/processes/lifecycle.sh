#!/usr/bin/env bash
# lifecycle.sh - servers and workers started by hand come together in any order, say for whom they
# wait, refuse who does not belong, and all end: at the end of the job, when one of them is lost, on
# Ctrl-C, and with their launcher. `syncopate leave`: who may ask that a worker goes, and what becomes of the job.
# test: first asan tsan
# promises: broken by-hand joins other-run ssp stop
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:500 --model softmax --seed 3)
short=("${small[@]}" --epochs 2)
endless=("${small[@]}" --steps 100000000 --checkpoint-every 0)
silence=$patience # Seconds after which a process counts as gone.

# hosts SERVERS - ports for so many servers, into $hosts and ${ports[@]}.
hosts()
{
    local i
    hosts='' ports=()
    for ((i = 0; i < $1; i++)); do
        ports[i]=$(free_port)
        hosts+=${hosts:+,}127.0.0.1:${ports[i]}
    done
}
# ps INDEX NAME ARGUMENT..., worker INDEX NAME ARGUMENT...
ps() { start "$2" syncopate-ps --task-index "$1" --ps-hosts "$hosts" "${@:3}"; }
worker() { start "$2" syncopate-worker --task-index "$1" --ps-hosts "$hosts" "${@:3}"; }
all_free()
{
    local port
    for port in "${ports[@]}"; do port_is_free "$port"; done
}
# --- any order ------------------------------------------------------------------------------------
hosts 2
worker 1 order-worker1 --workers 2 "${short[@]}"
worker 0 order-worker0 --workers 2 "${short[@]}"
ps 1 order-ps1 --out "$work/order-elsewhere"
waited="waiting ([5-9]|[1-9][0-9]) s" # A line is due after 5 s, and written when there is a processor.
says order-worker0 "$waited for ps/0: connection refused by 127.0.0.1:${ports[0]}"
says order-ps1 "$waited for ps/0: connection refused by 127.0.0.1:${ports[0]}"
ps 0 order-ps0 --out "$work/order"
for name in order-ps0 order-ps1 order-worker0 order-worker1; do ends "$name" 0; done
if [ "$(member "$work/order" state)" != "done" ]; then fail "run.json does not say done"; fi
expected=$(model_hash "$work/order")
nothing_runs
all_free
ok "workers, then server 1, then server 0: they wait, say why, train, and all exit 0"

# --- somebody does not come -----------------------------------------------------------------------
hosts 2
ps 0 missing-ps0 --out "$work/missing" --start-timeout $((8 + patience)) # Beyond 5 s, for those who are late.
ps 1 missing-ps1 --out "$work/missing" --start-timeout 30
worker 0 missing-worker0 --workers 3 "${short[@]}" --start-timeout 30
says missing-ps0 "waiting ([4-9]|1[0-9]) s for worker/1 \(never seen\), worker/2 \(never seen\)" 15
says missing-worker0 "$waited, ps/0 says: waiting (([4-9]|1[0-9]) s for worker/1|for others)"
for name in missing-ps0 missing-ps1 missing-worker0; do ends "$name" 4; done
for name in missing-ps0 missing-ps1 missing-worker0; do
    says "$name" "error: start timed out after .* waiting for worker/1 .*, worker/2"
    one_line "$name"
done
nothing_runs
all_free
ok "a start that times out exits 4 everywhere and names who is missing"

# --- who does not belong --------------------------------------------------------------------------
hosts 1
ps 0 belong-ps0 --out "$work/belong"
worker 0 belong-worker0 --workers 2 "${short[@]}"
says belong-ps0 "worker/0 joined"
worker 1 belong-other-model --workers 2 --data synthetic:500 --seed 3 --model mlp --epochs 2
ends belong-other-model 3
says belong-other-model 'error: model: .*dense 10.* in the running job, .*dense 128.* in worker/1'
one_line belong-other-model
worker 1 belong-other-steps --workers 2 "${short[@]}" --steps 7
ends belong-other-steps 3
says belong-other-steps 'error: steps: 16 in the running job, 7 in worker/1'
worker 0 belong-twin --workers 2 "${short[@]}"
ends belong-twin 3
says belong-twin "error: worker/0 is taken by another process"
one_line belong-twin
worker 1 belong-worker1 --workers 2 "${short[@]}"
for name in belong-ps0 belong-worker0 belong-worker1; do ends "$name" 0; done
ok "another model, other steps and a taken index are refused with 3"

# --- a left-over of an old run --------------------------------------------------------------------
hosts 1
ps 0 old-ps0 --out "$work/old"
worker 0 old-worker0 --workers 1 "${endless[@]}" --worker-timeout 60
# The server says that training starts before its worker has heard so: a worker that has trained knows its run.
trained() { grep -qs '"event": "progress"' "$work/$1/events.jsonl"; }
within 20 trained old || fail "the old run does not start"
kill -STOP "${pids[old-worker0]}"
murder old-ps0
within 5 gone old-ps0 || fail "the old server does not die"
ps 0 new-ps0 --out "$work/new"
worker 0 new-worker0 --workers 2 "${short[@]}"
says new-ps0 "worker/0 joined"
kill -CONT "${pids[old-worker0]}"
ends old-worker0 195
says old-worker0 "error: .*run"
one_line old-worker0
worker 1 new-worker1 --workers 2 "${short[@]}"
for name in new-ps0 new-worker0 new-worker1; do ends "$name" 0; done
if [ "$(model_hash "$work/new")" != "$expected" ]; then fail "the left-over changed the new run"; fi
nothing_runs
ok "a worker of an old run is refused with exit code 195, and the new run is as it should be"

# --- a slow one -----------------------------------------------------------------------------------
# A batch of the third worker takes seconds.
hosts 1
bounded=(--workers 3 --data synthetic:2000 --mode ssp:1 --model softmax --steps 150 --checkpoint-every 0 --compute constant:5ms)
ps 0 slow-ps0 --out "$work/slow"
for i in 0 1 2; do worker "$i" "slow-worker$i" "${bounded[@]}" --slow 2:1000; done
inspected() { "$build/syncopate" inspect "$hosts" >"$work/inspected.log" 2>&1 && said inspected "$1"; }
within 10 inspected "^worker/0 and 1 more wait for worker/2 \(on .*\), the slowest, in ssp:1$" ||
    fail "inspect does not say who waits for whom"
worker 3 slow-late "${bounded[@]}" --slow 2:1000 # Beyond the three that were declared: it waits as they do.
within 10 inspected "^worker/0 and 2 more wait for worker/2 " || fail "the late one does not wait"
says slow-worker0 "waiting [0-9]+ s, ps/0 says: waiting for worker/2 \(on .*\), the slowest, in ssp:1" 15
murder slow-worker2
for name in slow-worker0 slow-worker1 slow-late slow-ps0; do ends "$name" 0 30; done
if [ "$(member "$work/slow" workers_lost)" != 1 ]; then fail "nobody was lost"; fi
ok "who waits says for whom, and not for long for one that was killed"

# --- somebody dies --------------------------------------------------------------------------------
# dies VICTIM ARGUMENT... - of two servers and two workers, the victim is killed and stays away, and
# the job ends for all. What else a death may come to is in faults.sh.
dies()
{
    local victim=$1 name others=() patient
    patient=(--worker-timeout "$silence" --recovery-timeout $((2 * silence)))
    hosts 2
    for i in 0 1; do
        ps "$i" "$victim-dies-ps$i" --out "$work/$victim-dies" "${patient[@]}" "${@:2}"
        worker "$i" "$victim-dies-worker$i" --workers 2 "${endless[@]}" "${patient[@]}"
    done
    within 20 trained "$victim-dies" || fail "training does not start"
    murder "$victim-dies-$victim"
    for name in ps0 ps1 worker0 worker1; do
        if [ "$name" != "$victim" ]; then others+=("$victim-dies-$name"); fi
    done
    for name in "${others[@]}"; do
        ends "$name" 195 30
        says "$name" "error: .*lost ${victim%[01]}/${victim#"${victim%[01]}"}"
        one_line "$name"
    done
    nothing_runs
    all_free
}
dies worker1 --on-worker-loss fail
dies ps1
dies ps0
ok "a lost worker that is missed, server 1 or server 0 ends the job for everybody with 195 and a line"

# --- the launcher ---------------------------------------------------------------------------------
progressed() { grep -qs '"event": "progress"' "$work/$1/events.jsonl"; }
launch()
{
    start "$1" syncopate run --out "$work/$1" --ps 2 --workers 2 "${small[@]}" --steps 100000000 \
        --worker-timeout "$silence" "${@:2}"
    within 20 progressed "$1" || fail "$1 makes no progress"
}

launch interrupted
kill -INT "${pids[interrupted]}"
ends interrupted 130
nothing_runs
if [ "$(member "$work/interrupted" state)" != stopped ]; then fail "run.json: not stopped"; fi
run look 0 syncopate inspect "$work/interrupted/checkpoints"/step-*"$(member "$work/interrupted" \
    step)"
run score 0 syncopate evaluate "$work/interrupted" --data synthetic:500 --seed 3
ok "Ctrl-C leaves a checkpoint that can be looked at and scored, and no process"

# gathers NAME - a job of two workers whose second does not come is stopped; of a new run, or of the one that
# was interrupted; run.json says so, and where it stands.
gathers()
{
    local name=$1 step=$2
    hosts 1
    ps 0 "$name-ps0" --out "$work/$name"
    worker 0 "$name-worker0" --workers 2 "${small[@]}" --steps 100000000
    says "$name-ps0" "waiting .* for worker/1" 15
    kill -INT "${pids[$name-ps0]}"
    ends "$name-ps0" 130
    ends "$name-worker0" 130
    if [ "$(member "$work/$name" state) $(member "$work/$name" step)" != "stopped $step" ]; then
        fail "$name: run.json says $(member "$work/$name" state) at step $(member "$work/$name" step), not stopped at $step"
    fi
}
gathers unbegun 0
made=$(member "$work/interrupted" step) bits=$(member "$work/interrupted" parameters_sha256)
gathers interrupted "$made"
if [ "$(member "$work/interrupted" parameters_sha256)" != "$bits" ]; then fail "it has another model"; fi
ok "stopped while it waits for a worker, a run says so, and that it stands where it stood"

launch killed
murder killed
nothing_runs
ok "nothing survives a launcher that is killed"

# child NAME - the id of the first such process of the launcher.
child()
{
    for pid in $(survivors); do
        if [ "$(cat "/proc/$pid/comm")" = "$1" ]; then return; fi
    done
    fail "there is no $1"
}
launch worker-killed --max-restarts 0
child syncopate-worke
kill -KILL "$pid"
ends worker-killed 195 30
one_line worker-killed
nothing_runs
ok "a worker killed under a launcher that may not start it again ends the job with 195"

launch started-again
child syncopate-worke
kill -KILL "$pid"
says started-again "worker/[01] was killed by signal 9 \(Killed\); started again \(restart 1 of 5\)"
child syncopate-ps
kill -KILL "$pid"
says started-again "ps/[01] was killed by signal 9 \(Killed\); started again \(restart 1 of 5\)"
count() { grep -c '"event": "progress"' "$work/started-again/events.jsonl" || true; }
before=$(count)
goes_on() { [ "$(count)" -gt $((before + 2)) ]; }
within 30 goes_on || fail "it does not go on"
kill -INT "${pids[started-again]}"
ends started-again 130 60
says started-again "workers: stopped.*, 2 restarts"
nothing_runs
ok "a worker and a server killed under the launcher are started again, and Ctrl-C stops the job"

# --- a start that is waited for in vain -----------------------------------------------------------
# Programs of its own: a launcher's worker that is deaf, then a server; and a server 0 that is stopped.
programs()
{
    mkdir "$work/$1"
    ln -s "$build/syncopate-$2" "$work/$1/"
    printf '#!/bin/sh\ntrap "" TERM INT\nexport TEST_DEAF=1\nwhile :; do sleep 0.1; done\n' >"$work/$1/syncopate-$3"
    chmod +x "$work/$1/syncopate-$3"
}
programs deaf-worker ps worker
programs deaf-ps worker ps
waits=("${small[@]}" --steps 3 --start-timeout 2)
hosts 1
ps 0 still-ps
says still-ps listening
kill -STOP "${pids[still-ps]}"
SYNCOPATE_BIN_DIR=$work/deaf-worker start run-worker syncopate run "${waits[@]}" --out "$work/out-worker"
SYNCOPATE_BIN_DIR=$work/deaf-ps start run-ps syncopate run "${waits[@]}" --ps 2 --out "$work/out-ps"
worker 0 still-worker --workers 1 "${waits[@]}"
start lost-ps syncopate-ps --task-index 1 --ps-hosts "127.0.0.1:$(free_port),127.0.0.1:$(free_port)" --start-timeout 2
for name in run-worker run-ps still-worker lost-ps; do ends "$name" 4 15; done
says run-worker "syncopate run: .*start timed out after 2 s: no worker has declared a job"
says run-ps "syncopate run: .*(ps/0 did not say where it listens within 2 s|worker/[01] ended with exit code 4: start timed out)"
says still-worker "127.0.0.1:${ports[0]} accepts connections, but does not answer"
says lost-ps "start timed out after 2 s: nothing heard from ps/0: connection refused"
murder still-ps
within 5 gone still-ps || fail "the server that was stopped does not die"
nothing_runs
ok "who waits for what is deaf, stopped or not there gives up after --start-timeout"

endless=("${small[@]}" --steps 100000000 --checkpoint-every 0 --compute constant:5ms)
# job RUN OPTION... - a server and two workers, with what else they are to be told.
job()
{
    hosts 1
    ps 0 "$1-ps" --out "$work/$1" --worker-timeout 600 "${@:2}"
    for index in 0 1; do worker "$index" "$1-w$index" --workers 2 "${endless[@]}" "${@:2}"; done
    within 20 progressed "$1" || fail "$1 makes no progress"
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
worker 1 asked-w1 --workers 2 "${endless[@]}" # Its place may be taken, and who takes it stays.
within 20 grep -qs "assignment 3: 2 workers" "$work/asked-ps.log" || fail "nobody takes the place"
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
refused late 195 "worker/1 has been asked to leave, and has not left within $patience s" "$hosts/worker/1" --stop-timeout "$patience"
kill -CONT "${pids[stuck-w1]}"
ends stuck-w1 0 # It was told, and goes when it can.
kill -TERM "${pids[stuck-ps]}"
for name in ps w0; do ends "stuck-$name" 143; done
ok "a deadline ends the waiting, not the request"

# --- a place that also serves ---------------------------------------------------------------------
hosts 2
for index in 0 1; do
    ps "$index" "place-ps$index" --out "$work/place"
    worker "$index" "place-w$index" --ps colocated "${endless[@]}" --on-term leave
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
