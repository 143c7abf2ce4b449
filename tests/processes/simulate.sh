#!/usr/bin/env bash
# simulate.sh - clusters in virtual time that learn: sync has the bits of one process, whatever the cluster
# and its faults; async is made again from its record, with its faults; the same command gives the same
# bits and figures, everything else may differ; it stops and goes on; other commands take its folder as
# any other; what cannot be is refused in one line. And calibrate: this host, measured, is a cluster file that simulate
# takes, and its figures are such as a computer can have.
# test: later
# uses: python3
# promises: bits-together clock colocated virtual virtual-policy virtual-run windows
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# 63 updates an epoch, of 4 leaves; chunks that go to all servers.
job=(--data synthetic:1008 --global-batch 16 --micro-batch 4 --seed 5 --chunk-bytes 512
    --model "conv 4x3 relu, pool 4, flatten, dense 10")
bits_of() { member "$1" parameters_sha256; }
# simulates NAME ARGUMENT... - a run in $work/NAME, to its end.
simulates() { run "$1" 0 syncopate simulate "${job[@]}" --out "$work/$1" "${@:2}"; }
# What a run has told, without what is drawn anew for each folder.
told() { sed -E 's/"run_id":"[^"]*"//' "$work/$1/events.jsonl"; }
# differs NAME - whether its replay has found a score that is another.
differs() { grep -v 'none of which differs' "$work/$1.log" | grep -q differs; }
# account NAME MEMBER - of its virtual.json.
account() { "$build/tests/processes/json_value" "$work/$1/virtual.json" "$2"; }
faults=(--kill "worker/1@300ms+200ms,ps/1@600ms+100ms" --stop "worker/2@100ms+50ms" --join @200ms
    --leave "worker/0@500ms" --partition "worker/2|ps/0@400ms+30ms" --restart 1s)

