#!/usr/bin/env bash
# plan.sh [BUILD] [SEEDS] - does a long comparison outlive what happens in a night? One plan of 60 runs in virtual time:
# six ways to wait, 4 and 16 workers, five seeds, a small convolutional network, 400 batches of Fashion-MNIST, leaves of
# drawn times, of which one in twenty takes four times as long.
#
#     calm      made without a break, from the command line
#     struck    the same from calm's plan.json; killed (SIGKILL) after a third of the runs, gone on with, interrupted
#               (SIGINT) after two thirds, gone on with; then extended by a seventh way to wait
#
# Whatever happened, every run has to have the bits that it has in calm; nothing that was there is made again; and of
# what is extended an independent reader (tests/processes/conclusion.py) has to work out the same numbers.
default_seeds=5
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

common=(--virtual --quiet --data "$data" --seed "$seed" --seeds "$seeds" --steps 400 --micro-batch 4
    --model "conv 8x3 relu, pool 2, conv 16x3 relu, pool 2, flatten, dense 10"
    --compute "lognormal:8ms,0.3" --straggle 0.05:constant:4 --network "1Gbit,50us" --vary "workers=4,16")
arms=(--arm "sync=--mode sync" --arm "backup=--mode sync+backup:1" --arm "allreduce=--mode allreduce" --arm "ssp=--mode ssp:2"
    --arm "async=--mode async" --arm "async-inverse=--mode async --staleness-rate inverse")
planned=$((6 * 2 * seeds))

# compare NAME OPTION... - in the foreground; what it took is in $minutes.
minutes=
compare()
{
    local name=$1 begun=$SECONDS code=0
    shift
    "$build/syncopate" compare "$@" --out "$out/$name" >"$work/$name.said" 2>&1 || code=$?
    if [ $code != 0 ]; then
        echo "$name: exit code $code"
        cat "$work/$name.said"
        exit 1
    fi
    minutes=$(awk -v s=$((SECONDS - begun)) 'BEGIN { printf "%.1f", s / 60 }')
}
# made NAME - runs that are done.
made() { grep -l '"state": "done"' "$out/$1"/runs/*/run.json 2>/dev/null | wc -l; }
# strike SIGNAL RUNS - begins or goes on with struck until so many are done.
strike()
{
    local pid code=0
    # The shell would let it ignore SIGINT otherwise.
    set -m
    "$build/syncopate" compare --plan "$out/calm/plan.json" --quiet --out "$out/struck" >"$work/strike.said" 2>&1 &
    pid=$!
    set +m
    while kill -0 $pid 2>/dev/null && [ "$(made struck)" -lt "$2" ]; do sleep 0.1; done
    kill "-$1" $pid 2>/dev/null || true
    { wait $pid; } 2>/dev/null || code=$?
    echo "struck: $1 after $(made struck) of $planned runs, exit code $code"
}
# bits NAME - of every run its name and what came out.
bits()
{
    local run
    for run in "$out/$1"/runs/*/; do
        echo "$(basename "$run") $("$build/tests/processes/json_value" "$run/run.json" parameters_sha256)"
    done | sort
}
# alike NAME - how many of calm's runs it has with the same bits.
alike() { comm -12 <(bits calm) <(bits "$1") | wc -l; }

answer=yes
compare calm "${common[@]}" "${arms[@]}"
calm=$minutes
echo "calm: $(made calm) runs in $calm minutes"
shown calm
echo

strike KILL $((planned / 3))
strike INT $((2 * planned / 3))
tail -1 "$work/strike.said"
kept=$(made struck)
compare struck --plan "$out/calm/plan.json" --quiet
same=$(alike struck)
echo "struck: $((planned - kept)) left were made in $minutes minutes; $same of $planned runs have calm's bits"
if [ "$same" != $planned ]; then answer=no; fi

stamps() { (cd "$out/struck/runs" && find . -name run.json -printf '%p %T@\n' | sort); }
before=$(stamps)
compare struck --plan "$out/calm/plan.json" --arm "ssp-8=--mode ssp:8" --quiet
extended=$(made struck)
untouched=$(comm -12 <(echo "$before") <(stamps) | wc -l)
echo "extended: $extended runs, in $minutes minutes; $untouched were left as they were"
if [ "$extended" != $((planned + 2 * seeds)) ] || [ "$untouched" != $planned ]; then answer=no; fi

reader=$(python3 "$here/../processes/conclusion.py" "$out/struck" | tail -1)
echo "extended: an independent reader: $reader"
if [[ $reader != *", 0 differ" ]]; then answer=no; fi
for file in table.txt report.html points.csv; do
    if [ ! -s "$out/struck/$file" ]; then
        echo "extended: there is no $file"
        answer=no
    fi
done
verdict "Plan" $answer "$planned runs take $calm minutes on $(nproc) processors; $same have the same bits after SIGKILL and\
 SIGINT; $extended extended"
