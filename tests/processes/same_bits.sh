#!/usr/bin/env bash
# same_bits.sh [CELL...] - what "the same bits" means, mode by mode: a command for each cell of the table of
# proto/CONTRACT.md section 2, kills included; without cells, all of them, and that the table is this one's.
# Then jobs end with the bits that are written here: a change to the sources that changes what is computed is seen, and
# has to be meant. And what must not decide bits: instructions, and where initial values come from.
#
#     tests/processes/same_bits.sh sync-struck      one cell (make all first)
#     tests/processes/same_bits.sh --cells          the cells; --table: as a table; --write: into the page
#     tests/processes/same_bits.sh --print          the bits that are written here, as this build computes them
# test: later
# promises: accumulate allreduce backup bits bits-program colocated initial instructions loss-scale restore serial server-lost staleness-rules
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
    # Nothing is early where time is controlled, as it is of worker 0 alone.
    local pace=(--epochs 10 --checkpoint-every 20 --slow 0:1000)
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

# --- bits that are written here -----------------------------------------------------------------------
# parameters_sha256 and the job: every optimizer, convolutions, schedules. (4,100 examples by 48: the last batch of an
# epoch has 20.)
known()
{
    local number=0 expected arguments job=(--seed 7 --ps 2 --workers 3)
    while read -r expected arguments; do
        number=$((number + 1))
        read -ra arguments <<<"$arguments"
        makes "known$number" "${arguments[@]}"
        if [ "${print:-}" = yes ]; then echo "$(bits_of "$work/known$number") ${arguments[*]}"; else as "known$number" "$expected"; fi
    done <<'END'
dc93c2a485ff52eff43afe29f34827cabca0199582387665157d206cac77bc4e --model cnn --global-batch 64 --steps 20 --data synthetic:2000
13bc5f5c758716fa453354f76c5767b980c10f1f525f1f72b454905860c02a8d --model mlp --global-batch 48 --epochs 2 --data synthetic:4100 --optimizer momentum --schedule step
a31d9e00b67bc9b2cbeb8572c830f58ac20998828cc48860b7274ca1f4c4e370 --model softmax --optimizer sgd --data synthetic:3000 --epochs 2
0fa280f9d2bffc23051c161a2e020d99cc25d4b8e4ece7163f8ff5e864fa272b --model softmax --optimizer momentum --schedule cosine --warmup-steps 10 --data synthetic:3000 --epochs 2
8a89f63995db3489a9a9c0d555a2dc34208726ff3f1e7a4a1dd87819c5cf3942 --model softmax --optimizer nesterov --data synthetic:3000 --epochs 2
d303557862b807b1e014aad7fb0cb3e847b4f290bba7c5777ddae32654a903c9 --model softmax --optimizer adagrad --data synthetic:3000 --epochs 2
5537aeff3ce61b8fdac566420b8635662c9d7c749352914694ec0b3c271430e7 --model softmax --optimizer rmsprop --data synthetic:3000 --epochs 2
d5701ce75986097f17edcfae06695d0ee03517a0aa554800e0b6dd4b3da0cdfa --model softmax --optimizer adam --schedule cosine --decay-steps 60 --decay-factor 0.1 --data synthetic:3000 --epochs 2
ea283717937a61584abe60ce153efbc5037423db4eabee23e1c134ce609b6cee --model mlp --optimizer adamw --weight-decay 0.1 --chunk-bytes 4K --data synthetic:3000 --epochs 2
END
}
has() { grep -qw "$1" /proc/cpuinfo; }
fuses() { has avx2 && has fma; }