if short_run; then
    run alone 0 syncopate run --ps 0 "${job[@]}" --epochs 2 --report-every 10 --out "$work/alone"
    simulates sync --epochs 2 --workers 3 --ps 2
    says sync "^next: $build/syncopate serve $work/sync$"
    simulates sync-far --epochs 2 --workers 7 --ps 3 --network 10Mbit/1Mbit,5ms --jitter exponential:1ms \
        --loss 0.001 --slow 2:3 --compute lognormal:5ms,0.5 --cluster-file deploy/cluster/examples/laptop.json
    simulates sync-faults --epochs 2 --workers 3 --ps 2 --compute constant:5ms --report-every 10 "${faults[@]}"
    # A host that is lost takes both of its processes; then one of each alone, one more joins and leaves.
    simulates places --epochs 2 --workers 4 --ps colocated --compute lognormal:5ms,0.3 --checkpoint-every 10 --join @50ms \
        --kill "worker/1@100ms+100ms,ps/1@100ms+150ms,worker/2@400ms+50ms,ps/3@550ms+50ms" --leave worker/4@300ms
    says places "cluster .*every worker on a host with its server"
    run owner 2 syncopate simulate "${job[@]}" --ps colocated --workers 2 --leave worker/1@1s
    said owner "leave: with --ps=colocated the place of worker/1 owns chunks, and cannot leave" || fail "an owner may leave"
    for name in sync sync-far sync-faults places; do
        if [ "$(bits_of "$work/$name")" != "$(bits_of "$work/alone")" ]; then
            fail "$name: other bits than without servers"
        fi
    done
    says sync-faults "faults +2 kills, 2 restarts, 1 stop, 1 partition, 1 join, 1 leave"
    ok "sync in virtual time, near, far and with faults, with servers beside workers: the bits of one process"

    # windows NAME - what was said of every ten batches: 126 batches, the last of them 6.
    windows()
    {
        "$build/syncopate" inspect --json "$work/$1" | sed -n '/"windows": \[/,/^  \]/p' |
            grep -E '^ *"(from|step|batches|loss|accuracy|examples|of)": '
    }
    [ "$(windows alone | grep -c '"from"')" -eq 13 ] || fail "alone: not 13 windows: $(windows alone)"
    cmp -s <(windows alone) <(windows sync-faults) || fail "sync-faults: other windows: $(windows sync-faults)"
    said alone '^batches 121 to 126, the last 6  loss .*  96 examples  ' || fail "the last window is not named as such"
    ok "windows of --report-every have the digits of one process, whoever was killed, and the last is named as shorter"

    # Four steps of two workers: eight gradients, and values when they begin, after each step and for the score
    # of the end; of 7,850 values, which take 31,424 bytes. Real processes say something again at most.
    moved=(--data synthetic:2000 --model softmax --workers 2 --steps 4)
    run moved 0 syncopate simulate "${moved[@]}" --out "$work/moved"
    run moved-really 0 syncopate run "${moved[@]}" --out "$work/moved-really"
    [ "$(member "$work/moved" exchanged_bytes)" -eq $((31424 * (2 * 4 + 2 * (1 + 4 + 1)))) ] ||
        fail "two workers have moved $(member "$work/moved" exchanged_bytes) bytes in four steps"
    [ "$(member "$work/moved-really" exchanged_bytes)" -ge "$(member "$work/moved" exchanged_bytes)" ] ||
        fail "real ones $(member "$work/moved-really" exchanged_bytes)"
    ok "what workers moved is counted to the byte"

    for name in once twice; do
        simulates $name --mode async --epochs 2 --workers 6 --ps 2 --compute lognormal:5ms,0.5 "${faults[@]}"
    done
    if [ "$(bits_of "$work/once")" != "$(bits_of "$work/twice")" ]; then fail "the same command, other bits"; fi
    cmp -s <(told once) <(told twice) || fail "the same command, other events"
    if [ "$(bits_of "$work/once")" = "$(bits_of "$work/alone")" ]; then fail "async has the bits of sync"; fi
    ok "async with faults: the same command gives the same bits, and the same events at the same times"

    # Whatever is around the process: locale, addresses, environment, folder, and how long its name is.
    # alike NAME OUT ENVIRONMENT... - a run in $work/OUT, from $work/NAME.
    alike()
    {
        mkdir -p "$work/$1" "$work/$(dirname "$2")"
        (cd "$work/$1" && env "${@:3}" "$build/syncopate" simulate "${job[@]}" "${kind[@]}" --out "$work/$2") \
            >"$work/$1.log" 2>&1 </dev/null || fail "$1: simulate ends with $?"
    }
    still=() other=C.UTF-8
    if setarch -R true 2>/dev/null; then still=(setarch -R); else skip "addresses that do not change: setarch -R is refused"; fi
    for locale in $(locale -a 2>/dev/null | grep -iE '^(de|fr)_' || true); do other=$locale; done
    long=$(printf 'long%.0s' {1..45})
    for seed in 1 2 3 4 5 6; do
        kind=(--workers "$((2 + seed))" --ps "$((1 + seed % 3))" --seed "$seed" --compute "lognormal:5ms,0.5" --epochs 1
            --network "5Mbit,1ms")
        if [ $((seed % 3)) -eq 0 ]; then kind+=(--mode ssp:2); fi
        if [ $((seed % 3)) -eq 1 ]; then kind+=(--mode async); fi
        if [ "$seed" -gt 3 ]; then kind+=(--kill "worker/$((seed % 3))@200ms,ps/0@900ms" --stop "worker/0@1500ms+200ms" --restart 1s); fi
        alike here "alike/$seed" LC_ALL=C
        alike elsewhere/far/away "alike-$long/$seed" LC_ALL="$other" PADDING="$(head -c 5000 /dev/zero | tr '\0' x)" "${still[@]}"
    done
    # The record, the bits, run.json with its times, events.jsonl and virtual.json.
    diff -r "$work/alike" "$work/alike-$long" >"$work/alike.log" 2>&1 || fail "another locale or address, another run"
    [ -s "$work/alike-$long/6/record/0001.log" ] || fail "there is no record"
    ok "six seeds twice, in other surroundings: the same folder, byte for byte"

    for name in bound: compensated:--delay-compensation summed:--accumulate; do
        case $name in
            bound:*) simulates bound --mode ssp:1 --workers 4 --ps 2 --epochs 1 --slow 1:3 --kill worker/2@200ms+50ms ;;
            compensated:*) simulates compensated --mode async --workers 4 --ps 2 --epochs 1 --delay-compensation 0.5 ;;
            *) simulates summed --mode async --workers 4 --ps 2 --epochs 1 --accumulate 3 ;;
        esac
    done
    for name in once bound compensated summed; do
        run "$name-again" 0 syncopate replay "$work/$name"
        says "$name-again" "^parameters_sha256 $(bits_of "$work/$name"): as recorded$"
        if differs "$name-again"; then fail "$name: other scores"; fi
    done
    ok "async, ssp, compensated, summed: made again from its record, with its faults, to the bit"

    # A policy decides what a mode does, a child's, and what it did is made again without it.
    # decides NAME POLICY ARGUMENT... - as simulates, with a policy of deploy/labs/policies.
    policies=deploy/labs/policies
    decides() { simulates "$1" --policy "python3 $policies/$2" --epochs 1 --workers 3 --ps 2 --compute lognormal:5ms,0.5 "${@:3}"; }
    for mode in sync async ssp:1; do
        decides "decided-${mode%:*}" "${mode%:*}.py 1" --mode "$mode" --slow 2:3
        simulates "plain-${mode%:*}" --mode "$mode" --epochs 1 --workers 3 --ps 2 --compute lognormal:5ms,0.5 --slow 2:3
        [ "$(bits_of "$work/decided-${mode%:*}")" = "$(bits_of "$work/plain-${mode%:*}")" ] || fail "$mode as a policy: other bits"
    done
    decides decided-loss sync.py --kill worker/1@300ms,ps/1@500ms+50ms --restart 1s --checkpoint-every 10
    [ "$(bits_of "$work/decided-loss")" = "$(bits_of "$work/plain-sync")" ] || fail "sync as a policy, with losses: other bits"
    says decided-loss "^policy:sync.py training on "
    says decided-loss "^policy:sync.py, 2 servers, 3 workers: done"
    command="python3 $policies/sync.py"
    [ "$(member "$work/decided-loss" policy)$(account decided-loss options.policy)" = "$command$command" ] || fail "no file has the policy"
    decides decided-rule rule.py --mode async --accumulate 9 --kill worker/1@300ms+100ms,ps/1@500ms+50ms --restart 1s --checkpoint-every 10
    [ "$(bits_of "$work/decided-rule")" != "$(bits_of "$work/decided-async")" ] || fail "rates, holding and leaving out change nothing"
    for name in decided-sync decided-async decided-ssp decided-loss decided-rule; do
        run "$name-again" 0 syncopate replay "$work/$name"
        says "$name-again" "^parameters_sha256 $(bits_of "$work/$name"): as recorded$"
    done
    ok "a policy has the bits of sync, async and ssp; what it does is recorded, with rates, and made again without it"

    # A policy is asked about the gradients of a run without it. (A rule for the rate.)
    rule=(--policy "python3 deploy/labs/solutions/6/6.py") stale=(--mode async --data synthetic:1008 --model softmax --epochs 2 --workers 4 --compute "lognormal:5ms,0.5")
    run unasked 0 syncopate simulate "${stale[@]}" --out "$work/unasked"
    run asked 0 syncopate simulate "${stale[@]}" --out "$work/asked" "${rule[@]}"
    run asked-again 0 syncopate replay "$work/unasked" "${rule[@]}"
    says asked-again "^parameters_sha256 $(bits_of "$work/asked")$"
    run asked-left 0 syncopate replay "$work/unasked" --policy 'while read -r x; do echo "{\"do\": \"ignore\"}"; done'
    says asked-left "^after batch .*test loss 2\.[0-9]*"
    for broken in 'echo "{\"do\": \"again\"}"|a recorded gradient is applied or ignored' 'exit 3|it ended with exit code 3; question 1'; do
        run asked-broken 7 syncopate replay "$work/unasked" --quiet --policy "while read -r x; do ${broken%|*}; done"
        said asked-broken "--policy: ${broken#*|}" || fail "asked-broken: $(cat "$work/asked-broken.log")"
        one_line asked-broken
    done
    run asked-sync 2 syncopate replay "$work/plain-sync" --policy true
    said asked-sync "--policy: the run is sync, in which nothing is stale" || fail "sync asks a policy about staleness"
    ok "replay --policy has the bits of simulate --policy: the history stays; and what would change it is refused"

    # breaks NAME ANSWER WORDS - a policy that says so at its fifth question.
    breaks()
    {
        run "broken-$1" 7 syncopate simulate "${job[@]}" --mode "${4:-async}" --epochs 1 --workers 2 --out "$work/broken-$1" --quiet \
            --policy "for i in 1 2 3 4; do read -r x; echo '{\"do\": \"apply\"}'; done; while read -r x; do $2; done"
        said "broken-$1" "--policy: $3" || fail "broken-$1: $(cat "$work/broken-$1.log")"
        [ "$(wc -l <"$work/broken-$1.log")" -eq 1 ] || fail "broken-$1: not one line"
    }
    breaks late 'sleep 100' "it has not answered within 1 s; question 5 was .*gradient.*worker"
    breaks words 'echo well' "\"well\" is no JSON; question 5"
    breaks twice 'printf "{}\n{}\n"' "it said more than one line; question 5"
    breaks other 'echo "{\"do\": \"give\"}"' ".*a gradient is applied, held, ignored, made again or closes; question 5"
    breaks rate 'echo "{\"do\": \"apply\", \"rate\": -1}"' ".*a rate is above 0, and at most 1000000; question 5"
    breaks hold 'echo "{\"do\": \"hold\"}"' ".*without --accumulate G nothing is held; question 5"
    breaks end 'exit 3' "it ended with exit code 3; question 5"
    breaks kill 'kill -9 $$' "it was ended by signal 9; question 5"
    breaks still 'echo "{\"do\": \"hold\"}"' "it lets nothing go on: is something held that never closes?" sync
    run broken-mode 2 syncopate simulate "${job[@]}" --mode allreduce --workers 2 --policy true
    said broken-mode "--policy: decides in sync and async, and not in allreduce" || fail "allreduce has a policy"
    ok "a policy that is late, says nonsense, ends or lets nothing go on ends the run, in one line"

    # Many scores are told of 20, and of those that differ.
    simulates scored --mode async --workers 3 --ps 1 --epochs 30
    run scored-again 0 syncopate replay "$work/scored"
    if [ "$(grep -c '^after batch ' "$work/scored-again.log")" -ne 20 ]; then fail "scored-again: not 20 scores"; fi
    says scored-again "^and 10 scores more, none of which differs from the run's$"
    for name in sync-faults once bound compensated summed; do
        run "look-$name" 0 syncopate inspect "$work/$name"
    done
    for log in "$work"/{sync-faults,once,bound,compensated,summed,scored}.log "$work"/{look-,}*-again.log "$work"/look-*.log; do
        if [ -e "$log" ] && grep -vE "$work|sha256|^epoch [0-9.]+ of |^batches " "$log" | grep -E '.{81}'; then fail "$log: lines beyond 80 columns"; fi
    done
    ok "what simulate, inspect and replay say has 80 columns at most, and replay 20 scores"

    run terms 0 syncopate simulate "${job[@]}" --steps 1 --workers 2 --ps 2 --compute constant:5ms --explain \
        --network "100Mbit,1ms" --out "$work/terms"
    # As one line each, without what broke them.
    tr -s '\n ' ' ' <"$work/terms.log" | sed -E 's/ ([0-9]+\.[0-9]{3} ms (ps|worker)\/[0-9])/\n\1/g' >"$work/terms-lines.log"
    says terms-lines "^[0-9.]+ ms worker/1 -> ps/1 exchange of chunk [0-9]+, [0-9.]+ (B|KiB): sent at [0-9.]+ ms; latency 1ms, queue [0-9.]+[um]s behind others of its connection, wire [0-9.]+us"
    says terms-lines "^[0-9.]+ ms ps/1 took worker/1's exchange of chunk [0-9]+ off the wire: (queue [0-9.]+us, )?processor 5[0-9.]*us"
    says terms-lines "^[0-9.]+ ms ps/1 applied a gradient, the exchange of chunk [0-9]+: (queue [0-9.]+us, )?processor [0-9.]+[un]s"
    says terms-lines "^[0-9.]+ ms ps/1 put result of chunk [0-9]+ on the wire: processor "
    says terms-lines "^[0-9.]+ ms worker/[01] computed 2 leaves: processor 10ms"
    says terms-lines "^[0-9.]+ ms worker/[01] scored its share: processor [0-9.]+ms"
    # The terms of the first message that needs no queue come to when it arrived.
    awk '/ exchange of chunk .*latency 1ms, wire / {
        sent = $0; sub(/.*sent at /, "", sent); wire = $0; sub(/.*wire /, "", wire); seen++
        gap = $1 - sent - 1 - wire / 1000; if (gap > 0.0011 || gap < -0.0011) { print; exit 1 }
    } / ms (ps|worker)/ && $1 < last { print; exit 1 } / ms (ps|worker)/ { last = $1 }
    END { if (!seen) exit 1 }' "$work/terms-lines.log" || fail "--explain: out of order, or terms that do not add up"
    ok "--explain: each message's and each thread's time, term by term, and they add up"

    # 13 MB go to each of two servers in a step, 104 ms of its card, and come back behind 25 ms there and 25 back.
    run long-line 0 syncopate simulate --data synthetic:100 --model "flatten, dense 2048 relu, dense 10" --steps 16 --workers 4 \
        --ps 2 --global-batch 4 --micro-batch 1 --compute constant:1ms --network 1Gbit,25ms --out "$work/long-line"
    awk -v seconds="$(member "$work/long-line" training)" 'BEGIN { exit !(seconds > 0 && seconds / 15 < 1.25 * 0.154) }' ||
        fail "long-line: 15 steps take $(member "$work/long-line" training) s"
    ok "workers that keep together fill a line of 25 ms"

    bound() { simulates "$1" --mode async --epochs 1 --workers 4 --ps 2 "${@:3}" && says "$1" "^  bound by +$2"; }
    bound by-computing "worker/[0-3]'s computing and scoring, [89]. % of the time" --compute constant:20ms
    bound by-slow "worker/2's computing and scoring, " --compute constant:20ms --slow 2:5
    bound by-card "ps/[01]'s card, (in|out), [789]. % of the time" --compute constant:100us --network 1Mbit,50us
    bound by-latency "latency and waiting" --compute constant:100us --network 10Gbit,50ms
    echo '{"format": "syncopate-cluster-1", "server": {"message_ns": 2000000}}' >"$work/slow-server.json"
    bound by-server "ps/0's handling of messages, (9.|100) % of the time" --compute constant:100us --cluster-file "$work/slow-server.json"
    echo '{"format": "syncopate-cluster-1", "placement": "together", "host": {"processors": 2}}' >"$work/one-host.json"
    bound by-processors "ps/0's host's processors, (9.|100) % of the time" --compute constant:20ms --cluster-file "$work/one-host.json"
    if [ "$(account by-slow load.trainers.busiest)" != worker/2 ]; then fail "virtual.json: $(cat "$work/by-slow/virtual.json")"; fi
    ok "what bound a run is said, and in virtual.json who was busy: computing, a slow worker, cards, latency, server 0, processors"

    run score 0 syncopate evaluate "$work/once" --json
    grep -q "\"test_loss\": *$(member "$work/once" test_loss)\b" "$work/score.log" ||
        fail "evaluate: $(cat "$work/score.log"), run.json: $(member "$work/once" test_loss)"
    run look 0 syncopate inspect "$work/once"
    run export 0 syncopate export "$work/once" --out "$work/once.safetensors"
    cmp -s "$work/once.safetensors" "$work/once/model.safetensors" || fail "export differs from the model"
    grep -q '"virtual": "every process on a host of its own' "$work/once/run.json" || fail "run.json does not say that it is virtual"
    says once "all seconds are virtual"
    simulates from-file --epochs 1 --cluster-file "$work/once/cluster.json"
    # What went wrong is in virtual.json, as options and as it happened.
    again=()
    for name in kill stop join leave partition restart; do
        again+=("--$name" "$(account once "options.$name")")
    done
    simulates once-more --mode async --epochs 2 --workers 6 --ps 2 --cluster-file "$work/once/cluster.json" "${again[@]}"
    if [ "$(bits_of "$work/once-more")" != "$(bits_of "$work/once")" ]; then fail "from what its folder says: other bits"; fi
    says look "^  happened +at 100 ms: worker/2 is stopped for 50ms"
    says look "^  asked for +--kill 'worker/1@300ms"
    says look "^  bound by +[a-z]"
    run look-json 0 syncopate inspect "$work/once" --json
    says look-json '"text": "worker/1 is killed; another comes in 200ms"'
    ok "evaluate, inspect and export take its folder as any other, and simulate its cluster.json"

    start going syncopate simulate "${job[@]}" --epochs 4000 --workers 3 --ps 2 --out "$work/going"
    within 10 grep -qs '"event": *"progress"' "$work/going/events.jsonl"
    run beside 5 syncopate simulate "${job[@]}" --epochs 4000 --workers 3 --ps 2 --out "$work/going"
    says beside "^syncopate simulate: another run is using .*/going: process ${pids[going]} \(syncopate\); choose another --out"
    if said beside "about to leave|training"; then fail "beside: $(cat "$work/beside.log")"; fi
    kill -INT "${pids[going]}"
    ends going 130
    says going "the same command goes on from there"
    run went 0 syncopate simulate "${job[@]}" --steps "$(($(member "$work/going" step) + 20))" --workers 2 --ps 3 \
        --out "$work/going"
    run straight 0 syncopate run --ps 0 "${job[@]}" --steps "$(member "$work/going" step)" --out "$work/straight"
    if [ "$(bits_of "$work/going")" != "$(bits_of "$work/straight")" ]; then fail "stopped and gone on: other bits"; fi
    ok "stopped by Ctrl-C at a checkpoint, gone on with other workers and servers: the bits of one process"

    # So often that no checkpoint is ever written: a stop must not wait for one.
    storm() { seq -s, -f "ps/1@%g00ms" 1 3 9000; }
    for how in "sync INT 130" "async TERM 143"; do
        read -r kind signal code <<<"$how"
        start "storm-$kind" syncopate simulate "${job[@]}" --mode "$kind" --steps 1000000 --workers 5 --ps 2 \
            --kill "$(storm)" --restart 200ms --out "$work/storm-$kind"
        says "storm-$kind" "going back to step" 20
        kill "-$signal" "${pids[storm-$kind]}"
        ends "storm-$kind" "$code"
        says "storm-$kind" "the same command goes on from there"
        latest=$(find "$work/storm-$kind/checkpoints" -name 'step-*' | sort | tail -n 1 | sed 's/.*-0*//')
        run "calm-$kind" 0 syncopate simulate "${job[@]}" --mode "$kind" --workers 3 --ps 1 \
            --steps "$((${latest:-0} + 20))" --out "$work/storm-$kind"
    done
    ok "in a storm of faults a stop is one, soon"

    # An epoch is two minutes. Of steps of 2 s the checkpoint after a minute is at the 32nd, or as many batches.
    for kind in minute-sync minute-async; do
        simulates $kind --mode "${kind#minute-}" --epochs 2 --workers 2 --ps 2 --compute constant:1s --kill ps/1@100s+200ms
        [ "$(member "$work/$kind" recomputed)" -lt 20 ] ||
            fail "$kind: $(member "$work/$kind" recomputed) batches made again"
        run $kind-again 0 syncopate replay "$work/$kind"
        says $kind-again "^parameters_sha256 [0-9a-f]{64}: as recorded"
    done
    if [ "$(bits_of "$work/minute-sync")" != "$(bits_of "$work/alone")" ]; then fail "checkpoints by the clock: other bits"; fi
    ok "a server killed in a long epoch costs what was made since the last minute"

    # Server 0 dies in its last moments, after it has written that the run is done: another that comes is told
    # so, or finds nobody any more. Once it has said so, nothing goes wrong.
    simulates ended --epochs 1 --workers 2 --ps 2
    for moment in 1000+50ms:1 500:1 500+600s:1 100+50ms:nothing 50+50ms:nothing; do
        earlier=${moment%%[+:]*} back=${moment#"$earlier"} befell=${moment#*:}
        at=$(awk -v end="$(account ended load.seconds)" -v earlier="$earlier" \
            'BEGIN { printf "%dus", end * 1e6 - earlier }')
        simulates "ended-$earlier" --epochs 1 --workers 2 --ps 2 --kill "ps/0@$at${back%:*}"
        says "ended-$earlier" "^  faults +$befell"
        if [ "$(bits_of "$work/ended-$earlier")" != "$(bits_of "$work/ended")" ]; then fail "ended-$earlier: other bits"; fi
        rm -rf "$work/ended-$earlier"
    done
    ok "server 0 killed when the run is done: it stays done"

    # refused CODE TEXT ARGUMENT...
    refused()
    {
        run wrong "$1" syncopate simulate "${job[@]}" --out "$work/wrong" "${@:3}"
        says wrong "$2"
        one_line wrong
        if [ "$(wc -l <"$work/wrong.log")" -ne 1 ]; then fail "$2: more is said before"; fi
        if [ -e "$work/wrong" ]; then fail "$2: a folder was left"; fi
    }
    refused 2 "^syncopate simulate: --network=fast: " --network fast
    # tests/unit/cluster has the others.
    refused 2 "^syncopate simulate: --leave=worker/2@1s: there is no worker/2; there are worker/0-1,ps/0$" --leave worker/2@1s \
        --workers 2
    refused 2 "^syncopate simulate: --slow=2:3: there is no worker 2; " --slow 2:3 --workers 2
    refused 2 "^syncopate simulate: this cluster takes about .* \(--memory\)$" --memory 1K
    refused 5 "^syncopate simulate: .*none.json" --cluster-file "$work/none.json"
    echo '{"format": "syncopate-cluster-1", "hots": []}' >"$work/bad.json"
    refused 5 "^syncopate simulate: .*bad.json.*hots" --cluster-file "$work/bad.json"
    ok "what is mistyped, too large or not there is refused in one line, and leaves nothing"
fi

if long_run; then
    start many syncopate simulate --workers 1024 --ps 256 --model softmax --data synthetic:20000 --steps 5 --out "$work/many"
    says many "^no update yet after 3 s: 1,024 workers and 256 servers exchange messages" 30
    kill -TERM "${pids[many]}"
    ends many 143 20
    ok "a cluster so large that its first step takes long says so, and a stop does not wait for it"
fi
if long_run; then
    many=(--mode async --workers 24 --ps 4 --epochs 3 --compute "lognormal:20ms,0.5" --straggle 0.05:pareto:10
        --network "100Mbit,1ms" --restart 200ms --kill "worker/3@50ms,ps/2@400ms,worker/7-9@600ms,ps/0@900ms"
        --stop "worker/11@100ms+300ms,ps/1@700ms+100ms" --partition "worker/15@300ms+200ms" --join "@200ms,@500ms")
    simulates struck "${many[@]}"
    simulates struck-too "${many[@]}"
    if [ "$(bits_of "$work/struck")" != "$(bits_of "$work/struck-too")" ]; then fail "24 workers: other bits"; fi
    run struck-again 0 syncopate replay "$work/struck"
    says struck-again "^parameters_sha256 $(bits_of "$work/struck"): as recorded$"
    ok "24 workers and many faults: the same bits twice, and from the record"
    run thousand 0 syncopate simulate --data synthetic:4000 --model softmax --mode async --workers 1000 --ps 16 \
        --worker-batch 16 --steps 2000 --out "$work/thousand"
    run thousand-again 0 syncopate replay "$work/thousand"
    says thousand-again "^parameters_sha256 $(bits_of "$work/thousand"): as recorded$"
    ok "1,000 workers and 16 servers: made again from the record"
fi

# --- calibrate ------------------------------------------------------------------------------------
if long_run; then
    measured=(--model softmax --data synthetic:500)
    mkdir "$work/apart"
    export TMPDIR=$work/apart
    run measured 0 syncopate calibrate "${measured[@]}" --micro-batch 8 --out "$work/here.json"
    says measured "a leaf's gradient .* ms .*half of them"
    says measured "a whole exchange of 102 KB .* us"
    says measured "by the line through the others .* us"

    # between MEMBER LEAST MOST - a figure of the file.
    between()
    {
        local value
        value=$("$build/tests/processes/json_value" "$work/here.json" "$1")
        awk -v v="$value" -v least="$2" -v most="$3" 'BEGIN { exit !(v >= least && v <= most) }' ||
            fail "$1 is $value, and should be from $2 to $3"
    }
    # A factor of a thousand or so each way: sanitizers and busy machines are slow.
    between host.processors 1 1024
    between worker.message_ns 1 20000000
    between compute.score_example_ns 1 20000000
    between server.message_ns 1 20000000
    between worker.message_byte_ps 0 1000000
    between server.message_byte_ps 0 1000000
    between server.apply_byte_ps 1 1000000
    between network.loopback_bits_per_second 1000000 8000000000000
    leaf=$("$build/tests/processes/json_value" "$work/here.json" compute.leaf_time)
    [[ $leaf =~ ^(constant|lognormal):([0-9]+)[.][0-9]+us ]] || fail "a leaf takes $leaf"
    if [ "${BASH_REMATCH[2]}" -lt 1 ]; then fail "a leaf takes $leaf"; fi
    ok "calibrate writes a cluster file with figures of a computer"
    [ -z "$(ls -A "$work/apart")" ] || fail "calibrate leaves something in TMPDIR: $(ls "$work/apart")"
    ok "calibrate leaves nothing in TMPDIR"

    run simulated 0 syncopate simulate "${measured[@]}" --cluster-file "$work/here.json" --mode async --workers 2 \
        --worker-batch 8 --epochs 1 --out "$work/virtual"
    says simulated "a leaf takes $leaf"
    ok "simulate takes it"

    # Neither is measured for.
    run nowhere 5 syncopate calibrate "${measured[@]}" --out "$work/none/here.json"
    run folder 5 syncopate calibrate "${measured[@]}" --out "$work"
    says folder "it is a folder"
    if said folder "leaf.s gradient"; then fail "calibrate measures before it looks where its file goes"; fi
    one_line_at_end() { [ "$(tail -n 1 "$work/$1.log" | grep -c '^syncopate calibrate: ')" -eq 1 ]; }
    one_line_at_end nowhere || fail "a folder that is not there is not said in a line"
    run wrong 2 syncopate calibrate --model "dense x"
    says wrong "syncopate calibrate: "
    ok "what cannot be read or written is said"

    run printed 0 syncopate calibrate "${measured[@]}" --transport shm --quiet
    "$build/tests/processes/json_value" "$work/printed.log" >"$work/whole.log" || fail "standard output is more than a file"
    ok "without --out the file is all there is on standard output"

    start stopped syncopate calibrate "${measured[@]}" --out "$work/never.json"
    children() { pgrep -P "${pids[stopped]}" -f syncopate-worker >/dev/null; }
    within $((20 * patience)) children || fail "calibrate starts no worker"
    kill -TERM "${pids[stopped]}"
    ends stopped 143 $((10 * patience))
    says stopped "syncopate calibrate: stopped; nothing is kept"
    [ ! -e "$work/never.json" ] || fail "a calibration that was stopped writes its file"
    [ -z "$(ls -A "$work/apart")" ] || fail "a stopped calibration leaves $(ls "$work/apart")"
    ok "SIGTERM ends its processes and leaves nothing"
fi
