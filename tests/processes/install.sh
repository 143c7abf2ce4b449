#!/usr/bin/env bash
# install.sh - make install and make uninstall; the pages of the manual, what shells complete and the units for systemd
# that are installed, as mandoc, bash, fish, zsh and systemd-analyze take them.
# uses: fish node zsh systemd-analyze strace
# test: once later
# promises: install library services
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
    printf './usr/%s\n' include/syncopate.h lib/libsyncopate.{a,so,so.0} lib/pkgconfig/syncopate.pc share/man/man3/libsyncopate.3
} | sort >"$work/expected"
diff "$work/expected" <(files "$work/a") >"$work/differ.log" || fail "not what was to be installed"
ok "make install puts three programs, a page for each and for each command, the library, completions and units"

symbols() { readelf -SW "$1" | grep -cE ' \.(symtab|debug)' || true; }
for program in syncopate syncopate-ps syncopate-worker; do
    if [ "$(symbols "$work/a/usr/bin/$program")" -ne 0 ]; then fail "$program is not stripped"; fi
    if [ "$(symbols "$build/$program")" -eq 0 ]; then fail "$program has lost its symbols in build/"; fi
    "$work/a/usr/bin/$program" --version >"$work/$program.log" || fail "the installed $program does not start"
done
"$work/a/usr/bin/syncopate" run --out "$work/run" --steps 8 --data synthetic:100 --model softmax \
    >"$work/installed.log" 2>&1 || fail "what is installed does not train"
ok "what is installed is stripped, finds its other programs and trains; build/ keeps its symbols"

# --- the library of programs in C ------------------------------------------------------------------
library=$work/a/usr/lib/libsyncopate.so.0
readelf -Wd "$library" >"$work/needed.log"
grep -q 'SONAME.*\[libsyncopate.so.0\]' "$work/needed.log" || fail "needed: the library has another soname"
if grep NEEDED "$work/needed.log" | grep -v 'libc\.so'; then fail "needed: the library needs more than libc"; fi
sed -nE 's/.*(syncopate_[a-z_]+)\(.*/\1/p' "$root/worker/program/syncopate.h" | sort -u >"$work/declared"
nm -D --defined-only "$library" | cut -d' ' -f 3 | sort >"$work/exported"
diff "$work/declared" "$work/exported" >"$work/names.log" || fail "names: the library exports others than its header declares"
export PKG_CONFIG_PATH=$work/a/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/a \
    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
if [ "$(pkg-config --modversion syncopate)" != "$("$build/syncopate" --version | cut -d' ' -f 2)" ]; then fail "syncopate.pc has another version"; fi
read -ra flags < <(pkg-config --cflags --libs syncopate)
echo '#include <syncopate.h>' >"$work/header.c"
if gcc -x c++ -fsyntax-only /dev/null 2>/dev/null; then
    gcc -Wall -Wextra -pedantic -Werror "${flags[0]}" -fsyntax-only -x c++ "$work/header.c" 2>"$work/header.log" ||
        fail "header: C++ does not take syncopate.h"
else
    skip "syncopate.h in C++: gcc has none here"
fi
net="$work/a net's"
gcc -std=c99 -Wall -Wextra -pedantic -Werror -O2 "$root/worker/program/example_softmax.c" "${flags[@]}" -lm -o "$net" 2>"$work/example.log" ||
    fail "example: does not compile"
gcc -O2 "$root/worker/program/example_softmax.c" "${flags[0]}" "$work/a/usr/lib/libsyncopate.a" -lm -o "$work/static" 2>"$work/example.log" ||
    fail "example: does not link statically"
few=(--epochs 2 --global-batch 64 --optimizer sgd --learning-rate 0.5 --quiet)
# As typed: it becomes syncopate run --program.
PATH=$work/a/usr/bin:$PATH LD_LIBRARY_PATH=$work/a/usr/lib "$net" run "${few[@]}" --workers 2 --out "$work/two" >"$work/two.log" 2>&1 ||
    fail "two: the example does not train"
"$work/a/usr/bin/syncopate" run --program "$work/static" "${few[@]}" --ps 0 --out "$work/one" >"$work/one.log" 2>&1 ||
    fail "one: the example does not train alone"
if [ "$(member "$work/one" parameters_sha256)" != "$(member "$work/two" parameters_sha256)" ]; then fail "two: other bits than one process"; fi
PATH=$work/a/usr/bin:$PATH LD_LIBRARY_PATH=$work/a/usr/lib "$net" --help >"$work/help.log" 2>&1 || fail "help: the example has none"
cmp -s "$work/help.log" <("$build/syncopate" --help) || fail "help: the example has another"
learned() { awk -v accuracy="$(member "$work/$1" test_accuracy)" 'BEGIN { exit !(accuracy > 0.75) }' || fail "$1: has not learned"; }
learned two
if command -v node >/dev/null; then
    run node 0 syncopate run --program "node $root/worker/program/example.js" "${few[@]}" --workers 2 --out "$work/node"
    learned node
    ok "a program in JavaScript, by the protocol's page alone, learns as the one in C"
