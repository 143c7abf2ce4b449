#!/usr/bin/env bash
# start.sh - whoever waits for a job to start ends --start-timeout T later, within a second, with exit
# code 4 and the reason: servers, workers and the launcher, whatever it is that does not happen: nobody
# is there, nobody answers, a name server hangs, a process is stopped or deaf. As machines are busy, a
# process may take two seconds more here; it says how long it took.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

T=2
job=(--data synthetic:100 --model softmax --steps 3 --start-timeout "$T" --recovery-timeout 60)
declare -A expected=() # What each of them has to say.

# waits NAME PATTERN COMMAND... - in the background; $work/NAME.took is how long it took, in ms.
waits()
{
    local name=$1
    expected[$name]=$2
    shift 2
    # shellcheck disable=SC2016 # For the inner shell.
    bash -c 'began=$(date +%s%N); code=0; "${@:2}" || code=$?
        echo $((($(date +%s%N) - began) / 1000000)) >"$1"; exit $code' \
        waits "$work/$name.took" "$@" >"$work/$name.log" 2>&1 </dev/null &
    pids[$name]=$!
}
# all_give_up [NAME...] - those (or all that wait), in time and with their reasons.
all_give_up()
{
    local name took longest=0 names=("$@")
    if [ $# -eq 0 ]; then names=("${!expected[@]}"); fi
    for name in "${names[@]}"; do
        ends "$name" 4 30
        says "$name" "${expected[$name]}"
        took=$(cat "$work/$name.took")
        if [ "$took" -gt "$longest" ]; then longest=$took; fi
        if [ "$took" -gt $(((T + 1 + 2 * patience / 3) * 1000)) ]; then
            fail "$name took $took ms, not $T s and one more"
        fi
    done
    expected=()
    in_seconds=$(printf '%d.%02d s' $((longest / 1000)) $((longest % 1000 / 10)))
}

# --- nobody is there ------------------------------------------------------------------------------
port=$(free_port) other=$(free_port)
waits alone-ps0 "start timed out after 2 s: no worker has declared a job" \
    "$build/syncopate-ps" --ps-hosts "127.0.0.1:$port" "${job[@]}"
waits alone-ps1 "start timed out after 2 s: nothing heard from ps/0: connection refused by 127.0.0.1:$other" \
    "$build/syncopate-ps" --ps-hosts "127.0.0.1:$other,127.0.0.1:$(free_port)" --task-index 1 \
    "${job[@]}"
waits alone-worker "start timed out after 2 s: nothing heard from ps/0: connection refused by 127.0.0.1:$other" \
    "$build/syncopate-worker" --ps-hosts "127.0.0.1:$other" --workers 1 "${job[@]}"
waits unknown-worker "nothing heard from ps/0: nowhere.invalid:7000: host name does not resolve" \
    "$build/syncopate-worker" --ps-hosts nowhere.invalid:7000 --workers 1 "${job[@]}"
all_give_up
ok "servers and workers that are alone give up in time (T = $T s; $in_seconds)"

# Whoever waits can be stopped: nobody need be there to agree.
start unwanted-ps1 syncopate-ps --ps-hosts "127.0.0.1:$other,127.0.0.1:$(free_port)" --task-index 1
start unwanted-worker syncopate-worker --ps-hosts "127.0.0.1:$other" --workers 1 "${job[@]:0:6}"
says unwanted-ps1 listening
says unwanted-worker ready
for name in unwanted-ps1 unwanted-worker; do kill -TERM "${pids[$name]}"; done
for name in unwanted-ps1 unwanted-worker; do ends "$name" 143 5; done
ok "a server and a worker that wait for a server 0 can be stopped"

# --- not everybody comes ---------------------------------------------------------------------------
# A server 0 that knows two workers: one never comes, the other is killed meanwhile.
port=$(free_port)
reason="start timed out after 2 s waiting for ps/1 \(never seen\), .*worker/2 \(never seen\)"
hosts=127.0.0.1:$port,127.0.0.1:$(free_port)
waits gathering-ps0 "$reason" "$build/syncopate-ps" --ps-hosts "$hosts" "${job[@]}" \
    --out "$work/gathering"
start killed syncopate-worker --ps-hosts "$hosts" --workers 3 "${job[@]}"
waits gathering-worker "$reason" "$build/syncopate-worker" --ps-hosts "$hosts" --workers 3 \
    --task-index 1 "${job[@]}"
says gathering-ps0 "worker/0 joined"
murder killed
all_give_up
ok "whoever gathers gives up in time, and all say for whom they waited ($in_seconds)"

# --- a server that is stopped ----------------------------------------------------------------------
port=$(free_port)
start stopped-ps0 syncopate-ps --ps-hosts "127.0.0.1:$port"
says stopped-ps0 listening
kill -STOP "${pids[stopped-ps0]}"
waits stopped-worker "127.0.0.1:$port accepts connections, but does not answer" \
    "$build/syncopate-worker" --ps-hosts "127.0.0.1:$port" --workers 1 "${job[@]}"
all_give_up
murder stopped-ps0
within 5 gone stopped-ps0 || fail "the server that was stopped does not die"
ok "a server that is stopped keeps nobody longer ($in_seconds)"

# --- the launcher ----------------------------------------------------------------------------------
# Programs of its own: a worker that is deaf, then a server.
programs()
{
    mkdir "$work/$1"
    ln -s "$build/syncopate-$2" "$work/$1/"
    printf '#!/bin/sh\ntrap "" TERM INT\nexport TEST_DEAF=1\nwhile :; do sleep 0.1; done\n' \
        >"$work/$1/syncopate-$3"
    chmod +x "$work/$1/syncopate-$3"
}
programs deaf-worker ps worker
programs deaf-ps worker ps
SYNCOPATE_BIN_DIR=$work/deaf-worker waits run-deaf-worker \
    "syncopate run: .*start timed out after 2 s: no worker has declared a job" \
    "$build/syncopate" run "${job[@]}" --out "$work/out-worker"
SYNCOPATE_BIN_DIR=$work/deaf-ps waits run-deaf-ps \
    "syncopate run: .*start timed out after 2 s: nothing heard from ps/0: connection refused" \
    "$build/syncopate" run "${job[@]}" --ps 2 --out "$work/out-ps"
all_give_up
ok "a launcher whose children are deaf gives up in time ($in_seconds)"

# --- a network that swallows everything --------------------------------------------------------------
tag=st$$
clean_up_more()
{
    ip netns delete "$tag" 2>/dev/null || true
    rm -rf "/etc/netns/$tag"
}
if [ "$(id -u)" -ne 0 ] || ! ip netns add "$tag" 2>/dev/null ||
    ! ip netns exec "$tag" true 2>/dev/null; then
    skip "hosts and name servers that do not answer: programs cannot be run in a namespace here"
    exit 0
fi
if [ ! -e /etc/hosts ] || [ ! -e /etc/resolv.conf ]; then
    skip "hosts and name servers that do not answer: there is no /etc/hosts or resolv.conf to lay others over"
    exit 0
fi
if ! ip -n "$tag" link add hole type veth peer name drain 2>/dev/null; then
    skip "hosts and name servers that do not answer: this kernel has no virtual links"
    exit 0
fi
ip -n "$tag" link set lo up
ip -n "$tag" link set drain up
ip -n "$tag" address add 10.213.79.1/24 dev hole
ip -n "$tag" link set hole up
ip -n "$tag" neighbour add 10.213.79.2 lladdr 02:00:00:00:00:02 dev hole # Known, and not there.
mkdir -p "/etc/netns/$tag"
printf '127.0.0.1 localhost\n10.213.79.2 lost\n' >"/etc/netns/$tag/hosts"
printf 'nameserver 10.213.79.2\noptions timeout:30 attempts:5\n' >"/etc/netns/$tag/resolv.conf"
there=(ip netns exec "$tag")
waits hole-worker "no answer from lost:7000 \(10.213.79.2:7000\): is lost up, and does no firewall keep" \
    "${there[@]}" "$build/syncopate-worker" --ps-hosts lost:7000 --workers 1 "${job[@]}"
waits hole-ps1 "no answer from lost:7000 \(10.213.79.2:7000\)" \
    "${there[@]}" "$build/syncopate-ps" --ps-hosts lost:7000,beta.example:7001 --bind 127.0.0.1:7001 \
    --task-index 1 "${job[@]}"
waits name-worker "alpha.example:7000: no name server has said yet what address that is" \
    "${there[@]}" "$build/syncopate-worker" --ps-hosts alpha.example:7000 --workers 1 "${job[@]}"
waits name-ps1 "alpha.example:7000: no name server has said yet what address that is" \
    "${there[@]}" "$build/syncopate-ps" --ps-hosts alpha.example:7000,beta.example:7001 \
    --bind 127.0.0.1:7002 --task-index 1 "${job[@]}"
waits name-ps0 "start timed out after 2 s: no name server says what address alpha.example:7000 has" \
    "${there[@]}" "$build/syncopate-ps" --ps-hosts alpha.example:7000 --insecure "${job[@]}"
waits name-asked "" "${there[@]}" timeout 60 getent hosts gamma.example || true
all_give_up hole-worker hole-ps1 name-worker name-ps1 name-ps0
if gone name-asked; then fail "the name server does not hang"; fi
pkill -P "${pids[name-asked]}" || true
ok "hosts and name servers that do not answer keep nobody longer ($in_seconds)"
nothing_runs
