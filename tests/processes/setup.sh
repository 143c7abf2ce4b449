#!/usr/bin/env bash
# setup.sh - what deploy/setup.sh says and does on a machine that lacks packages, told to it by programs
# that play Debian's.
# test: once
# promises: setup
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
setup=$(cd "$(dirname "$0")/../.." && pwd)/deploy/setup.sh
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
