#!/usr/bin/env bash
# trace.sh - --trace: what every process did and for whom it waited, of real runs and of virtual ones, as
# other programs read it (trace.py is no program of ours): in every mode, over both transports; the sums of
# a virtual run's are its run.json's; processes started by hand on several hosts; whoever is killed has left
# what it did. And what `run --explain` says of every message of a run is what happened in it.
# needs: python3
# promises: explain trace
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

# pictured NAME - its trace.spans is read by ours, and there is a page of a step.
pictured()
{
    run "$1-picture" 0 syncopate trace "$work/$1/trace.spans" --out "$work/$1.html"
    grep -q '"reason":"typical","together":' "$work/$1.html" || fail "there is no page of $1"
    says "$1-picture" "took "
}

for name in sync-tcp async-shm ssp:1-tcp; do
    owners=0
    if [[ $name == *-tcp ]]; then owners=2; fi
    run "$name" 0 syncopate run "${base[@]}" --mode "${name%-*}" --workers 2 --ps 2 --epochs 2 \
        --transport "${name##*-}" --owner-threads $owners --trace --out "$work/$name"
    says "$name" "trace +[0-9]+ steps in "
    reads "$name" --steps 20 --processes 4 --hosts 1
    paths=$(sed -nE 's/.*, ([0-9]+) paths.*/\1/p' "$work/$name-read.log")
    if [ "$paths" -lt 15 ]; then fail "$name: of 20 steps $paths have a critical path"; fi
done
pictured sync-tcp
ok "a trace of real processes is read by others: lanes nest, arrows are critical paths, clocks are known"

run by-itself 0 syncopate run "${base[@]}" --ps 0 --epochs 2 --trace --out "$work/by-itself"
reads by-itself --steps 20 --processes 1 --paths 0
pictured by-itself
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
        grep -q "\"$arm-w2\":{\"virtual\":[a-z]*,\"processes\":\[" "$work/$name/report.html" || fail "the page of $name shows no step of $arm"
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

# --- --explain ------------------------------------------------------------------------------------
root=$(cd "$(dirname "$0")/../.." && pwd)

# Seven chunks, which two servers share; a step of four leaves, two for each of two workers.
explained=(--data synthetic:640 --model "flatten, dense 16 relu, dense 10" --chunk-bytes 8K --global-batch 64
    --ps 2 --workers 2)

# tells NAME ARGUMENT... - a run told twice: in $work/NAME.log as people read it, in $work/NAME.single each
# message with its fields; of both the words as one line an entry, without what is before and behind.
tells()
{
    local name=$1
    shift
    run "$name" 0 syncopate run "${explained[@]}" "$@" --explain --out "$work/$name"
    run "$name-each" 0 syncopate run "${explained[@]}" "$@" --explain --verbose --out "$work/$name-each"
    grep -qE '^ +[0-9.]+ ms ' "$work/$name.log" || fail "$name tells nothing"
    # Only a path cannot be broken.
    if grep -vE '^20[0-9-]+T' "$work/$name.log" | awk '/^Before it begins/,/ messages in all/' |
        grep -vF "$work/" | grep -E '.{81}' >"$work/$name-wide.log"; then
        fail "$name tells it in lines wider than a page"
    fi
    rm "$work/$name-wide.log"
    for log in "$name" "$name-each"; do
        awk '/^Before it begins/ { on = 1 } / messages in all/ { on = 0 } !on || /^20[0-9-]+T/ || /^$/ { next }
            { entry = /^ +[0-9.]+ ms  / } # Two blanks: it is no text.
            { gsub(/ +/, " ") }
            entry { if (line) print line; line = $0; next }
            /^ / { line = line $0 }
            END { print line }' "$work/$log.log" >"$work/$log.told"
    done
    if grep 'a loss of 0\.0000' "$work/$name.told"; then fail "$name tells of a gradient without its loss"; fi
}

# told NAME PATTERN - how many entries; all NAME PATTERN - the same, with those that are only counted.
told() { grep -cE -- "$2" "$work/$1.told" || true; }
all() { grep -E -- "$2" "$work/$1.told" | sed -E 's/.* And ([0-9,]+) more like it.*/\1/; t; s/.*/0/' |
    tr -d , | awk '{ n += $1 + 1 } END { print n + 0 }'; }
expect() # NAME NUMBER PATTERN - in both. Who is slowed down asks again, and is answered and told again.
{
    local found each
    found=$(all "$1" "$3") each=$(told "$1-each" "$3")
    if sanitized && [ "$found" -ge "$2" ] && [ "$each" -ge "$2" ]; then return; fi
    if [ "$found" != "$2" ] || [ "$each" != "$2" ]; then
        fail "$1: $found and, singly, $each of '$3' are told, not $2"
    fi
}

