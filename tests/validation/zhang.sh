#!/usr/bin/env bash
# zhang.sh [BUILD] [SEEDS] - what staleness does to accuracy after a fixed number of epochs, and whether a learning rate
# divided by it helps (Zhang et al. 2016, "Staleness-aware async-SGD for distributed deep learning", figures 3 and 4)?
# As theirs: 1 to 30 learners, whose batches are 128 examples together (4 for each of 30), momentum 0.9, the learning
# rate that is good for one learner. Not theirs: a network of two small convolutions on Fashion-MNIST, 2 epochs for their
# 140, a rate of 0.01 for their 0.001. Two comparisons:
#
#     learners  async with 1, 2, 4, 10, 30 workers; the rate as it is, over each gradient's staleness (inverse), and
#               over one less than the workers, for all alike (constant), which inverse has to beat to be worth it.
#               One worker with batches of 4 is there to see what small batches do without any staleness.
#     softsync  30 workers, of whose gradients the mean of 30, 5 or 2 is an update (n-softsync of n = 1, 6, 15;
#               n = 30 is async)
#
# The shape is there if accuracy with 30 workers is below that with one, and with inverse above that without.
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

learner=(--model "conv 8x3 relu, pool 2, conv 16x3 relu, pool 2, flatten, dense 10" --epochs 2 --modes async
    --learning-rate 0.01 --optimizer momentum --momentum 0.9 --compute "lognormal:30ms,0.1")

# arm NAME WORKERS BATCH [OPTION...] - one more of the comparison that follows.
arms=()
arm() { arms+=(--arm "$1=--workers $2 --worker-batch $3 ${*:4}"); }

arm one 1 128
arm one-of-4 1 4
arm two 2 64
arm four 4 32
arm ten 10 13
arm thirty 30 4
arm thirty-inverse 30 4 --staleness-rate inverse
arm thirty-constant 30 4 --staleness-rate constant
compared learners "${learner[@]}" "${arms[@]}"
echo "learners, $seeds seeds"
measured learners table one staleness_mean train_loss test_accuracy /test_accuracy

if [ "$seeds" -gt 3 ]; then seeds=3; fi
arms=()
for n in 1 6 15; do arm n$n 30 4 --accumulate $((30 / n)); done
arm n15-inverse 30 4 --accumulate 2 --staleness-rate inverse
compared softsync "${learner[@]}" "${arms[@]}"
echo
echo "softsync, $seeds seeds"
measured softsync table n1 staleness_mean train_loss test_accuracy /test_accuracy
echo

answer=yes
held learners test_accuracy thirty one below 0 || answer=no
fall=$interval
held learners test_accuracy thirty-inverse thirty above 0 || answer=no
verdict "Zhang 2016" $answer "30 workers' accuracy is $fall points from one's, with inverse $interval above that"
answer=yes
held learners test_accuracy thirty-inverse thirty-constant above 0 || answer=no
verdict "Zhang 2016, inverse is better than its control" $answer "by $interval points"
