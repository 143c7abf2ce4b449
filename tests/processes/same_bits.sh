#!/usr/bin/env bash
# same_bits.sh [CELL...] - what "the same bits" means, mode by mode: a command for each cell of the table of
# proto/CONTRACT.md section 2, kills included; without cells, all of them, and that the table is this one's.
#
#     tests/processes/same_bits.sh sync-struck      one cell (make all first)
#     tests/processes/same_bits.sh --cells          the cells; --table: as a table; --write: into the page
# test: later
# promises: accumulate allreduce backup bits bits-program colocated loss-scale restore serial server-lost staleness-rules
# shellcheck source=tests/processes/lib.sh
root=$(cd "$(dirname "$0")/../.." && pwd)

# cell|mode|its bits are those of|under. A cell's function has its name, with _ for -.
cells()
{
    cat <<'END'
sync-spread|sync|`--ps 0`|1 to 7 workers, 1 to 3 servers, 1 to 3 owner threads, chunks of 64 bytes to all in one, borders at layers
sync-wires|sync|`--ps 0`|tcp, shared memory, keys
sync-struck|sync|`--ps 0`|kills, without and with `--overlap`
sync-moved|sync|`--ps 0`|stopped, and gone on with other workers and servers, or none
sync-further|sync|`--ps 0`|finished, and trained further with other workers and servers, or none
sync-rules|sync, all-reduce, `--l2`, `--loss-scale global-batch`|`--ps 0`, and `replay` of a run without them|ragged batches, 3 workers, 2 servers
allreduce-spread|all-reduce|`--ps 0`|1 to 7 workers, 1 to 3 servers, chunks of 64 bytes to all in one, six rules
allreduce-struck|all-reduce|`--ps 0`|kills
allreduce-moved|all-reduce|`--ps 0`|stopped, and gone on with other workers and servers
backup-replay|sync+backup:1|its `replay`: one process, with the recorded sets|4 workers of which one is late, 2 servers, tcp and shared memory
backup-struck|sync+backup:1|its `replay`|kills
backup-moved|sync+backup:1|its `replay`|stopped, and gone on with other workers and servers
places-spread|sync, all-reduce, `--ps colocated`|`--ps 0`|1 to 5 workers, each with a server beside it
places-struck|sync, `--ps colocated`|`--ps 0`|kills
places-allreduce|all-reduce, `--ps colocated`|`--ps 0`|kills
places-async|async, `--ps colocated`|its `replay`|kills
async-one|async|the serial run, `--mode async --ps 0`|one worker, without and with `--overlap`
async-replay|async|its `replay`|4 workers, 2 servers, without and with `--overlap`
stale-replay|async, `--delay-compensation adaptive:1`, `--staleness-rate`, `--l2`, `--max-staleness`|its `replay`|4 workers of which one is slow, 2 servers, keys
async-struck|async|its `replay`|kills
async-moved|async|its `replay`|stopped, and gone on with other workers and servers
ssp-one|ssp|the serial run|one worker
ssp-replay|ssp, with and without `--use-locking`|its `replay`|4 workers, 2 servers, without and with `--overlap`
ssp-struck|ssp|its `replay`|kills
compensated-one|async, `--delay-compensation`, `--staleness-rate`|the serial run without them|one worker
compensated-struck|async, `--delay-compensation`, `--staleness-rate`|its `replay`|kills
accumulated-one|async, `--accumulate 1`|the serial run|one worker
accumulated-struck|async, `--accumulate 3`|its `replay`|kills
program-spread|sync, all-reduce, `--program`|`--ps 0`, one process, with `--model`|1 to 5 workers, 1 to 3 servers, none, colocated, tcp, `--overlap`, in virtual time, and its `evaluate`
program-one|async, ssp, `--accumulate 3`, `--program`|the serial run with `--model`|one worker
program-further|sync, `--program`|`--ps 0`, one process, with `--model`|finished, and trained further with other workers and servers, or none
program-replay|async, ssp, sync+backup:1, `--program`|its `replay`|4 workers, 2 servers
program-struck|sync, `--program`|`--ps 0`, one process, with `--model`|kills, of programs as well
END
}
page=$root/proto/CONTRACT.md
begins='<!-- same bits: made by make matrix -->' ends='<!-- end of same bits -->'
table()
{
    echo "| mode | its bits are those of | under | shown by \`tests/processes/same_bits.sh\` |"
    echo '|---|---|---|---|'
    cells | awk -F'|' '{ printf "| %s | %s | %s | `%s` |\n", $2, $3, $4, $1 }'
}
case ${1:-} in
    --cells) cells | cut -d '|' -f 1; exit ;;
    --table) table; exit ;;
    --write)
        made=$(mktemp)
        table >"$made"
        sed -i -e "/^$begins$/,/^$ends$/{//!d}" -e "/^$begins$/r $made" "$page"
        rm -f "$made"
        exit ;;
