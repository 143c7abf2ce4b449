#!/usr/bin/env bash
# barriers.sh [BUILD] [STEPS] - what a slow worker and a stopped one cost in each way to wait: four real workers,
# of which each leaf takes a time drawn from a log-normal distribution (median 30 ms, sigma 0.5) and worker 3
# takes four times as long. All modes go once through the same examples of Fashion-MNIST, STEPS batches of 64.
# Then the same with worker 1 stopped for good (SIGSTOP) after a third of them: it is given up after
# --worker-timeout, 5 s.
#
#     updates      that were made
#     ms/update    training time over updates
#     dropped      examples that no update is made of
#     worker-s     seconds of all workers, whatever they did: what the run costs
#     loss, test   of the last epoch's training, and the accuracy of the final model
#
# One seed of one machine: it says what waiting costs, not which mode learns best.
set -euo pipefail
build=$(realpath "${1:-build/release}")
steps=${2:-150}
work=$(mktemp -d)
launcher=
clean_up()
{
    if [ -n "$launcher" ]; then kill "$launcher" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

arms=("sync|--mode sync"
    "sync, 1 backup|--mode sync --backup-workers 1"
    "allreduce|--mode allreduce"
    "allreduce, co-located|--mode allreduce --ps colocated"
    "ssp:2|--mode ssp:2"
    "async|--mode async")

# be32 NUMBER - as four bytes, the highest first, for printf.
be32() { printf '\\x%02x\\x%02x\\x%02x\\x%02x' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) $(($1 & 255)); }
# The first examples of the training set, and all of the test set.
cut_data()
{
    local from=/usr/share/datasets/fashion-mnist file count=$((64 * steps))
    mkdir "$work/data"
    for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
        zcat "$from/$file-ubyte.gz" >"$work/data/$file-ubyte" 2>/dev/null || cp "$from/$file-ubyte" "$work/data/"
    done
    { # shellcheck disable=SC2059
        printf "\\x00\\x00\\x08\\x03$(be32 $count)$(be32 28)$(be32 28)"
        head -c $((16 + count * 784)) "$work/data/train-images-idx3-ubyte" | tail -c +17
    } >"$work/images"
    { # shellcheck disable=SC2059
        printf "\\x00\\x00\\x08\\x01$(be32 $count)"
        head -c $((8 + count)) "$work/data/train-labels-idx1-ubyte" | tail -c +9
    } >"$work/labels"
    mv "$work/images" "$work/data/train-images-idx3-ubyte"
    mv "$work/labels" "$work/data/train-labels-idx1-ubyte"
}

member() { "$build/tests/processes/json_value" "$work/run/run.json" "$1"; }
# a_third_is_made - once a third of the updates are made.
a_third_is_made()
{
    local step
    step=$(sed -nE 's/.*"event": *"progress".*"step": *([0-9]+).*/\1/p' "$work/run/events.jsonl" 2>/dev/null | tail -1)
    [ "${step:-0}" -ge $((steps / 3)) ]
}
# train OPTION... - one run; with `stopped` set, worker 1 stands still from a third on.
train()
{
    rm -rf "$work/run"
    "$build/syncopate" run --quiet --model softmax --workers 4 --ps 2 --data "$work/data" --epochs 1 --checkpoint-every 0 \
        --compute lognormal:30ms,0.5 --slow 3:4 --out "$work/run" "$@" >"$work/log" 2>&1 &
    launcher=$!
    if [ -n "${stopped:-}" ]; then
        until a_third_is_made; do
            kill -0 "$launcher" || break
            sleep 0.1
        done
        kill -STOP "$(pgrep -P "$launcher" -f 'syncopate-worker.*--task-index[ =]1( |$)')"
    fi
    local code=0
    wait "$launcher" || code=$?
    launcher=
    if [ "$code" != 0 ]; then
        printf 'exit code %s: ' "$code"
        tail -1 "$work/log"
        return
    fi
    awk -v steps="$(member step)" -v seconds="$(member seconds)" -v dropped="$(member mode_figures.examples_dropped 2>/dev/null || echo 0)" \
        -v loss="$(member train_loss)" -v test="$(member test_accuracy)" -v of=4 'BEGIN {
            printf "%8d %9.1f %8d %9.1f %8.4f %7.2f\n", steps, 1000 * seconds / steps, dropped, of * seconds, loss, 100 * test }'
}

cut_data
for stopped in "" 1; do
    if [ -n "$stopped" ]; then echo "worker 1 stopped for good after $((steps / 3)) updates"; fi
    printf '%-22s %8s %9s %8s %9s %8s %7s\n' mode updates ms/update dropped worker-s loss 'test %'
    for arm in "${arms[@]}"; do
        read -ra options <<<"${arm#*|}"
        printf '%-22s ' "${arm%%|*}"
        train "${options[@]}"
    done
    echo
done
