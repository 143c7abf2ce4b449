#!/usr/bin/env bash
# chaos.sh - a job under its launcher while its servers and workers are killed, stopped for longer
# than their lease and let go on, joined by others and left by them, at random moments. In sync mode
# it must end with the bits of the quiet run, in async mode and ssp, with gradients of whole numbers,
# with the exact sum of all updates. (In the other modes same_bits.sh kills in an order.)
#
# Before that the launcher itself is the victim: it is ended at some moment, kill -9 or a signal that
# asks it to stop, alone or together with one of its processes, and the same command is given at
# once. That must go on, and of the one before nothing may be left: no process 10 s later, no port,
# no temporary file.
#
#     CHAOS_FAULTS=60 CHAOS_LAUNCHERS=40 CHAOS_SEED=7 tests/processes/chaos.sh
#
# So many faults in each mode, and so many launchers (make chaos).
# test: first rare
# promises: bits-killed broken once
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

wanted=4
if long_run; then wanted=12; fi # With another seed.
wanted=${CHAOS_FAULTS:-$wanted}
launchers=2
if long_run; then launchers=6; fi
launchers=${CHAOS_LAUNCHERS:-$launchers}
seed=${CHAOS_SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$((seed % 32768))
lease=2 # --worker-timeout, seconds.
if sanitized; then lease=4; fi
echo "seed $seed: CHAOS_SEED=$seed CHAOS_FAULTS=$wanted CHAOS_LAUNCHERS=$launchers $0"

# random N - into $random, from 0 to N - 1. (In a subshell RANDOM would stand still.)
random() { random=$((RANDOM % $1)); }

# --- who there is ---------------------------------------------------------------------------------
# process ROLE INDEX [PID...] - the id of that process of the job, or nothing; of those PIDs.
process()
{
    local pid words among=("${@:3}")
    if [ $# -eq 2 ]; then mapfile -t among < <(survivors); fi
    for pid in "${among[@]}"; do
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
    local name arguments=() program i index first
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
            --ps-hosts=*) first=${arguments[i]#*=} ;;
            --data-fd=*) unset "arguments[i]" ;; # It inherits nothing.
        esac
    done
    random 3
    "$program" "${arguments[@]:1}" >"$work/$name.log" 2>&1 </dev/null &
    pids[$name]=$!
    note joined
    sleep 1
    if said "$name" "^syncopate-worker: --"; then fail "$name is not started as it should be"; fi
    case $random in
        0)
            if "$build/syncopate" leave --quiet "${first%%,*}/worker/$index" >"$work/leave.log" 2>&1; then note left; fi
            ;;
        1)
            if running "$name"; then
                murder "$name"
                note "worker killed"
            fi
            ;;
    esac
}

# storm MODE PROGRAMS ARGUMENT... - the job, and what befalls it. Its folder is $work/MODE-storm. Where it is done
# before all has befallen it, because this script was kept waiting, there is another one of twice the $steps.
storm()
{
    local tries=0
    early=1
    while [ -n "$early" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 3 ]; then fail "the job ended after $events faults"; fi
        storm_once "$@"
    done
}
storm_once()
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
        nothing_runs
        rm -r "${work:?}/$job"
        steps=$((2 * steps))
        return
    fi
    early=''
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

# --- the launcher ---------------------------------------------------------------------------------
small=(--data synthetic:500 --model softmax --seed 3)
programs=$work/programs
mkdir "$programs"
ln -s "$build/syncopate-ps" "$programs/syncopate-ps"
ln -s "$build/tests/processes/counting_worker" "$programs/syncopate-worker"

