#!/usr/bin/env bash
# faults.sh [--table | --write | ID...] - what may befall a process of a job, one case each: who, in
# which phase, in which mode, what happens then, within which time, and how everybody ends.
#
# Each case is a line of the table below, and the code that makes it happen and holds the line
# against what happened. A few cases run in make check, the others in make check-all, all in make
# chaos; --table prints the table, --write makes the one in deploy/FAILURES.md of it (make matrix). Without words it holds
# that page to it, too, and the states in which a process can wait to the cases that take the other side away.
#
# Times are in seconds: W is --worker-timeout, R --recovery-timeout, P --progress-timeout, T
# --start-timeout. A case may take $patience times what its line says.
# test: first asan
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

W=$patience R=$((3 * patience)) P=$((3 * patience)) T=$((6 * patience))

# id | who | phase | mode | what befalls it | what happens | within | exit codes
# Mode "both" is two cases, ID-sync and ID-async; "each" is these, ID-allreduce and ID-backup (sync+backup:1);
# where the mode cannot matter it is "any", one case. A * before the id: one of them in make check, another
# mode for each such line.
table=$(cat <<'END'
again-ps0-before|server 0|before the job|both|restarted|the job starts|3|0
again-ps1-before|server 1|before the job|both|restarted|the job starts|3|0
again-w0-before|a worker|before the job|both|restarted|the job starts|3|0
again-ps0-gathering|server 0|gathering|both|restarted|all join again, the job starts|3|0
again-ps1-gathering|server 1|gathering|both|restarted|it takes its place, the job starts|3|0
again-w0-gathering|a worker|gathering|both|restarted|it takes its place, the job starts|3|0
*again-ps0-running|server 0|running|each|restarted|all join again and go on from the newest checkpoint|3|0
*again-ps1-running|server 1|running|each|restarted|it takes its place; all go back to the newest checkpoint, and on from there|3|0
*again-w0-running|a worker|running|each|restarted|it takes its place; the others do its work until then|3|0
again-ps0-evaluating|server 0|evaluating|both|restarted|all join again; what the newest checkpoint lacks is done again|20|0
again-ps1-evaluating|server 1|evaluating|both|restarted|it takes its place; what the newest checkpoint lacks is done again|20|0
again-w0-evaluating|a worker|evaluating|both|restarted|its share is scored by another|20|0
again-ps0-closing|server 0|closing|both|restarted|all join again; what the newest checkpoint lacks is done again|20|0
again-ps1-closing|server 1|closing|both|restarted|it takes its place; what the newest checkpoint lacks is done again|20|0
again-w0-closing|a worker|closing|both|restarted|it hears that the job is done|5|0
lost-ps0-before|server 0|before the job|both|killed for good|the others hear of no job|T + 1|4
lost-ps1-before|server 1|before the job|both|killed for good|the start times out|T + 1|4
lost-ps0-gathering|server 0|gathering|both|killed for good|the others give up|W + R + 1|195
lost-ps1-gathering|server 1|gathering|both|killed for good|the start times out|T + 1|4
lost-w0-gathering|a worker|gathering|both|killed for good|the start times out|T + 1|4
lost-ps0-running|server 0|running|each|killed for good|the others give up|W + R + 1|195
*lost-ps1-running|server 1|running|each|killed for good|the job ends, naming it|W + R + 1|195
*lost-w0-running|a worker|running|each|killed for good|the others do its work|W + 1|0
lost-ps0-evaluating|server 0|evaluating|both|killed for good|the others give up|W + R + 5|195
lost-ps1-evaluating|server 1|evaluating|both|killed for good|the job ends, naming it|W + R + 5|195
lost-w0-evaluating|a worker|evaluating|both|killed for good|the others score its part|W + 10|0
lost-ps0-closing|server 0|closing|both|killed for good|the others give up|W + R + 1|195
lost-ps1-closing|server 1|closing|both|killed for good|the job ends, naming it|W + R + 1|195
lost-w0-closing|a worker|closing|both|killed for good|the job is done without it|W + 3|0
lost-w0-finishing|a worker|finishing|both|killed for good|the job is done|W + 1|0
lost-ps0-finishing|server 0|finishing|any|killed for good|the job is done; all have heard it|1|0
lost-ps2-recovering|server 2|going back to a checkpoint|any|killed for good|the job ends, naming it|W + R + 1|195
alone-ps0|server 0|before the job|any|no worker ever comes|it gives up|T + 1|4
alone-w0|a worker|before the job|any|no server is ever there|it gives up|T + 1|4
late-ps1|server 1|running|any|killed, and so is server 0 before it is back|it gives up|T + 1|4
all-workers|all workers|running|each|killed for good|the job waits for any, then ends|W + R + 3|195
policy-fail|a worker|running|both|killed, --on-worker-loss fail|the job ends, naming it|W + 3|195
policy-wait|a worker|running|both|killed for good, --on-worker-loss wait|the job waits for it, then ends, naming it|W + R + 3|195
policy-wait-back|a worker|running|both|restarted after W, --on-worker-loss wait|the job waits for it and goes on|2|0
pause-ps0|server 0|running|both|stopped for less than W|nothing is lost|1|0
pause-w0|a worker|running|each|stopped for less than W|nothing is lost|1|0
*zombie-w0|a worker|running|each|stopped for longer than W|the others do its work; it joins again|W + 1|0
zombie-ps1|server 1|running|each|stopped for longer than W|all wait, and go on with it; nothing was lost|1|0
zombie-ps0|server 0|running|each|stopped for longer than W|all wait, and go on with it; nothing was lost|3|0
zombie-replaced|a worker|running|both|stopped, and another takes its place|it is refused; the job goes on|W + 3|3, 195
*twin-worker|a worker|running|both|another with the same index is started|the newcomer is refused|3|3
twin-server|server 1|running|both|another with the same index is started|the newcomer is refused|3|5
*stuck|a worker|running|both|alive, but never ends a gradient|it ends (exit code 1), the others do its work|P + W + 1|0
bad-gradients|a worker|running|async|a gradient is not finite|it is left out and counted|1|0
bad-gradient|a worker|running|sync|a gradient is not finite|the job ends, naming step, leaf and variable|1|1
*joins|another worker|running|each|is started with an index beyond --workers|it takes part from the next step on|3|0
*leaves|a worker|running|each|`syncopate leave`|it leaves; the others do its work|2|0
told|a worker|running|both|SIGTERM, --on-term leave|it leaves (exit code 143), the others do its work|2|0
evicted|all workers|running|both|SIGTERM, --on-term leave|the job waits for any, then ends|R + 5|195
clocks|a worker|running|both|its clock is years ahead|nothing|1|0
again-place0-running|a place, server 0 and a worker|running|each|restarted|all join again and go on from the newest checkpoint|3|0
*again-place1-running|a place, server 1 and a worker|running|each|restarted|both take their places; all go back to the newest checkpoint, and on from there|3|0
lost-place0-running|a place, server 0 and a worker|running|each|killed for good|the others give up|W + R + 1|195
lost-place1-running|a place, server 1 and a worker|running|each|killed for good|the job ends, naming the server|W + R + 3|195
END
)

