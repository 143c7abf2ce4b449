#!/usr/bin/env bash
# chaos.sh - a job under its launcher while its servers and workers are killed, stopped for longer
# than their lease and let go on, joined by others and left by them, at random moments. In sync mode
# it must end with the bits of the quiet run, in async mode, with gradients of whole numbers, with
# the exact sum of all updates.
#
#     CHAOS_FAULTS=60 CHAOS_SEED=7 tests/processes/chaos.sh      so many in each mode; make chaos
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

wanted=4
if long_run; then wanted=12; fi # With another seed.
wanted=${CHAOS_FAULTS:-$wanted}
seed=${CHAOS_SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$((seed % 32768))
lease=2 # --worker-timeout, seconds.
if sanitized; then lease=4; fi
echo "seed $seed: CHAOS_SEED=$seed CHAOS_FAULTS=$wanted $0"

# random N - into $random, from 0 to N - 1. (In a subshell RANDOM would stand still.)
random() { random=$((RANDOM % $1)); }

# --- who there is ---------------------------------------------------------------------------------
# process ROLE INDEX - the id of that process of the job, or nothing.
process()
{
    local pid words
    for pid in $(survivors); do
        words=" $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null || true)"
        if [[ $words == *" --job-name=$1 "* && $words == *" --task-index=$2 "* ]]; then
            echo "$pid"
            return
        fi
    done
}
# address - of server 0, from a worker that knows it.
address()
{
    local pid
    pid=$(process worker 0)
    [ -n "$pid" ] || return 1
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | sed -nE 's/^--ps-hosts=([^,]*).*/\1/p'
}
knows_address() { first=$(address) && [ -n "$first" ]; }

job_runs() { running "$job"; }

# --- faults ---------------------------------------------------------------------------------------
declare -A count=() times=()
events=0
note()
{
    count[$1]=$((${count[$1]:-0} + 1))
    events=$((events + 1))
}
# recovered KIND BEGAN - wait until steps are made again; how long that took since.
recovered()
{
    local took
    sleep 0.05 # What had been pushed before may yet make a step.
    if ! "$build/tests/processes/await_status" "$first" +2 $((40 * patience)) >"$work/status.log"
    then
        if ! job_runs; then return; fi
        fail "after \"$1\" no step is made (seed $seed)"
    fi
    took=$((($(date +%s%N) - $2) / 1000000))
    times[$1]+="$took "
}
# fault - one of them, to somebody.
fault()
{
    local role index pid kind began
    random 10
    case $random in
        0 | 1 | 2 | 3) role=worker kind="worker killed" ;;
        4) role=ps kind="server killed" ;;
        5) role=ps kind="server 0 killed" ;;
        6) role=worker kind="worker stopped" ;;
        7) role=ps kind="server stopped" ;;
        8) role=worker kind="joined" ;;
        9) role=worker kind="two killed" ;;
    esac
    case $kind in
        "server 0 killed") index=0 ;;
        server*) random 2 && index=$random ;;
        *) random 3 && index=$random ;;
    esac
    pid=$(process "$role" "$index")
    if [ -z "$pid" ]; then return; fi # It is about to be started again.
    began=$(date +%s%N)
    case $kind in
        *stopped)
            kill -STOP "$pid" 2>/dev/null || return 0
            random 2
            sleep $((lease + random))
            began=$(date +%s%N)
            kill -CONT "$pid" 2>/dev/null || true
            ;;
        joined)
            join_and_leave "$pid"
            return
            ;;
        "two killed")
            kill -KILL "$pid" 2>/dev/null || return 0
            random 2
            pid=$(process ps "$random")
            if [ -n "$pid" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
            ;;
        *) kill -KILL "$pid" 2>/dev/null || return 0 ;;
    esac
    note "$kind"
    random 3
    if [ "$random" -gt 0 ]; then
        recovered "$kind" "$began"
    fi # Else the next one comes on top of it.
}
# join_and_leave PID - one more worker, started like that one; it may leave, be killed, or stay.
extras=0
join_and_leave()
{
    local name arguments=() program i index
    { mapfile -t -d '' arguments <"/proc/$1/cmdline"; } 2>/dev/null || return 0
    program=$(readlink "/proc/$1/exe") || return 0
    extras=$((extras + 1))
    name=extra-$extras
    index=$((3 + extras % 4))
    for i in "${!arguments[@]}"; do
        case ${arguments[i]} in
            --task-index=*) arguments[i]=--task-index=$index ;;
            --slow=*) arguments[i]=--slow=$index:$slow ;;
            --start-timeout=*) arguments[i]=--start-timeout=5 ;;
            --parent-stdin=*) arguments[i]=--parent-stdin=false ;;
        esac
    done
    random 3
    "$program" "${arguments[@]:1}" >"$work/$name.log" 2>&1 </dev/null &
    pids[$name]=$!
    note joined
    sleep 1
    case $random in
        0)
            if running "$name"; then
                kill -USR1 "${pids[$name]}"
                note left
            fi
            ;;
        1)
            if running "$name"; then
                murder "$name"
                note "worker killed"
            fi
            ;;
    esac
}

