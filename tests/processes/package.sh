#!/usr/bin/env bash
# package.sh - the Debian package: what is in it, what it depends on, that lintian finds no error in it, and that its
# programs, taken out of it, come to the bits of those that were built.
# needs: everything
# test: once
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
if short_run; then
    version=$(sed -nE '1s/^syncopate \(([^)]*)\) .*/\1/p' "$root/deploy/debian/changelog")
    if [ "syncopate $version" != "$("$build/syncopate" --version | cut -d' ' -f1,2)" ]; then fail "the package is of version $version"; fi
    ok "the package has the version of the programs"
    if commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null); then
        case $("$build/syncopate" --version) in
            *"(commit $commit)" | *"(commit $commit-dirty)") ;;
            *) fail "--version does not name commit $commit" ;;
        esac
        ok "--version names the commit that was built"
    fi
fi
if ! long_run; then exit 0; fi
if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
    skip "the Debian package: there is no debhelper (deploy/setup.sh ci)"
    exit 0
fi

"$root/deploy/debian/build.sh" "$work/deb" >"$work/build.log" 2>&1 || fail "there is no package"
package=$(echo "$work"/deb/syncopate_*.deb)
dpkg-deb -x "$package" "$work/root"
for file in usr/bin/syncopate{,-ps,-worker} usr/share/man/man1/syncopate{,-ps,-worker,-launch,-task}.1.gz \
    usr/share/bash-completion/completions/syncopate{,-ps} usr/share/zsh/vendor-completions/_syncopate \
    usr/share/fish/vendor_completions.d/syncopate.fish lib/systemd/system/syncopate-{ps,worker}@.service \
    usr/share/doc/syncopate/{copyright,ENGINES.md.gz} usr/share/doc/syncopate/examples/{slurm,kubernetes,plans,clusters}; do
    if [ ! -e "$work/root/$file" ]; then fail "the package lacks /$file"; fi
done
grep -q "^ExecStart=/usr/bin/syncopate-ps " "$work/root/lib/systemd/system/syncopate-ps@.service" || fail "a unit starts another program"
dpkg-deb -f "$package" Depends >"$work/depends.log"
for library in libc6 libzmq5 libprotobuf-c1 libjansson4 libsodium23 libnettle8 zlib1g libmicrohttpd12; do
    grep -qE "(^|, )$library( |,|$)" "$work/depends.log" || fail "the package does not depend on $library"
done
ok "the package holds programs, manual, completions, units and examples, and depends on its libraries"

if command -v lintian >/dev/null; then
    lintian --allow-root "$package" >"$work/lintian.log" 2>&1 || fail "lintian finds errors"
    ok "lintian finds no error, and $(grep -c '^W:' "$work/lintian.log" || true) things to warn of"
else
    skip "what lintian says of the package: it is not here"
fi

tiny=(--data synthetic:500 --model softmax --steps 8 --seed 3 --ps 2 --workers 2 --quiet)
run built 0 syncopate run "${tiny[@]}" --out "$work/built"
build=$work/root/usr/bin
run packed 0 syncopate run "${tiny[@]}" --out "$work/packed"
if [ "$(member "$work/packed" parameters_sha256)" != "$(member "$work/built" parameters_sha256)" ]; then
    fail "the package's programs come to other bits"
fi
mkdir -p "$work/tree/var/lib/dpkg" "$work/tree/var/lib/dpkg/updates" "$work/tree/var/lib/dpkg/info"
: >"$work/tree/var/lib/dpkg/status"
if [ "$(id -u)" -eq 0 ]; then
    dpkg --root="$work/tree" --force-depends --install "$package" >"$work/install.log" 2>&1 || fail "dpkg does not install it"
    "$work/tree/usr/bin/syncopate" --version >"$work/version.log" || fail "what is installed does not run"
    dpkg --root="$work/tree" --purge syncopate >"$work/purge.log" 2>&1 || fail "dpkg does not remove it"
    if [ -n "$(find "$work/tree/usr" "$work/tree/lib" -type f 2>/dev/null)" ]; then fail "something is left behind"; fi
    ok "its programs come to the bits of those that were built; dpkg installs it, and leaves nothing when it removes it"
else
    ok "its programs come to the bits of those that were built"
    skip "installing the package: needs root"
fi
nothing_runs
