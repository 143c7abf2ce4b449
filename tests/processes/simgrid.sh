#!/usr/bin/env bash
# simgrid.sh - the network of deploy/cluster against SimGrid's, whose fluid model (CM02, with what it adds
# for TCP's windows switched off) is max-min fair as well: ten clusters from a seed, each message's time
# within 0.1 %, and the same order of arrivals. (SimGrid updates all flows each time: when it looks after
# those only that it thinks have changed, its default, one message in some clusters is up to 0.4 % off, from
# the textbook's fluid, too.)
#
#     SEED=100 tests/processes/simgrid.sh     ten others
# promises: cards
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

if ! pkg-config --exists simgrid; then
    skip "what SimGrid makes of ten clusters: libsimgrid-dev is not here (apt-get install libsimgrid-dev)"
    exit 0
fi
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
