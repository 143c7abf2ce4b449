#!/usr/bin/env bash
# needs: python3
# ratios.sh [BUILD] [FIRST [LAST]] - whether five seeds tell a ratio: 24 comparisons of two arms of which one has 400 us
# more of latency, by the first 1,000 examples of Fashion-MNIST, with seeds from 1, 6, ... 116. Each says in what part
# of the one's time the other comes to the target, with an interval, and conclusion.py has the same from its points.
# FIRST and LAST, from 1 to 24, are those that are made. The exit code says whether all of them have a ratio.
default_seeds=5
first=${2:-1}
last=${3:-24}
set -- "${1:-$(dirname "$0")/../../build/release}"
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

folder=/usr/share/datasets/fashion-mnist
data=synthetic:1000
# cut_off NAME HEAD BYTES COUNT - the first COUNT examples of so many bytes in all, behind a head of so many.
cut_off()
{
    mkdir -p "$work/data"
    {
        zcat "$folder/$1.gz" | head -c 4
        printf '%b' "$(printf '\\x%02x\\x%02x\\x%02x\\x%02x' 0 0 $(($4 / 256)) $(($4 % 256)))"
        zcat "$folder/$1.gz" | tail -c +9 | head -c $(($2 - 8 + $3))
    } >"$work/data/$1"
}
if [ -e "$folder" ]; then
    set +o pipefail # What head does not read is not written.
    cut_off train-images-idx3-ubyte 16 784000 1000
    cut_off train-labels-idx1-ubyte 8 1000 1000
    cut_off t10k-images-idx3-ubyte 16 392000 500
    cut_off t10k-labels-idx1-ubyte 8 500 500
    set -o pipefail
    data=$work/data
fi

without=0
for ((i = first; i <= last; i++)); do
    seed=$((5 * i - 4))
    compared "s$seed" --workers 4 --modes async --arm "a=--network 10Gbit,50us" --arm "b=--network 10Gbit,450us" \
        --model softmax --epochs 3 --optimizer sgd --learning-rate 0.05 --compute lognormal:20ms,0.3
    python3 "$here/../processes/conclusion.py" "$out/s$seed" >"$work/check" || {
        cat "$work/check"
        exit 1
    }
    python3 -c 'import json, sys
said = json.load(open(sys.argv[1]))
time = said["groups"][1]["beside_reference"]["time"]
print("seeds from", sys.argv[2] + ":", said["answer"][0])
sys.exit(isinstance(time["low"], str) or not time["low"] or isinstance(time["high"], str))' \
        "$out/s$seed/compare.json" "$seed" || without=$((without + 1))
done
echo "$without of $((last - first + 1)) comparisons have no ratio with two ends"
[ "$without" -eq 0 ]
