#!/usr/bin/env bash
# incast.sh [BUILD] [SEEDS] - how long a synchronous step takes as workers grow on few servers, whose cards all of them
# share, beside what no parameter server can be below: max(M / B, n M / (k B)) for n workers, k servers, M bytes and
# cards of B (Jiang et al. 2020, BytePS; gradients come up while values go down), and beside the closed forms of
# deploy/VIRTUAL.md. M is 107,335 parameters and what frames and segments add, B 1 Gbit/s, 50 us apart, cards
# shared evenly; a message takes 14 us longer or less (--jitter, as was measured: VALIDATION.md), which is all that
# seeds differ in. A leaf takes 1 ms. A server has one chunk, which must be there before it is answered, or eight.
#
# The shape is there if every whole interval is within 5 % of the closed form: 1 ms, and twice the bound with one
# chunk, or 1 1/8 of it with eight. Then, for whom it is of use, the same with next to
# nothing to send on fast cards, where messages are what counts.
default_seeds=3
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

data=synthetic:8192
values=$((107335 * 4))
step=(--modes sync --micro-batch 1 --compute constant:1ms --optimizer sgd --turns 0)

# closed WORKERS SERVERS CHUNKS - ms a step, and the bound of what is not computing.
closed()
{
    awk -v n="$1" -v k="$2" -v c="$3" -v m=$values 'BEGIN {
        m *= 1538 / 1448; b = 125e6; card = m / b; server = n * m / (k * b)
        bound = card > server ? card : server
        printf "%.3f %.3f\n", 1 + 1e3 * (2 * 5e-5 + (1 + 1 / c) * bound), 1e3 * bound }'
}

arms=()
names=()
for chunks in 1 8; do
    for servers in 1 4; do
        for workers in 1 4 16 64; do
            names+=("$workers $servers $chunks")
            arms+=(--arm "n$workers-k$servers-c$chunks=--workers $workers --global-batch $workers --ps $servers \
--chunk-bytes $((values / servers / chunks + 512))")
        done
    done
done
compared incast "${step[@]}" "${arms[@]}" --steps 16 --network "1Gbit,50us" --jitter exponential:14us \
    --model "flatten, dense 135 relu, dense 10"
echo "ms a step, $seeds seeds, and how many times the bound it takes but for computing"
printf '%8s%8s%8s%22s%14s%12s%8s\n' workers servers chunks ms 'closed form' 'the bound' times
within=0
for name in "${names[@]}"; do
    read -r workers servers chunks <<<"$name"
    read -r form bound <<<"$(closed "$workers" "$servers" "$chunks")"
    arm=n$workers-k$servers-c$chunks
    limits=$(awk -v f="$form" 'BEGIN { print 0.95 * f, 1.05 * f }')
    # shellcheck disable=SC2086
    held incast ms_per_update "$arm" within $limits && within=$((within + 1))
    printf '%8s%8s%8s%22s%14s%12s%8s\n' "$workers" "$servers" "$chunks" "$interval" "$form" "$bound" \
        "$(awk -v t="${interval%% *}" -v b="$bound" 'BEGIN { printf "%.2f", (t - 1) / b }')"
done
echo

seeds=1
arms=()
for workers in 1 4 16 64 256; do arms+=(--arm "n$workers=--workers $workers --global-batch $workers"); done
compared small "${step[@]}" "${arms[@]}" --steps 8 --network "100Gbit,50us" --model "flatten, dense 10"
echo "ms a step with next to nothing to send, 100 Gbit/s, one server: a message costs it 5 us"
measured small table n1 ms_per_update | sed '1d; s/ \[-\]//'
echo
answer=no
if [ $within -eq ${#names[@]} ]; then answer=yes; fi
verdict "Incast" $answer "$within of ${#names[@]} intervals are within 5 % of the closed form; 64 workers' step is\
 $(measured incast ms_per_update n64-k1-c8 n1-k1-c8) times as long as one's with one server,\
 $(measured incast ms_per_update n64-k4-c8 n1-k4-c8) times with four"
