#!/usr/bin/env bash
# transports.sh - the same job over TCP, over shared memory and over whatever is best, and over both
# at once: the same bytes, the same end for whoever is left when one dies, nothing left behind. Where
# no memory can be shared, TCP serves, or the reason is said. Workers of one host have their data together.
# test: first asan tsan
# promises: alone bits bits-early shared-data shared-memory
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--seed 5 --data synthetic:1000 --chunk-bytes 512
    --model "conv 4x3 relu, pool 4, flatten, dense 10")
short=("${small[@]}" --steps 20)
endless=("${small[@]}" --steps 100000000 --checkpoint-every 0)

# hosts SERVERS - ports for so many servers, into $hosts.
hosts()
{
    local i
    hosts=''
    for ((i = 0; i < $1; i++)); do hosts+=${hosts:+,}127.0.0.1:$(free_port); done
}
ps() { start "$2" syncopate-ps --task-index "$1" --ps-hosts "$hosts" --verbose "${@:3}"; }
worker() { start "$2" syncopate-worker --task-index "$1" --ps-hosts "$hosts" --verbose "${@:3}"; }
same_as() { if [ "$(model_hash "$1")" != "$2" ]; then fail "${1##*/} gives other bytes"; fi; }

# --- what must not stay behind --------------------------------------------------------------------
# Abstract sockets that this process has: NAME... of its own network namespace.
sockets_of()
{
    local inode
    for inode in $(readlink "/proc/$1/fd/"* 2>/dev/null | sed -n 's/^socket:\[\(.*\)\]$/\1/p'); do
        awk -v inode="$inode" '$7 == inode && $8 ~ /^@syncopate-/ { print $8 }' /proc/net/unix
    done
}
has_socket() { [ -n "$(sockets_of "${pids[$1]}")" ]; }
nothing_stays() # And what went well need not be read.
{
    nothing_runs
    if compgen -G "/dev/shm/*syncopate*" >/dev/null; then fail "something stays in /dev/shm"; fi
    rm -f "$work"/*.log
}

# Memory that a process has been handed or has handed out: descriptors of it.
memories() { readlink "/proc/${pids[$1]}/fd/"* 2>/dev/null | grep -c '^/memfd:syncopate' || true; }
shares_memory() { [ "$(memories "$1")" -gt 0 ]; }

# --- the same bytes ---------------------------------------------------------------------------------
run alone 0 syncopate run --mode sync --quiet --out "$work/alone" --ps 0 "${short[@]}"
expected=$(model_hash "$work/alone")
counts="1 2 3"
if sanitized; then counts="1 3"; fi
for servers in 1 2; do
    for workers in $counts; do
        for way in tcp shm auto; do
            start "$way-$servers-$workers" syncopate run --mode sync --quiet --transport "$way" \
                --ps "$servers" --workers "$workers" --out "$work/$way-$servers-$workers" \
                "${short[@]}"
        done
        for way in tcp shm auto; do
            ends "$way-$servers-$workers" 0 60
            same_as "$work/$way-$servers-$workers" "$expected"
        done
    done
done
# More workers than leaves: some only look on. Every step's last nodes come from few.
run many 0 syncopate run --mode sync --quiet --transport shm --ps 1 --workers 6 --out "$work/many" \
    "${short[@]}" --global-batch 48 --steps 30
run few 0 syncopate run --mode sync --quiet --ps 0 --out "$work/few" "${short[@]}" \
    --global-batch 48 --steps 30
same_as "$work/many" "$(model_hash "$work/few")"
# Several leaves a worker and one; what leaves early goes into the same sums.
for micro in 8 16; do
    borders=()
    if [ "$micro" = 16 ]; then borders=(--chunks-at-layers); fi
    for mode in sync allreduce; do
        run "early-$mode-$micro" 0 syncopate run --mode "$mode" --quiet --transport tcp --overlap --ps 2 \
            --workers 3 --out "$work/early-$mode-$micro" "${short[@]}" --global-batch 48 --steps 30 \
            --micro-batch "$micro" "${borders[@]}"
        run "late-$mode-$micro" 0 syncopate run --mode sync --quiet --ps 0 --out "$work/late-$mode-$micro" \
            "${short[@]}" --global-batch 48 --steps 30 --micro-batch "$micro"
        same_as "$work/early-$mode-$micro" "$(model_hash "$work/late-$mode-$micro")"
    done
done
ok "gradients that leave early give the bytes of one process"
nothing_stays
ok "tcp, shm and auto give the bytes of one process: 1 and 2 servers, $counts workers, 6 for 3 leaves"

# --- both at once -----------------------------------------------------------------------------------
# mixed MODE - one worker over TCP, one over shared memory.
mixed()
{
    hosts 1
    ps 0 "$1-ps0" --out "$work/$1"
    worker 0 "$1-worker0" --workers 2 --mode "$1" --transport tcp "${short[@]}"
    worker 1 "$1-worker1" --workers 2 --mode "$1" --transport shm "${short[@]}"
    for name in ps0 worker0 worker1; do ends "$1-$name" 0; done
    says "$1-worker1" "sharing memory with ps/0: ok"
    if said "$1-worker0" "sharing memory"; then fail "worker 0 shares memory over TCP"; fi
}
mixed sync
same_as "$work/sync" "$expected"
mixed async
# In units of chunks: each of 20 batches was applied once to each.
chunks=$(sed -nE 's/.*plan chunks=([0-9]+) .*/\1/p' "$work/async-ps0.log")
for verdict in applied stale duplicate rejected; do
    count=$(member "$work/async" "$verdict")
    wanted=0
    if [ "$verdict" = applied ]; then wanted=$((20 * chunks)); fi
    if [ "$count" != "$wanted" ]; then fail "$count gradients were $verdict, not $wanted"; fi
done
nothing_stays
ok "one worker over TCP and one over shared memory: the same bytes; async: every gradient once"

# --- somebody dies ----------------------------------------------------------------------------------
# dies VICTIM WAY - one server and two workers; the victim is killed, and the job ends for all.
dies()
{
    local victim=$1 way=$2 name tag=$1-$2
    hosts 1
    ps 0 "$tag-ps0" --out "$work/$tag" --worker-timeout "$patience" \
        --recovery-timeout "$patience" --on-worker-loss fail
    for i in 0 1; do
        worker "$i" "$tag-worker$i" --workers 2 --mode sync --transport "$way" "${endless[@]}" \
            --worker-timeout "$patience" --recovery-timeout "$patience"
    done
    says "$tag-ps0" "training starts" 20
    if [ "$way" = shm ]; then
        for name in ps0 worker0 worker1; do
            within 10 shares_memory "$tag-$name" || fail "$tag-$name shares no memory"
        done
        within 5 has_socket "$tag-ps0" || fail "$tag-ps0 cannot be found"
        socket=$(sockets_of "${pids[$tag-ps0]}")
    elif shares_memory "$tag-worker0"; then
        fail "$tag-worker0 shares memory"
    fi
    murder "$tag-$victim"
    for name in ps0 worker0 worker1; do
        if [ "$name" != "$victim" ]; then ends "$tag-$name" 195; fi
    done
    if [ "$way" = shm ] && grep -qwF "$socket" /proc/net/unix; then fail "$socket is still there"; fi
}
for way in tcp shm; do
    dies worker1 "$way"
    says "worker1-$way-ps0" "error: lost worker/1 .*nothing heard for"
    says "worker1-$way-worker0" "error: lost worker/1 .*nothing heard for"
    dies ps0 "$way"
    for i in 0 1; do says "ps0-$way-worker$i" "error: lost ps/0: nothing heard for"; done
    nothing_stays
done
ok "a worker or the server is killed: all others end with 195, over memory as over TCP"

# --- where no memory is shared ----------------------------------------------------------------------
hosts 1
ps 0 deaf-ps0 --out "$work/deaf" --transport tcp
began=$SECONDS
worker 0 deaf-worker0 --workers 1 --mode sync --transport shm "${short[@]}"
ends deaf-worker0 5
if [ $((SECONDS - began)) -gt $((5 * patience)) ]; then fail "it took long to say so"; fi
says deaf-worker0 "error: .*shares no memory.*--transport is shm.*has --transport tcp"
one_line deaf-worker0
ends deaf-ps0 5
hosts 1
ps 0 deaf-auto-ps0 --out "$work/deaf-auto" --transport tcp
worker 0 deaf-auto-worker0 --workers 1 --mode sync "${short[@]}"
for name in ps0 worker0; do ends "deaf-auto-$name" 0; done
says deaf-auto-worker0 "sharing memory with ps/0: not found"
same_as "$work/deaf-auto" "$expected"
nothing_stays
ok "a server with --transport tcp: shm is refused with the reason, auto does without"

# --- the data of a host's workers ---------------------------------------------------------------------
shared=(--seed 5 --global-batch 20 --model softmax)
idx "$work/data"

workers()
{
    local pid name
    for pid in $(survivors); do
        { read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
        case $name in syncopate-worke*) echo "$pid" ;; esac
    done
}
# How many workers have the data mapped, and how many still have a descriptor of them.
mapped() { for pid in $(workers); do grep -l '/memfd:syncopate-data' "/proc/$pid/maps" 2>/dev/null || true; done | wc -l; }
open_files() { for pid in $(workers); do readlink "/proc/$pid/fd/"* 2>/dev/null || true; done | grep -c memfd:syncopate-data || true; }
all_have_them() { [ "$(mapped)" -eq "$1" ]; }

# --- together, and each by itself --------------------------------------------------------------------
run apart 0 syncopate run --quiet --ps 0 --data "$work/data" --steps 20 --out "$work/apart-data" "${shared[@]}"
run together 0 syncopate run --quiet --ps 1 --workers 3 --data "$work/data" --steps 20 --out "$work/together" "${shared[@]}"
if [ "$(model_hash "$work/apart-data")" != "$(model_hash "$work/together")" ]; then fail "other bytes than those of one worker"; fi

hosts=127.0.0.1:$(free_port)
start ps syncopate-ps --ps-hosts "$hosts" --workers 2 --data "$work/data" --steps 20 --out "$work/apart" "${shared[@]}"
for i in 0 1; do
    start "w$i" syncopate-worker --task-index "$i" --ps-hosts "$hosts" --workers 2 --data "$work/data" --steps 20 "${shared[@]}"
done
for name in ps w0 w1; do ends "$name" 0 60; done
if [ "$(model_hash "$work/apart-data")" != "$(model_hash "$work/apart")" ]; then fail "other bytes where each reads by itself"; fi
ok "the same bytes with data that workers have together, and each by itself"

# --- started again -----------------------------------------------------------------------------------
start endless syncopate run --verbose --ps 1 --workers 3 --data "$work/data" --steps 100000000 --checkpoint-every 0 \
    --out "$work/endless" "${shared[@]}"
within 20 all_have_them 3 || fail "$(mapped) of 3 workers have the data together"
trains() { grep -qs '"event": "progress"' "$work/endless/events.jsonl"; } # All have closed then what they had to.
within 20 trains || fail "training does not begin"
if [ "$(open_files)" -ne 0 ]; then fail "workers keep a descriptor of what they have mapped"; fi
# Read again they would be other data, with which no worker may join.
{ be32 0x801; be32 40; head -c 40 /dev/zero | tr '\0' '\4'; } >"$work/data/train-labels-idx1-ubyte"
mapfile -t before < <(workers)
victim=${before[0]}
kill -KILL "$victim"
again() { said endless 'started again [(]restart' && all_have_them 3 && ! grep -qx "$victim" <(workers); }
within 20 again || fail "the worker that is started again has no data"
kill -INT "${pids[endless]}"
ends endless 130 60
nothing_runs
ok "who is started again has the data that the others have, although a file has changed since"

# --- what is no such memory --------------------------------------------------------------------------
run wrong 5 syncopate-worker --data-fd 9 --task-index 0 --workers 1 --ps-hosts "$hosts" --data synthetic:100 "${shared[@]}"
one_line wrong
grep -q -- '--data.*descriptor 9 is no memory to share' "$work/wrong.log" || fail "it does not say what is wrong"
ok "a descriptor that is no memory of a launcher is refused in one line"

# --- another network namespace: as good as another host -----------------------------------------
tag=st$$
clean_up_more() { ip netns delete "$tag" 2>/dev/null || true; }
if [ "$(id -u)" -ne 0 ] || ! ip netns add "$tag" 2>/dev/null; then
    skip "a worker in another namespace: network namespaces need root and the ip program"
    exit 0
fi
if ! ip netns exec "$tag" true 2>/dev/null; then
    skip "a worker in another namespace: programs cannot be run in one here (a chroot, perhaps)"
    exit 0
fi
if ! ip link add "$tag" type veth peer name eth0 netns "$tag" 2>/dev/null; then
    skip "a worker in another namespace: this kernel makes no links"
    exit 0
fi
ip address add 10.213.79.1/24 dev "$tag"
ip link set "$tag" up
ip -n "$tag" address add 10.213.79.2/24 dev eth0
ip -n "$tag" link set eth0 up
ip -n "$tag" link set lo up
hosts=10.213.79.1:$(free_port)
# away NAME ARGUMENT... - worker 1, over there.
away()
{
    ip netns exec "$tag" "$build/syncopate-worker" --task-index 1 --ps-hosts "$hosts" --verbose \
        --workers 2 --mode sync "${@:2}" "${short[@]}" >"$work/$1.log" 2>&1 </dev/null &
    pids[$1]=$!
}
ps 0 near --out "$work/away" --insecure
worker 0 near-worker0 --workers 2 --mode sync --transport shm "${short[@]}"
away away-worker1 --transport auto
for name in near near-worker0 away-worker1; do ends "$name" 0; done
says near-worker0 "sharing memory with ps/0: ok"
says away-worker1 "sharing memory with ps/0: not found"
same_as "$work/away" "$expected"
ps 0 refused --out "$work/refused" --insecure
worker 0 refused-worker0 --workers 2 --mode sync "${short[@]}"
away refused-worker1 --transport shm
for name in refused refused-worker0 refused-worker1; do ends "$name" 5; done
says refused-worker1 "error: .*shares no memory"
nothing_stays
ok "a worker in another network namespace: auto falls back to TCP with the same bytes, shm says why"
