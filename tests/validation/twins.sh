#!/usr/bin/env bash
# twins.sh [BUILD] [SEEDS] - two real lines beside their twins in virtual time: sync and async with four workers and a
# server, real processes on this machine, and the same commands with --virtual, on the cluster that CLUSTER names
# (deploy/cluster/examples/laptop.json). A leaf of 16 examples takes 30 ms in both (--compute), so that it is what
# waits for what that is compared, and not this machine's processors. One hidden layer (407 KB) on Fashion-MNIST, 400
# batches of 64.
#
# They are two comparisons with two tables, and stand in no figure together: seconds of two kinds are not compared.
# Below them each figure of both with its error.
#
# Real processes go before all others of the machine (chrt -f) where one may; without, and on a machine that is busy,
# the real lines are slower. The twins agree if images a second and mean staleness are within 5 % in both modes and
# sync has the same bits; how staleness is spread is shown.
default_seeds=3
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"
cluster=$(realpath "${CLUSTER:-$here/../../deploy/cluster/examples/laptop.json}")
first=(chrt -f 10)
"${first[@]}" true 2>/dev/null || first=()

job=(--modes "sync,async" --workers 4 --compute constant:30ms --steps 400 --model "flatten, dense 128 relu, dense 10"
    --optimizer sgd --learning-rate 0.02)
"${first[@]}" "$build/syncopate" compare --quiet --data "$data" --seed "$seed" --seeds "$seeds" --out "$out/real" \
    "${job[@]}" >"$work/real.said" 2>&1 || {
    cat "$work/real.said"
    exit 1
}
echo "real, $seeds seeds"
shown real
echo
# Recorded and with a checkpoint each epoch, as the real ones.
"$build/syncopate" compare --virtual --cluster-file "$cluster" --quiet --data "$data" --seed "$seed" --seeds "$seeds" \
    --out "$out/virtual" "${job[@]}" >"$work/virtual.said" 2>&1 || {
    cat "$work/virtual.said"
    exit 1
}
echo "virtual, $seeds seeds"
shown virtual
echo

sum() { "$build/tests/processes/json_value" "$out/$1/run.json" parameters_sha256; }
apart=
printf '%-8s%-20s%24s%24s%10s\n' arm figure real virtual error
for mode in sync async; do
    for figure in images_per_second seconds train_loss test_accuracy staleness_mean staleness_deviation staleness_p99; do
        if [ $mode = sync ] && [[ $figure = staleness* ]]; then continue; fi
        twin=$(measured real twin "$out/virtual" $figure $mode-w4)
        IFS=$'\t' read -r real virtual error <<<"$twin"
        printf '%-8s%-20s%24s%24s%8s %%\n' $mode $figure "$real" "$virtual" "$error"
        case $figure in images_per_second | staleness_mean)
            awk -v e="$error" 'BEGIN { exit !(e >= -5 && e <= 5) }' || apart=yes ;;
        esac
    done
done
bits="the same"
for ((i = seed; i < seed + seeds; i++)); do
    if [ "$(sum "real/runs/sync-w4-s$i")" != "$(sum "virtual/runs/sync-w4-s$i")" ]; then
        bits=other
    fi
done
answer=no
if [ -z "$apart" ] && [ "$bits" = "the same" ]; then answer=yes; fi
echo
verdict "Twins" $answer "images a second and mean staleness of both modes are${apart:+ not} within 5 %, and sync has $bits bits in both"
