#!/usr/bin/env bash
# calibrate.sh - this host, measured, is a cluster file that simulate takes, and its figures are such as a
# computer can have; and the network that simulate models is SimGrid's.
# test: once rare
# promises: cards
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--model softmax --data synthetic:500)
mkdir "$work/apart"
export TMPDIR=$work/apart

if short_run; then
    run measured 0 syncopate calibrate "${job[@]}" --micro-batch 8 --out "$work/here.json"
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

    run simulated 0 syncopate simulate "${job[@]}" --cluster-file "$work/here.json" --mode async --workers 2 \
        --worker-batch 8 --epochs 1 --out "$work/virtual"
    says simulated "a leaf takes $leaf"
    ok "simulate takes it"

    # Neither is measured for.
    run nowhere 5 syncopate calibrate "${job[@]}" --out "$work/none/here.json"
    run folder 5 syncopate calibrate "${job[@]}" --out "$work"
    says folder "it is a folder"
    if said folder "leaf.s gradient"; then fail "calibrate measures before it looks where its file goes"; fi
    one_line_at_end() { [ "$(tail -n 1 "$work/$1.log" | grep -c '^syncopate calibrate: ')" -eq 1 ]; }
    one_line_at_end nowhere || fail "a folder that is not there is not said in a line"
    run wrong 2 syncopate calibrate --model "dense x"
    says wrong "syncopate calibrate: "
    ok "what cannot be read or written is said"
fi

if long_run; then
    run printed 0 syncopate calibrate "${job[@]}" --transport shm --quiet
    "$build/tests/processes/json_value" "$work/printed.log" >"$work/whole.log" || fail "standard output is more than a file"
    ok "without --out the file is all there is on standard output"

    start stopped syncopate calibrate "${job[@]}" --out "$work/never.json"
    children() { pgrep -P "${pids[stopped]}" -f syncopate-worker >/dev/null; }
    within $((20 * patience)) children || fail "calibrate starts no worker"
    kill -TERM "${pids[stopped]}"
    ends stopped 143 $((10 * patience))
    says stopped "syncopate calibrate: stopped; nothing is kept"
    [ ! -e "$work/never.json" ] || fail "a calibration that was stopped writes its file"
    [ -z "$(ls -A "$work/apart")" ] || fail "a stopped calibration leaves $(ls "$work/apart")"
    ok "SIGTERM ends its processes and leaves nothing"
fi

# --- SimGrid ---------------------------------------------------------------------------------------
# The network of deploy/cluster against SimGrid's, whose fluid model (CM02, with what it adds
# for TCP's windows switched off) is max-min fair as well: ten clusters from a seed, each message's time
# within 0.1 %, and the same order of arrivals. (SimGrid updates all flows each time: when it looks after
# those only that it thinks have changed, its default, one message in some clusters is up to 0.4 % off, from
# the textbook's fluid, too.)
# SEED=100 tests/processes/calibrate.sh: ten others.

if ! pkg-config --exists simgrid; then
    skip "what SimGrid makes of ten clusters: libsimgrid-dev is not here (apt-get install libsimgrid-dev)"
    exit 0
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
read -ra flags <<<"$(pkg-config --cflags --libs simgrid)"
cc -O1 -o "$work/simgrid_arrivals" "$root/tests/reference/simgrid_arrivals.c" "${flags[@]}" >"$work/cc.log" 2>&1 ||
    fail "tests/reference/simgrid_arrivals.c cannot be built"

# compare OURS THEIRS - "messages worst-error pairs-inverted" of "number start arrival" and "number arrival".
# Two that arrive within a thousandth of a millisecond of each other have no order: theirs are doubles.
compare()
{
    sort -n "$2" | join - <(sort -n "$1") -j 1 --nocheck-order | sort -k2,2g | awk '
        { error = ($4 - $2) / ($2 - $3); if (error < 0) error = -error; if (error > worst) worst = error
          for (i = NR - 1; i > 0 && $2 - theirs[i] < 1; i--)
              if ($2 - theirs[i] > 1e-6 && $4 <= ours[i]) inverted++
          theirs[NR] = $2; ours[NR] = $4 }
        END { printf "%d %.9f %d\n", NR, worst, inverted }'
}

first=${SEED:-1}
total=0
worst_of_all=0
for seed in $(seq "$first" $((first + 9))); do
    "$build/tests/processes/cluster_arrivals" "$seed" "$work/c$seed" >"$work/ours.log" 2>&1 || fail "seed $seed: no arrivals of ours"
    timeout 60 "$work/simgrid_arrivals" "$work/c$seed.xml" --log=root.thres:error \
        --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 --cfg=network/weight-S:0 \
        --cfg=network/optim:Full \
        <"$work/c$seed.messages" >"$work/c$seed.theirs" 2>"$work/simgrid.log" || fail "seed $seed: SimGrid has failed"
    read -r messages worst inverted <<<"$(compare "$work/c$seed.arrivals" "$work/c$seed.theirs")"
    if [ "$messages" -ne "$(wc -l <"$work/c$seed.messages")" ]; then fail "seed $seed: SimGrid has $messages messages arrive"; fi
    if [ "$messages" -lt 50 ]; then fail "seed $seed: only $messages messages"; fi
    awk "BEGIN { exit !($worst <= 0.001) }" || fail "seed $seed: a message is $worst of its time off"
    if [ "$inverted" -ne 0 ]; then fail "seed $seed: $inverted pairs arrive in another order"; fi
    total=$((total + messages))
    worst_of_all=$(awk "BEGIN { print ($worst > $worst_of_all ? $worst : $worst_of_all) }")
done
ok "SimGrid has the $total messages of ten clusters arrive in the same order, the worst $worst_of_all of its time apart"
