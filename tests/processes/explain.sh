#!/usr/bin/env bash
# explain.sh - a step, told: what `run --explain` says of real runs is what happened in them, in every
# mode: as many messages as there were, to whom they went, no answer before its question, and the function that
# said it; and a run that nobody could read through is refused.
# promises: explain
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

# Seven chunks, which two servers share; a step of four leaves, two for each of two workers.
base=(--data synthetic:640 --model "flatten, dense 16 relu, dense 10" --chunk-bytes 8K --global-batch 64
    --ps 2 --workers 2)

# tells NAME ARGUMENT... - a run told twice: in $work/NAME.log as people read it, in $work/NAME.single each
# message with its fields; of both the words as one line an entry, without what is before and behind.
tells()
{
    local name=$1
    shift
    run "$name" 0 syncopate run "${base[@]}" "$@" --explain --out "$work/$name"
    run "$name-each" 0 syncopate run "${base[@]}" "$@" --explain --verbose --out "$work/$name-each"
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

if short_run; then
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

    tells grouped --mode async --accumulate 4 --steps 6
    expect grouped $((4 * n)) 'ms ps/[01] chunk [0-9]+: the gradient, of 64 examples .* waits there for more: it has [123] of 4 '
    expect grouped "$n" 'ms ps/[01] chunk [0-9]+: that was the last of 4 batches .* by its 256 examples .* version 1\.'
    expect grouped "$n" 'ms ps/[01] chunk [0-9]+: batches in the open group: 2 of 4\. .* by its 128 examples .* version 2\.'
    expect grouped 0 'at once, without waiting for anybody|gradient is applied'
    causal grouped-each
    named grouped 20
    tells cuts --mode async --accumulate 16 --steps 6 --checkpoint-every 2 # A cut may come too late, and is then made later.
    members=$(sed -nE 's/.*chunk [0-9]+: batches in the open group: ([0-9]+) of 16\..*/\1/p' "$work/cuts-each.told" |
        awk '{ n += $1 } END { print n + 0 }')
    if [ "$members" != $((6 * n)) ]; then fail "updates of $members batches are told, not of $((6 * n))"; fi
    updates=$(told cuts-each 'batches in the open group: ')
    if [ "$updates" -le "$n" ]; then fail "no checkpoint closes a group: there are $updates updates of $n chunks"; fi
    ok "async in groups: gradients that wait for more, full groups, and the one that the job's end closes"
fi

if short_run; then
    tells ssp --mode ssp:3 --steps 2
    expect ssp 2 'ps/0 -> worker/[01] WORK .*Compute batch [01]. It is leased to you, for it brings you no more than 3 '
    expect ssp 2 'worker/[01] All chunks are here, and new enough for batch [01]'
    causal ssp-each
    named ssp 20
    ok "ssp: what the bound lets a worker have"

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
        if [ "$(told spare-each "ps/0 -> ps/1 CLOSE .*Enough workers have reported step $step,")" -eq 0 ]; then
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

    base=("${base[@]:0:8}" --ps colocated --workers 2)
    tells beside --mode sync --steps 1
    says beside "share a place \\(worker/0 and ps/0"
    if said sync "share a place"; then fail "servers of their own are said to share a place"; fi
    expect beside $((2 * n)) 'worker/[01] -> ps/[01] EXCHANGE .*Here is my gradient of step 0'
    causal beside-each
    ok "servers beside workers: who shares a place"

    base=("${base[@]:0:8}" --ps 0 --workers 1)
    tells alone --mode sync --steps 2
    expect alone 0 ' -> '
    expect alone 2 'worker/0 has computed the gradient of leaves 0 to 3 of step [01], 64 examples'
    expect alone 2 'worker/0 divides the sum by its 64 examples and makes one update of all variables with adam'
    named alone 5
    says alone "0 messages in all"
    ok "without servers there are no messages, and the step is told all the same"
fi

# --- what common/READING.md shows of it --------------------------------------------------------------
# Numbers differ from run to run, and with the model; who is who with who is faster.
plain() { sed -E 's/^ *[0-9.]+ ms //; s/[0-9][0-9,.]*[0-9]/#/g; s/[0-9]/#/g; s/ +/ /g; s/^ //'; }
excerpts() # One line an entry, of the section that tells a step.
{
    awk '/^## A step, told/ { on = 1; next } /^## / { on = 0 } !on { next }
        /^```/ { if (line) print line; line = ""; block = !block; next }
        !block { next }
        /^ +[0-9.]+ ms  / { if (line) print line; line = $0; next }
        line { line = line $0 }' "$root/common/READING.md"
}
if short_run; then
    cat "$work"/{sync,async}{,-each}.told | plain >"$work/plain.told"
    count=0
    while read -r entry; do
        grep -qF -- "$entry" "$work/plain.told" || fail "common/READING.md shows what is not told so: $entry"
        count=$((count + 1))
    done < <(excerpts | plain)
    if [ "$count" -lt 7 ]; then fail "common/READING.md shows only $count entries"; fi
    if ! excerpts | grep -q ' LEASE .*Now I compute'; then fail "common/READING.md leaves out how a batch is announced"; fi
    ok "the $count entries that common/READING.md shows are told so, but for numbers"
fi

# --- a worker that is killed -----------------------------------------------------------------------
worker_of_ours() # The process of worker/1.
{
    local pid
    for pid in $(survivors); do
        if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q '^[^ ]*syncopate-worker.* --task-index=1 '; then echo "$pid"; fi
    done
}
if short_run; then
    # The victim is some seconds in its first batch: the job is not done before it is killed.
    start killed syncopate run --data synthetic:640 --model softmax --mode async --workers 2 --ps 2 --steps 12 \
        --compute constant:30ms --slow 1:40 --explain --out "$work/killed"
    within 10 grep -qs '"event": "start"' "$work/killed/events.jsonl" || fail "it does not begin"
    victim=$(worker_of_ours)
    if [ -z "$victim" ]; then fail "there is no worker/1"; fi
    kill -KILL "$victim"
    ends killed 0 60
    said killed "does without worker/1, which is lost" || fail "it is not told that a worker was lost"
    said killed "messages in all" || fail "what was told has no end"
    ok "where a worker is killed that is told, and so is all else"
fi

# --- what is refused -------------------------------------------------------------------------------
if short_run; then
    refused() # SAID ARGUMENT...
    {
        local said=$1
        shift
        run refused 2 syncopate run --data synthetic:640 "$@"
        said refused "$said" || fail "refused otherwise: $(cat "$work/refused.log")"
        one_line refused
    }
    refused "--explain tells every message, and so of a short run only: add --steps 1" --explain
    refused "--explain tells every message, and so of a short run only: add --steps 1" --explain --steps 17
    refused "--quiet and --explain exclude each other" --explain --steps 1 --quiet
    ok "a run too long to be read is refused, saying what to do"
fi
nothing_runs
