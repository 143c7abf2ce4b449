#!/usr/bin/env bash
# install.sh - make install and make uninstall; the pages of the manual, what shells complete and the units for systemd
# that are installed, as mandoc, bash, fish, zsh and systemd-analyze take them. And what is deployed: deploy/setup.sh, told
# of a machine that lacks packages by programs that play Debian's; the tasks of the TFJob, started as its operator would;
# the Debian package; and what Kubernetes' schemas say of the manifests. (tests/engines/pods.sh runs the pods.)
# needs: everything
# uses: fish node zsh systemd-analyze strace
# test: once later
# promises: install library services setup
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

here=$root/tests/processes manifests=$root/deploy/kubernetes

# --- the Debian package, and the manifests -------------------------------------------------------------
deb()
{
    if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
        skip "the Debian package: there is no debhelper (deploy/setup.sh ci)"
        return
    fi

    "$root/deploy/debian/build.sh" "$work/deb" >"$work/build.log" 2>&1 || fail "there is no package"
    package=$(echo "$work"/deb/syncopate_*.deb)
    dpkg-deb -x "$package" "$work/root"
    for file in usr/bin/syncopate{,-ps,-worker} usr/share/man/man1/syncopate{,-ps,-worker,-launch,-task}.1.gz \
        usr/share/bash-completion/completions/syncopate{,-ps} usr/share/zsh/vendor-completions/_syncopate \
        usr/share/fish/vendor_completions.d/syncopate.fish usr/include/syncopate.h usr/share/man/man3/libsyncopate.3.gz \
        usr/lib/*/libsyncopate.{a,so,so.0} usr/lib/*/pkgconfig/syncopate.pc lib/systemd/system/syncopate-{ps,worker}@.service \
        usr/share/doc/syncopate/{copyright,ENGINES.md.gz} usr/share/doc/syncopate/examples/{slurm,kubernetes,plans,clusters}; do
        if ! compgen -G "$work/root/$file" >/dev/null; then fail "the package lacks /$file"; fi
    done
    grep -q "^ExecStart=/usr/bin/syncopate-ps " "$work/root/lib/systemd/system/syncopate-ps@.service" || fail "a unit starts another program"
    dpkg-deb -f "$package" Depends >"$work/depends.log"
    for library in libc6 libzmq5 libprotobuf-c1 libjansson4 libsodium23 libnettle8 zlib1g libmicrohttpd12; do
        grep -qE "(^|, )$library( |,|$)" "$work/depends.log" || fail "the package does not depend on $library"
    done
    ok "the package holds programs, library, manual, completions, units and examples, and depends on its libraries"

    dpkg-deb -x "$work"/deb/python3-syncopate_*_all.deb "$work/python"
    if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
        PYTHONPATH=$work/python/usr/lib/python3/dist-packages /usr/bin/python3 -m syncopate check \
            "$work/python/usr/share/doc/python3-syncopate/examples/softmax.py" >"$work/check.log" 2>&1 || fail "check finds a fault"
        ok "python3-syncopate holds the Python package and examples, whose leaves are exact"
    else
        skip "the package python3-syncopate: there is no python3-numpy"
    fi

    if command -v lintian >/dev/null; then
        lintian --allow-root "$work"/deb/*.deb >"$work/lintian.log" 2>&1 || fail "lintian finds errors"
        ok "lintian finds no error, and $(grep -c '^W:' "$work/lintian.log" || true) things to warn of"
    else
        skip "what lintian says of the package: it is not here"
    fi

    tiny=(--data synthetic:500 --model softmax --steps 8 --seed 3 --ps 2 --workers 2 --quiet)
    run built 0 syncopate run "${tiny[@]}" --out "$work/built"
    local build=$work/root/usr/bin
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

    # --- schemas ---------------------------------------------------------------------------------------
    if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
        skip "the schemas of Kubernetes' kinds: there is no npm"
        return
    fi
    mkdir "$work/schemas"
    if ! (cd "$work/schemas" && timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts \
        kubernetes-models@4.5.1 @kubernetes-models/validate@4.0.0) >"$work/npm.log" 2>&1; then
        skip "the schemas of Kubernetes' kinds: npm's registry does not give them: $(tail -n 1 "$work/npm.log")"
        return
    fi
    export NODE_PATH=$work/schemas/node_modules
    "$here/manifests.py" objects "$manifests"/*.yaml >"$work/objects.json"
    # faults FILE - what node says of it; it must say something, or nothing.
    faults() { node "$here/manifests.js" <"$1" >"$work/faults.log" 2>&1; }
    faults "$work/objects.json" || fail "objects are not what their schemas say"
    # planted EDIT NAMED - a fault that must be found, and named.
    planted()
    {
        sed "$1" "$work/objects.json" >"$work/planted.json"
        if cmp -s "$work/objects.json" "$work/planted.json"; then fail "nothing is planted by $1"; fi
        if faults "$work/planted.json"; then fail "no fault is found after $1"; fi
        grep -qF "$2" "$work/faults.log" || fail "the fault after $1 is not named"
    }
    planted 's/"serviceName"/"servceName"/' "servceName is not known"
    planted 's/"replicas": 2/"replicas": "2"/' "must be integer"
    planted 's/"envFrom"/"envFrm"/' "envFrm is not known"
    planted 's/"operator": "In"/"operatr": "In"/' "operatr is not known"
    ok "$(grep -o '"file"' "$work/objects.json" | wc -l) objects and pods are what the schemas of their kinds say (kubernetes-models 4.5.1); four planted faults are found"
    skip "what is around the TFJob's pods: no schema of Kubeflow's is on npm; a control plane: none can be had here"
}
if long_run; then deb; fi
if ! short_run; then exit 0; fi

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
"$work/a/usr/bin/syncopate" run --program "$work/static" "${few[@]}" --ps 0 --out "$work/single" >"$work/single.log" 2>&1 ||
    fail "single: the example does not train alone"
if [ "$(member "$work/single" parameters_sha256)" != "$(member "$work/two" parameters_sha256)" ]; then fail "two: other bits than one process"; fi
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

# --- a class without a compiler --------------------------------------------------------------------
make_it class || fail "make class fails"
tar -xzf "$build/../class/syncopate-class.tar.gz" -C "$work"
class=$work/syncopate-class
ldd "$class"/bin/* | sed -nE 's/.* => (\/[^ ]+) .*/\1/p' >"$work/libraries.log"
if grep -v "^$class/" "$work/libraries.log" | grep -qvE '/lib(c|m|pthread|resolv|dl|rt)\.so'; then fail "libraries: the class lacks some"; fi
env -i "$class/bin/syncopate" lab check 0 --answers "$root/deploy/labs/solutions/0/answers.json" >"$work/lab.log" 2>&1 || fail "lab: the class has none"
env -i "$class/bin/syncopate" run --data "$class/data" --model softmax --steps 8 --out "$work/images" >"$work/images.log" 2>&1 ||
    fail "images: the class does not train"
grep -q '"examples": 5000,' "$work/images/run.json" || fail "images: the class has not 5,000"
ok "what make class packs needs glibc alone, checks a lab and trains on its 5,000 images"
cp "$root/deploy/labs/solutions/9/mine.txt" "$work/mine.c"
"$class/labs/mine.sh" "$work/mine.c" >"$work/mine.log" 2>&1 || fail "mine: the class does not link lab 9"
env -i "$class/bin/syncopate-mine" lab check 9 --answers "$root/deploy/labs/solutions/9/answers.json" >"$work/lab9.log" 2>&1 ||
    fail "lab9: wrong in the class"
mkdir -p "$work"/hands/{teacher,broken}
cp "$root/deploy/labs/solutions/9/answers.json" "$work/mine.c" "$work/hands/teacher"
echo 'int mine' >"$work/hands/broken/mine.c"
LABS=9 "$class/labs/grade.sh" "$work/hands" >"$work/hands.log" 2>&1 || fail "hands: there are no rows"
said hands '^"teacher",9,yes,' || fail "hands: what passes does not"
said hands '^"broken",9,no,.*mine\.c: .*error' || fail "hands: what does not compile is not named"
ok "in a class lab 9 is one file, compiled and linked with what it has, and so are hand-ins"

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
systemd()
{
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
        return
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
        return
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
}
systemd

# --- deploy/setup.sh --------------------------------------------------------------------------------
setup=$root/deploy/setup.sh
mkdir "$work/bin"
# plays PROGRAM TEXT - such a program is this shell script.
plays()
{
    printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
# set_up NAME CODE - runs it for the tests' packages.
set_up()
{
    local code=0
    PATH=$work/bin:$PATH "$setup" check >"$work/$1.log" 2>&1 </dev/null || code=$?
    if [ "$code" -ne "$2" ]; then fail "$1: ended with exit code $code, not $2"; fi
    if grep -E "^.{81}" "$work/$1.log"; then fail "$1: has a line of more than 80 columns"; fi
}
all=$(sed -nE 's/^    "[^ "]+ +([a-z0-9-]+) +(tool|lib|any):.*/installed \1/p' "$setup")
plays id 'echo 0'
plays dpkg-query "echo '$all'"
plays apt-get 'echo "apt-get was called"; exit 1'
set_up complete 0
if [ -s "$work/complete.log" ]; then fail "something is said where nothing is missing"; fi
ok "nothing is done, and nothing said, where nothing is missing"

plays dpkg-query "echo '$all' | grep -v libzmq3-dev"
plays apt-cache 'exit 0'
plays apt-get 'echo "$*" >>"'"$work"'/called"
case " $* " in *" install "*)
    echo "Reading package lists..."; echo "Need to get 112 MB of archives."
    echo "dlstatus:1:40.0000:Retrieving file 1 of 1"; echo "pmstatus:libzmq3-dev:50.0000:Unpacking"
    echo "Setting up libzmq3-dev";;
esac'
set_up installs 0
says installs "^setup: +libzmq3-dev +messages$"
says installs "^setup: fetching 112 MB$"
says installs "^setup: done$"
if said installs "Setting up|pmstatus|Reading"; then fail "what apt-get says is passed on"; fi
grep -q -- 'install -y --no-install-recommends libzmq3-dev' "$work/called" || fail "not what was missing"
ok "what is missing is named and installed, and of apt-get there is only how much it fetches"

# As apt-get does: what packages' own scripts print has no place when the status is told on standard output.
# shellcheck disable=SC2016 # It is the program that knows them.
plays apt-get 'case " $* " in *" install "*)
    fd=${*##*Status-Fd=}; fd=${fd%% *}
    eval "echo pmstatus:x:50.0000:Configuring >&$fd; exec $fd>&-"
    echo "Setting up x" || exit 100;;
esac'
set_up scripts 0
says scripts "^setup: done$"
ok "packages' own scripts have a standard output"

plays apt-get 'case " $* " in *" install "*) echo "E: You do not have enough free space"; exit 100;; esac'
plays pkg-config 'exit 1'
set_up fails 1
says fails "E: You do not have enough free space"
says fails "^setup: apt-get failed$"
says fails "cannot go on without these"
ok "when apt-get fails its last words are shown, and what cannot be done without"

plays id 'echo 1000'
plays sudo 'exit 1'
set_up unprivileged 1
says unprivileged "needs root; run:"
says unprivileged "sudo apt-get install -y --no-install-recommends"
ok "without root it says what to run"

# What scripts declare (tests/run_tests.sh) is to be had by these tables. Node's are of no use from Debian.
declared=0
for script in "$root"/tests/processes/*.sh; do
    read -rd "" -a programs < <(sed -nE "1,20s/^# (needs|uses): //p" "$script") || true
    for program in "${programs[@]}"; do
        case $program in everything | node | npm) continue ;; esac
        grep -q " tool:$program\"" "$setup" || fail "${script##*/} declares $program, which no table has"
        declared=$((declared + 1))
    done
done
if [ "$declared" -lt 12 ]; then fail "only $declared programs are declared"; fi
ok "each of the $declared programs that scripts declare is in a table"

# --- the TFJob -------------------------------------------------------------------------------------
train_tfjob()
{
    local names=() ports name words
    # Its pods have addresses of their own; here their servers have ports.
    ports=("$(free_port)" "$(free_port)")
    while read -r name; do names+=("$name"); done < <("$here/manifests.py" tasks "$manifests/tfjob.yaml" "$work" "${ports[@]}")
    if [ "${#names[@]}" -ne 6 ]; then fail "the TFJob has ${#names[@]} tasks, and not two servers, three workers and an evaluator"; fi
    for name in "${names[@]}"; do
        mapfile -t words <"$work/$name.task"
        (cd "$work" && PATH=$build:$PATH exec env "${words[@]}") >"$work/$name.log" 2>&1 </dev/null &
        pids[$name]=$!
    done
    run here 0 syncopate run --model softmax --epochs 5 --seed 1 --ps 2 --workers 3 --quiet --out "$work/here"
    for name in "${names[@]}"; do ends "$name" 0 60; done
    if [ "$(member "$work/one" parameters_sha256)" != "$(member "$work/here" parameters_sha256)" ]; then
        fail "the TFJob's tasks come to other bits than run"
    fi
    says evaluator-0 "^step 4,690 .*test accuracy" # Of those before it the run keeps three.
    says evaluator-0 "the run has ended: done; [1-5] checkpoints? scored"
    ok "the TFJob's six tasks, with TF_CONFIG as its operator writes it: the bits of run, and an evaluator that has seen the last checkpoint"
}
if ! python3 -c 'import yaml' 2>/dev/null; then
    skip "manifests of Kubernetes: there is no python3-yaml"
else
    train_tfjob
fi

# --- versions -----------------------------------------------------------------------------------
version=$(sed -nE '1s/^syncopate \(([^)]*)\) .*/\1/p' "$root/deploy/debian/changelog")
if [ "syncopate $version" != "$("$build/syncopate" --version | cut -d' ' -f1,2)" ]; then fail "the package is of version $version"; fi
grep -q "\"$version\"$" "$root/worker/python/build_backend.py" || fail "the Python package is of another version"
ok "the packages have the version of the programs"
if commit=$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null); then
    case $("$build/syncopate" --version) in
        *"(commit $commit)" | *"(commit $commit-dirty)") ;;
        *) fail "--version does not name commit $commit" ;;
    esac
    ok "--version names the commit that was built"
fi
nothing_runs