esac

. "$(dirname "$0")/lib.sh"

# Epochs of 21 batches in leaves of 8, the last batch of 40 examples; kernels and biases across chunks.
job=(--data synthetic:1000 --model "flatten, dense 12 relu, dense 10" --micro-batch 8 --seed 11)
sync=(--mode sync --global-batch 48)
async=(--worker-batch 48)
bits_of() { member "$1" parameters_sha256; }

# makes NAME ARGUMENT... - a run.
makes() { run "$1" 0 syncopate run "${job[@]}" --out "$work/$1" "${@:2}"; }
# as NAME EXPECTED - it has these bits.
as()
{
    if [ -z "$2" ] || [ "$(bits_of "$work/$1")" != "$2" ]; then
        fail "$1 ends with '$(bits_of "$work/$1")', not with '$2'"
    fi
}
# replays NAME ARGUMENT... - it has the bits of its replay.
replays()
{
    run "$1-replay" 0 syncopate replay "$work/$1" "${@:2}"
    said "$1-replay" ': as recorded$' || fail "$1 has other bits than its replay"
}
part()
{
    local pid words
    for pid in $(survivors); do
        words=" $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null || true)"
        if [[ $words == *" --job-name=$1 "* && $words == *" --task-index=$2 "* ]]; then echo "$pid"; fi
    done
}
made() { grep -c '"event": "checkpoint"' "$1/events.jsonl" 2>/dev/null || true; }
checkpoints() { [ "$(made "$1")" -ge "$2" ] 2>/dev/null; }
servers=2 # Or colocated.
early=(--transport tcp --overlap --chunk-bytes 512 --chunks-at-layers)
pace=(--epochs 10 --checkpoint-every 20 --compute constant:8ms) # Slow enough to be struck, with seconds to spare.
# struck NAME ARGUMENT... - a run of which worker 1, server 1 and server 0 are killed, each after a checkpoint more.
struck()
{
    local name=$1 who count=0 victim
    start "$name" syncopate run "${job[@]}" --workers 3 --ps "$servers" "${pace[@]}" \
        --max-restarts 20 --out "$work/$name" "${@:2}"
    for who in "worker 1" "ps 1" "ps 0"; do
        within 30 checkpoints "$work/$name" $((count + 1)) || fail "$name does not get on"
        victim=$(part "${who% *}" "${who#* }")
        if [ -z "$victim" ]; then fail "$name: there is no $who"; fi
        kill -KILL "$victim"
        if [ "$who" = "ps 1" ]; then
            within 30 grep -qs '"event": "generation"' "$work/$name/events.jsonl" || fail "$name: nobody goes back"
        fi
        count=$(made "$work/$name")
    done
    ends "$name" 0 120
    if [ "$(member "$work/$name" generation)" -lt 2 ]; then fail "$name: not all went back twice"; fi
}
# stopped NAME ARGUMENT... - a run that is stopped after its first checkpoint, seconds before its end: with
# all batches done it would be a finished run.
stopped()
{
    local name=$1
    start "$name" syncopate run "${job[@]}" --checkpoint-every 5 --compute constant:40ms --out "$work/$name" "${@:2}"
    within 30 checkpoints "$work/$name" 1 || fail "$name does not get on"
    kill -INT "${pids[$name]}"
    ends "$name" 130 30
}
# serial NAME ARGUMENT... - the bits of one process, in $bits; made once.
serial()
{
    if [ ! -e "$work/$1/model.safetensors" ]; then makes "$1" --ps 0 --workers 1 "${@:2}"; fi
    bits=$(bits_of "$work/$1")
}