# storm MODE PROGRAMS ARGUMENT... - the job, and what befalls it.
storm()
{
    local began code=0
    job=$1-storm count=() times=() events=0
    began=$SECONDS
    export SYNCOPATE_BIN_DIR=$2
    start "$job" syncopate run --mode "$1" --ps 2 --workers 3 --out "$work/$job" --steps "$steps" \
        --checkpoint-every 20 --worker-timeout "$lease" --recovery-timeout $((40 * patience)) \
        --max-restarts 1000 "${@:3}"
    unset SYNCOPATE_BIN_DIR
    within 20 knows_address || fail "the job does not start"
    "$build/tests/processes/await_status" "$first" "state: running" $((20 * patience)) >/dev/null ||
        fail "the job does not run"
    while [ "$events" -lt "$wanted" ] && job_runs; do
        fault
        random 8
        sleep "0.$random"
    done
    stormed=$((SECONDS - began))
    "$build/tests/processes/await_status" "$first" "state: " 5 >"$work/status.log" || true
    reached=$(sed -nE 's/.*step: ([0-9]+) of.*/\1/p' "$work/status.log")
    if [ "$events" -lt "$wanted" ]; then
        ends "$job" 0 1
        fail "the job ended after $events faults"
    fi
    within $((120 + 2 * wanted)) gone "$job" || fail "the job does not end (seed $seed)"
    wait "${pids[$job]}" || code=$?
    if [ "$code" -ne 0 ]; then fail "the job ended with exit code $code (seed $seed)"; fi
    nothing_runs
    report "$1" $((SECONDS - began))
}
report()
{
    local kind sorted
    echo "$1: $events events in $stormed s (by step $reached of $steps), done in $2 s; $(sed -nE 's/^ *made good +//p' "$work/$job.log")"
    for kind in "${!count[@]}"; do
        # shellcheck disable=SC2086 # Numbers.
        mapfile -t sorted < <(printf '%s\n' ${times[$kind]:-} | sort -n | sed '/^$/d')
        if [ "${#sorted[@]}" -gt 0 ]; then
            printf '    %3d x %-16s %s times followed to the next step: median %d ms, most %d ms\n' \
                "${count[$kind]}" "$kind" "${#sorted[@]}" "${sorted[${#sorted[@]} / 2]}" \
                "${sorted[-1]}"
        else
            printf '    %3d x %s\n' "${count[$kind]}" "$kind"
        fi
    done
}

# --- sync: the same bits --------------------------------------------------------------------------
small=(--data synthetic:500 --model softmax --seed 3)
slow=600
if sanitized; then slow=25; fi
steps=$((wanted * 90)) # A fault takes some four seconds, of which half are spent training.
run quiet 0 syncopate run --mode sync --ps 1 --workers 1 --out "$work/quiet" --steps "$steps" \
    --checkpoint-every 0 --quiet "${small[@]}"
storm sync "$build" "${small[@]}" --slow "0:$slow,1:$slow,2:$slow"
if [ "$(model_hash "$work/sync-storm")" != "$(model_hash "$work/quiet")" ]; then
    fail "the bits are not those of the quiet run (seed $seed)"
fi
ok "sync: $events kills, stops, joins and leaves, and the bits of the quiet run"

# --- async: every update exactly once -------------------------------------------------------------
programs=$work/programs
mkdir "$programs"
ln -s "$build/syncopate-ps" "$programs/syncopate-ps"
ln -s "$build/tests/processes/counting_worker" "$programs/syncopate-worker"
export COUNTING_PAUSE_US=60000
steps=$((wanted * 250)) # Nobody waits for anybody, and those who join make it faster.
storm async "$programs" --optimizer sgd --learning-rate 1 --global-batch 4 --micro-batch 1 \
    --chunk-bytes 4K
"$build/tests/processes/counting_check" "$work/async-storm" "$steps" >"$work/check.log" 2>&1 ||
    fail "the sum of all updates is wrong (seed $seed)"
ok "async: $events kills, stops, joins and leaves, and every update exactly once"
