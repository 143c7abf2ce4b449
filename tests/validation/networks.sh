#!/usr/bin/env bash
# networks.sh [BUILD] [SEEDS] - how much sooner do more workers come through the data, and to a target, over three networks
# (Zhang et al. 2016, "Staleness-aware async-SGD", figure 2: up to 30 learners, 22 to 28 times the speed of one on a fast
# network, asynchronous half as fast again as synchronous; Li et al. 2014 and BytePS, Jiang et al. 2020: a server's card
# bounds both)? 1 to 30 workers and two dedicated servers, a network of 350 kB as theirs, here one hidden layer on
# Fashion-MNIST, 32 examples a worker and step, which take 30 ms (sigma 0.1), two epochs of plain SGD. A synchronous step
# is of all workers' examples, at a rate that rises with them (--fair worker-batch --scale-rate linear).
#
# The shape is there if, of the whole intervals: on the fast network async is 20 times as fast with 30 workers, and faster
# than sync; and on each slower network both are faster by less.
default_seeds=3
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

networks=(10Gbit 1Gbit 100Mbit)
for network in "${networks[@]}"; do
    compared "$network" --modes sync,async --workers 1,4,16,30 --ps 2 --fair worker-batch --scale-rate linear \
        --worker-batch 32 --micro-batch 32 --epochs 2 --optimizer sgd --learning-rate 0.01 --target-loss 0.8 \
        --model "flatten, dense 110 relu, dense 10" --compute lognormal:30ms,0.1 --network "$network,50us"
    echo "$network, $seeds seeds; beside one worker in images a second, time and work to the target"
    measured "$network" table sync-w1 images_per_second /images_per_second /time /work
    echo
done

answer=yes
held 10Gbit images_per_second async-w30 async-w1 above 20 || answer=no
fast=$interval
held 10Gbit images_per_second async-w30 sync-w30 above 1 || answer=no
faster=$interval
held 10Gbit time async-w30 sync-w30 below 1 && sooner=yes || sooner=no
time=$interval
# The runs of two networks are no pairs: their intervals must be apart.
slower=""
for mode in sync async; do
    for i in 1 2; do
        faster_there=$(measured "${networks[i - 1]}" images_per_second $mode-w30 $mode-w1)
        speed_up=$(measured "${networks[i]}" images_per_second $mode-w30 $mode-w1)
        slower+=" $mode $speed_up on ${networks[i]},"
        awk -v there="$faster_there" -v here="$speed_up" 'BEGIN {
            split(there, a, /[][, ]+/); split(here, b, /[][, ]+/); exit !(b[3] < a[2]) }' || answer=no
    done
done
verdict "Speed-up over networks" "$answer" "30 workers of async are $fast times as fast as one on 10Gbit, and $faster\
 times as fast as sync's;$slower of one worker's"
verdict "async is sooner at the target, too, on 10Gbit" "$sooner" "it takes $time of sync's time"
