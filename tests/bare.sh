#!/usr/bin/env bash
# bare.sh - README's two commands, word for word, on a machine that has nothing: a folder with Debian's smallest
# system (debootstrap, from the mirror of this machine's apt; kept in build/bare) and a clean clone of HEAD.
# It prints of each command the seconds and last lines, and what it installed. Needs root; some 8 minutes.
#
# All mounts and processes are in namespaces that end with the command, and the command with this script.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "bare.sh: needs root and debootstrap (deploy/setup.sh ci)" >&2
    exit 1
fi
demo=$(grep -m 1 -x 'apt-get update && .* && make demo' README.md || true)
check=$(sed -nE 's/^(make check) .*/\1/p' README.md | head -n 1)
if [ -z "$demo" ] || [ -z "$check" ]; then
    echo "bare.sh: README.md names no 'apt-get update && ... && make demo', or no 'make check'" >&2
    exit 1
fi

folder=$PWD/build/bare root=$PWD/build/bare/root system=$PWD/build/bare/bookworm.tar pid=
clean_up()
{
    if [ -n "$pid" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
    wait
    rm -rf --one-file-system "$root" 2>/dev/null || rm -rf --one-file-system "$root" # unshare's child may end late.
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP
rm -rf --one-file-system "$root"
mkdir -p "$folder"
if [ ! -e "$system" ]; then
    # shellcheck disable=SC2016 # apt-get's words.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -m 1 '/debian/\?$')
    debootstrap --variant=minbase bookworm "$root" "$mirror" >"$folder/debootstrap.log"
    tar -C "$root" -cf "$system.new" .
    mv "$system.new" "$system"
else
    mkdir "$root"
    tar -C "$root" -xf "$system"
fi
cp /etc/resolv.conf "$root/etc/"
git clone -q -c advice.detachedHead=false . "$root/root/syncopate"

# Of packages, and MB on disk without what apt keeps for itself.
packages() { dpkg-query --admindir="$root/var/lib/dpkg" -W -f 'x\n' | wc -l; }
disk() { du -sm --exclude=syncopate --exclude=cache --exclude=lists "$root" | cut -f 1; }

# runs NAME COMMAND - as README says it; its first process adopts and buries those that others leave.
runs()
{
    local code=0 began=$SECONDS log=$folder/$1.log before disk_before
    before=$(packages) disk_before=$(disk)
    echo "=== $2"
    # shellcheck disable=SC2016 # For the inner shell.
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" env -i \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
            bash -c "cd /root/syncopate && $1; exit \$?"' "$root" "$2" </dev/null >"$log" 2>&1 &
    pid=$!
    wait "$pid" || code=$?
    pid=
    tail -n "$([ "$code" -eq 0 ] && echo 5 || echo 60)" "$log"
    echo "=== $1: $((SECONDS - began)) s, $(($(packages) - before)) packages more," \
        "fetched $(sed -nE 's/^(setup: fetching|Need to get) ([0-9.]+ [kM]?B).*/\2/p' "$log" | paste -sd + -)," \
        "$(($(disk) - disk_before)) MB more on disk, exit code $code"
    return "$code"
}
failed=0
echo "=== before: $(packages) packages, $(disk) MB"
runs demo "$demo" || failed=1
runs check "$check" || failed=1
[ "$failed" -eq 0 ]
