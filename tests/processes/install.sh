#!/usr/bin/env bash
# install.sh - make install and make uninstall, and the pages of the manual that it installs.
# test: once later
# promises: install
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

# As a person would call it, not as a part of the make that runs the tests.
make_it()
{
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$root" BUILD="$build" "$@" >"$work/make.log" 2>&1
}
files() { (cd "$1" && find . ! -type d | sort); }

# --- there and gone -------------------------------------------------------------------------------
make_it install DESTDIR="$work/a" PREFIX=/usr || fail "make install fails"
{
    printf './usr/bin/%s\n' syncopate syncopate-ps syncopate-worker
    "$build/syncopate" man | sed 's|.*|./usr/share/man/man1/&.1|'
    printf './usr/share/bash-completion/completions/%s\n' syncopate syncopate-ps syncopate-worker
    printf './usr/share/fish/vendor_completions.d/%s.fish\n' syncopate syncopate-ps syncopate-worker
    echo ./usr/share/zsh/site-functions/_syncopate
    printf './usr/lib/systemd/system/syncopate-%s@.service\n' ps worker
} | sort >"$work/expected"
diff "$work/expected" <(files "$work/a") >"$work/differ.log" || fail "not what was to be installed"
ok "make install puts three programs, a page for each and for each command, completions and units"

symbols() { readelf -SW "$1" | grep -cE ' \.(symtab|debug)' || true; }
for program in syncopate syncopate-ps syncopate-worker; do
    if [ "$(symbols "$work/a/usr/bin/$program")" -ne 0 ]; then fail "$program is not stripped"; fi
    if [ "$(symbols "$build/$program")" -eq 0 ]; then fail "$program has lost its symbols in build/"; fi
    "$work/a/usr/bin/$program" --version >"$work/$program.log" || fail "the installed $program does not start"
done
"$work/a/usr/bin/syncopate" run --out "$work/run" --steps 8 --data synthetic:100 --model softmax \
    >"$work/installed.log" 2>&1 || fail "what is installed does not train"
ok "what is installed is stripped, finds its other programs and trains; build/ keeps its symbols"

echo "not ours" >"$work/a/usr/bin/other"
make_it uninstall DESTDIR="$work/a" PREFIX=/usr || fail "make uninstall fails"
if [ "$(files "$work/a")" != ./usr/bin/other ]; then
    files "$work/a" >"$work/left.log"
    fail "make uninstall leaves something, or takes what is not ours"
fi
ok "make uninstall removes all of it and nothing else"

make_it install DESTDIR="$work/b" PREFIX=/opt/s BINDIR=/opt/bin MANDIR=/opt/man || fail "make install fails"
for file in opt/bin/syncopate-ps opt/man/man1/syncopate-ps.1 opt/s/lib/systemd/system/syncopate-ps@.service opt/s/share/zsh/site-functions/_syncopate; do
    if [ ! -f "$work/b/$file" ]; then fail "$file is not there"; fi
done
grep -q "^ExecStart=/opt/bin/syncopate-worker " "$work/b/opt/s/lib/systemd/system/syncopate-worker@.service" ||
    fail "a unit starts another program than the installed one"
make_it uninstall DESTDIR="$work/b" PREFIX=/opt/s BINDIR=/opt/bin MANDIR=/opt/man
if [ -n "$(files "$work/b")" ]; then fail "make uninstall with BINDIR and MANDIR leaves something"; fi
ok "BINDIR and MANDIR are where programs and manual go"

make_it help
if grep -E '^.{81}' "$work/make.log"; then fail "make help has a line of more than 80 columns"; fi
if [ "$(grep -cE '^  [a-z-]+ +[^ ]' "$work/make.log")" -lt 20 ]; then fail "make help does not list the targets"; fi
ok "make help has its place in 80 columns"

if make_it bench BENCH=nothing; then fail "make bench takes any name"; fi
grep -qE "BENCH=nothing: there are all .*exchange" "$work/make.log" || fail "make bench does not say which there are"
ok "make bench names what it can measure"

# --- the manual -----------------------------------------------------------------------------------
# options TEXT-FILE - the options that --help lists.
options() { grep -oE '^  --[a-z0-9-]+' "$1" | tr -d ' ' | sort -u; }
pages=$build/man1 count=0
sections='NAME|SYNOPSIS|DESCRIPTION|OPTIONS|ENVIRONMENT|EXIT STATUS|EXAMPLES|SEE ALSO'
for page in $("$build/syncopate" man); do
    case $page in
        syncopate) continue ;;
        syncopate-ps | syncopate-worker) "$build/$page" --help ;;
        *) "$build/syncopate" "${page#syncopate-}" --help ;;
    esac >"$work/help.txt"
    sed 's/\\-/-/g' "$pages/$page.1" >"$work/page.txt"
    options "$work/help.txt" >"$work/options"
    sed -nE 's/^\.It Fl (-[a-z0-9-]+)( .*)?$/-\1/p' "$work/page.txt" | sort -u >"$work/has"
    lacks=$(comm -23 "$work/options" "$work/has")
    if [ -n "$lacks" ]; then fail "$page.1 does not have $lacks"; fi
    count=$((count + $(wc -l <"$work/options")))
    has=$(grep -xE "\.Sh ($sections)" "$work/page.txt" | sort -u)
    if [ "$(wc -l <<<"$has")" -ne 8 ]; then fail "of the sections $sections $page.1 has only these: $has"; fi
done
if [ "$count" -lt 150 ]; then fail "only $count options were looked for"; fi
ok "every option of every --help is in the manual"

# In their folder, where it looks for the pages that they name.
(cd "$pages" && mandoc -T lint ./*.1) >"$work/lint.log" 2>&1 || true
if [ -s "$work/lint.log" ]; then fail "mandoc finds faults in the manual"; fi
mandoc -T html "$pages/syncopate-run.1" >"$work/run.html" || fail "mandoc does not take a page"
grep -q SYNCOPATE_BIN_DIR "$work/run.html" || fail "the page of syncopate run lacks a part"
ok "mandoc finds no faults in the manual"
nothing_runs