# give_command NAME - this round's, once more. What it starts is known by $TEST_LAUNCH.
launched=0
give_command()
{
    launched=$((launched + 1))
    TMPDIR=$work/tmp TEST_LAUNCH=$launched SYNCOPATE_BIN_DIR=$of start "$1" "${program[@]}" \
        --ps 2 --workers 3 --out "$work/$job" --checkpoint-every 20 --worker-timeout "$lease" \
        --recovery-timeout $((10 * patience)) --stop-timeout $((2 * patience)) "${arguments[@]}"
}
# of_launch N - the ids of its processes.
of_launch()
{
    local pid
    for pid in $(survivors); do
        if grep -qzxF "TEST_LAUNCH=$1" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; fi
    done
}
# ports PID... - that their command lines name.
ports()
{
    local pid
    for pid in "$@"; do
        { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | sed -n 's/^--ps-hosts=//p'
    done | tr ',' '\n' | sed -n 's/.*://p' | sort -u | sed '/^0$/d'
}
# nothing_left N BEGAN PORT... - that launch's processes end, and its ports are free. Says how long
# after it that took, milliseconds, or what is wrong.
nothing_left()
{
    local launch=$1 began=$2 port code alive
    while [ -n "$(of_launch "$launch")" ]; do
        if [ $(($(date +%s%N) - began)) -gt $((10000000000 * (patience - 2))) ]; then
            echo "left: $(for pid in $(of_launch "$launch"); do
                tr '\0' ' ' <"/proc/$pid/cmdline"
            done)"
            return
        fi
        sleep 0.1
    done
    echo "gone $((($(date +%s%N) - began) / 1000000))"
    for port in "${@:3}"; do
        code=0
        "$build/syncopate-ps" --ps-hosts "127.0.0.1:$port" --start-timeout 0.05 >/dev/null 2>&1 ||
            code=$?
        # Somebody of the next launch may have it, by chance.
        mapfile -t alive < <(survivors)
        if [ "$code" -ne 4 ] && ! ports "${alive[@]}" | grep -qx "$port"; then
            echo "port $port: exit code $code"
        fi
    done
}
# end_launcher NAME - at some moment, in some way, maybe not alone. Returns 1 when it has ended.
end_launcher()
{
    local signal=KILL victim='' role=ps index began processes
    random 3
    case $random in
        0) random 500 ;; # While it starts.
        *) random $((steps * 12)) && random=$((random + 300)) ;;
    esac
    sleep "$(printf '%d.%03d' $((random / 1000)) $((random % 1000)))"
    random 5
    case $random in
        0) signal=TERM ;;
        1) signal=HUP ;;
    esac
    random 6
    case $random in
        0) index=0 ;;
        1) index=1 ;;
        2) role=worker index=1 ;;
        *) role='' ;;
    esac
    running "$1" || return 1
    mapfile -t processes < <(of_launch "$launched")
    if [ -n "$role" ] && [ "${#processes[@]}" -gt 0 ]; then
        victim=$(process "$role" "$index" "${processes[@]}")
    fi
    began=$(date +%s%N)
    if [ "$signal" = KILL ]; then
        disown "${pids[$1]}" # As in murder; but it may have just ended.
        kill -KILL "${pids[$1]}" 2>/dev/null || return 1
    else
        kill "-$signal" "${pids[$1]}" 2>/dev/null || return 1
        asked+=("$1")
    fi
    if [ -n "$victim" ]; then kill -KILL "$victim" 2>/dev/null || true; fi
    note "$signal${victim:+ and $role/$index killed}"
    # shellcheck disable=SC2046 # Ports.
    nothing_left "$launched" "$began" $(ports "${processes[@]}") >"$work/left-$launched" &
    watches+=($!)
}
# round MODE PROGRAMS ARGUMENT... - a job whose launcher is ended once, or maybe twice if it is long.
round()
{
    local name deaths code watches=() asked=() arguments=(--mode "$1" "${@:3}") of=$2
    local program=(syncopate run)
    if [ "$2" = "$programs" ]; then program=(tests/processes/syncopate_counting); fi
    rounds=$((rounds + 1)) job=$1-launched-$rounds
    random $((steps > 60 ? 2 : 1))
    for deaths in $(seq $((random + 1))); do
        give_command "$job-$deaths"
        end_launcher "$job-$deaths" || break
    done
    for name in "$job-last" "$job-retried" "$job-again"; do
        give_command "$name"
        within 40 gone "$name" || fail "$name does not end (seed $seed)"
        code=0
        wait "${pids[$name]}" || code=$?
        if [ "$code" -ne 195 ]; then break; fi
        retries=$((retries + 1))
    done
    if [ "$code" -eq 5 ] && said "$name" "holds a finished run"; then code=0; fi # It was as good as done.
    if [ "$code" -ne 0 ]; then fail "$name ended with exit code $code (seed $seed)"; fi
    for name in "${asked[@]}"; do
        code=0
        within 20 gone "$name" || fail "$name does not end (seed $seed)"
        wait "${pids[$name]}" || code=$?
        case $code in
            0 | 143) ;;
            195) retries=$((retries + 1)) ;;
            *) fail "$name, asked to stop, ended with exit code $code (seed $seed)" ;;
        esac
    done
    for name in "${watches[@]}"; do wait "$name" || fail "cannot look for what is left"; done
    if [ -n "$(ls -A "$work/tmp")" ]; then fail "left in TMPDIR: $(ls -A "$work/tmp") (seed $seed)"; fi
    nothing_runs
}

