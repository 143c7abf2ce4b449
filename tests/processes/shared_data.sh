#!/usr/bin/env bash
# shared_data.sh - the workers of one host read their data once and have them together: the same bytes as when each
# reads by itself, nothing left open, and whoever is started again has those that the others have.
# test: asan
# promises: shared-data
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--seed 5 --global-batch 20 --model softmax)
idx "$work/data"

workers()
{
    local pid name
    for pid in $(survivors); do
        { read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
        case $name in syncopate-worke*) echo "$pid" ;; esac
    done
}
# How many workers have the data mapped, and how many still have a descriptor of them.
mapped() { for pid in $(workers); do grep -l '/memfd:syncopate-data' "/proc/$pid/maps" 2>/dev/null || true; done | wc -l; }
open_files() { for pid in $(workers); do readlink "/proc/$pid/fd/"* 2>/dev/null || true; done | grep -c memfd:syncopate-data || true; }
all_have_them() { [ "$(mapped)" -eq "$1" ]; }

# --- together, and each by itself --------------------------------------------------------------------
run alone 0 syncopate run --quiet --ps 0 --data "$work/data" --steps 20 --out "$work/alone" "${job[@]}"
run together 0 syncopate run --quiet --ps 1 --workers 3 --data "$work/data" --steps 20 --out "$work/together" "${job[@]}"
if [ "$(model_hash "$work/alone")" != "$(model_hash "$work/together")" ]; then fail "other bytes than those of one worker"; fi

hosts=127.0.0.1:$(free_port)
start ps syncopate-ps --ps-hosts "$hosts" --workers 2 --data "$work/data" --steps 20 --out "$work/apart" "${job[@]}"
for i in 0 1; do
    start "w$i" syncopate-worker --task-index "$i" --ps-hosts "$hosts" --workers 2 --data "$work/data" --steps 20 "${job[@]}"
done
for name in ps w0 w1; do ends "$name" 0 60; done
if [ "$(model_hash "$work/alone")" != "$(model_hash "$work/apart")" ]; then fail "other bytes where each reads by itself"; fi
ok "the same bytes with data that workers have together, and each by itself"

# --- started again -----------------------------------------------------------------------------------
start endless syncopate run --verbose --ps 1 --workers 3 --data "$work/data" --steps 100000000 --checkpoint-every 0 \
    --out "$work/endless" "${job[@]}"
within 20 all_have_them 3 || fail "$(mapped) of 3 workers have the data together"
trains() { grep -qs '"event": "progress"' "$work/endless/events.jsonl"; } # All have closed then what they had to.
within 20 trains || fail "training does not begin"
if [ "$(open_files)" -ne 0 ]; then fail "workers keep a descriptor of what they have mapped"; fi
# Read again they would be other data, with which no worker may join.
{ be32 0x801; be32 40; head -c 40 /dev/zero | tr '\0' '\4'; } >"$work/data/train-labels-idx1-ubyte"
mapfile -t before < <(workers)
victim=${before[0]}
kill -KILL "$victim"
again() { said endless 'started again [(]restart' && all_have_them 3 && ! grep -qx "$victim" <(workers); }
within 20 again || fail "the worker that is started again has no data"
kill -INT "${pids[endless]}"
ends endless 130 60
nothing_runs
ok "who is started again has the data that the others have, although a file has changed since"

# --- what is no such memory --------------------------------------------------------------------------
run wrong 5 syncopate-worker --data-fd 9 --task-index 0 --workers 1 --ps-hosts "$hosts" --data synthetic:100 "${job[@]}"
one_line wrong
grep -q -- '--data.*descriptor 9 is no memory to share' "$work/wrong.log" || fail "it does not say what is wrong"
ok "a descriptor that is no memory of a launcher is refused in one line"
