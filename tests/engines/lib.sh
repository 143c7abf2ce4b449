# shellcheck shell=bash
# lib.sh - what the tests of engines share: hosts that are namespaces, and the job that is the same everywhere.
#
#     . "$(dirname "$0")/lib.sh"
#     needs slurmctld slurmd munged          skips the script when one of these programs is not there
#     make_hosts head node1 node2 node3      or the privileges for it
#     on node1 hostname                      a command there; start_on node1 NAME PROGRAM... in the background
#
# A host has network, host name, processes, shared memory and /etc/hosts of its own. It is the first process
# there, and all that runs there ends with it; it ends with the script, also when that is killed. Disks are shared:
# $work is an NFS, so to say. Commands are entered with nsenter, not with `ip netns exec`, which mounts /sys anew
# (slurmd then finds no cgroups).
#
# The bridge has no address, so that hosts of several scripts at once may have the same ones.

# shellcheck source=tests/processes/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../processes/lib.sh"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tag=se$$ # Of our links: at most 10 characters.
host_names=()
declare -A host_pids=() host_addresses=()

# The job that every engine runs: two servers, three workers, sync, five epochs of softmax.
job=(--mode sync --model softmax --epochs 5 --seed 1)
servers=2 workers=3

# needs PROGRAM...
needs()
{
    local program
    for program in "$@"; do
        if ! command -v "$program" >/dev/null; then
            skip "all of it: there is no $program (deploy/setup.sh engines)"
            exit 0
        fi
    done
}