else
    skip "a program in JavaScript: node is not here"
fi
ok "the library needs libc alone, exports what its header declares, and is what C99 and pkg-config take; the example trains with it"

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

# --- completion: asked of the shells --------------------------------------------------------------
cd "$work" || exit
PATH=$build:$PATH
mkdir "$work/folder" "$work/home" "$work/home/functions"
touch "$work/folder/file" "$work/folder/other"

# Each line is a command line, up to where somebody asks what may follow, and all that may.
cases=$(cat <<'END'
syncopate com|compare completion
syncopate run --mo|--mode --model --momentum
syncopate compare --modes sync,as|sync,async
syncopate export --out folder/f|folder/file
syncopate run --out fol|folder
syncopate run --epochs |
syncopate-ps --on-worker-loss |continue fail wait
syncopate-worker --transport t|tcp
END
)

# offers SHELL COMMAND-LINE EXPECTED FOUND
offers()
{
    if [ "$4" != "$3" ]; then fail "$1 completes '$2' with '$4', not with '$3'"; fi
}
# In order, on one line.
words() { tr -s '[:space:]' '[\n*]' | sed -e '/^$/d' -e 's,/$,,' | sort | paste -sd ' '; }

syncopate completion bash >"$work/bash"
# Lines to standard output, of what it offers for those of standard input.
bash_offers()
{
    # shellcheck disable=SC2016 # For the other bash.
    bash --norc -c '
        . ./bash
        while IFS= read -r line; do
            eval "COMP_WORDS=($line)"
            case $line in *" ") COMP_WORDS+=("") ;; esac
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
            if [[ $(complete -p "${COMP_WORDS[0]}") =~ " -F "([^ ]+) ]]; then "${BASH_REMATCH[1]}"; fi
            echo "${COMPREPLY[@]}"
        done'
}
# all_offer SHELL FILE - the cases, and what it offers for each.
all_offer()
{
    while IFS='|' read -r line expected && IFS= read -r found <&3; do
        offers "$1" "$line" "$expected" "$(words <<<"$found")"
    done <<<"$cases" 3<"$2"
    if [ "$(wc -l <"$2")" -ne "$(wc -l <<<"$cases")" ]; then fail "$1 has not as many answers as there are cases"; fi
}
cut -d'|' -f 1 <<<"$cases" | bash_offers >"$work/bash-found"
all_offer bash "$work/bash-found"
offers bash "--mode=s, cut at =" "ssp:S sync" "$(bash_offers <<<'syncopate run --mode = s' | words)"
ok "bash completes commands, options, values and files"

# --- fish -----------------------------------------------------------------------------------------
if command -v fish >/dev/null; then
    syncopate completion fish >"$work/fish"
    mapfile -t lines < <(cut -d'|' -f 1 <<<"$cases")
    # shellcheck disable=SC2016 # For fish.
    HOME=$work/home fish --no-config -c 'source ./fish; for line in $argv; complete -C "$line"; echo .; end' "${lines[@]}" |
        cut -f 1 | awk '$0 == "." { print found; found = ""; next } { found = found " " $0 }' >"$work/fish-found"
    all_offer fish "$work/fish-found"
    ok "fish completes the same"
else
    skip "what fish completes: fish is not here"
fi

# --- zsh ------------------------------------------------------------------------------------------
# Types each line of standard input into a zsh, asks for what may follow, and prints that.
cat >"$work/type.zsh" <<'END'
zmodload zsh/zpty
heard() # PATTERN - until that has come, or nothing has for so long that it will not
{
    local chunk quiet=0
    all=
    until [[ $all = $~1 ]] || (( quiet > 600 )); do
        if zpty -r -t zsh chunk; then all+=$chunk quiet=0; else sleep 0.05; (( quiet++ )); fi
    done
}
zpty zsh env TERM=dumb zsh -f -i
zpty -w zsh 'PROMPT="> "; unsetopt zle_bracketed_paste prompt_cr prompt_sp; stty columns 300
    fpath=(~/functions $fpath); autoload -U compinit; compinit -u -D; LISTMAX=10000
    zstyle ":completion:*" verbose no; echo is re""ady'
heard $'*is ready\r*> *' # And not what was typed: it is to take keys.
while IFS= read -r line; do
    zpty -n -w zsh $'\C-u'"$line"$'\C-d\C-u:asked:' # What is typed last is shown when the rest has been.
    heard '*:asked:*'
    lines=("${(@f)all}")
    print -r -- "$line|${lines[2,-2]}" # Between what was typed and that again.
