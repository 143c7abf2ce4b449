#!/usr/bin/env bash
# hosts.sh - the examples of README.md, deploy/HOSTS.md and deploy/KEYS.md of a job on several hosts, as they stand
# there, on network namespaces called alpha, beta, gamma and delta whose hosts files are those that Debian's installer
# writes; each host has a disk of its own. What else a name may stand for: nothing yet, another place than it should,
# several places. Cables are pulled, and a server moves to another address. The bytes of the model are those of a run on
# one host. Needs root.
# test: first
# promises: bits-killed by-hand loopback names result
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)

tag=sn$$ # Of our namespaces and links, to tell them from others'.
names=(alpha beta gamma delta)
clean_up_more()
{
    local host
    for host in "${names[@]}"; do
        ip netns delete "$tag-$host" 2>/dev/null || true
        rm -rf "/etc/netns/$tag-$host"
    done
    ip link delete "$tag" 2>/dev/null || true
}
if [ "$(id -u)" -ne 0 ] || ! ip netns add "$tag-alpha" 2>/dev/null; then
    skip "several hosts: network namespaces need root and the ip program"
    exit 0
fi
if ! ip netns exec "$tag-alpha" true 2>/dev/null; then
    skip "several hosts: programs cannot be run in a namespace here (a chroot, perhaps)"
    exit 0
fi
if [ ! -e /etc/hosts ]; then
    skip "several hosts: there is no /etc/hosts, over which each host's own could be laid"
    exit 0
fi
if ! ip link add "$tag" type bridge 2>/dev/null; then
    skip "several hosts: this kernel makes no bridges"
    exit 0
fi
ip link set "$tag" up
declare -A four=([alpha]=10.213.78.1 [beta]=10.213.78.2 [gamma]=10.213.78.3 [delta]=10.213.78.4)
declare -A six=([alpha]=fd5c:78::1 [beta]=fd5c:78::2)
for host in "${names[@]}"; do
    if [ "$host" != alpha ]; then ip netns add "$tag-$host"; fi
    ip link add "$tag.$host" type veth peer name eth0 netns "$tag-$host"
    ip link set "$tag.$host" master "$tag" up
    ip -n "$tag-$host" link set lo up
    ip -n "$tag-$host" link set eth0 up
    ip -n "$tag-$host" address add "${four[$host]}/24" dev eth0
    mkdir -p "/etc/netns/$tag-$host"
done
pull() { ip link set "$tag.$1" down; }
plug() { ip link set "$tag.$1" up; }

# hosts HOST NUMBER... - what the names alpha and beta stand for on that host, in pairs. Programs
# that run see the change: it is the same file.
hosts()
{
    local host=$1
    shift
    printf '127.0.0.1 localhost\n' >"$work/hosts"
    printf '%s %s\n' "$@" >>"$work/hosts"
    cat "$work/hosts" >"/etc/netns/$tag-$host/hosts"
}
# debian [ADDRESS] - as the installer leaves them, and as an administrator adds the other hosts; where beta is.
debian()
{
    hosts alpha 127.0.1.1 alpha "${1:-${four[beta]}}" beta
    hosts beta 127.0.1.1 beta "${four[alpha]}" alpha
    for host in gamma delta; do hosts "$host" "${four[alpha]}" alpha "${1:-${four[beta]}}" beta; done
}
debian

# on HOST NAME WORD... - a command line on that host, in its folder, found by PATH as people have it.
export PATH=$build:$PATH
on()
{
    local host=$1 name=$2
    shift 2
    mkdir -p "$place/$host"
    # shellcheck disable=SC2016 # For the inner shell.
    ip netns exec "$tag-$host" unshare --uts sh -c 'hostname "$0" && cd "$1" && shift && exec "$@"' \
        "$host" "$place/$host" "$@" >"$work/$name.log" 2>&1 </dev/null &
    pids[$name]=$!
}

# --- the example ----------------------------------------------------------------------------------
# Word for word; that it is a small job only, variables say.
mapfile -t example < <(sed -nE 's/^(alpha|beta)\$ +(syncopate-(ps|worker) .*)$/\1 \2/p' \
    "$here"/deploy/HOSTS.md "$here"/deploy/KEYS.md "$here"/README.md)
if [ "${#example[@]}" -ne 10 ]; then fail "the pages have ${#example[@]} commands, not four, four and two"; fi
export SYNCOPATE_DATA=synthetic:400 SYNCOPATE_MODEL=softmax SYNCOPATE_EPOCHS=2
run alone 0 syncopate-worker --ps 0 --mode sync --out "$work/alone"
expected=$(model_hash "$work/alone")