# --- instructions -------------------------------------------------------------------------------------
instructions()
{
    local program asked sets servers workers index widest=avx2 address
    local job=(--data synthetic:1000 --global-batch 48 --steps 24 --seed 3)
    local cnn=(--model "conv 6x3 relu, pool 2, conv 8x3 relu, flatten, dense 16 relu, dense 10" --optimizer adam
        --schedule cosine --warmup-steps 3)
    # What decides bits is computed without the C library's functions, which differ from version to version.
    for program in syncopate-ps syncopate-worker; do
        asked=$(nm -D --undefined-only "$build/$program" |
            grep -oiE ' (exp|exp2|expm1|log|log2|log10|log1p|pow|cos|sin|tan|tanh|atan|cbrt|hypot|erf)[fl]?(@|$)' || true)
        if [ -n "$asked" ]; then fail "$program asks the C library for $(tr -d ' @\n' <<<"$asked")"; fi
    done
    if has avx512f; then
        widest=avx512
    else
        skip "workers with AVX2 and AVX-512 in one job: no avx512"
        run lacks 2 syncopate run "${job[@]}" --instructions avx512
        says lacks "--instructions=avx512: this processor has .* at most"
    fi
    makes plain "${cnn[@]}" --instructions plain
    makes avx2 "${cnn[@]}" --instructions avx2
    makes widest "${cnn[@]}"
    as widest "$(bits_of "$work/avx2")"
    if [ "$(bits_of "$work/plain")" = "$(bits_of "$work/avx2")" ]; then fail "plain gives the bits of avx2"; fi
    ok "avx2 gives the bits of the widest instructions here, $widest; plain gives others; the C library is asked for none"

    # worker INDEX SET ARGUMENT... - of two, for the server at $address.
    worker()
    {
        start "worker$1" syncopate-worker --ps-hosts "$address" --workers 2 --task-index "$1" "${job[@]}" \
            --instructions "$2" "${@:3}"
    }
    address=127.0.0.1:$(free_port)
    start server syncopate-ps --ps-hosts "$address" --out "$work/mixed"
    worker 0 avx2 "${cnn[@]}"
    says server "worker/0 joined"
    worker 1 plain "${cnn[@]}"
    ends worker1 3
    says worker1 "\(no vector instructions\) does not give the same bits as on .* \(AVX2\)"
    one_line worker1
    worker 1 "$widest" "${cnn[@]}"
    for name in worker0 worker1 server; do ends "$name" 0 60; done
    says worker0 "kernels=AVX2"
    as mixed "$(bits_of "$work/avx2")"
    ok "beside avx2 a worker with plain is refused by name, one with $widest makes the same bits"

    # Servers compute the same with all of them, workers do not: the record says what workers had.
    for sets in "plain avx2" "avx2 plain"; do
        read -r servers workers <<<"$sets"
        address=127.0.0.1:$(free_port)
        start "$servers" syncopate-ps --ps-hosts "$address" --out "$work/with-$servers" --instructions "$servers"
        for index in 0 1; do
            worker $index "$workers" --model mlp --optimizer momentum --micro-batch 8 --mode async
        done
        for name in worker0 worker1 "$servers"; do ends "$name" 0 60; done
        replays "with-$servers"
    done
    run unknown 2 syncopate run "${job[@]}" --instructions avx1024
    says unknown "--instructions=avx1024: needs plain, avx2 or avx512"
    ok "a run of servers and workers with different instructions is made again to the bit; unknown ones are refused"
}

