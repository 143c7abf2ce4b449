#!/usr/bin/env bash
# new_mode.sh - the mode that common/CHANGING.md adds, a file and a row, is built in a copy and kept to what
# it promises. Built anew is what has a list of all modes: elsewhere one more at its end changes nothing.
# test: once later
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
tree=$(cd "$(dirname "$0")/../.." && pwd)

mkdir -p "$work/copy/build/release"
cd "$work/copy"
cp -a "$tree"/{common,ps,worker,deploy,proto,tests,Makefile,README.md} .
cp -a "$build"/{checked,common,ps,worker,deploy,proto,lib*.a} build/release
# listing N - the N-th block of code of the section.
listing()
{
    awk -v wanted="$1" '/^## /{ here = $0 == "## Adding a mode" } !here { next }
        /^```c$/ { at++; inside = 1; next } /^```$/ { inside = 0 } inside && at == wanted' common/CHANGING.md
}
name=fresh
listing 1 >"ps/mode/$name.c"
listing 2 >>common/job/mode_rows.inc
mapfile -t lists < <(grep -rlE 'MODE_COUNT|mode_rows' --include='*.c' common ps worker deploy)
touch "${lists[@]}"
make -s -j2 -o common/job/mode_rows.inc build/release/syncopate CC="${CC:-cc}" COMMIT=new-mode >build.log 2>&1 ||
    fail "it does not build: $(grep -m 3 error build.log)"
ok "one more mode is $(wc -l < <(listing 1; listing 2)) lines in a file and a row"
build/release/syncopate verify --mode "$name" --histories 200 >verify.log || fail "$(grep -m 1 FAILED verify.log)"
ok "200 histories of it keep what it promises"
