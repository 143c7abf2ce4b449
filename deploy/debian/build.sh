#!/usr/bin/env bash
# build.sh - makes the Debian package of Syncopate: deploy/debian in a copy of the tree, dpkg-buildpackage, and the
# package into OUT. A tree that has been built is not built again: the copy takes its build along.
#
#     deploy/debian/build.sh [OUT]        build/deb
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-build/deb}
mkdir -p "$out"
out=$(cd "$out" && pwd)

copy=$(mktemp -d "${TMPDIR:-/tmp}/syncopate-deb-XXXXXX")
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/syncopate/build"
tar -c --exclude=./build --exclude=./.git --exclude=./runs . | tar -x -C "$copy/syncopate"
if [ -d build/release ]; then
    mkdir "$copy/syncopate/build/release"
    tar -c -C build/release --exclude=./tests . | tar -x -C "$copy/syncopate/build/release"
fi
cp -r deploy/debian "$copy/syncopate/debian"
rm "$copy/syncopate/debian/build.sh"
cp build/release/commit "$copy/syncopate/.commit" 2>/dev/null || true
if ! (cd "$copy/syncopate" && dpkg-buildpackage --build=binary --no-sign) >"$copy/log" 2>&1; then
    tail -n 20 "$copy/log" >&2
    exit 1
fi
mv "$copy"/*.deb "$out"
ls -l "$out"/*.deb
