#!/usr/bin/env bash
# build.sh - makes the image of Syncopate from what is on this machine: the programs as `make` built them,
# the libraries that they are linked to, and the training images of Debian's dataset-fashion-mnist.
# Nothing is pulled from anywhere; the same programs and libraries give the same image.
#
#     deploy/container/build.sh [--name NAME[:TAG]] [--programs DIR] [--without-data]
#
#     --name          localhost/syncopate:latest
#     --programs      build/release
#     --without-data  leave out the training images (31 MB): mount a folder of IDX files and give --data
#
# With buildah, podman or docker, whichever is there first (or $BUILDER). To have it on other hosts:
# `podman push` to a registry of yours, or `podman save | ssh HOST podman load`.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
name=localhost/syncopate:latest programs=$root/build/release with_data=1
images=/usr/share/datasets/fashion-mnist

die()
{
    echo "build.sh: $*" >&2
    exit "${code:-1}"
}
while [ $# -gt 0 ]; do
    case $1 in
        --name) name=${2?"build.sh: --name wants a name"} && shift 2 ;;
        --programs) programs=${2?"build.sh: --programs wants a folder"} && shift 2 ;;
        --without-data) with_data= && shift ;;
        *) code=2 die "usage: build.sh [--name NAME[:TAG]] [--programs DIR] [--without-data]" ;;
    esac
done

for program in syncopate syncopate-ps syncopate-worker; do
    if [ ! -x "$programs/$program" ]; then die "$programs/$program is not there: run \`make\` first"; fi
done
if [ -n "$with_data" ] && [ ! -d "$images" ]; then
    echo "build.sh: $images is not there: the image gets no training images (apt-get install dataset-fashion-mnist)" >&2
    with_data=
fi

builder=${BUILDER:-}
for candidate in buildah podman docker; do
    if [ -z "$builder" ] && command -v "$candidate" >/dev/null; then builder=$candidate; fi
done
if [ -z "$builder" ]; then die "needs buildah, podman or docker: apt-get install buildah"; fi

stage=$(mktemp -d "${TMPDIR:-/tmp}/syncopate-image-XXXXXX")
trap 'rm -rf "$stage"' EXIT
umask 022
mkdir -p "$stage"/root/{etc,tmp,usr/bin} "$stage/runs"
chmod 1777 "$stage/root/tmp"
install -s -m 755 "$programs"/syncopate{,-ps,-worker} "$stage/root/usr/bin"

# Where the loader looks for them, under the names by which it does.
for program in "$programs"/syncopate{,-ps,-worker}; do
    if ldd "$program" | grep 'not found' >&2; then die "$program lacks a library"; fi
    ldd "$program" | grep -oE '/[^ ]+'
done | sort -u | while read -r library; do
    install -D -m 755 "$(readlink -f "$library")" "$stage/root$library"
done

# Who we are, and where names are looked up: an engine lays its own hosts and resolv.conf over these.
printf 'root:x:0:0::/:/none\nsyncopate:x:65532:65532::/runs:/none\n' >"$stage/root/etc/passwd"
printf 'root:x:0:\nsyncopate:x:65532:\n' >"$stage/root/etc/group"
echo 'hosts: files dns' >"$stage/root/etc/nsswitch.conf"
if [ -n "$with_data" ]; then
    install -D -m 644 -t "$stage/root$images" "$images"/*-ubyte.gz
fi
find "$stage/root" "$stage/runs" -exec touch -h -d @0 {} + # Times of building would make it another image each time.

options=()
case $builder in *buildah | *podman) options=(--timestamp 0 --format oci) ;; esac
"$builder" build "${options[@]}" --quiet --tag "$name" --file "$root/deploy/container/Containerfile" "$stage" >"$stage/id"
bytes=$(du -sb --apparent-size "$stage/root" | cut -f 1)
echo "$name: $((bytes / 1000000)) MB, $(find "$stage/root" -name '*.so*' | wc -l) libraries, made in $SECONDS s"
