#!/usr/bin/env bash
# incast.sh [BUILD] - how long a step of many workers takes on few servers, and where server 0 becomes the
# limit: in virtual time, beside the closed form of deploy/cluster/NETWORK.md. A leaf takes 1 ms; cards have
# 1 Gbit/s, 50 us apart, and are shared evenly, as the closed form has it. Then the same with a small model on fast cards, where messages alone are what counts.
set -euo pipefail
build=${1:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# step WORKERS SERVERS OPTION... - milliseconds of one.
step()
{
    rm -rf "$work/run"
    "$build/syncopate" simulate --quiet --data synthetic:8192 --record off --checkpoint-every 0 --optimizer sgd \
        --global-batch "$1" --micro-batch 1 --compute constant:1ms --workers "$1" --ps "$2" --steps 8 \
        --turns 0 --out "$work/run" "${@:3}"
    sed -nE 's/^ *"seconds": ([0-9.e-]+),?$/\1/p' "$work/run/run.json" | awk '{ printf "%.2f\n", 1000 * $1 / 8 }'
}

# 107,335 parameters, in as many chunks as there are servers: 429 KB, and what frames and segments add.
wide=(--network "1Gbit,50us" --model "flatten, dense 135 relu, dense 10")
printf 'ms a step, a chunk a server: simulated (closed form)\n%8s' workers
for servers in 1 4 16; do printf '%24s' "$servers servers"; done
echo
for workers in 1 4 16 64 256 512; do
    printf '%8s' "$workers"
    for servers in 1 4 16; do
        bytes=$((107335 * 4 / servers))
        printf '%24s' "$(step "$workers" "$servers" "${wide[@]}" --chunk-bytes "$((bytes + 4096))") ($(
            awk -v n="$workers" -v k="$servers" -v m=$((107335 * 4)) 'BEGIN {
                m *= 1538 / 1448; b = 125e6; card = m / b; server = n * m / (k * b)
                printf "%.2f", 1 + 2e3 * (5e-5 + (card > server ? card : server)) }'))"
    done
    echo
done

echo 'ms a step with next to nothing to send, 100 Gbit/s, one server: a message costs it 5 us'
for workers in 1 4 16 64 256 512; do
    printf '%8s%12s\n' "$workers" "$(step "$workers" 1 --network "100Gbit,50us" --model "flatten, dense 10")"
done