# Every message singly: an answer comes behind the question of its number, from whom it went to, and is
# heard; time does not run back.
causal()
{
    awk -v name="$1" '
        { ms = $1; if (ms + 0 < last + 0) { print name ": time runs back at " $0; bad = 1 } last = ms }
        $4 == "->" && $5 ~ /^(ps|worker)\/[01]$/ {
            from = $3; to = $5; kind = $6; number = ""
            if (match($0, / r=[0-9]+/)) number = substr($0, RSTART + 3, RLENGTH - 3)
            if ($0 !~ /, heard [0-9.]+ ms later/ && kind != "BYE") { print name ": not heard: " $0; bad = 1 }
            if (kind ~ /^(EXCHANGE|LEASE|EVALUATION|JOIN|PING)$/) asked[from, to, number] = 1
            else if (kind ~ /^(RESULT|RECEIPT|MOVED_ON|PONG)$/) {
                answers++
                if (!((to, from, number) in asked)) { print name ": an answer without its question: " $0; bad = 1 }
            }
        }
        END { if (answers < 10) { print name ": only " answers + 0 " answers"; bad = 1 } exit bad }
    ' "$work/$1.told" >"$work/causal.log" || fail "$(cat "$work/causal.log")"
}

# named NAME NUMBER - each entry has a function of the core that said it, and none of those that send.
named()
{
    local count
    if grep -vE '\([a-z_/]+\.c:[a-z_0-9]+\)( |$)' "$work/$1.told" >"$work/named.log"; then
        fail "$1 does not say who said: $(head -n 1 "$work/named.log")"
    fi
    if grep -E '(server|client|cores|outbox|envelope)\.c:(flush|send_|try_send|dispatch|outbox_|envelope_(put|to))' \
        "$work/$1.told" >"$work/named.log"; then
        fail "$1 names who sends, not who said: $(head -n 1 "$work/named.log")"
    fi
    count=$(grep -oE '[a-z_/]+\.c:[a-z_0-9]+' "$work/$1.told" | sort -u | wc -l)
    if [ "$count" -lt "$2" ]; then fail "$1 names only $count functions"; fi
}
chunks() { sed -nE 's/^  dealt +([0-9]+) chunks.*/\1/p' "$work/$1.log"; }

tells sync --mode sync --steps 1
n=$(chunks sync)
if [ "${n:-0}" -lt 4 ]; then fail "there are only ${n:-no} chunks"; fi
expect sync $((2 * n)) 'worker/[01] -> ps/[01] EXCHANGE .*Here is my gradient of step 0'
expect sync $((2 * n)) 'worker/[01] -> ps/[01] EXCHANGE .*give me the newest values'
expect sync $((2 * n)) 'ps/[01] -> worker/[01] RESULT .*Your gradient (is|was) applied'
expect sync $((2 * n)) 'ps/[01] -> worker/[01] RESULT .*Here is version 0 of chunk'
expect sync $((2 * n)) 'ps/[01] -> worker/[01] RESULT .* as it was after 1 batches'
expect sync $((2 * n)) "ms ps/[01] chunk [0-9]+, with worker/[01]'s gradient of step 0"
expect sync "$n" 'ms ps/[01] chunk [0-9]+: all leaves of the step are in: .* version 1\.'
held=$(all sync 'RESULT .*The answer was held for')
if [ "$held" != "$n" ] || [ "$(all sync 'the answer to worker/[01] waits until version 1')" != "$n" ]; then
    fail "$held answers were held at the barrier of $n chunks"
fi
expect sync 2 'worker/[01] has computed the gradient of leaves [02] to [13] of step 0, 32 examples'
expect sync 1 'ps/0 has written the manifest of version 1: all parts'
expect sync 0 ' LEASE |Compute batch'
causal sync-each
named sync 20
ok "sync: the messages of a step are told, $n chunks for two workers, and the barrier"

tells async --mode async --steps 2
expect async $((2 * n)) 'worker/[01] -> ps/[01] EXCHANGE .*Here is my gradient of batch [01] '
expect async $((2 * n)) 'ms ps/[01] chunk [0-9]+: at once, without waiting for others, '
expect async $((2 * n)) 'RESULT .*is applied, at staleness [01]'
expect async 2 'ps/0 -> worker/[01] WORK .*Compute batch [01]. It is leased to you'
expect async 2 'LEASE .*All servers have answered for batch [01]: it is done'
expect async 0 'The answer was held|waits until version'
causal async-each
named async 20
ok "async: leases, and gradients that are applied as they come"