done
END
if command -v zsh >/dev/null; then
    syncopate completion zsh >"$work/home/functions/_syncopate"
    cut -d'|' -f 1 <<<"$cases" | HOME=$work/home zsh -f "$work/type.zsh" | tr -d '\r\a' >"$work/zsh.log"
    if [ "$(wc -l <"$work/zsh.log")" -ne "$(wc -l <<<"$cases")" ]; then fail "zsh has no answers"; fi
    # Of folder/file it shows the file.
    while IFS='|' read -r line expected && IFS='|' read -r _ found <&3; do
        offers zsh "$line" "$(tr ' ' '\n' <<<"$expected" | sed 's,.*/,,' | words)" "$(words <<<"$found")"
    done <<<"$cases" 3<"$work/zsh.log"
    ok "zsh completes the same"
else
    skip "what zsh completes: zsh is not here"
fi

# --- units of systemd ------------------------------------------------------------------------------
units=$root/deploy/systemd

setting() { sed -nE "s/^$2=//p" "$units/syncopate-$1@.service"; }
for role in ps worker; do
    "$build/syncopate-$role" --help >"$work/$role.txt"
    for code in $(setting "$role" SuccessExitStatus) $(setting "$role" RestartPreventExitStatus); do
        grep -qE "^ +$code +" "$work/$role.txt" || fail "the unit of $role knows exit code $code, and --help does not"
    done
    for code in 0 4 195; do # Done needs no word; what another start may help is not prevented.
        if [[ " $(setting "$role" RestartPreventExitStatus) " == *" $code "* ]]; then fail "$code is not started again"; fi
    done
    if [ "$(setting "$role" Type)" != notify ]; then fail "the unit of $role does not wait for READY=1"; fi
    if [ "$(setting "$role" ExecStart)" != "/usr/local/bin/syncopate-$role --task-index %i" ]; then
        fail "the unit of $role starts something else"
    fi
done
ok "units know the programs' exit codes, and wait until they are ready"

if ! command -v systemd-analyze >/dev/null; then
    skip "units as systemd reads them: systemd-analyze is not here (Debian's systemd)"
    exit 0
fi
mkdir "$work/units"
for role in ps worker; do
    sed "s|/usr/local/bin/|$build/|" "$units/syncopate-$role@.service" >"$work/units/syncopate-$role@.service"
done
verified()
{
    systemd-analyze verify --man=no "$work/units/syncopate-ps@0.service" "$work/units/syncopate-worker@3.service" \
        >"$work/verify.log" 2>&1 && ! grep -q "syncopate-" "$work/verify.log"
}
# An instance is made of the template beside it.
cp "$work/units/syncopate-ps@.service" "$work/units/syncopate-ps@0.service"
cp "$work/units/syncopate-worker@.service" "$work/units/syncopate-worker@3.service"
verified || fail "systemd-analyze verify finds fault with a unit"
sed -i 's/^WatchdogSec=/WatchDogSec=/' "$work/units/syncopate-ps@0.service"
if verified; then fail "systemd-analyze finds no fault where there is one"; fi
for role in ps worker; do
    systemd-analyze security --offline=true --threshold=25 "$work/units/syncopate-$role@.service" \
        >"$work/security.log" 2>&1 || fail "the unit of $role leaves its process more than it needs"
done
ok "systemd-analyze verify has nothing to say against the units, nor has its look at their hardening"

# --- system calls ---------------------------------------------------------------------------------
if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null || sanitized; then
    skip "system calls of a unit's processes: strace is not here, may not trace, or sees a sanitizer's"
    exit 0
fi
# calls GROUP - that are in it, with those of the groups in it.
calls()
{
    local name
    while read -r name; do
        case $name in
            "$1" | "#"* | "") ;;
            @*) calls "$name" ;;
            *) echo "$name" ;;
        esac
    done < <(systemd-analyze syscall-filter "$1")
}
hosts=127.0.0.1:$(free_port)
for role in ps worker; do
    strace -qq -f -o "$work/$role.trace" "$build/syncopate-$role" --ps-hosts "$hosts" --workers 1 --model softmax \
        --data synthetic:500 --epochs 2 --out "$work/unit" >"$work/$role.log" 2>&1 </dev/null &
    pids[$role]=$!
done
for role in ps worker; do ends "$role" 0 60; done
sed -nE 's/^[0-9]+ +([a-z_0-9]+)\(.*/\1/p' "$work"/*.trace | sort -u >"$work/used"
calls @system-service | sort -u >"$work/allowed"
denied=$(comm -23 "$work/used" "$work/allowed")
if [ -n "$denied" ]; then fail "a unit's process may not call ${denied//$'\n'/, }"; fi
if [ "$(wc -l <"$work/used")" -lt 40 ]; then fail "only $(wc -l <"$work/used") calls were seen"; fi
ok "of a job's $(wc -l <"$work/used") system calls all are among those that the units leave"