# --- the table ------------------------------------------------------------------------------------
# lines - every case: one mode a line, ids with it.
lines()
{
    local id who phase mode rest modes i starred=0
    while IFS='|' read -r id who phase mode rest; do
        case $mode in
            each) modes=(sync async allreduce backup) ;;
            both) modes=(sync async) ;;
            *)
                echo "$id|$who|$phase|$mode|$rest"
                continue
                ;;
        esac
        for i in "${!modes[@]}"; do
            mode=${modes[i]}
            if [[ $id == \** ]] && [ $((starred % ${#modes[@]})) -ne "$i" ]; then
                echo "${id#\*}-$mode|$who|$phase|$mode|$rest"
            else
                echo "$id-$mode|$who|$phase|$mode|$rest"
            fi
        done
        if [[ $id == \** ]]; then starred=$((starred + 1)); fi
    done <<<"$table"
}
if [ "${1:-}" = --table ]; then
    lines | sed 's/^\*//'
    exit 0
fi
page=$(dirname "$0")/../../deploy/FAILURES.md
begins='<!-- failures: made by make matrix -->' ends='<!-- end of failures -->'

# Lines of the table, joined where only phase or mode differ, as a Markdown table.
matrix()
{
    lines | sed 's/^\*//' | awk -F'|' '
        # "W + 2" with the defaults, as "W + 2 = 7 s".
        function seconds(text,    n, i, words, sum) {
            n = split(text, words, / [+] /)
            for (i = 1; i <= n; i++)
                sum += words[i] in value ? value[words[i]] : words[i]
            return text + 0 > 0 && n == 1 ? text " s" : text " = " sum " s"
        }
        BEGIN {
            value["W"] = 5; value["R"] = 60; value["P"] = 300; value["T"] = 60
            print "| who | what befalls it | when | mode | what happens | within | others exit |"
            print "|---|---|---|---|---|---|---|"
        }
        {
            # Cases of one line of faults.sh differ in the mode alone, which ends their id.
            line = $1
            sub("-" $4 "$", "", line)
            if (!(line in modes)) {
                lines[++line_count] = line
                what[line] = $2 "|" $5 "|" $6 "|" $7 "|" $8
                phase[line] = $3
            }
            modes[line] = modes[line] (modes[line] == "" ? "" : ", ") ($4 == "any" ? "any" : $4)
        }
        END {
            for (i = 1; i <= line_count; i++) {
                key = what[lines[i]] "|" modes[lines[i]]
                if (!(key in phases)) order[++count] = key
                if (index(phases[key] ",", " " phase[lines[i]] ",") == 0)
                    phases[key] = phases[key] (phases[key] == "" ? " " : ", ") phase[lines[i]]
            }
            for (i = 1; i <= count; i++) {
                split(order[i], f, "|")
                f[6] = f[6] == "sync, async, allreduce, backup" ? "all four" : f[6] == "sync, async" ? "both" : f[6]
                printf "| %s | %s |%s | %s | %s | %s | %s |\n", f[1], f[2], phases[order[i]], f[6], \
                    f[3], seconds(f[4]), f[5]
            }
        }'
}
if [ "${1:-}" = --write ]; then
    made=$(mktemp)
    matrix >"$made"
    sed -i -e "/^$begins$/,/^$ends$/{//!d}" -e "/^$begins$/r $made" "$page"
    rm -f "$made"
    exit 0
fi

# --- a small cluster ------------------------------------------------------------------------------
# Names are ps0, ps1, w0, w1, ...; when one is started again, "again" is added to its name, and
# current has what it is called now.
declare -A current=()
workers=(w0 w1) worker_program=syncopate-worker checked=''
server_options=() worker_options=() more_options=()
place_options=() # Of workers whose places have servers.

# mode_option WORD - of the table's word for a mode.
mode_option() { echo "${1/#backup/sync+backup:1}"; }
job()
{
    local slow=0:200,1:200,2:200
    if sanitized; then slow=0:10,1:10,2:10; fi
    worker_options=(--mode "$(mode_option "$1")" --workers 2 --data synthetic:500 --model softmax --seed 3
        --steps 400 --checkpoint-every 40 --slow "$slow" "${more_options[@]}")
}
scoring_job()
{
    worker_options=(--mode "$(mode_option "$1")" --workers 2 --data synthetic:600 --seed 3 --steps 2 --global-batch 8
        --micro-batch 2 --model "conv 64x5 relu, conv 64x5 relu, pool 4, flatten, dense 10")
}
# Whole numbers: see counting_worker.c.
counting_job()
{
    worker_program=tests/processes/counting_worker
    worker_options=(--mode "$(mode_option "$1")" --workers 2 --steps 400 --checkpoint-every 40 --global-batch 4
        --micro-batch 1 --optimizer sgd --learning-rate 1 --chunk-bytes 4K --progress-timeout "$P")
    export COUNTING_PAUSE_US=10000
}

# addresses SERVERS - for so many.
addresses()
{
    local i
    hosts='' servers=()
    for ((i = 0; i < $1; i++)); do
        hosts+=${hosts:+,}127.0.0.1:$(free_port)
        servers+=("ps$i")
    done
    first=${hosts%%,*}
}
addresses 2

# up NAME... - start them, or start them again.
up()
{
    local name as
    for name in "$@"; do
        as=${current[$name]:+${current[$name]}-again}
        as=${as:-$name}
        case $name in
            ps*) start "$as" "${checked}syncopate-ps" --task-index "${name#ps}" --ps-hosts "$hosts" \
                --out "$work/out" --worker-timeout "$W" --recovery-timeout "$R" \
                --start-timeout "$T" "${server_options[@]}" ;;
            w*) start "$as" "$checked$worker_program" --task-index "${name#w}" --ps-hosts "$hosts" \
                "${place_options[@]}" "${worker_options[@]}" --worker-timeout "$W" --recovery-timeout "$R" \
                --start-timeout "$T" ;;
        esac
        current[$name]=$as
    done
}
send() { kill "-$1" "${pids[${current[$2]}]}"; }
kill_hard()
{
    murder "${current[$1]}"
    within 5 gone "${current[$1]}" || fail "$1 does not die"
}
# kill_in PHASE NAME - while servers close, a worker may have ended by itself just before.
kill_in()
{
    if [ "$1-$2" != closing-w0 ] || running "${current[$2]}"; then kill_hard "$2"; fi
}
# end CODE NAME... - they must end with this code.
end()
{
    local code=$1 name
    shift
    for name in "$@"; do ends "${current[$name]}" "$code" "$((limit + 20))"; done
}
others() # VICTIM - everybody else
{
    local name
    for name in "${servers[@]}" "${workers[@]}"; do
        if [ "$name" != "$1" ] && [ -n "${current[$name]:-}" ]; then echo "$name"; fi
    done
}
# is_at PATTERN SECONDS - server 0 says so of the job within this time.
is_at() { "$build/tests/processes/await_status" "$first" "$1" "$2" >"$work/status.log"; }
# status PATTERN - wait until server 0 says so of the job.
status()
{
    if ! is_at "$1" $((20 * patience)); then
        fail "the job does not get to: $1"
    fi
}
moves_on() { status +3; } # Steps are made, wherever they begin.
# more_than N - a pattern for whole numbers above N, of up to 6 digits.
more_than()
{
    local n=$1 digits=${#1} i pattern=''
    for ((i = 0; i < digits; i++)); do
        if [ "${n:i:1}" -lt 9 ]; then
            pattern+="|${n:0:i}[$((${n:i:1} + 1))-9][0-9]{$((digits - i - 1))}"
        fi
    done
    echo "${pattern#|}|[1-9][0-9]{$digits,6}"
}

# reach_end PHASE MODE - a job that has made its steps. It goes no further: worker 1 holds as it begins to score, or
# server 1 while it writes its part of the last checkpoint.
reach_end()
{
    held_at=ps1 checked=checked/
    if [ "$1" = evaluating ]; then held_at=w1; fi
    scoring_job "$2"
    case $held_at in
        w1) holds w1 "worker/1 scores:2" up ps0 ps1 w0 w1 ;;
        ps1) holds ps1 "ps/1 writes:2" up ps0 ps1 w0 w1 ;;
    esac
    reached "$held_at"
    if [ "$1" = evaluating ]; then status "state: running, .*step: 2 of 2"; else status "state: closing"; fi
}
# reach PHASE MODE [WORKER] - bring a job there. What is stopped on the way is in $held, what holds at a point is
# $held_at; finishing is when the others wait for WORKER's farewell.
held=() held_at=''
reach()
{
    case $1 in
        before)
            job "$2"
            up ps0 ps1
            says ps0 listening
            ;;
        gathering)
            job "$2"
            up ps0 ps1 w0
            status "state: gathering, .*waiting .*for worker/1"
            ;;
        running)
            job "$2"
            up ps0 ps1 w0 w1
            status "state: running, .*step: ($(more_than 50)) of"
            ;;
        evaluating | closing | finishing) reach_end "$@" ;;
    esac
    if [ "$1" = finishing ]; then
        held=(w1)
        if [ "${3:-}" = w0 ]; then held=(w0); fi
        send STOP "${held[0]}"
        goes_on ps1
        status "state: finishing"
    fi
}
let_go()
{
    local name
    for name in "${held[@]}"; do
        if running "${current[$name]}"; then send CONT "$name"; fi
    done
    held=()
    if [ -n "$held_at" ]; then goes_on "$held_at"; fi
}