rounds=0 retries=0 steps=200 slow=600
if [ "$launchers" -le 2 ]; then steps=60; fi # One a round, and soon.
if sanitized; then slow=25; fi
mkdir "$work/tmp"
run launched-quiet 0 syncopate run --mode sync --ps 1 --workers 1 --out "$work/launched-quiet" \
    --steps "$steps" --checkpoint-every 0 --quiet "${small[@]}"
while [ "$events" -lt "$launchers" ]; do
    round sync "$build" --steps "$steps" "${small[@]}" --slow "0:$slow,1:$slow,2:$slow"
    if [ "$(model_hash "$work/$job")" != "$(model_hash "$work/launched-quiet")" ]; then
        fail "the bits are not those of the quiet run (seed $seed)"
    fi
    COUNTING_PAUSE_US=20000 round async "$programs" --steps "$steps" --optimizer sgd \
        --learning-rate 1 --global-batch 4 --micro-batch 1 --chunk-bytes 4K
    "$build/tests/processes/counting_check" "$work/$job" "$steps" >"$work/check.log" 2>&1 ||
        fail "the sum of all updates is wrong (seed $seed)"
done
if [ "$launchers" -gt 0 ]; then
    if grep -hE 'left|port' "$work"/left-*; then fail "something is left of a launcher (seed $seed)"; fi
    mapfile -t gone < <(cat "$work"/left-* | sed -n 's/^gone //p' | sort -n)
    echo "launcher: $events ended in $SECONDS s, $retries times exit code 195; its processes were gone" \
        "after ${gone[${#gone[@]} / 2]} ms (median), ${gone[-1]} ms (most)"
    for kind in "${!count[@]}"; do echo "    ${count[$kind]} x $kind"; done | sort -k3
    ok "launcher: $events ended, and the same command at once goes on, with nothing left of the first"
fi

# --- sync: the same bits --------------------------------------------------------------------------
slow=600
if sanitized; then slow=25; fi
# A fault takes some four seconds, of which half are spent training; with a few, chance may make more of it.
steps=$((wanted * 90 + 240))
storm sync "$build" "${small[@]}" --slow "0:$slow,1:$slow,2:$slow"
run quiet 0 syncopate run --mode sync --ps 1 --workers 1 --out "$work/quiet" --steps "$steps" \
    --checkpoint-every 0 --quiet "${small[@]}"
if [ "$(model_hash "$work/sync-storm")" != "$(model_hash "$work/quiet")" ]; then
    fail "the bits are not those of the quiet run (seed $seed)"
fi
ok "sync: $events kills, stops, joins and leaves, and the bits of the quiet run"

# --- async and ssp: every update exactly once -------------------------------------------------------
export COUNTING_PAUSE_US=60000
steps=$((wanted * 250)) # Nobody waits long for anybody, and those who join make it faster.
# leased MODE - a storm in a mode that leases batches.
leased()
{
    storm "$1" "$programs" --optimizer sgd --learning-rate 1 --global-batch 4 --micro-batch 1 \
        --chunk-bytes 4K
    "$build/tests/processes/counting_check" "$work/$1-storm" "$steps" >"$work/check.log" 2>&1 ||
        fail "the sum of all updates is wrong (seed $seed)"
    ok "$1: $events kills, stops, joins and leaves, and every update exactly once"
}
leased async
if long_run || [ -n "${CHAOS_FAULTS:-}" ]; then leased ssp:3; fi