# Hosts end first: their daemons would be waited for otherwise. What the job has left there is a failure.
clean_up_hosts()
{
    local code=$? name left
    set +e
    left=$(left_on_hosts)
    if [ "$code" -eq 0 ] && [ -n "$left" ]; then
        echo "not ok - left behind: $left"
        code=1
    fi
    if declare -F clean_up_engine >/dev/null; then clean_up_engine; fi
    for name in "${host_names[@]}"; do lose_host "$name"; done
    if [ ${#host_names[@]} -gt 0 ]; then ip link delete "$tag"; fi
    (exit "$code")
    clean_up
}
trap clean_up_hosts EXIT

# make_hosts NAME... - with addresses from 10.213.78.10 on, joined by a bridge; each knows the names of all.
make_hosts()
{
    local name i=0
    if [ "$(id -u)" -ne 0 ]; then
        skip "all of it: network namespaces need root"
        exit 0
    fi
    if ! unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null; then
        skip "all of it: namespaces cannot be made here (CAP_SYS_ADMIN)"
        exit 0
    fi
    if [ ! -e /etc/hosts ]; then
        skip "all of it: there is no /etc/hosts, over which each host's own could be laid"
        exit 0
    fi
    if ! ip link add "$tag" type bridge 2>/dev/null; then
        skip "all of it: this kernel makes no bridges, or not for us (CAP_NET_ADMIN)"
        exit 0
    fi
    ip link set "$tag" up
    for name in "$@"; do
        host_names+=("$name")
        host_addresses[$name]=10.213.78.$((10 + i))
        i=$((i + 1))
    done
    for name in "$@"; do make_host "$name"; done
}

# make_host NAME - again, after lose_host.
make_host()
{
    local name=$1 other
    {
        echo "127.0.0.1 localhost"
        for other in "${host_names[@]}"; do echo "${host_addresses[$other]} $other"; done
    } >"$work/hosts-$name" # Written to while it is used: programs there see the change.
    # Whose SIGCHLD is ignored leaves no zombies of the orphans that the first process of a host is given.
    # shellcheck disable=SC2016 # For the inner shell.
    setpriv --pdeathsig KILL unshare --mount --net --uts --ipc --pid --fork --kill-child --propagation private \
        --mount-proc sh -c '
        mount --bind "$1" /etc/hosts && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && hostname "$2" &&
            : >"$3" && exec env --ignore-signal=CHLD sleep infinity' sh "$work/hosts-$name" "$name" "$work/made-$name" \
        >"$work/host-$name.log" 2>&1 </dev/null &
    disown $!
    within 10 made_host $! "$name" || fail "there is no host $name: $(cat "$work/host-$name.log")"
    ip link add "$tag.$(host_number "$name")" type veth peer name eth0 netns "${host_pids[$name]}"
    ip link set "$tag.$(host_number "$name")" master "$tag" up
    on "$name" ip address add "${host_addresses[$name]}/24" dev eth0
    on "$name" ip link set eth0 up
    on "$name" ip link set lo up
}
made_host()
{
    [ -e "$work/made-$2" ] && host_pids[$2]=$(pgrep -P "$1") && rm "$work/made-$2"
}
host_number() { echo "${host_addresses[$1]##*.}"; }

# lose_host NAME - pulls its cable and its plug, in this order.
lose_host()
{
    local id=${host_pids[$1]:-}
    ip link delete "$tag.$(host_number "$1")" 2>/dev/null || true
    if [ -n "$id" ]; then kill -KILL "$id" 2>/dev/null || true; fi
    unset "host_pids[$1]"
}
pull() { ip link set "$tag.$(host_number "$1")" down; }
plug() { ip link set "$tag.$(host_number "$1")" up; }

# on HOST COMMAND...
on()
{
    nsenter --target "${host_pids[$1]}" --mount --net --uts --ipc --pid -- "${@:2}"
}
# start_on HOST NAME COMMAND... - like start; the process that is waited for is nsenter's, which ends with the other's code.
start_on()
{
    on "$1" env --default-signal=INT "${@:3}" >"$work/$2.log" 2>&1 </dev/null &
    pids[$2]=$!
}
# run_on HOST NAME CODE COMMAND...
run_on()
{
    start_on "$1" "$2" "${@:4}"
    ends "$2" "$3" 60
}

# processes_on HOST PATTERN - ids, as the host itself has them, of those whose command line fits.
processes_on() { if [ -n "${host_pids[$1]:-}" ]; then on "$1" pgrep -f -- "$2" || true; fi; }
# kill_on HOST SIGNAL PATTERN - exactly one process.
kill_on()
{
    local ids
    ids=$(processes_on "$1" "$3")
    if [[ ! $ids =~ ^[0-9]+$ ]]; then fail "there is not one '$3' on $1, but: ${ids:-none}"; fi
    on "$1" kill "-$2" "$ids"
}
# What is left of us on all hosts, a line each.
left_on_hosts()
{
    local name
    for name in "${!host_pids[@]}"; do
        on "$name" ps -eo pid,args | grep -E '(^|[ /])syncopate(-ps|-worker)?( |$)' | sed "s/^/$name: /" || true
    done
}
hosts_are_empty() { [ -z "$(left_on_hosts)" ]; }
# empty_within SECONDS - whatever the patience: it is what people are told.
empty_within()
{
    local deadline=$((SECONDS + $1))
    until hosts_are_empty; do
        if [ "$SECONDS" -gt "$deadline" ]; then fail "left after $1 s: $(left_on_hosts)"; fi
        pause 0.1
    done
}

# reference [OPTION...] - the hash that everybody must come to, in $expected: of the job above, or of another.
reference()
{
    if [ $# -eq 0 ]; then set -- "${job[@]}"; fi
    rm -rf "$work/here"
    run here 0 syncopate run "$@" --ps $servers --workers $workers --quiet --out "$work/here"
    expected=$(member "$work/here" parameters_sha256)
}
# program_job FOLDER [HOST...] - from here on the job is a program's: softmax in NumPy, in FOLDER here and on these
# hosts. `run` has to come to what one process does.
program_job()
{
    local name files=("$root"/worker/python/{syncopate,examples/{softmax,fashion_mnist}.py})
    mkdir -p "$1"
    cp -r "${files[@]}" "$1"
    for name in "${@:2}"; do
        on "$name" mkdir -p "$1"
        on "$name" cp -r "${files[@]}" "$1"
    done
    job=(--mode sync --steps 60 --seed 1 --program "cd $1 && exec /usr/bin/python3 -B softmax.py")
    reference
    run alone 0 syncopate run "${job[@]}" --ps 0 --quiet --out "$work/alone"
    same_bits "$work/alone" "the program in one process"
}
# same_bits FOLDER WHAT
same_bits()
{
    local found
    found=$(member "$1" parameters_sha256)
    if [ -z "$expected" ] || [ "$found" != "$expected" ]; then
        fail "$2: parameters_sha256 is ${found:-missing}, not $expected as of run"
    fi
}
# first_step FOLDER SINCE - waits for the first news of a step; prints how many seconds it was after SINCE, of $EPOCHREALTIME.
has_stepped() { grep -qs '"event": "progress"' "$1/events.jsonl"; }
first_step()
{
    within 60 has_stepped "$1" || fail "no step is done in $1"
    awk -v now="$EPOCHREALTIME" -v since="$2" 'BEGIN { printf "%.1f", now - since }'
}
