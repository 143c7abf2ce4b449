#!/usr/bin/env bash
# chen.sh [BUILD] [SEEDS] - how many of fifty workers should a synchronous step not wait for (Chen et al. 2016,
# "Revisiting distributed synchronous SGD"; Abadi et al. 2016, "TensorFlow", figure 8: of fifty, 3 or 4)? Sync with
# 0 to 8 backup workers and two servers, softmax on Fashion-MNIST, eight examples a worker and step, 300 updates;
# seconds until the mean loss of 15 updates is at 0.80. The learning rate is so much a worker that is waited for: a
# step of fewer examples goes less far. Three ways for workers to be slow, of which the first is theirs (all but the
# last few gradients arrive close together) and is the one that is judged:
#
#     few       nearly all alike (sigma 0.06), three in a hundred computations 1.2 times as long or more
#     lognormal no two alike (sigma 0.3), and nobody very slow
#     heavy     nearly all alike, one in twenty twice as long, and some of those (Pareto) 10 or 100 times
#
# 3 backup workers are what the others stand beside, as that was theirs. The shape is there if it comes sooner to
# the target than 0 and than 8: then the best is between. The other two have three seeds, and fewer arms.
default_seeds=8
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

# backups NAME B... -- OPTION... - a comparison of these; the first is what the others stand beside.
backups()
{
    local name=$1 arms=() mode rate
    shift
    while [ "$1" != -- ]; do
        mode=sync
        if [ "$1" -gt 0 ]; then mode=sync+backup:$1; fi
        rate=$(awk -v b="$1" 'BEGIN { printf "%.3f", 0.001 * (50 - b) }')
        arms+=(--arm "B$1=--mode $mode --learning-rate $rate")
        shift
    done
    shift
    compared "$name" --workers 50 --ps 2 "${arms[@]}" --global-batch 400 --micro-batch 8 --steps 300 --model softmax \
        --optimizer sgd --target-loss 0.8 "$@"
    echo "$name: $*, $seeds seeds"
    measured "$name" table B3 ms_per_update test_accuracy time /time /work
    echo
}

backups few 3 0 1 2 4 5 6 7 8 -- --compute lognormal:1800ms,0.06 --straggle 0.03:lognormal,0.2:1.2
if [ "$seeds" -gt 3 ]; then seeds=3; fi
backups lognormal 3 0 5 8 -- --compute lognormal:1800ms,0.3
backups heavy 3 0 5 8 -- --compute lognormal:1800ms,0.06 --straggle 0.05:pareto,1.5:2

answer=yes
held few time B0 B3 above 1 || answer=no
none=$interval
held few time B8 B3 above 1 || answer=no
verdict "Chen 2016" $answer "where few are slow 0 backup workers take $none and 8 $interval of the time that 3 take"
