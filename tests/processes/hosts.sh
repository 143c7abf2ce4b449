#!/usr/bin/env bash
# hosts.sh - the same job on several hosts: two servers and two workers, each in a network namespace
# of its own, joined by a bridge. Once they share the folder of --out, once server 1 sees another
# disk there; cables are pulled, and a server moves to another address. The bytes of the model are
# those of a run on one host. Needs root.
# test: first
# promises: bits-killed loopback result
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# Whoever is not on loopback must be asked twice, root or not.
run refused 2 syncopate-ps --ps-hosts 0.0.0.0:0 --out "$work/none"
says refused "error: will not listen on 0.0.0.0:0 without keys.*--insecure"
one_line refused
run refused-bind 2 syncopate-ps --ps-hosts 127.0.0.1:0 --bind 0.0.0.0:0 --out "$work/none"
says refused-bind "error: will not listen on 0.0.0.0:0 without keys.*--insecure"
one_line refused-bind
ok "a server does not listen beyond loopback without --insecure"

tag=sy$$ # Of our namespaces and links, to tell them from others'.
clean_up_more()
{
    local i
    for i in 0 1 2 3; do
        ip netns delete "$tag-$i" 2>/dev/null || true
        rm -rf "/etc/netns/$tag-$i"
    done
    ip link delete "$tag" 2>/dev/null || true
}
if [ "$(id -u)" -ne 0 ] || ! ip netns add "$tag-0" 2>/dev/null; then
    skip "several hosts: network namespaces need root and the ip program"
    exit 0
fi
if ! ip netns exec "$tag-0" true 2>/dev/null; then
    skip "several hosts: programs cannot be run in a namespace here (a chroot, perhaps)"
    exit 0
fi
if ! ip link add "$tag" type bridge 2>/dev/null; then
    skip "several hosts: this kernel makes no bridges"
    exit 0
fi

# Host i has address 10.213.77.(10 + i).
ip link set "$tag" up
for i in 0 1 2 3; do
    if [ "$i" -gt 0 ]; then ip netns add "$tag-$i"; fi
    ip link add "$tag.$i" type veth peer name eth0 netns "$tag-$i"
    ip link set "$tag.$i" master "$tag" up
    ip -n "$tag-$i" address add "10.213.77.$((10 + i))/24" dev eth0
    ip -n "$tag-$i" link set eth0 up
    ip -n "$tag-$i" link set lo up
done
hosts=10.213.77.10:4710,10.213.77.11:4711

# on HOST NAME PROGRAM ARGUMENT... - like start, on that host.
on()
{
    ip netns exec "$tag-$1" "$build/$3" "${@:4}" >"$work/$2.log" 2>&1 </dev/null &
    pids[$2]=$!
}
# The same, but with another disk where --out is.
on_other_disk()
{
    # shellcheck disable=SC2016 # For the inner shell.
    ip netns exec "$tag-$1" unshare --mount --propagation private sh -c \
        'mount -t tmpfs other "$0" && exec "$@"' "$disks" "$build/$3" "${@:4}" \
        >"$work/$2.log" 2>&1 </dev/null &
    pids[$2]=$!
}

disks=$work/disks
mkdir "$disks"
job=(--mode sync --seed 5 --data synthetic:1000 --chunk-bytes 1K --checkpoint-every 6
    --model "conv 4x3 relu, pool 4, flatten, dense 10")
run local 0 syncopate run "${job[@]}" --epochs 2 --ps 1 --workers 1 --quiet --out "$work/local"
expected=$(model_hash "$work/local")

# trains NAME HOW STEPS... - HOW starts server 1.
trains()
{
    local name=$1 how=$2 i
    shift 2
    "$how" 1 "$name-ps1" syncopate-ps --job-name ps --task-index 1 --ps-hosts "$hosts" --insecure \
        --out "$disks/$name"
    for i in 0 1; do
        on $((2 + i)) "$name-worker$i" syncopate-worker --job-name worker --task-index "$i" \
            --ps-hosts "$hosts" --worker-hosts 10.213.77.12:1,10.213.77.13:1 "${job[@]}" "$@"
    done
    on 0 "$name-ps0" syncopate-ps --job-name ps --task-index 0 --ps-hosts "$hosts" --insecure \
        --out "$disks/$name"
    for i in ps0 ps1 worker0 worker1; do ends "$name-$i" 0 40; done
    nothing_runs
}

trains shared on --epochs 2
if [ "$(model_hash "$disks/shared")" != "$expected" ]; then fail "four hosts change the bytes"; fi
ok "2 servers and 2 workers on four hosts give the bytes of one host"

trains apart on_other_disk --epochs 2
if [ "$(model_hash "$disks/apart")" != "$expected" ]; then fail "disks apart change the bytes"; fi
for i in 0 1; do
    if [ ! -s "$disks/apart/checkpoints/step-000000000032/part-$i-of-2.safetensors" ]; then
        fail "the part of server $i is not in the last checkpoint of server 0"
    fi
done
ok "a server on another disk sends its part to server 0, which has the whole checkpoint"

# A server on another disk, that has no file of them, begins with given values.
run given-local 0 syncopate run "${job[@]}" --initial "$work/local" --epochs 1 --ps 1 --workers 1 --quiet \
    --out "$work/given-local"
