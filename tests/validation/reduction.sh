#!/usr/bin/env bash
# reduction.sh [BUILD] [ROUNDS] - what a step moves between hosts and costs in sync and in all-reduce, with a
# server on a host of its own and with one beside each worker: two workers, each in a network namespace of
# its own (root), the reference model and adam. Bytes are what the cards of all hosts have sent, with all
# headers; processor seconds are of all processes. Each figure is a run of 300 steps less one of 100, so
# that start and end are in none; the arms take turns, and the median of the rounds is told.
set -euo pipefail
build=$(realpath "${1:-build/release}")
rounds=${2:-3}
tag=reduction$$
work=$(mktemp -d)
hosts=(a b s)
clean_up()
{
    local host
    for host in "${hosts[@]}"; do ip netns del "$tag-$host" 2>/dev/null || true; done
    ip link del "$tag" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

ip link add "$tag" type bridge
ip link set "$tag" up
for i in "${!hosts[@]}"; do
    ip netns add "$tag-${hosts[i]}"
    ip link add "v$$${hosts[i]}" type veth peer name eth0 netns "$tag-${hosts[i]}"
    ip link set "v$$${hosts[i]}" master "$tag" up
    ip -n "$tag-${hosts[i]}" addr add "10.77.0.$((i + 1))/24" dev eth0
    ip -n "$tag-${hosts[i]}" link set eth0 up
    ip -n "$tag-${hosts[i]}" link set lo up
done

# on HOST PROGRAM ARGUMENT... - in the background, its processor seconds in $work/times.
on()
{
    ip netns exec "$tag-$1" /usr/bin/time -a -f '%U %S' -o "$work/times" "$build/$2" "${@:3}" >>"$work/log" 2>&1 &
}
sent()
{
    local host
    for host in "${hosts[@]}"; do ip netns exec "$tag-$host" sed -nE 's/^ *eth0: *//p' /proc/net/dev; done |
        awk '{ sum += $9 } END { printf "%.0f\n", sum }'
}
# train MODE PLACES STEPS - "bytes processor-seconds" of a run; PLACES: own or beside.
train()
{
    local before addresses=10.77.0.3:7000 options=(--workers 2)
    if [ "$2" = beside ]; then addresses=10.77.0.1:7000,10.77.0.2:7000 options=(--ps colocated); fi
    rm -rf "$work/run" "$work/times" "$work/log"
    before=$(sent)
    if [ "$2" = beside ]; then
        on a syncopate-ps --ps-hosts "$addresses" --task-index 0 --insecure --out "$work/run"
        on b syncopate-ps --ps-hosts "$addresses" --task-index 1 --insecure --out "$work/run"
    else
        on s syncopate-ps --ps-hosts "$addresses" --task-index 0 --insecure --out "$work/run"
    fi
    for i in 0 1; do
        on "${hosts[i]}" syncopate-worker --ps-hosts "$addresses" --task-index "$i" "${options[@]}" --mode "$1" \
            --transport tcp --data synthetic:6400 --steps "$3" --checkpoint-every 0 --record off
    done
    wait
    if ! grep -q '"state": "done"' "$work/run/run.json"; then
        tail "$work/log" >&2
        exit 1
    fi
    echo "$(($(sent) - before)) $(awk '{ sum += $1 + $2 } END { print sum }' "$work/times")"
}

arms=("sync, a server|sync own" "all-reduce, a server|allreduce own" "sync, co-located|sync beside"
    "all-reduce, co-located|allreduce beside")
for ((round = 0; round < rounds; round++)); do
    for i in "${!arms[@]}"; do
        read -r mode places <<<"${arms[i]#*|}"
        read -r bytes seconds < <(train "$mode" "$places" 100)
        read -r more longer < <(train "$mode" "$places" 300)
        echo "$(((more - bytes) / 200)) $(awk -v a="$seconds" -v b="$longer" 'BEGIN { print 1000 * (b - a) / 200 }')" >>"$work/arm$i"
    done
done
# middle FILE COLUMN
middle() { sort -g -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'; }
printf '%-24s %13s %10s %13s %10s\n' "two workers, a step" "bytes sent" "of sync's" "processor ms" "of sync's"
for i in "${!arms[@]}"; do
    awk -v name="${arms[i]%%|*}" -v b="$(middle "$work/arm$i" 1)" -v b0="$(middle "$work/arm0" 1)" -v c="$(middle "$work/arm$i" 2)" \
        -v c0="$(middle "$work/arm0" 2)" 'BEGIN { printf "%-24s %13.0f %10.2f %13.2f %10.2f\n", name, b, b / b0, c, c / c0 }'
done