sync_spread()
{
    local how workers servers owners chunk
    serial sync-alone "${sync[@]}" --epochs 2
    for how in "1 1 1 0" "2 3 1 256" "3 2 2 4K" "4 1 3 1K" "5 2 1 64" "6 1 1 1M" "7 3 2 512"; do
        if sanitized && [ "$how" != "3 2 2 4K" ]; then continue; fi
        read -r workers servers owners chunk <<<"$how"
        makes "sync-$workers" "${sync[@]}" --epochs 2 --workers "$workers" --ps "$servers" --owner-threads "$owners" \
            --chunk-bytes "$chunk"
        as "sync-$workers" "$bits"
    done
    makes sync-layers "${sync[@]}" --epochs 2 --workers 3 --ps 2 --chunk-bytes 512 --chunks-at-layers
    as sync-layers "$bits"
}
sync_wires()
{
    serial sync-alone "${sync[@]}" --epochs 2
    makes sync-tcp "${sync[@]}" --epochs 2 --workers 3 --ps 2 --transport tcp
    as sync-tcp "$bits"
    makes sync-shm "${sync[@]}" --epochs 2 --workers 3 --ps 2 --transport shm
    as sync-shm "$bits"
    run keygen 0 syncopate keygen "$work/keys" --workers 3
    makes sync-keys "${sync[@]}" --epochs 2 --workers 3 --ps 2 --keys "$work/keys"
    as sync-keys "$bits"
}
sync_struck()
{
    serial sync-long "${sync[@]}" --epochs 10
    struck sync-struck "${sync[@]}"
    as sync-struck "$bits"
    # Nothing is early where time is controlled.
    local pace=(--epochs 600 --checkpoint-every 300)
    serial sync-longest "${sync[@]}" --epochs 600
    struck sync-struck-early "${sync[@]}" "${early[@]}"
    as sync-struck-early "$bits"
}
sync_moved()
{
    serial sync-alone "${sync[@]}" --epochs 2
    stopped sync-moved "${sync[@]}" --epochs 2 --workers 2 --ps 2
    makes sync-moved "${sync[@]}" --epochs 2 --workers 5 --ps 1
    as sync-moved "$bits"
    stopped sync-home "${sync[@]}" --epochs 2 --workers 3 --ps 3
    makes sync-home "${sync[@]}" --epochs 2 --workers 1 --ps 0
    as sync-home "$bits"
}
sync_further()
{
    local name=${1:-sync-further} epochs workers servers part=0
    serial sync-fourth "${sync[@]}" --epochs 4
    for how in "1 3 2" "2 1 0" "3 2 1" "4 4 3"; do
        read -r epochs workers servers <<<"$how"
        run "$name-$((++part))" 0 syncopate run "${job[@]}" "${sync[@]}" --epochs "$epochs" --workers "$workers" \
            --ps "$servers" --out "$work/$name"
    done
    as "$name" "$bits"
    if [ "$(member "$work/$name" test_loss)" != "$(member "$work/sync-fourth" test_loss)" ]; then
        fail "$name: another loss than one run of that length"
    fi
}
sync_rules()
{
    local rules=(--epochs 2 --l2 0.01 --loss-scale global-batch) kind
    serial ruled-alone "${sync[@]}" "${rules[@]}"
    for kind in sync allreduce; do
        makes "ruled-$kind" --mode $kind --global-batch 48 "${rules[@]}" --workers 3 --ps 2
        as "ruled-$kind" "$bits"
    done
    if [ "$(member "$work/ruled-sync" regularisation_loss)" != "$(member "$work/ruled-alone" regularisation_loss)" ]; then
        fail "with servers there is another regularisation loss"
    fi
    makes unruled "${sync[@]}" --epochs 2 --workers 3 --ps 2
    run ruled-replay 0 syncopate replay "$work/unruled" "${rules[@]:2}"
    grep -qF "parameters_sha256 $bits" "$work/ruled-replay.log" || fail "a replay with these rules has other bits"
}
allreduce=(--mode allreduce --global-batch 48)
rules=(adam sgd momentum nesterov adagrad rmsprop)
allreduce_spread()
{
    local how workers servers chunk rule
    for how in "1 1 0" "2 3 256" "3 2 4K" "4 1 1K" "5 2 64" "7 3 512"; do
        if sanitized && [ "$how" != "3 2 4K" ]; then continue; fi
        read -r workers servers chunk <<<"$how"
        rule=${rules[workers % 6]}
        serial "alone-$rule" "${sync[@]}" --epochs 2 --optimizer "$rule"
        makes "allreduce-$workers" "${allreduce[@]}" --epochs 2 --workers "$workers" --ps "$servers" --chunk-bytes "$chunk" \
            --optimizer "$rule" --verify-every 5
        as "allreduce-$workers" "$bits"
    done
}
allreduce_struck()
{
    serial sync-long "${sync[@]}" --epochs 10
    struck allreduce-struck "${allreduce[@]}"
    as allreduce-struck "$bits"
}
allreduce_moved()
{
    serial sync-alone "${sync[@]}" --epochs 2
    stopped allreduce-moved "${allreduce[@]}" --epochs 2 --workers 2 --ps 2
    makes allreduce-moved "${allreduce[@]}" --epochs 2 --workers 5 --ps 1
    as allreduce-moved "$bits"
}
backup=(--mode sync+backup:1 --global-batch 48)
# drops NAME - some of its leaves were, or the cell shows nothing.
drops() { if [ "$(member "$work/$1" examples_dropped)" -eq 0 ]; then fail "$1: nothing was dropped"; fi; }
backup_replay()
{
    local wire
    for wire in tcp shm; do
        makes "backup-$wire" "${backup[@]}" --epochs 2 --workers 4 --ps 2 --transport "$wire" \
            --compute lognormal:2ms,0.5 --slow 3:6 --loss-scale global-batch
        drops "backup-$wire"
        replays "backup-$wire"
    done
}
backup_struck()
{
    struck backup-struck "${backup[@]}"
    drops backup-struck
    replays backup-struck
}
backup_moved()
{
    stopped backup-moved "${backup[@]}" --epochs 2 --workers 4 --ps 2 --slow 3:6 # A stop ends though one is late.
    makes backup-moved "${backup[@]}" --epochs 2 --workers 3 --ps 1
    drops backup-moved
    replays backup-moved
}
places_spread()
{
    local workers kind
    serial sync-alone "${sync[@]}" --epochs 2
    for workers in 1 3 5; do
        if sanitized && [ "$workers" -ne 3 ]; then continue; fi
        for kind in sync allreduce; do
            makes "places-$kind-$workers" --mode $kind --global-batch 48 --epochs 2 --workers "$workers" --ps colocated
            as "places-$kind-$workers" "$bits"
        done
    done
}
places_struck()
{
    local servers=colocated
    serial sync-long "${sync[@]}" --epochs 10
    struck places-struck "${sync[@]}"
    as places-struck "$bits"
}
places_allreduce()
{
    local servers=colocated
    serial sync-long "${sync[@]}" --epochs 10
    struck places-allreduce "${allreduce[@]}"
    as places-allreduce "$bits"
}
places_async()
{
    local servers=colocated
    struck places-async --mode async "${async[@]}"
    replays places-async
}
async_one()
{
    serial async-alone --mode async "${async[@]}" --epochs 2
    makes async-one --mode async "${async[@]}" --epochs 2 --workers 1 --ps 2
    as async-one "$bits"
    makes async-one-early --mode async "${async[@]}" --epochs 2 --workers 1 --ps 2 "${early[@]}"
    as async-one-early "$bits"
}
async_replay()
{
    makes async-many --mode async "${async[@]}" --epochs 2 --workers 4 --ps 2
    replays async-many
    makes async-many-early --mode async "${async[@]}" --epochs 2 --workers 4 --ps 2 "${early[@]}"
    replays async-many-early
}
stale_replay()
{
    local uneven=(--mode async "${async[@]}" --epochs 2 --workers 4 --ps 2 --compute constant:1ms --slow 3:10)
    run stale-keygen 0 syncopate keygen "$work/stale-keys" --workers 4
    makes stale-moved "${uneven[@]}" --delay-compensation adaptive:1 --staleness-rate inverse --optimizer sgd \
        --l2 0.01 --loss-scale global-batch --keys "$work/stale-keys"
    replays stale-moved
    for kind in 2 2:lost; do
        makes "stale-$kind" "${uneven[@]}" --max-staleness $kind
        if [ "$(member "$work/stale-$kind" stale)" = 0 ]; then fail "stale-$kind: nothing was too old"; fi
        replays "stale-$kind"
    done
}
async_struck()
{
    struck async-struck --mode async "${async[@]}"
    replays async-struck
}
async_moved()
{
    stopped async-moved --mode async "${async[@]}" --epochs 2 --workers 4 --ps 2
    makes async-moved --mode async "${async[@]}" --epochs 2 --workers 2 --ps 1
    replays async-moved
}
ssp_one()
{
    serial async-alone --mode async "${async[@]}" --epochs 2
    makes ssp-one --mode ssp:1 "${async[@]}" --epochs 2 --workers 1 --ps 2
    as ssp-one "$bits"
}
ssp_replay()
{
    makes ssp-many --mode ssp:1 "${async[@]}" --epochs 2 --workers 4 --ps 2
    replays ssp-many
    makes ssp-many-early --mode ssp:1 "${async[@]}" --epochs 2 --workers 4 --ps 2 "${early[@]}"
    replays ssp-many-early
    makes ssp-locked --mode ssp:0 --use-locking "${async[@]}" --epochs 2 --workers 4 --ps 2
    replays ssp-locked
}
ssp_struck()
{
    struck ssp-struck --mode ssp:2 "${async[@]}"
    replays ssp-struck
}
moved=(--delay-compensation 0.5 --staleness-rate inverse --optimizer sgd)
compensated_one()
{
    serial plain-sgd --mode async "${async[@]}" --epochs 2 --optimizer sgd
    makes moved-one --mode async "${async[@]}" --epochs 2 --workers 1 --ps 2 "${moved[@]}"
    as moved-one "$bits"
}
compensated_struck()
{
    struck moved-struck --mode async "${async[@]}" "${moved[@]}" --l2 0.01 --loss-scale global-batch
    replays moved-struck
}
accumulated_one()
{
    serial async-alone --mode async "${async[@]}" --epochs 2
    makes sums-one --mode async "${async[@]}" --epochs 2 --workers 1 --ps 2 --accumulate 1
    as sums-one "$bits"
}
accumulated_struck()
{
    struck sums-struck --mode async "${async[@]}" --accumulate 3
    replays sums-struck
}
# The program has our own layers (tests/programs/layers.c).
program="$build/tests/programs/layers 'flatten, dense 12 relu, dense 10' synthetic:1000 11"
asked=(--micro-batch 8 --seed 11 --program)
program_spread()
{
    local how workers servers kind loss
    serial sync-alone "${sync[@]}" --epochs 2
    loss=$(member "$work/sync-alone" test_loss)
    local job=("${asked[@]}" "$program")
    for how in "1 0 sync" "1 1 sync" "2 3 allreduce" "3 2 sync" "3 colocated allreduce" "5 2 sync"; do
        read -r workers servers kind <<<"$how"
        makes "program-$workers-$servers" --mode "$kind" --global-batch 48 --epochs 2 --workers "$workers" --ps "$servers"
        as "program-$workers-$servers" "$bits"
        if [ "$(member "$work/program-$workers-$servers" test_loss)" != "$loss" ]; then fail "program-$workers-$servers: another loss than layers"; fi
    done
    makes program-early "${sync[@]}" --epochs 2 --workers 2 --ps 2 "${early[@]}"
    as program-early "$bits"
    run program-virtual 0 syncopate simulate "${job[@]}" "${sync[@]}" --epochs 2 --workers 4 --ps 2 --compute constant:1ms \
        --out "$work/program-virtual"
    as program-virtual "$bits"
    run program-score 0 syncopate evaluate "$work/program-early" --program "$program"
    says program-score "^test loss +$(printf %.6f "$loss")"
}
program_one()
{
    local kind bits_async bits_sums
    serial async-alone --mode async "${async[@]}" --epochs 2
    bits_async=$bits
    serial sums-alone --mode async "${async[@]}" --epochs 2 --accumulate 3
    bits_sums=$bits
    local job=("${asked[@]}" "$program")
    for kind in async ssp:1; do
        makes "program-one-$kind" --mode $kind "${async[@]}" --epochs 2 --workers 1 --ps 2
        as "program-one-$kind" "$bits_async"
    done
    makes program-sums --mode async "${async[@]}" --epochs 2 --workers 1 --ps 2 --accumulate 3
    as program-sums "$bits_sums"
}
program_further()
{
    serial sync-fourth "${sync[@]}" --epochs 4
    local job=("${asked[@]}" "$program")
    sync_further program-further
}
program_replay()
{
    local kind job=("${asked[@]}" "$program") given
    for kind in async ssp:1 sync+backup:1; do
        given=("${async[@]}")
        if [ $kind = sync+backup:1 ]; then given=(--global-batch 48 --compute "lognormal:2ms,0.5" --slow 3:6); fi
        makes "program-$kind" --mode $kind "${given[@]}" --epochs 2 --workers 4 --ps 2
        replays "program-$kind" --program "$program"
    done
}
program_struck()
{
    serial sync-long "${sync[@]}" --epochs 10
    local job=("${asked[@]}" "$program --kill 60")
    struck program-struck "${sync[@]}"
    as program-struck "$bits"
    says program-struck "program was killed by signal 9"
}