# --- what must be true ----------------------------------------------------------------------------
began=0 limit=0
happens() { began=$(date +%s%N); }
# in_time - what was to happen since has happened within the case's bound.
in_time()
{
    local took_ms=$((($(date +%s%N) - began) / 1000000))
    took=$(printf '%d.%02d' $((took_ms / 1000)) $((took_ms % 1000 / 10)))
    if [ "$took_ms" -gt $((limit * patience * 1000)) ]; then
        fail "it took $took s, not $limit s"
    fi
}
# The job is done: every step made, in sync and all-reduce with the bits of one process alone, else with those
# that its record makes again.
is_done()
{
    local steps=400 expected options=("${worker_options[@]/#allreduce/sync}")
    if [ "$(member "$work/out" state)" != "done" ]; then fail "run.json does not say done"; fi
    if [[ " ${worker_options[*]} " == *" --steps 2 "* ]]; then steps=2; fi
    if [ "$(member "$work/out" step)" != "$steps" ]; then fail "not all steps were made"; fi
    if [ "$worker_program" != syncopate-worker ]; then
        "$build/tests/processes/counting_check" "$work/out" "$steps" >"$work/check.log" 2>&1 ||
            fail "the sum of all updates is wrong"
    elif [ "$mode_of_job" = sync ] || [ "$mode_of_job" = allreduce ]; then
        run alone 0 syncopate-worker --ps 0 "${options[@]/#0:*/0:1}" --out "$work/alone" # None is --slow.
        expected=$(model_hash "$work/alone")
        if [ "$(model_hash "$work/out")" != "$expected" ]; then fail "the bits have changed"; fi
    elif [ "$steps" -gt 2 ]; then # The others score for long.
        run replayed 0 syncopate replay "$work/out"
        said replayed "^parameters_sha256 $(member "$work/out" parameters_sha256): as recorded$" ||
            fail "its replay has other bits"
    fi
}
nobody_says_more()
{
    nothing_runs
    is_done
}