# --- initial values -----------------------------------------------------------------------------------
initial()
{
    local bits fresh part larger port other by_hand served given seed
    cd "$work"
    # Variables that are no multiple of 16 elements, in chunks that cut them.
    local job=(--data synthetic:400 --model "flatten, dense 5 relu, dense 10" --global-batch 32 --micro-batch 8 --quiet
        --seed 3)
    makes before --steps 20 --ps 1 --workers 1
    job+=(--seed 7 --chunk-bytes 256 --optimizer adam)
    # begins NAME FROM ARGUMENT... - a run that begins with those values, and has the bits of all others.
    begins() { makes "$1" --initial "$2" --steps 30 "${@:3}"; as "$1" "$bits"; }
    makes fresh --steps 30 --ps 0
    serial alone --initial before --steps 30
    fresh=$(bits_of fresh)
    if [ "$bits" = "$fresh" ]; then fail "alone begins as if nothing were given"; fi
    begins one before --ps 1 --workers 1
    begins two before --ps 2 --workers 2
    begins replicas before --ps 2 --workers 2 --mode allreduce
    begins beside before --ps colocated --workers 2
    begins file before/model.safetensors --ps 1 --workers 2
    begins checkpoint before/checkpoints/step-000000000020 --ps 1 --workers 2
    run virtual 0 syncopate simulate "${job[@]}" --initial before --steps 30 --ps 2 --workers 3 --out virtual
    as virtual "$bits"
    makes resumed --initial before --steps 10 --ps 2 --workers 2
    begins resumed before --ps 1 --workers 1
    cmp -s alone/initial.safetensors two/initial.safetensors || fail "two keeps other initial values"
    cmp -s before/model.safetensors two/initial.safetensors || fail "two keeps other values than it was given"
    ok "a run begins with the values of a file, a checkpoint or a run: the same bits everywhere, also where it goes on"

    # Server 0 is killed before there is a checkpoint, and the file is gone: OUT has the values.
    port=$(free_port) other=$(free_port)
    cp before/model.safetensors moved.safetensors
    by_hand=("${job[@]}" --steps 30 --ps-hosts "127.0.0.1:$port,127.0.0.1:$other" --worker-hosts 127.0.0.1:1 --checkpoint-every 0)
    served=(syncopate-ps --task-index 0 --ps-hosts "127.0.0.1:$port,127.0.0.1:$other" --out killed)
    holds ps0 "ps/0 updated:5" start ps0 "checked/${served[0]}" "${served[@]:1}" --initial moved.safetensors
    start ps1 syncopate-ps --task-index 1 --ps-hosts "127.0.0.1:$port,127.0.0.1:$other" --out elsewhere
    start worker0 syncopate-worker --task-index 0 "${by_hand[@]}" --initial before
    reached ps0
    murder ps0
    rm moved.safetensors
    start again "${served[@]}"
    for name in again ps1 worker0; do ends "$name" 0 40; done
    as killed "$bits"
    says again "beginning with given values"
    ok "a server 0 that is killed before the first checkpoint begins with them again, out of its own folder"

    makes given-async --initial before --steps 60 --ps 2 --workers 3 --mode async
    replays given-async
    cp alone/model.safetensors given-async/initial.safetensors
    run spoilt 3 syncopate replay given-async
    says spoilt "initial values: [0-9a-f]{8}\.\.\. in given-async/initial.safetensors, [0-9a-f]{8}\.\.\. in the job"
    rm given-async/initial.safetensors
    run missing 3 syncopate replay given-async
    says missing "given-async/initial.safetensors is missing"
    ok "an async run is replayed to the bit from the values that it keeps; others are noticed"

    # A program gives the values that --model has by the seed.
    export LAYERS=$build/tests/programs/layers
    given="\"\$LAYERS\" 'flatten, dense 5 relu, dense 10' synthetic:400 7 --given 1"
    local asked=(--program "$given" --seed 7 --chunk-bytes 256 --optimizer adam --global-batch 32 --micro-batch 8 --quiet)
    local job=("${asked[@]}")
    makes asked --steps 30 --ps 0
    as asked "$fresh"
    makes asked-two --steps 10 --ps 2 --workers 2
    makes asked-two --steps 30 --ps 1 --workers 1
    as asked-two "$fresh"
    run asked-virtual 0 syncopate simulate "${job[@]}" --steps 30 --ps 2 --workers 3 --out asked-virtual
    as asked-virtual "$fresh"
    cmp -s asked/initial.safetensors asked-two/initial.safetensors || fail "asked-two began with other values"
    makes asked-async --steps 60 --ps 2 --workers 2 --mode async
    replays asked-async --program "$given"
    run asked-compare 0 syncopate compare "${asked[@]::2}" --seeds 2 --workers 1 --modes async,sync --steps 10 \
        --global-batch 32 --micro-batch 8 --out asked-compare
    for seed in 1 2; do
        if [ ! -s "asked-compare/runs/sync-w1-s$seed/initial.safetensors" ]; then
            fail "asked-compare has no initial values of seed $seed"
        fi
    done
    makes tuned --steps 30 --ps 1 --workers 2 --initial before # In the place of the program's own.
    as tuned "$bits"
    ok "the initial values that a program gives are those of every mode, resumed, replayed and compared"

    # refused NAME CODE PATTERN OPTION... - in one line, and nothing is begun.
    refused()
    {
        run "$1" "$2" syncopate run --data synthetic:400 --steps 5 --quiet --out none "${@:4}"
        says "$1" "$3"
        one_line "$1"
        if [ -e none ]; then fail "$1 begins all the same"; fi
    }
    refused shape 3 "has dense1/kernel \[784,5\], and the model's is \[784,10\]; it has dense1/bias" --initial before --model softmax
    larger=(--data synthetic:400 --model "flatten, dense 5 relu, dense 10, dense 10" --steps 5 --quiet --initial before)
    refused absent 3 "has no dense3/kernel \[10,10\]; it has no dense3/bias \[10\] \(--initial-missing new" "${larger[@]}"
    refused shape-new 3 "has dense2/bias \[10\], and the model's is \[4\]" \
        --initial before --initial-missing new --model "flatten, dense 5 relu, dense 4, dense 10"
    refused nothing 5 "cannot read nowhere" --initial nowhere
    part=$(echo before/checkpoints/step-000000000020/part-0*)
    refused part 5 "is one server's part of a checkpoint" --initial "$part"
    local job=("${larger[@]}" --initial-missing new)
    makes new --ps 0
    makes new-two --workers 2
    as new-two "$(bits_of new)"
    grep -q glorot_uniform new/run.json || fail "no variable of new begins by the seed"
    ok "a variable that the file does not have in this shape is named; with --initial-missing new others begin by the seed"

    # Two workers whose files differ; then a server 0 whose file differs from the worker's.
    by_hand=("${by_hand[@]:0:17}" --steps 30)
    port=$(free_port)
    start odd-ps syncopate-ps --ps-hosts "127.0.0.1:$port" --out odd --initial before
    start odd0 syncopate-worker "${by_hand[@]}" --ps-hosts "127.0.0.1:$port" --workers 2 --initial before
    says odd-ps "worker/0 joined" 20
    start odd1 syncopate-worker "${by_hand[@]}" --ps-hosts "127.0.0.1:$port" --workers 2 --task-index 1 --initial alone
    ends odd1 3 40
    says odd1 "initial values: [0-9a-f]{8}\.\.\. in the running job, [0-9a-f]{8}\.\.\. in worker/1"
    kill -TERM "${pids[odd-ps]}"
    for name in odd-ps odd0; do ends "$name" 143; done
    port=$(free_port)
    start mine syncopate-ps --ps-hosts "127.0.0.1:$port" --out mine --initial alone
    start mine0 syncopate-worker "${by_hand[@]}" --ps-hosts "127.0.0.1:$port" --workers 1 --initial before
    ends mine 3
    ends mine0 3
    says mine0 "initial values: [0-9a-f]{8}\.\.\. in alone, [0-9a-f]{8}\.\.\. in the job"
    ok "a worker or a server 0 whose file has other values is refused, with both digests"
}
if [ "${1:-}" = --print ]; then
    print=yes known
    exit
fi

# In make check-later one of the kills and what is quick; by name, or in make check-all, all.
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
    unset SYNCOPATE_BIN_DIR COUNTING_ASTRAY
    if fuses; then
        known
        ok "nine jobs end with the bits that they always had"
        instructions
    else
        skip "bits that are written here, and instructions: this processor cannot fuse products, and has others"
    fi
    initial
fi
nothing_runs