# In make check one of the kills and what is quick; by name, or in make check-all, all.
wanted=("$@")
if [ $# -eq 0 ]; then
    if ! diff <(sed -n "/^$begins$/,/^$ends$/{//!p}" "$page") <(table); then
        fail "proto/CONTRACT.md has another table of the same bits: make matrix"
    fi
    ok "the table of the same bits in proto/CONTRACT.md is of these cells"
    mapfile -t wanted < <(cells | cut -d '|' -f 1)
    long='sync-wires sync-moved allreduce-struck allreduce-moved backup-struck backup-moved places-struck places-async'
    long+=' places-allreduce ssp-struck compensated-struck accumulated-struck async-moved'
    if ! long_run; then mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | grep -vxF "${long// /$'\n'}"); fi
    if [ "${TEST_LONG:-}" = only ]; then read -ra wanted <<<"$long"; fi
fi
for cell in "${wanted[@]}"; do
    line=$(cells | grep -- "^$cell|" || true)
    if [ -z "$line" ]; then fail "there is no cell $cell: $(cells | cut -d '|' -f 1 | tr '\n' ' ')"; fi
    "${cell//-/_}"
    IFS='|' read -r _ kind those under <<<"$line"
    ok "$cell: ${kind//\`/} has the bits of ${those//\`/}: ${under//\`/}"
done
if [ $# -eq 0 ] && short_run; then
    # counting_worker's second worker has another model from step 17 on.
    mkdir "$work/programs"
    ln -s "$build/syncopate-ps" "$work/programs/syncopate-ps"
    ln -s "$build/tests/processes/counting_worker" "$work/programs/syncopate-worker"
    export SYNCOPATE_BIN_DIR=$work/programs COUNTING_ASTRAY=1:17
    for found in 20:--verify-every=10 25:--checkpoint-every=25 59:--checkpoint-every=0; do
        run astray 1 syncopate run --mode allreduce --workers 3 --ps 2 --steps 60 --global-batch 4 --micro-batch 1 \
            --optimizer sgd --learning-rate 1 --chunk-bytes 4K --model "flatten, dense 10" --data synthetic:64 \
            "${found#*:}" --out "$work/astray-${found%:*}"
        says astray "worker/1 has another model than the servers at step ${found%:*}, in chunk [0-9]+: counting"
    done
    ok "a replica that differs is found by --verify-every, at a checkpoint and in the last step, and is named"
fi
nothing_runs