# --- the cases ------------------------------------------------------------------------------------
# The victim is killed and started again; all end with 0.
again()
{
    local victim=$1 phase=$2 name
    reach "$phase" "$mode_of_job" "$victim"
    if [ "$phase-$victim" = before-w0 ]; then
        up w0
        sleep 0.05
    fi
    happens
    kill_in "$phase" "$victim"
    up "$victim"
    let_go
    case $phase in
        before)
            for name in "${workers[@]}"; do
                if [ -z "${current[$name]:-}" ]; then up "$name"; fi
            done
            ;;
        gathering) up w1 ;;
    esac
    case $phase in
        before | gathering | running)
            status "state: running, .*step: ($(more_than 5)) of"
            moves_on
            in_time
            end 0 ps0 ps1 w0 w1
            ;;
        *)
            # Also while they compute, workers notice that server 0 is another.
            if [ "$phase-$victim" = evaluating-ps0 ]; then
                for name in 0 1; do says "${current[ps0]}" "worker/$name joined" "$W"; done
            fi
            end 0 ps0 ps1 w0 w1
            in_time
            ;;
    esac
    nobody_says_more
}

# The victim is killed and stays away.
lost()
{
    local victim=$1 phase=$2 name rest
    reach "$phase" "$mode_of_job" "$victim"
    if [ "$phase" = before ]; then
        case $victim in
            ps0) ;;
            ps1) up w0 w1 ;;
        esac
    fi
    happens
    kill_in "$phase" "$victim"
    let_go
    # shellcheck disable=SC2207 # Names without spaces.
    rest=($(others "$victim"))
    if [ "$codes" = 0 ] && [ "$phase" = running ]; then
        moves_on
        in_time
    fi
    end "$codes" "${rest[@]}"
    if [ "$phase" != running ] || [ "$codes" != 0 ]; then in_time; fi
    nothing_runs
    if [ "$codes" = 0 ]; then is_done; fi
    if [ "$codes" != 0 ]; then
        for name in "${rest[@]}"; do one_line "${current[$name]}"; done
    fi
}

