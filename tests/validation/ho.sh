#!/usr/bin/env bash
# ho.sh [BUILD] [SEEDS] - training with a bound on staleness, between a barrier and none: how soon is it at a target where
# some workers are slow for a while (Ho et al. 2013, "More effective distributed ML via a stale synchronous parallel
# parameter server")? 32 workers, one server, softmax on Fashion-MNIST, two epochs, eight examples a worker and clock.
# A worker's clock takes 30 ms (sigma 0.1), one in twenty four times as long.
#
# A barrier of theirs adds up what all workers have found: sync with the examples and the learning rate of all 32
# (--fair worker-batch --scale-rate linear). At a rate of 0.003 a worker staleness costs nothing, and it is only
# asked who waits; 0.012 is near what training bears, and runs differ so much that four times as many are made.
# The two rates and the bound of 4 were chosen by seeds 1 to 8; those that are judged begin at 101.
SEED=${SEED:-101}
default_seeds=5
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

stragglers=(--workers 32 --fair worker-batch --scale-rate linear --worker-batch 8 --micro-batch 8 --epochs 2
    --model softmax --optimizer sgd --network "1Gbit,50us" --compute "lognormal:30ms,0.1"
    --straggle 0.05:constant:4)

echo "learning rate 0.003 a worker, $seeds seeds"
compared calm "${stragglers[@]}" --learning-rate 0.003 --modes sync,ssp:1,ssp:4,ssp:16,async
shown calm
seeds=$((4 * seeds))
echo
echo "learning rate 0.012 a worker, $seeds seeds"
compared edge "${stragglers[@]}" --learning-rate 0.012 --modes sync,ssp:4,async
shown edge
echo

between=yes
held calm time ssp-4-w32 sync-w32 below 1 || between=no
first=$interval
held calm time async-w32 ssp-4-w32 below 1 || between=no
verdict "Ho 2013, between a barrier and no bound" $between \
    "at 0.003 ssp:4 takes $first of sync's time, async $interval of ssp:4's"
best=yes
held edge time ssp-4-w32 sync-w32 below 1 || best=no
first=$interval
held edge time async-w32 ssp-4-w32 above 1 || best=no
verdict "Ho 2013, sooner than either" $best "at 0.012 ssp:4 takes $first of sync's time, async $interval of\
 ssp:4's, with $(measured edge work async-w32 ssp-4-w32) of its examples"
