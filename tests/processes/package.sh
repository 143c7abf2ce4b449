#!/usr/bin/env bash
# package.sh - what is deployed: deploy/setup.sh, told of a machine that lacks packages by programs that play Debian's;
# the tasks of the TFJob, started as its operator would; the Debian package; and what Kubernetes' schemas say of the
# manifests. (tests/engines/pods.sh runs the pods.)
# needs: everything
# test: once
# promises: setup
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

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
for script in "$(dirname "$0")"/*.sh; do
    read -rd "" -a programs < <(sed -nE "1,20s/^# (needs|uses): //p" "$script") || true
    for program in "${programs[@]}"; do
        case $program in everything | node | npm) continue ;; esac
        grep -q " tool:$program\"" "$setup" || fail "${script##*/} declares $program, which no table has"
        declared=$((declared + 1))
    done
done
if [ "$declared" -lt 12 ]; then fail "only $declared programs are declared"; fi
ok "each of the $declared programs that scripts declare is in a table"

here=$(cd "$(dirname "$0")" && pwd)
manifests=$root/deploy/kubernetes
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
elif short_run; then
    train_tfjob
fi

# --- the Debian package ------------------------------------------------------------------------------
if short_run; then
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

# --- schemas ---------------------------------------------------------------------------------------
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    skip "the schemas of Kubernetes' kinds: there is no npm"
    exit 0
fi
mkdir "$work/schemas"
if ! (cd "$work/schemas" && timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts \
    kubernetes-models@4.5.1 @kubernetes-models/validate@4.0.0) >"$work/npm.log" 2>&1; then
    skip "the schemas of Kubernetes' kinds: npm's registry does not give them: $(tail -n 1 "$work/npm.log")"
    exit 0
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
nothing_runs