# Server and worker of a place die at once, with the host that they were on.
place_dies()
{
    place_options=(--ps colocated)
    reach running "$mode_of_job"
    "$build/syncopate" inspect "$first" >"$work/inspected.log" || fail "nothing is to be seen of the job"
    said inspected "^servers: 2 of 2, beside the workers$" || fail "servers have no places beside the workers"
    happens
    kill_hard "ps$1"
    kill_hard "w$1"
}
place_again()
{
    place_dies "$1"
    up "ps$1" "w$1"
    status "state: running, .*step: ($(more_than 5)) of"
    moves_on
    in_time
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}
place_lost()
{
    place_dies "$1"
    end 195 "ps$((1 - $1))" "w$((1 - $1))"
    in_time
    nothing_runs
    one_line "${current[ps$((1 - $1))]}"
    one_line "${current[w$((1 - $1))]}"
}
case_again-place0-running() { place_again 0; }
case_again-place1-running() { place_again 1; }
case_lost-place0-running() { place_lost 0; }
case_lost-place1-running()
{
    place_lost 1
    says ps0 "error: .*ps/1"
}
case_lost-ps0-finishing()
{
    reach finishing sync
    happens
    kill_hard ps0
    let_go
    end 0 ps1 w0 w1
    in_time
    is_done
}
# Server 1 has come back, server 2 does not say that it is ready again: it is stopped, then killed.
case_lost-ps2-recovering()
{
    addresses 3
    job sync
    up ps0 ps1 ps2 w0 w1
    status "state: running, .*step: ($(more_than 50)) of"
    send STOP ps2
    kill_hard ps1
    up ps1
    status "state: recovering"
    happens
    kill_hard ps2
    end 195 ps0 ps1 w0 w1
    in_time
    says ps0 "error: .*ps/2"
}
# gives_up NAME - nothing comes in all the time that it waits for the start, which a test lets pass.
gives_up()
{
    checked=checked/
    export TEST_CLOCK=$work/clock
    : >"$TEST_CLOCK"
    happens
    up "$1"
    passes $((T / 2))
    running "$1" || fail "$1 gives up too early"
    passes "$T"
    end 4 "$1"
    in_time
}
case_alone-ps0()
{
    gives_up ps0
    says ps0 "error: .*no worker has declared a job"
}
case_alone-w0()
{
    job sync
    gives_up w0
    says w0 "error: .*ps/0"
}
case_late-ps1()
{
    reach running sync
    kill_hard ps1
    kill_hard ps0
    happens
    up ps1
    end 4 ps1
    in_time
    end 195 w0 w1
}
case_all-workers()
{
    reach running "$mode_of_job"
    happens
    kill_hard w0
    kill_hard w1
    end 195 ps0 ps1
    in_time
    says ps0 "error: .*worker"
}
case_policy-fail()
{
    server_options=(--on-worker-loss fail)
    reach running "$mode_of_job"
    happens
    kill_hard w1
    end 195 ps0 ps1 w0
    in_time
    says ps0 "error: .*lost worker/1"
}
case_policy-wait()
{
    server_options=(--on-worker-loss wait)
    reach running "$mode_of_job"
    happens
    kill_hard w1
    end 195 ps0 ps1 w0
    in_time
    says ps0 "error: .*worker/1"
}
case_policy-wait-back()
{
    server_options=(--on-worker-loss wait)
    reach running "$mode_of_job"
    kill_hard w1
    says ps0 "lost worker/1" $((W + 2))
    happens
    up w1
    moves_on
    in_time
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}
pause_of() # VICTIM SECONDS
{
    reach running "$mode_of_job"
    send STOP "$1"
    sleep "$2"
    happens
    send CONT "$1"
    moves_on
    in_time
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}
case_pause-ps0() { pause_of ps0 1; }
case_pause-w0() { pause_of w0 1; }
case_zombie-ps0() { pause_of ps0 $((W + 2)); }
case_zombie-ps1() { pause_of ps1 $((W + 2)); }
case_zombie-w0()
{
    reach running "$mode_of_job"
    send STOP w0
    happens
    moves_on
    in_time
    says ps0 "lost worker/0"
    send CONT w0
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}
case_zombie-replaced()
{
    local code=0
    reach running "$mode_of_job"
    send STOP w0
    pids[old]=${pids[w0]} # up gives the name a new process.
    happens
    up w0
    says ps0 "lost worker/0.* another process is there" 20
    kill -CONT "${pids[old]}"
    within $((limit + 20)) gone old || fail "the one that was replaced does not end"
    wait "${pids[old]}" || code=$?
    if [ "$code" != 3 ] && [ "$code" != 195 ]; then fail "the one that was replaced ended with $code"; fi
    in_time
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}
case_twin-worker()
{
    reach running "$mode_of_job"
    happens
    start twin syncopate-worker --task-index 0 --ps-hosts "$hosts" "${worker_options[@]}"
    ends twin 3
    in_time
    says twin "error: .*worker/0"
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}
case_twin-server()
{
    reach running "$mode_of_job"
    happens
    start twin syncopate-ps --task-index 1 --ps-hosts "$hosts"
    ends twin 5
    in_time
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}
case_stuck()
{
    counting_job "$mode_of_job"
    server_options=(--progress-timeout "$P")
    export COUNTING_STUCK=1:60
    up ps0 ps1 w0 w1
    status "state: running, .*step: ($(more_than 58)) of" # In async the other one goes on.
    happens
    sleep "$P" # Async goes on without it anyhow.
    moves_on
    in_time
    end 1 w1
    says w1 "stuck"
    end 0 ps0 ps1 w0
    nobody_says_more
}
case_bad-gradients()
{
    counting_job async
    export COUNTING_BAD=1:60
    up ps0 ps1 w0 w1
    status "state: running, .*step: ($(more_than 49)) of"
    happens
    # Worker 1's first from 60 on: how many worker 0 has by then is chance.
    says ps0 "not finite: batch ([6-9][0-9]|[123][0-9]{2}), from worker/1; left out"
    moves_on
    in_time
    end 0 ps0 ps1 w0 w1
    if [ "$(member "$work/out" bad_gradients)" != 1 ]; then fail "it was not counted"; fi
}
# Who looks seldom finds it over.
nears_its_end() { is_at "state: running, .*step: ($(more_than 49)) of" 1 || said ps0 "error: "; }
case_bad-gradient()
{
    counting_job sync
    export COUNTING_BAD=1:60
    up ps0 ps1 w0 w1
    within 20 nears_its_end || fail "the job does not get to step 50"
    happens
    end 1 ps0 ps1 w0 w1
    in_time
    says ps0 "error: .*step 60.*counting/"
}
case_joins()
{
    reach running "$mode_of_job"
    happens
    up w2
    says ps0 "worker/2 joined" 10
    moves_on
    in_time
    end 0 ps0 ps1 w0 w1 w2
    nobody_says_more
}
case_leaves()
{
    reach running "$mode_of_job"
    happens
    "$build/syncopate" leave --quiet "$first/worker/0" || fail "worker/0 is not let go"
    end 0 w0
    moves_on
    in_time
    end 0 ps0 ps1 w1
    nobody_says_more
}
case_told()
{
    more_options=(--on-term leave)
    reach running "$mode_of_job"
    happens
    send TERM w0
    end 143 w0
    moves_on
    in_time
    end 0 ps0 ps1 w1
    nobody_says_more
}
case_evicted()
{
    more_options=(--on-term leave)
    reach running "$mode_of_job"
    happens
    send TERM w0
    send TERM w1
    end 143 w0 w1
    end 195 ps0 ps1
    in_time
    says ps0 "error: .*no worker is left, and none came within"
}
case_clocks()
{
    if ! unshare --time --monotonic 100000000 true 2>/dev/null; then
        skip "clocks that differ: needs root and time namespaces"
        return
    fi
    job "$mode_of_job"
    happens
    up ps0 ps1 w0
    unshare --time --monotonic 100000000 "$build/$worker_program" --task-index 1 \
        --ps-hosts "$hosts" "${worker_options[@]}" >"$work/w1.log" 2>&1 </dev/null &
    pids[w1]=$! current[w1]=w1
    status "state: running, .*step: ($(more_than 5)) of"
    end 0 ps0 ps1 w0 w1
    nobody_says_more
}