tells replicas --mode allreduce --steps 2
expect replicas $((4 * n)) 'worker/[01] -> ps/[01] EXCHANGE .*Here is my gradient of step [01]'
sums=$(all replicas 'RESULT .*Here is the sum of all gradients of chunk')
values=$(all replicas 'RESULT .*Your gradient (is|was) applied.* Here is version 1 of')
if [ "$sums" -lt $((2 * n)) ] || [ $((sums + values)) != $((4 * n)) ]; then
    fail "of $((4 * n)) gradients $sums are answered with a sum and $values with values"
fi
causal replicas-each
named replicas 20
ok "allreduce: gradients are answered with their sum, and workers make the update"

# The second worker is always late: each step is made of the leaves of the first.
tells spare --mode sync --backup-workers 1 --steps 3 --compute constant:20ms --slow 1:20
for step in 0 1 2; do # Told again until it is known to be done.
    if [ "$(told spare-each "ps/0 -> ps/1 CLOSE .*Enough workers have reported step $step:")" -eq 0 ]; then
        fail "nobody says that step $step is closed"
    fi
done
expect spare $((3 * n)) 'server 0 has closed the step, .* divided by their 32 examples, and makes one update'
held=$(all spare 'RESULT .*The answer was held for .* until the step was closed and what it is made of was in\.')
# At least those of the chunk that says who has reported: the others may be overtaken by CLOSE.
if [ "$held" -lt 3 ]; then fail "only $held answers were held until a step was closed"; fi
expect spare 0 'until all others were in|all leaves of the step are in: '
causal spare-each
named spare 20
ok "backup workers: server 0 closes a step without the late one, and answers wait for that"

explained=("${explained[@]:0:8}" --ps 0 --workers 1)
tells alone --mode sync --steps 2
expect alone 0 ' -> '
expect alone 2 'worker/0 has computed the gradient of leaves 0 to 3 of step [01], 64 examples'
expect alone 2 'worker/0 divides the sum by its 64 examples and makes one update of all variables with adam'
named alone 5
says alone "0 messages in all"
ok "without servers there are no messages, and the step is printed all the same"

# --- what common/READING.md shows of it --------------------------------------------------------------
# Numbers differ from run to run, and with the model; who is who with who is faster.
plain() { sed -E 's/^ *[0-9.]+ ms //; s/[0-9][0-9,.]*[0-9]/#/g; s/[0-9]/#/g; s/ +/ /g; s/^ //'; }
excerpts() # One line an entry, of the section that tells a step.
{
    awk '/^## A step, in words/ { on = 1; next } /^## / { on = 0 } !on { next }
        /^```/ { if (line) print line; line = ""; block = !block; next }
        !block { next }
        /^ +[0-9.]+ ms  / { if (line) print line; line = $0; next }
        line { line = line $0 }' "$root/common/READING.md"
}
cat "$work"/{sync,async}{,-each}.told | plain >"$work/plain.told"
count=0
while read -r entry; do
    grep -qF -- "$entry" "$work/plain.told" || fail "common/READING.md shows what is not told so: $entry"
    count=$((count + 1))
done < <(excerpts | plain)
if [ "$count" -lt 7 ]; then fail "common/READING.md shows only $count entries"; fi
if ! excerpts | grep -q ' GRADIENT .*I compute my gradient'; then fail "common/READING.md leaves out how a gradient is described"; fi
ok "the $count entries that common/READING.md shows are told so, but for numbers"

# --- a worker that is killed -----------------------------------------------------------------------
worker_of_ours() # The process of worker/1.
{
    local pid
    for pid in $(survivors); do
        if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q '^[^ ]*syncopate-worker.* --task-index=1 '; then echo "$pid"; fi
    done
}
# The victim is some seconds in its first batch: the job is not done before it is killed.
start lost syncopate run --data synthetic:640 --model softmax --mode async --workers 2 --ps 2 --steps 12 \
    --compute constant:30ms --slow 1:40 --explain --out "$work/lost"
within 10 grep -qs '"event": "start"' "$work/lost/events.jsonl" || fail "it does not begin"
victim=$(worker_of_ours)
if [ -z "$victim" ]; then fail "there is no worker/1"; fi
kill -KILL "$victim"
ends lost 0 60
said lost "does without worker/1, which is lost" || fail "it is not told that a worker was lost"
said lost "messages in all" || fail "what was told has no end"
ok "where a worker is killed that is told, and so is all else"

# --- what is refused -------------------------------------------------------------------------------
run refused 2 syncopate run --data synthetic:640 --explain --steps 17
says refused "--explain tells every message, and so of a short run only: add --steps 1"
one_line refused
ok "a run too long to be read is refused, saying what to do"
nothing_runs