mkdir "$disks/given"
cp "$work/given-local/initial.safetensors" "$disks/given"
trains given on_other_disk --epochs 1 --initial "$work/local"
says given-ps0 "beginning with given values"
if [ "$(model_hash "$disks/given")" != "$(model_hash "$work/given-local")" ]; then
    fail "given values are others on hosts with disks of their own"
fi
ok "given initial values reach a server on another disk"

# Half of it, and on from there: server 1 is sent its chunks over the wire.
trains half on_other_disk --epochs 1
sed -i 's/"state": "done"/"state": "stopped"/' "$disks/half/run.json"
trains half on_other_disk --epochs 2
says half-ps0 "resuming from the checkpoint at step 16"
if [ "$(model_hash "$disks/half")" != "$expected" ]; then fail "resuming changes the bytes"; fi
ok "a run resumed on hosts with disks of their own gives the same bytes"

# --- cables ---------------------------------------------------------------------------------------
# A job of several seconds, so long that a cable can be pulled and plugged in again.
lease=$patience
leaf=6ms # Two of them a step.
if sanitized; then leaf=20ms; fi
job=(--mode sync --seed 5 --data synthetic:500 --chunk-bytes 4K --checkpoint-every 30 --steps 500
    --model softmax)
run local-long 0 syncopate run "${job[@]}" --ps 1 --workers 1 --quiet --out "$work/local-long"
expected=$(model_hash "$work/local-long")
timeouts=(--worker-timeout "$lease" --recovery-timeout $((4 * lease)))

# begins NAME - the job on four hosts, up to its 50th step or so.
begins()
{
    local i
    for i in 0 1; do
        on "$i" "$1-ps$i" syncopate-ps --task-index "$i" --ps-hosts "$hosts" --insecure \
            --out "$disks/$1" "${timeouts[@]}"
        on $((2 + i)) "$1-worker$i" syncopate-worker --task-index "$i" --ps-hosts "$hosts" \
            --workers 2 "${job[@]}" --compute "constant:$leaf" "${timeouts[@]}"
    done
    reaches 'state: running.*step: ([5-9][0-9]|[1-9][0-9]{2,}) of' || fail "$1 does not run"
}
# reaches PATTERN - asked on host 3.
reaches()
{
    ip netns exec "$tag-3" "$build/tests/processes/await_status" "${hosts%%,*}" "$1" \
        $((20 * patience)) >"$work/status.log"
}
pull() { ip link set "$tag.$1" down; }
plug() { ip link set "$tag.$1" up; }
finishes()
{
    local i
    for i in ps0 ps1 worker0 worker1; do ends "$1-$i" 0 90; done
    nothing_runs
    if [ "$(model_hash "$disks/$1")" != "$expected" ]; then fail "$1: the bytes have changed"; fi
}

# make check has the two that show most.
if long_run; then
    timeouts=(--worker-timeout 20 --recovery-timeout 80) # Far from a second, which this script may sleep for longer.
    begins short-cut
    pull 2
    sleep 1
    plug 2
    finishes short-cut
    timeouts=(--worker-timeout "$lease" --recovery-timeout $((4 * lease)))
    if said short-cut-ps0 "lost worker"; then fail "a cut of a second lost a worker"; fi
    ok "a worker's cable pulled for a second: nothing is lost, the same bytes"
fi

if short_run; then
    begins long-cut
    pull 2
    says long-cut-ps0 "lost worker/0" $((3 * lease))
    plug 2
    finishes long-cut
    ok "a worker's cable pulled for longer than its lease: the other does its work; the same bytes"
fi

if long_run; then
    begins server-cut
    pull 1
    says server-cut-ps0 "lost ps/1" $((3 * lease))
    plug 1
    finishes server-cut
    ok "a server's cable pulled for longer than its lease: all wait and go on; the same bytes"

    begins first-cut
    pull 0
    sleep $((lease + 2))
    plug 0
    finishes first-cut
    ok "server 0's cable pulled for longer than its lease: all wait and go on; the same bytes"

    begins cut-for-good
    pull 1
    for i in ps0 ps1 worker0 worker1; do ends "cut-for-good-$i" 195 $((6 * lease)); done
    plug 1
    nothing_runs
    ok "a server's cable pulled for good: everybody ends with 195"
fi

# --- half-open connections, another address behind the same name -----------------------------------
# names ADDRESS - where beta is, on every host.
names()
{
    local i
    for i in 0 1 2 3; do
        mkdir -p "/etc/netns/$tag-$i"
        printf '127.0.0.1 localhost\n10.213.77.10 alpha\n%s beta\n' "$1" \
            >"/etc/netns/$tag-$i/hosts" # The same file: programs that run see the change.
    done
}
if short_run && [ ! -e /etc/hosts ]; then
    skip "a server that moves: there is no /etc/hosts, over which each host's own could be laid"
elif short_run; then
    names 10.213.77.11
    hosts=alpha:4710,beta:4711
    begins moved
    pull 1
    murder moved-ps1 # Nobody hears of it: their connections stay half open.
    within 5 gone moved-ps1 || fail "server 1 does not die"
    ip -n "$tag-1" address delete 10.213.77.11/24 dev eth0
    ip -n "$tag-1" address add 10.213.77.31/24 dev eth0
    names 10.213.77.31
    plug 1
    on 1 moved-ps1 syncopate-ps --task-index 1 --ps-hosts "$hosts" --insecure --out "$disks/moved" \
        "${timeouts[@]}"
    finishes moved
    ok "a server that dies unheard and comes back at another address behind its name: the same bytes"
fi