# --- running them ---------------------------------------------------------------------------------
# seconds EXPRESSION - of W, R, P and T.
seconds() { echo $(($1)); }

run_case()
{
    local id=$1 line name who phase happens_then within
    line=$(lines | sed 's/^\*//' | grep -F "$id|" | grep "^$id|") || fail "there is no case $id"
    IFS='|' read -r id who phase mode_of_job name happens_then within codes <<<"$line"
    limit=$(seconds "$within")
    took='' name=${id%-"$mode_of_job"}
    if declare -F "case_$name" >/dev/null; then
        "case_$name"
        name=''
    fi
    case $name in
        again-*-*) again "$(cut -d- -f2 <<<"$name")" "$(cut -d- -f3 <<<"$name")" ;;
        lost-*-*) lost "$(cut -d- -f2 <<<"$name")" "$(cut -d- -f3 <<<"$name")" ;;
    esac
    nothing_runs
    ok "$id: $happens_then (${took:-?} s, at most $limit s), exit code $codes"
}

# S is --stop-timeout.
# who, and in which state | who goes away | deadline | case of faults.sh, or suite:test
states=$(cat <<'END'
server 0: waiting for a job|all workers|T|alone-ps0
server 0: gathering|a worker|T|lost-w0-gathering-sync
server 0: gathering|another server|T|lost-ps1-gathering-sync
server 0: running, a sync step is open|a worker|W|lost-w0-running-sync
server 0: running, batches are on lease|a worker|W|lost-w0-running-async
server 0: running|all workers|W + R|all-workers-sync
server 0: running, all batches are on lease|all workers|W + R|all-workers-async
server 0: running|another server|W + R|lost-ps1-running-sync
server 0: running, alive and no progress|a worker's thread|P|stuck-sync
server 0: running, alive and no progress|a worker's thread|P|stuck-async
server 0: running, waits for a lost worker (--on-worker-loss wait)|that worker|W + R|policy-wait-sync
server 0: running, an epoch is being scored|a worker|W|lost-w0-evaluating-sync
server 0: going back to a checkpoint|another server|W + R|lost-ps2-recovering
server 0: closing, the last checkpoint is being cut|another server|W + R|lost-ps1-closing-sync
server 0: finishing, waits for farewells|a worker|W|lost-w0-finishing-sync
server 0: finishing, stopped before all have found it again|those who look for it|S|coordinator_server_lost.talk:a stop after a restart of server 0 waits for all to hear of it
another server: joining, nobody has answered|server 0|T|lost-ps0-before-sync
another server: joining again|server 0|T|late-ps1
another server: serving|server 0|W + R|lost-ps0-running-sync
a worker: nobody has answered|all servers|T|alone-w0
a worker: joined, waits for the start|server 0|W + R|lost-ps0-gathering-sync
a worker: waits at the barrier|server 0|W + R|lost-ps0-running-sync
a worker: waits for parameters|another server|W + R|lost-ps1-running-async
a worker: waits for a batch|server 0|W + R|lost-ps0-running-async
a worker: has scored, waits for an answer|server 0|W + R|lost-ps0-evaluating-sync
a worker: done, waits for the end|server 0|W + R|lost-ps0-closing-sync
launcher: a child has failed, the others are told to stop|their obedience|S, 10 s at most|test_launch:a_child_that_ignores_sigterm_is_killed
launcher: Ctrl-C|the job's obedience|S + 5|test_launch:a_job_that_does_not_stop_is_killed_after_the_deadline
launcher: the workers are done|a server's end|S + 5|test_launch:a_server_that_outlives_its_workers_is_stopped
END
)
if [ $# -eq 0 ] && short_run; then
    if ! diff <(sed -n "/^$begins$/,/^$ends$/{//!p}" "$page") <(matrix); then
        fail "$page has another table than is tested: make matrix"
    fi
    ok "the table of deploy/FAILURES.md is what is tested"
    while IFS='|' read -r state other deadline test; do
        case $test in
            *.talk:*) grep -qxF "talk ${test#*:}" "$(dirname "$0")/../talks/${test%%:*}" ;;
            *:*) grep -qE "TEST[A-Z_]*\(${test#*:}[,)]" "$(dirname "$0")"/../unit/*/"${test%%:*}.c" ;;
            *) grep -qF -- "$test|" <(lines | tr -d '*') ;;
        esac || fail "there is no test $test for: $state, without $other ($deadline)"
    done <<<"$states"
    ok "$(wc -l <<<"$states") states in which a process can wait: each ends by a deadline when the other side is gone"
fi

if [ $# -eq 1 ]; then
    run_case "$1"
    exit 0
fi

# Most of a case is waiting: several at once, each a process of its own.
export PORTS_GIVEN=$work/ports
chosen=("$@")
if [ $# -eq 0 ]; then
    mapfile -t chosen < <(
        if short_run; then lines | sed -n 's/^\*//p'; fi | cut -d'|' -f1
        if long_run; then lines | sed '/^\*/d'; fi | cut -d'|' -f1
    )
fi
at_once=${FAULTS_AT_ONCE:-5}
if sanitized; then at_once=2; fi
code=0
# shellcheck disable=SC2016 # For the inner shell.
printf '%s\0' "${chosen[@]}" | xargs -0 -n 1 -P "$at_once" \
    bash -c 'timeout --kill-after=30 "$1" "$0" "$2" || { echo "not ok - $2 failed"; exit 1; }' \
    "$0" $((120 + 60 * patience)) >"$work/cases.log" 2>&1 || code=$?
grep -E '^(ok|SKIPPED) - ' "$work/cases.log" || true
if [ "$code" -ne 0 ]; then
    grep -vE '^ok - ' "$work/cases.log" || true
    exit 1
fi
