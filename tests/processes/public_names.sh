#!/usr/bin/env bash
# public_names.sh - every name that others may rely on is in tests/names.golden, and no other: commands,
# options, variables, exit codes, files of a run, members of JSON, events, columns, metrics and tags, as the
# built programs have them.
#
#     tests/processes/public_names.sh --write       the file as this build has them
# test: once
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/.." && pwd)/names.golden
export LC_ALL=C PATH=$build:$PATH
cd "$work"

# as KIND - each line of standard input is a name of that kind.
as() { sed "s|^|$1 |" >>names; }
# json KIND - members of the JSON on standard input, each with those around it: "run.json staleness.mean".
json()
{
    grep -oE '"([^"\\]|\\.)*":?|[][{}]' | awk -v kind="$1" '
        /^".*:$/ { member = substr($0, 2, length($0) - 3); print kind " " around[depth] member; next }
        /^[[{]/ { depth++; around[depth] = around[depth - 1] (member == "" ? "" : member "."); member = "" }
        /^[]}]/ { depth--; member = "" }
        /^"/ { member = "" }' | sort -u >>names
}
# events - as members of their event, whose name they begin with.
events() { sed -E 's/^\{"time": [^,]*, "event": ("[a-z_]+")/{\1: {/; s/$/}/' | json event; }

# --- a job that is watched and stopped -------------------------------------------------------------
port=$(free_port) http=$(free_port)
small=(--data synthetic:500 --model softmax --workers 3 --ps 2 --l2 0.001 --report-every 5 --epochs 2)
start ps syncopate-ps --ps-hosts "127.0.0.1:$port" --serve "$http" --page http://host/ --out live --log-format json
start worker syncopate-worker --ps-hosts "127.0.0.1:$port" "${small[@]::4}" --workers 1 --mode async --epochs 100000 \
    --report-every 5 --compute constant:10ms
scraped()
{
    (exec 8<>"/dev/tcp/127.0.0.1/$http" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&8 && cat <&8) 2>/dev/null |
        tr -d '\r' >metrics
    grep -q '^syncopate_job_test_loss' metrics && grep -q '^syncopate_checkpoint_last_success' metrics
}

# --- meanwhile programs, their options and runs of each kind ---------------------------------------
commands=$(syncopate --help | sed -nE 's/^  ([a-z]+) +[a-z].*/\1/p' | sort -u | grep -v '^syncopate$')
as command <<<"$commands"
{
    syncopate-ps --help
    syncopate-worker --help
    for command in $commands; do syncopate "$command" --help; done
} >help
grep -oE '^  --[A-Za-z0-9_-]+' help | tr -d ' ' | sort -u >options
as option <options
grep -aohE '\b(SYNCOPATE|SLURMD?|OMPI|PMIX?|DMLC|KUBERNETES|TF|TORCHELASTIC|MASTER|WORLD|LOCAL_WORLD)(_[A-Z]+)+\b' \
    "$build/syncopate" | as variable
sed -nE '/^Exit codes/,/^$/s/^ +([0-9]+)  .*/\1/p' help | as exit

run real 0 syncopate run "${small[@]}" --mode async --trace --tensorboard real/board --json --out real
json "run --json" <real.log
for mode in sync "sync --backup-workers 1" allreduce async ssp:1; do
    # shellcheck disable=SC2086 # Its words.
    syncopate simulate "${small[@]}" --mode $mode --compute constant:5ms --kill ps/1@0.1s,worker/1@0.15s \
        --restart 0.05s --join @0.2s --leave worker/0@0.22s --out "virtual/${mode// /}" --quiet >/dev/null
done
syncopate compare "${small[@]}" --modes sync,async --seeds 2 --compute constant:5ms --virtual --out compared --quiet >/dev/null
syncopate run "${small[@]}" --ps 0 --workers 1 --mode sync --keep-scored --out alone --quiet >/dev/null
for path in real/checkpoints/*16 real/model.safetensors real compared; do
    syncopate inspect "$path" --json >inspected
    kind=$(sed -nE 's/^  "kind": "(.*)",/\1/p' inspected)
    json "inspect --json $kind" <inspected
done
syncopate evaluate real/model.safetensors --data synthetic:500 --json | json "evaluate --json"
syncopate replay real --json | json "replay --json"
syncopate probe --json | json "probe --json"
within 20 scraped || fail "ps has no metrics of a score and a checkpoint"
json run.json <live/run.json
syncopate inspect "127.0.0.1:$port" --json | json "inspect --json job"
kill -TERM "${pids[ps]}"
ends ps 143
ends worker 143

head -n 1 ps.log | json "--log-format json"
syncopate evaluate --follow real --json | json "evaluate --follow --json"

# --- what they left --------------------------------------------------------------------------------
sed -nE 's/^(syncopate_[a-z_]+)(\{(.*)\})? .*/\1 \3/p' metrics | sed -E 's/="[^"]*"//g; s/ $//' | as metric
for file in run virtual cluster compare plan manifest trace best; do
    while read -r path; do json "$file.json" <"$path"; done < <(find . -name "$file.json")
done
{ cat virtual/*/events.jsonl alone/events.jsonl; grep '"event": "stop"' live/events.jsonl; } | events
find . -name '*.csv' | while read -r file; do head -n 1 "$file" | tr ',' '\n' | as "column ${file##*/}"; done
find real/board -type f -exec cat {} + | grep -azoP '\x0a[\x03-\x20]\K([a-z_]+/[a-z_]+|learning_rate)' |
    tr '\0' '\n' | as tag
(cd real && find . -type f) | sed -E 's,^\./,,; s/[0-9]+/N/g; s/tfevents.*/tfevents/' | as "file of a run"
(cd compared && find . -maxdepth 1 -type f) | sed 's,^\./,,' | as "file of a comparison"

# What repeats run.json or compare.json is said once.
sort -u names | awk '/^(run|compare).json / { said[$2] = 1 }
    { lines[++count] = $0 }
    END {
        for (i = 1; i <= count; i++) {
            name = lines[i]
            if (sub(/^(run --json|inspect --json (run|comparison)) /, "", name) && name in said) continue
            print lines[i]
        }
    }' >found
sed -i '1i # Every public name with its kind, as tests/processes/public_names.sh --write writes it.' found
if [ "${1:-}" = --write ]; then cp found "$golden"; fi
diff "$golden" found >names.log || fail "names have changed (> is new): change those that use them, then $0 --write"
ok "$(($(wc -l <found) - 1)) public names, of them $(wc -l <options) options, are those of tests/names.golden"