# Each host gets what KEYS.md's table says.
run keygen 0 syncopate keygen "$work/keys" --workers 2
give_keys()
{
    local i=0 host
    for host in alpha beta; do
        mkdir -p "$place/$host/keys"
        (cd "$work/keys" && cp -p servers.key_secret worker-0.key worker-1.key observer.key \
            "worker-$i.key_secret" servers.key "$place/$host/keys")
        i=$((i + 1))
    done
}

# example FIRST ORDER - the commands from the FIRST on, in an order such as 2013.
example()
{
    local first=$1 order=$2 i name
    place=$work/$first-$order
    if [ "$first" -eq 4 ]; then give_keys; fi
    for ((i = 0; i < ${#order}; i++)); do
        name=$first-$order-${order:i:1}
        # shellcheck disable=SC2086 # Its words.
        on ${example[first + ${order:i:1}]/ / $name }
        sleep 0.15
    done
    for ((i = 0; i < ${#order}; i++)); do ends "$first-$order-$i" 0 30; done
    nothing_runs
    if [ "$(model_hash "$place/alpha/runs/one")" != "$expected" ]; then
        fail "the bytes of the model are not those of one process"
    fi
    if [ "${#order}" -eq 4 ] && ! compgen -G "$place/alpha/runs/one/checkpoints/*/part-1-of-2*" >/dev/null; then
        fail "the part of server 1, which has no such folder, is not in the last checkpoint of server 0"
    fi
    rm -rf "$place"
}
orders=()
for a in 0 1 2 3; do for b in 0 1 2 3; do for c in 0 1 2 3; do for d in 0 1 2 3; do
    if [ "$(printf '%s\n' $a $b $c $d | sort -u | wc -l)" -eq 4 ]; then orders+=("$a$b$c$d"); fi
done; done; done; done

if short_run; then
    for order in 01 10; do example 8 "$order"; done
    ok "README's example runs between two hosts"
    for order in 0123 3210 2031; do example 0 "$order"; done
    says 0-0123-0 "listening on alpha:7000 \(.*:7000\), on all addresses, since alpha is 127.0.1.1"
    says 0-0123-1 "listening on beta:7000 \(.*:7000\), on all addresses, since beta is 127.0.1.1"
    ok "HOSTS.md's example runs between two hosts as Debian installs them, whoever starts first"
    for order in 0123 3120; do example 4 "$order"; done
    says 4-0123-0 "listening on alpha:7000 \(.*:7000\) encrypted.* on all addresses, since alpha is"
    ok "and with keys"
fi
if long_run; then
    for order in "${orders[@]}"; do example 0 "$order"; done
    for order in "${orders[@]}"; do example 4 "$order"; done
    ok "HOSTS.md's example in all ${#orders[@]} orders, with and without keys"
fi
# --- four hosts, given values, and on from the middle ------------------------------------------------
unset SYNCOPATE_DATA SYNCOPATE_MODEL SYNCOPATE_EPOCHS
place=$work/four servers=() workers=()
# begins NAME ARGUMENT... - a job of $job with a process on each host.
begins()
{
    for i in 0 1; do
        on "${names[i]}" "$1-ps$i" syncopate-ps --task-index $i --ps-hosts alpha:7000,beta:7000 --insecure \
            --out "runs/$1" "${servers[@]}"
        on "${names[2 + i]}" "$1-worker$i" syncopate-worker --task-index $i --ps-hosts alpha:7000,beta:7000 --workers 2 \
            "${job[@]}" "${workers[@]}" "${@:2}"
    done
}
# finishes NAME - with the bytes of one host.
finishes()
{
    for i in ps0 ps1 worker0 worker1; do ends "$1-$i" 0 90; done
    nothing_runs
    if [ "$(model_hash "$place/alpha/runs/$1")" != "$expected" ]; then fail "$1: the bytes have changed"; fi
}
job=(--mode sync --seed 5 --data synthetic:1000 --chunk-bytes 1K --checkpoint-every 6
    --model "conv 4x3 relu, pool 4, flatten, dense 10" --initial "$work/alone-conv")
if short_run; then
    # A server on another disk, that has no file of them, begins with given values; then it is sent its chunks.
    run alone-conv 0 syncopate run "${job[@]:0:12}" --epochs 1 --ps 0 --quiet --out "$work/alone-conv"
    run given 0 syncopate run "${job[@]}" --epochs 2 --ps 1 --workers 1 --quiet --out "$work/given"
    expected=$(model_hash "$work/given")
    mkdir -p "$place/alpha/runs/half"
    cp "$work/given/initial.safetensors" "$place/alpha/runs/half"
    begins half --epochs 1
    for i in ps0 ps1 worker0 worker1; do ends "half-$i" 0; done
    says half-ps0 "beginning with given values"
    sed -i 's/"state": "done"/"state": "stopped"/' "$place/alpha/runs/half/run.json"
    begins half --epochs 2
    says half-ps0 "resuming from the checkpoint at step 16"
    finishes half
    ok "given values and a checkpoint reach a server on another disk: the bytes of one host"
fi

# --- cables, half-open connections, another address behind a name -------------------------------------
# A job of several seconds, so long that a cable can be pulled and plugged in again.
lease=$patience
leaf=6ms # Two of them a step.
if sanitized; then leaf=20ms; fi
job=(--mode sync --seed 5 --data synthetic:500 --chunk-bytes 4K --checkpoint-every 30 --steps 500
    --model softmax)
run local-long 0 syncopate run "${job[@]}" --ps 1 --workers 1 --quiet --out "$work/local-long"
expected=$(model_hash "$work/local-long")
servers=(--worker-timeout "$lease" --recovery-timeout $((4 * lease)))
workers=(--compute "constant:$leaf" "${servers[@]}")
# cuts NAME HOST - the job runs, and that host's cable is pulled.
cuts()
{
    begins "$1"
    ip netns exec "$tag-delta" "$build/tests/processes/await_status" alpha:7000 \
        'state: running.*step: ([5-9][0-9]|[1-9][0-9]{2,}) of' $((20 * patience)) >"$work/status.log" ||
        fail "$1 does not run"
    pull "$2"
}
if short_run; then
    cuts worker-cut gamma
    says worker-cut-ps0 "lost worker/0" $((3 * lease))
    plug gamma
    finishes worker-cut
    ok "a worker's cable pulled for longer than its lease: the other does its work; the same bytes"

    cuts moved beta
    murder moved-ps1 # Nobody hears of it: their connections stay half open.
    within 5 gone moved-ps1 || fail "server 1 does not die"
    ip -n "$tag-beta" address delete "${four[beta]}/24" dev eth0
    ip -n "$tag-beta" address add 10.213.78.31/24 dev eth0
    debian 10.213.78.31
    plug beta
    on beta moved-ps1 syncopate-ps --task-index 1 --ps-hosts alpha:7000,beta:7000 --insecure --out runs/moved "${servers[@]}"
    finishes moved
    ip -n "$tag-beta" address delete 10.213.78.31/24 dev eth0
    ip -n "$tag-beta" address add "${four[beta]}/24" dev eth0
    debian
    ok "a server that dies unheard and comes back at another address behind its name: the same bytes"
fi
if long_run; then
    cuts server-cut beta
    says server-cut-ps0 "lost ps/1" $((3 * lease))
    plug beta
    finishes server-cut
    cuts first-cut alpha
    says first-cut-ps0 "lost (worker/[01]|ps/1)" $((3 * lease))
    plug alpha
    finishes first-cut
    ok "a server's cable pulled for longer than its lease: all wait and go on; the same bytes"

    cuts cut-for-good beta
    for i in ps0 ps1 worker0 worker1; do ends "cut-for-good-$i" 195 $((6 * lease)); done
    plug beta
    nothing_runs
    ok "a server's cable pulled for good: everybody ends with 195"
fi

# --- a server with two addresses ----------------------------------------------------------------------
# Server 0 has two networks, and its name two addresses. A cable is pulled: everybody goes on over the
# other one.
two_homes()
{
    local mode=$1 program=$2 i
    shift 2
    place=$work/homes-$mode
    hosts alpha "${four[alpha]}" alpha 10.213.80.1 alpha
    hosts beta "${four[alpha]}" alpha 10.213.80.1 alpha
    on alpha "$mode-ps" syncopate-ps --ps-hosts alpha:7000 --insecure --out "$place/out"
    # Who finds nobody at the first address tries the second, and would lose nothing with the cable.
    ip netns exec "$tag-beta" "$build/tests/processes/await_status" alpha:7000 'state: ' \
        $((20 * patience)) >"$work/status.log" || fail "server 0 does not answer"
    for i in 0 1; do
        on beta "$mode-worker$i" "$program" --ps-hosts alpha:7000 --workers 2 --task-index "$i" \
            --mode "$mode" "$@"
    done
    ip netns exec "$tag-beta" "$build/tests/processes/await_status" alpha:7000 \
        'state: running.*step: ([5-9][0-9]|[1-9][0-9]{2,}) of' $((20 * patience)) \
        >"$work/status.log" || fail "the job does not run"
    pull alpha
    for i in ps worker0 worker1; do ends "$mode-$i" 0 60; done
    for i in 0 1; do
        says "$mode-worker$i" "connected to alpha:7000 at 10.213.80.1:7000 now, which was at ${four[alpha]}:7000"
    done
    plug alpha
    nothing_runs
}
if long_run; then
    ip link add eth1 netns "$tag-alpha" type veth peer name eth1 netns "$tag-beta"
    for host in alpha beta; do ip -n "$tag-$host" link set eth1 up; done
    ip -n "$tag-alpha" address add 10.213.80.1/24 dev eth1
    ip -n "$tag-beta" address add 10.213.80.2/24 dev eth1
    slow=0:200,1:200
    if sanitized; then slow=0:10,1:10; fi
    homes=(--data synthetic:500 --model softmax --seed 3 --steps 400 --checkpoint-every 40)
    run one-home 0 syncopate-worker --ps 0 --mode sync "${homes[@]}" --out "$work/one-home"
    two_homes sync syncopate-worker "${homes[@]}" --slow "$slow"
    if [ "$(model_hash "$work/homes-sync/out")" != "$(model_hash "$work/one-home")" ]; then
        fail "another address in the middle of a run has changed the bytes"
    fi
    export COUNTING_PAUSE_US=40000 # Some eight seconds, in which the cable is pulled.
    two_homes async "$build/tests/processes/counting_worker" --steps 400 --checkpoint-every 40 \
        --global-batch 4 --micro-batch 1 --optimizer sgd --learning-rate 1 --chunk-bytes 4K
    "$build/tests/processes/counting_check" "$work/homes-async/out" 400 >"$work/check.log" 2>&1 ||
        fail "the sum of all updates is wrong"
    unset COUNTING_PAUSE_US
    debian
    ok "a server with two addresses loses one: all go on over the other, nothing is lost or done twice"
fi
if ! short_run; then exit 0; fi

# --- names ----------------------------------------------------------------------------------------
place=$work/names
job=(--ps-hosts alpha:7000 --workers 1 --data synthetic:200 --model softmax --steps 5)
# one_server NAME HOST - server 0 on alpha and a worker on HOST end well.
one_server()
{
    on alpha "$1-ps" syncopate-ps "${job[@]}" --insecure --out "runs/$1"
    on "$2" "$1-worker" syncopate-worker "${job[@]}"
    ends "$1-worker" 0
    ends "$1-ps" 0
}

hosts alpha 127.0.1.1 alpha "${four[alpha]}" alpha
one_server both-here alpha
says both-here-ps "listening on alpha:7000 \(127.0.1.1:7000, ${four[alpha]}:7000\)$"
one_server both-there beta
ok "a name with a loopback and a real address is listened on and found at either"

hosts alpha "${four[alpha]}" alpha 10.213.78.99 alpha
hosts beta 10.213.78.98 alpha 127.0.1.1 alpha "${four[alpha]}" alpha
one_server wrong-ones beta
says wrong-ones-ps "not listening on 10.213.78.99:7000: no such address on this host"
ok "addresses of a name that lead nowhere are passed over by both ends"

# A cloned host takes alpha for itself, where its own server 1 listens; then somebody mends its hosts
# file. And who has the list the other way round is told so.
export SYNCOPATE_DATA=synthetic:400 SYNCOPATE_MODEL=softmax SYNCOPATE_EPOCHS=2
place=$work/cloned
debian
hosts beta 127.0.1.1 alpha 127.0.1.1 beta
for i in 0 1 2 3; do
    # shellcheck disable=SC2086 # Its words.
    on ${example[i]/ / "cloned-$i" }
done
says cloned-1 "waiting [0-9]+ s for ps/0: alpha:7000 \(127.0.1.1:7000\) is ps/1, not ps/0: alpha is a loopback address on this host.*/etc/hosts"
says cloned-3 "waiting [0-9]+ s for ps/0: alpha:7000 \(127.0.1.1:7000\) is ps/1, not ps/0: .*/etc/hosts"
on alpha swapped syncopate-worker --ps-hosts beta:7000,alpha:7000 --workers 2 --task-index 1 \
    --start-timeout 2
ends swapped 4
says swapped "error: .*beta:7000 \(${four[beta]}:7000\) is ps/1, not ps/0: do all processes have the same --ps-hosts"
debian
for i in 0 1 2 3; do ends "cloned-$i" 0; done
if [ "$(model_hash "$place/alpha/runs/one")" != "$(model_hash "$work/alone")" ]; then fail "the bytes have changed"; fi
unset SYNCOPATE_DATA SYNCOPATE_MODEL SYNCOPATE_EPOCHS
place=$work/names
ok "who is misled by a hosts file or a list is told so, and goes on when it is mended"

# Without keys and --insecure: loopback, and it says what that means.
on alpha shut-ps syncopate-ps "${job[@]}" --start-timeout 4
says shut-ps "listening on alpha:7000 \(127.0.1.1:7000\), which no other host reaches; with --keys or --insecure"
on beta shut-worker syncopate-worker "${job[@]}" --start-timeout 2
ends shut-worker 4
says shut-worker "error: start timed out.*connection refused by alpha:7000 \(${four[alpha]}:7000\): nothing listens there; is syncopate-ps running on alpha"
hosts alpha "${four[alpha]}" alpha
on alpha open-ps syncopate-ps "${job[@]}"
ends open-ps 2
says open-ps "will not listen on alpha:7000 \(${four[alpha]}:7000\) without keys.* add --insecure"
ends shut-ps 4
ok "without keys a server stays on loopback, says so, and who is refused is told where to look"

for host in alpha beta; do
    ip -n "$tag-$host" address add "${six[$host]}/64" dev eth0 nodad 2>/dev/null || no_six=yes
done
if [ -n "${no_six:-}" ]; then
    skip "names with IPv6 addresses: this kernel has no IPv6"
else
    debian
    hosts beta "${six[alpha]}" alpha
    one_server six-all beta
    hosts alpha "${six[alpha]}" alpha "${four[alpha]}" alpha
    one_server six-both beta
    says six-both-ps "listening on alpha:7000 \(\[${six[alpha]}\]:7000, ${four[alpha]}:7000\)$"
    hosts beta "${four[alpha]}" alpha
    one_server four-both beta
    ok "names may stand for IPv6 and IPv4 addresses"
fi

# --- hosts and name servers that do not answer ------------------------------------------------------
if [ ! -e /etc/resolv.conf ]; then
    skip "hosts and name servers that do not answer: there is no resolv.conf to lay another over"
    exit 0
fi
ip -n "$tag-alpha" neighbour add 10.213.78.9 lladdr 02:00:00:00:00:09 dev eth0 # Known, and not there.
printf 'nameserver 10.213.78.9\noptions timeout:30 attempts:5\n' >"/etc/netns/$tag-alpha/resolv.conf"
hosts alpha 10.213.78.9 lost
job=(--data synthetic:100 --model softmax --steps 3 --start-timeout 2)
# waits NAME PROGRAM ARGUMENT... - in the background, there.
waits()
{
    ip netns exec "$tag-alpha" "$build/$2" "${job[@]}" "${@:3}" >"$work/$1.log" 2>&1 </dev/null &
    pids[$1]=$!
}
waits hole-worker syncopate-worker --ps-hosts lost:7000 --workers 1
waits hole-ps1 syncopate-ps --ps-hosts lost:7000,beta.example:7001 --bind 127.0.0.1:7001 --task-index 1
waits name-worker syncopate-worker --ps-hosts alpha.example:7000 --workers 1
waits name-ps0 syncopate-ps --ps-hosts alpha.example:7000 --insecure
for name in hole-worker hole-ps1 name-worker name-ps0; do ends "$name" 4 10; done
says hole-worker "no answer from lost:7000 \(10.213.78.9:7000\): is lost up, and does no firewall keep"
says hole-ps1 "no answer from lost:7000 \(10.213.78.9:7000\)"
says name-worker "alpha.example:7000: no name server has said yet what address that is"
says name-ps0 "start timed out after 2 s: no name server says what address alpha.example:7000 has"
ok "hosts and name servers that do not answer keep nobody longer than --start-timeout"
nothing_runs
