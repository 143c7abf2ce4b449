#!/usr/bin/env bash
# chen.sh [BUILD] [SEEDS] [UPDATES] - how many of fifty workers a synchronous step should not wait for (Chen et
# al. 2016, "Revisiting distributed synchronous SGD"; Abadi et al. 2016, "TensorFlow", figure 8): sync with 0
# to 8 backup workers in virtual time, softmax on Fashion-MNIST (where that is not: synthetic data), eight
# examples a worker and step. The learning rate is so much a worker that is waited for: a step of fewer examples
# goes less far. Three ways for workers to be slow:
#
#     few       nearly all alike (sigma 0.06), three in a hundred computations 1.2 times as long or more
#     lognormal no two alike (sigma 0.3), and nobody very slow
#     heavy     nearly all alike, one in twenty twice as long, and some of those (Pareto) 10 or 100 times
#
# Of all seeds the mean and, behind +-, the standard deviation:
#
#     ms/step, P99  time between updates, the 99th percentile of it
#     dropped       examples of steps that are in no update
#     worker-s      seconds of all workers, whatever they did, for all updates
#     loss, test    of the last 25 updates; of the final model: after as many updates each
#     to target     updates, and virtual seconds, until the mean loss of 25 updates is at the target
#
# Fails where something cannot be measured, and not where the figures are others than Chen's.
set -euo pipefail
build=$(realpath "${1:-build/release}")
seeds=${2:-3}
updates=${3:-300}
target=${TARGET_LOSS:-0.80}
workers=50
most=8
each=8 # Examples.
work=$(mktemp -d)
clean_up()
{
    local id
    for id in $(jobs -p); do kill "$id" 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

data=fashion-mnist
if [ ! -e /usr/share/datasets/fashion-mnist ]; then data=synthetic:20000; fi
tails=("few|--compute lognormal:1800ms,0.06 --straggle 0.03:lognormal,0.2:1.2"
    "lognormal|--compute lognormal:1800ms,0.3"
    "heavy|--compute lognormal:1800ms,0.06 --straggle 0.05:pareto,1.5:2")

# train TAIL B SEED OPTION... - a run in $work/TAIL-B-SEED, and of it, one line:
# ms/step, P99, dropped, worker-s, loss, test, updates to the target, seconds to it.
train()
{
    local out=$work/$1-$2-$3 rate
    rate=$(awk -v n=$((workers - $2)) 'BEGIN { print 0.001 * n }')
    "$build/syncopate" simulate --quiet --data "$data" --model softmax --mode sync --backup-workers "$2" --workers $workers \
        --ps 2 --global-batch $((each * workers)) --micro-batch $each --steps "$updates" --optimizer sgd --learning-rate "$rate" \
        --seed "$3" --report-every 1 --checkpoint-every 0 --record off --out "$out" "${@:4}" || return
    sed -nE 's/.*"event": *"window".*"loss": *([0-9.]+),.*"training_seconds": *([0-9.]+).*/\1 \2/p' \
        "$out/events.jsonl" | awk -v updates="$updates" -v target="$target" -v of=$workers -v examples=$((each * workers * updates)) \
        -v dropped="$("$build/tests/processes/json_value" "$out/run.json" mode_figures.examples_dropped 2>/dev/null || echo 0)" \
        -v test="$("$build/tests/processes/json_value" "$out/run.json" test_accuracy)" '
        { took[NR] = 1000 * ($2 - before); before = $2; loss[NR] = $1; sum += $1
          if (NR > 25) sum -= loss[NR - 25]
          if (!reached && NR >= 25 && sum / 25 <= target) { reached = NR; seconds = $2 } }
        END { if (NR != updates || !reached) exit 1
              for (i = 2; i <= NR; i++) # Sorted.
                  for (j = i; j > 1 && took[j] < took[j - 1]; j--) { swap = took[j]; took[j] = took[j - 1]; took[j - 1] = swap }
              p99 = took[int(0.99 * NR + 0.5)]
              printf "%g %g %g %g %g %g %d %g\n", 1000 * before / NR, p99, dropped / examples, of * before, sum / 25, test, reached, seconds }
        ' >"$out.figures" || return
    rm -rf "$out"
}

# Two at once.
for tail in "${tails[@]}"; do
    read -ra options <<<"${tail#*|}"
    for ((b = 0; b <= most; b++)); do
        for ((seed = 1; seed <= seeds; seed++)); do
            if [ "$(jobs -rp | wc -l)" -ge 2 ]; then wait -n || true; fi
            train "${tail%%|*}" $b $seed "${options[@]}" &
        done
    done
done
wait

missing=0
for tail in "${tails[@]}"; do
    name=${tail%%|*}
    printf '%s: %s, %s, %s updates, %s seeds, to a loss of %s\n' "$name" "${tail#*|}" "$data" "$updates" "$seeds" "$target"
    printf '%2s %14s %12s %9s %16s %15s %14s %12s %15s %9s\n' B ms/step P99 dropped worker-s loss 'test %' updates 'seconds' 'of B = 0'
    for ((b = 0; b <= most; b++)); do
        cat "$work/$name-$b-"*.figures 2>/dev/null | awk -v b=$b -v seeds="$seeds" -v best="$work/$name.best" '
            function deviation(c) { return NR < 2 ? 0 : sqrt((squares[c] - sums[c] ^ 2 / NR > 0 ? squares[c] - sums[c] ^ 2 / NR : 0) / (NR - 1)) }
            { for (c = 1; c <= NF; c++) { sums[c] += $c; squares[c] += $c ^ 2 } }
            END { if (NR != seeds) { print b, "was not measured"; exit 1 }
                  for (c = 1; c <= 8; c++) mean[c] = sums[c] / NR
                  first = mean[8]
                  if (b > 0) { getline line <best; split(line, word); first = word[1] }
                  else print first >best
                  printf "%2d %7.0f +- %3.0f %6.0f +- %3.0f %6.2f %% %9.0f +- %3.0f %7.4f +- %.4f %6.2f +- %4.2f %6.1f +- %3.1f %7.1f +- %4.1f %9.3f\n",
                      b, mean[1], deviation(1), mean[2], deviation(2), 100 * mean[3], mean[4], deviation(4), mean[5], deviation(5),
                      100 * mean[6], 100 * deviation(6), mean[7], deviation(7), mean[8], deviation(8), mean[8] / first
                  print b, mean[8] >>(best ".all") }' || missing=1
    done
    echo
done
if [ $missing != 0 ]; then exit 1; fi

said="best in time to the target:"
shape=no
for tail in "${tails[@]}"; do
    name=${tail%%|*}
    best=$(sort -g -k 2,2 "$work/$name.best.all" | awk 'NR == 1 { print $1 }')
    said="$said $name B = $best;"
    if [ "$name" = few ] && [ "$best" -ge 1 ] && [ "$best" -le 5 ]; then shape=yes; fi
done
if [ $shape = yes ]; then
    echo "Chen's shape: yes, with few slow workers the best is 1 to 5 of $workers ($said)"
else
    echo "Chen's shape: no, with few slow workers the best is not 1 to 5 of $workers ($said)"
fi
