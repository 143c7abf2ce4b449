# shellcheck shell=bash
# containers.sh - what pods.sh and compose.sh share. Source it first; it sources lib.sh:
#
#     . "$(dirname "$0")/containers.sh"
#     begin_containers podman buildah        skips the script where they, or the privileges, are not there
#     make_image                             of the programs that are tried
#
# All of podman's that a test makes lies in namespaces of the test's own: network (bridge, rules, names),
# processes, mounts (images and containers, /run, /dev/shm). Nothing of the machine's is seen or touched, and all
# of it ends with the test, however that ends.

# shellcheck source=tests/engines/lib.sh
if [ -z "${ENGINES_ALONE:-}" ]; then
    alone=(unshare --net --mount --pid --fork --kill-child --mount-proc --propagation private)
    if [ "$(id -u)" -ne 0 ]; then
        echo "SKIPPED - all of it: namespaces and containers need root"
        exit 0
    fi
    if ! "${alone[@]}" true 2>/dev/null; then
        echo "SKIPPED - all of it: namespaces cannot be made here (CAP_SYS_ADMIN)"
        exit 0
    fi
    ENGINES_ALONE=1 exec "${alone[@]}" "$0"
fi
unset ENGINES_ALONE
. "$(dirname "$0")/lib.sh"

image=localhost/syncopate-tested:latest
network=syncopate

# begin_containers PROGRAM... - what the test uses, besides what containers need.
begin_containers()
{
    local folder storage=$work/containers said
    needs runc buildah iptables "$@"
    if [ ! -x /usr/lib/podman/netavark ] || [ ! -x /usr/lib/podman/aardvark-dns ]; then
        skip "all of it: there is no netavark or no aardvark-dns (deploy/setup.sh engines)"
        exit 0
    fi
    mkdir "$storage"
    for folder in /run "$storage"; do mount -t tmpfs tmpfs "$folder"; done
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    ip link set lo up

    # runc and cgroupfs: crun takes no hybrid hierarchy of cgroups, and there may be no systemd. Limits: podman asks
    # for more than a machine may give.
    cat >"$work/containers.conf" <<EOF
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "$storage/tmp"
volume_path = "$storage/volumes"
[network]
network_backend = "netavark"
network_config_dir = "$storage/networks"
EOF
    cat >"$work/storage.conf" <<EOF
[storage]
driver = "overlay"
graphroot = "$storage/graph"
runroot = "$storage/run"
EOF
    volumes=$storage/volumes
    export CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf
    if ! said=$(podman info 2>&1 >/dev/null); then # Some file systems bear no overlay.
        sed -i 's/overlay/vfs/' "$work/storage.conf"
        said=$(podman info 2>&1 >/dev/null) || {
            skip "all of it: podman does not work here: ${said##*$'\n'}"
            exit 0
        }
    fi
}

# make_image - and see whether containers can be made of it at all.
make_image()
{
    local code=0
    BUILDER=buildah "$root/deploy/container/build.sh" --name "$image" --programs "$build" >"$work/image.log" 2>&1 ||
        fail "there is no image"
    podman network create --internal $network >"$work/network.log" 2>&1 || fail "there is no network"
    podman run --rm --network $network "$image" --version >"$work/first.log" 2>&1 || code=$?
    case $code in
        0) ;;
        125 | 126) # podman's own, or runc's.
            skip "all of it: no container can be started here: $(tail -n 1 "$work/first.log")"
            exit 0
            ;;
        *) fail "the programs do not run in the image" ;;
    esac
}

# state_of CONTAINER - "running 0", "exited 143"; nothing when there is none.
state_of() { podman container inspect --format '{{.State.Status}} {{.State.ExitCode}}' "$1" 2>/dev/null || true; }
is_in_state() { [[ $(state_of "$1") =~ ^($2)$ ]]; }
# comes_to CONTAINER STATE [SECONDS] - an extended regular expression.
comes_to()
{
    within "${3:-30}" is_in_state "$1" "$2" || fail "$1 is $(state_of "$1"), not $2: $(podman logs --tail 5 "$1" 2>&1)"
}
# crash CONTAINER - `podman kill` would say that it is to stay so.
crash() { kill -KILL "$(podman container inspect --format '{{.State.Pid}}' "$1")"; }
restarts_of() { podman container inspect --format '{{.RestartCount}}' "$1"; }
# address_of CONTAINER-OR-INFRA
address_of() { podman container inspect --format "{{(index .NetworkSettings.Networks \"$network\").IPAddress}}" "$1"; }

# remove_containers COMMAND... - removes them with it, and all volumes; of processes and containers nothing may be
# left within 10 s.
remove_containers()
{
    local since=$SECONDS
    note_groups
    "$@" >"$work/remove.log" 2>&1 || fail "containers cannot be removed"
    podman volume rm --force --all >>"$work/remove.log" 2>&1 || fail "volumes cannot be removed"
    until [ -z "$(left_of_containers)" ]; do
        if [ $((SECONDS - since)) -gt 10 ]; then fail "left after 10 s: $(left_of_containers)"; fi
        pause 0.1
    done
}
left_of_containers()
{
    # Whoever stopped a container looks after it for a moment more.
    local name
    for name in syncopate conmon catatonit podman; do pgrep -l "^$name" || true; done
    podman ps --all --quiet
    podman pod ps --quiet
}
# podman leaves empty groups of processes (cgroups) of pods in hierarchies that it does not use. They are the
# machine's, so they are noted while their names are known, and taken away.
note_groups()
{
    { podman ps --all --quiet --no-trunc && podman pod ps --quiet --no-trunc; } >>"$work/ids" 2>/dev/null || true
}
remove_groups()
{
    if [ ! -s "$work/ids" ]; then return; fi
    find /sys/fs/cgroup -depth -type d -path '*libpod*' 2>/dev/null | grep -F -f "$work/ids" |
        xargs --no-run-if-empty rmdir 2>/dev/null || true
    find /sys/fs/cgroup -depth -type d -path '*/libpod_parent*' -exec rmdir {} + 2>/dev/null || true # If it was for us.
}

clean_up_engine()
{
    if [ -n "${volumes:-}" ]; then
        note_groups
        podman pod rm --force --all --time 0 >/dev/null 2>&1 || true
        podman rm --force --all --time 0 >/dev/null 2>&1 || true
        umount --recursive --lazy "$work/containers" 2>/dev/null || true
        remove_groups
    fi
}
