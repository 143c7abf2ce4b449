#!/usr/bin/env bash
# validate.sh [CASE...] - is what `syncopate simulate` says what happens? Each case is a job of real
# processes, each in a network namespace of its own, joined by a bridge, its card held to a rate each
# way; and the same job in virtual time. Leaves take 30 ms in both (--compute), so that it is the
# network that is compared and not this machine's processors; their real processes go before all others of
# the machine (chrt -f), so that it may have something else to do as well. Then this machine as it is, without
# controlled times, predicted from what `syncopate calibrate` says of it: shown, and judged by nobody.
# VALIDATION.md has the table and what it says. Needs root. Exit code 1 when the median error is above 5 %,
# the worst above 10 %, or two cases of one network are the other way round in virtual time.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/../processes/lib.sh"

median_most=5 worst_most=10 # Per cent.
leaf=constant:30ms
drawn=lognormal:30ms,0.3 # The same draws in both.
latency=50us
# What a message takes longer while others go the other way, as their acknowledgements do: tests/validation/turns.py
# measures it, without Syncopate ("answered meanwhile", mean).
declare -A jitter=([100Mbit]=exponential:333us [1Gbit]=exponential:14us)

# Name, mode, workers, servers, rate, links (-: none), further options of the job (-: none). Those of a
# rate with the name up to the last dash alike are compared in order, too. Async is random: it has a run of each
# seed, whose times are averaged and whose staleness is one histogram.
seeds_of_async="5 6 7"
cases=(
    "s1-slow      sync  1 1 100Mbit - -"
    "s2-slow      sync  2 1 100Mbit - -"
    "s3-slow      sync  3 1 100Mbit - -"
    "s3x2-slow    sync  3 2 100Mbit - -"
    "slink-slow   sync  2 1 100Mbit worker/1:40Mbit -"
    "sstrag-slow  sync  3 2 100Mbit - --slow=2:4"
    "a1-slow      async 1 1 100Mbit - -"
    "a2even-slow  async 2 1 100Mbit - even"
    "a2-slow      async 2 1 100Mbit - -"
    "a3-slow      async 3 1 100Mbit - -"
    "a3x2-slow    async 3 2 100Mbit - -"
    "alink-slow   async 3 2 100Mbit worker/2:40Mbit -"
    "astrag-slow  async 3 2 100Mbit - --slow=2:4"
    "s3small-slow sync  3 1 100Mbit - small"
    "a3small-slow async 3 1 100Mbit - small"
    "ajoin-slow   async 2 2 100Mbit - join@2s"
    "s3-fast      sync  3 1 1Gbit - -"
    "s3x2-fast    sync  3 2 1Gbit - -"
    "slink-fast   sync  2 1 1Gbit worker/1:200Mbit -"
    "a2-fast      async 2 1 1Gbit - -"
    "a3-fast      async 3 1 1Gbit - -"
    "a3x2-fast    async 3 2 1Gbit - -"
    "astrag-fast  async 3 1 1Gbit - --slow=2:4"
)
# Name, mode, workers, servers: all on this machine, as fast as it is. Two workers and a server are more busy
# threads than two processors.
as_it_is=(
    "here-a1      async 1 1"
    "here-a2      async 2 1"
    "here-s2      sync  2 1"
    "here-s3x2    sync  3 2"
)

tag=sv$$
clean_up_more()
{
    local i
    for i in 0 1 2 3 4; do ip netns delete "$tag-$i" 2>/dev/null || true; done
    ip link delete "$tag" 2>/dev/null || true
}
if [ "$(id -u)" -ne 0 ] || ! ip netns add "$tag-0" 2>/dev/null || ! ip link add "$tag" type bridge; then
    skip "validation: network namespaces need root, the ip program and bridges"
    exit 0
fi

# Hosts 0 and 1 are servers', 2 to 4 workers'. Congestion is controlled as in most places, or by reno where
# a namespace may not have cubic; with bbr flows share less evenly.
ip link set "$tag" up
for i in 0 1 2 3 4; do
    if [ "$i" -gt 0 ]; then ip netns add "$tag-$i"; fi
    ip link add "$tag.$i" type veth peer name eth0 netns "$tag-$i"
    ip link set "$tag.$i" master "$tag" up
    ip -n "$tag-$i" address add "10.213.78.$((10 + i))/24" dev eth0
    ip -n "$tag-$i" link set eth0 up
    ip -n "$tag-$i" link set lo up
    ip netns exec "$tag-$i" sysctl -q net.ipv4.tcp_congestion_control=cubic 2>/dev/null ||
        ip netns exec "$tag-$i" sysctl -q net.ipv4.tcp_congestion_control=reno
done

# bits RATE - as a number.
bits()
{
    case $1 in
        *Gbit) echo $((${1%Gbit} * 1000000000)) ;;
        *Mbit) echo $((${1%Mbit} * 1000000)) ;;
    esac
}
# What goes through tbf costs it no preamble, check sum and gap: 24 bytes less a segment than a card's.
echo '{"format": "syncopate-cluster-1", "network": {"segment_overhead_bytes": 66}}' >"$work/tbf.json"

# card HOST RATE - each way. What is in the bucket goes at no cost, so it is two frames; but from some 150 Mbit/s on a timer a frame is too much for
# this machine, and it has to be what comes in half a millisecond.
card()
{
    local rate burst=3100
    rate=$(bits "$2")
    if [ "$rate" -gt 150000000 ]; then burst=$((rate / 14000)); fi
    tc -n "$tag-$1" qdisc replace dev eth0 root tbf rate "${rate}bit" burst $burst limit 8000000
    tc qdisc replace dev "$tag.$1" root tbf rate "${rate}bit" burst $burst limit 8000000
}

# Before all others, as long as it has something to do. Not where threads are to share processors: of those
# that are so scheduled one goes on until it waits.
first=(chrt -f 10)
"${first[@]}" true 2>/dev/null || first=(nice -n -19)
alike=(nice -n -19)

# on HOST NAME PROGRAM ARGUMENT... - like start, on that host.
on()
{
    ip netns exec "$tag-$1" "${first[@]}" "$build/$3" "${@:4}" >"$work/$2.log" 2>&1 </dev/null &
    pids[$2]=$!
}

# real NAME SERVERS WORKERS JOIN OPTION... - into $work/NAME. JOIN: seconds after the start, or "".
real()
{
    local name=$1 servers=$2 workers=$3 join=$4 hosts=10.213.78.10:4710 i
    shift 4
    if [ "$servers" -eq 2 ]; then hosts+=,10.213.78.11:4711; fi
    for ((i = servers - 1; i >= 0; i--)); do
        on "$i" "$name-ps$i" syncopate-ps --task-index "$i" --ps-hosts "$hosts" --insecure --transport tcp \
            --out "$work/$name" --log-every 0.2
    done
    for ((i = 0; i < workers; i++)); do
        on $((2 + i)) "$name-worker$i" syncopate-worker --task-index "$i" --ps-hosts "$hosts" \
            --workers "$workers" --transport tcp "$@"
    done
    if [ -n "$join" ]; then
        within 20 grep -qs '"event": "joined".*"worker", "index": 1' "$work/$name/events.jsonl" ||
            fail "$name does not begin"
        sleep "$join"
        on $((2 + workers)) "$name-worker$workers" syncopate-worker --task-index "$workers" \
            --ps-hosts "$hosts" --workers "$workers" --transport tcp "$@"
        ends "$name-worker$workers" 0 60
    fi
    for ((i = 0; i < workers; i++)); do ends "$name-worker$i" 0 60; done
    for ((i = 0; i < servers; i++)); do ends "$name-ps$i" 0 60; done
}

# quarters NAME - seconds after which a quarter, a half, three quarters of all updates were made.
quarters()
{
    sed -n 's/.*"event": "progress".*"step": \([0-9]*\),.*"training_seconds": \([0-9.]*\).*/\1 \2/p' \
        "$work/$1/events.jsonl" |
        awk -v all="$2" 'BEGIN { q = 1 }
            { while (q < 4 && $1 >= q * all / 4) {
                  printf "%.4f ", t + ($2 - t) * (q * all / 4 - s) / ($1 - s); q++ }
              s = $1; t = $2 }'
}
# times RUN STEPS MODE - of one run: "kind value" lines.
times()
{
    local run=$work/$1/run.json value i=1
    value=$("$value_of" "$run" seconds)
    awk -v s="$value" -v n="$2" 'BEGIN { printf "ms_a_step %.3f\n", 1000 * s / n }'
    echo "images/s $("$value_of" "$run" images_per_second)"
    if [ "$3" = sync ]; then return; fi
    for value in $(quarters "$1" "$2"); do
        echo "s_to_$((25 * i))% $value"
        i=$((i + 1))
    done
}
# figures NAME STEPS MODE - what is compared of a job's runs $work/NAME.SEED: "kind value" lines.
figures()
{
    local run
    for run in "$work/$1".*/; do times "$(basename "$run")" "$2" "$3"; done |
        awk '!n[$1]++ { order[++kinds] = $1 } { sum[$1] += $2 }
            END { for (i = 1; i <= kinds; i++) print order[i], sum[order[i]] / n[order[i]] }'
    if [ "$3" = sync ]; then return; fi
    for run in "$work/$1".*/; do "$value_of" "$run/run.json" staleness.histogram; done | staleness
}
# Of histograms, [count of 0, of 1, ...], taken together: mean, deviation, 99th percentile. For this each number
# is spread evenly from half below it to half above: the usual one is a whole number, and a gradient more or less
# may make it another.
staleness()
{
    tr -d '[]' | awk -F, '
        { for (i = 1; i <= NF; i++) { n[i] += $i; all += $i; sum += $i * (i - 1); squares += $i * (i - 1) ^ 2 } }
        END {
            mean = sum / all
            variance = squares / all - mean ^ 2
            for (i = 1; below + n[i] < .99 * all; i++) below += n[i]
            print "staleness", mean
            print "stale_sd", (variance > 0 ? sqrt(variance) : 0)
            print "stale_p99", i - 1.5 + (.99 * all - below) / n[i] }'
}
value_of=$build/tests/processes/json_value

# one NAME MODE WORKERS SERVERS RATE LINK OPTION
one()
{
    local name=$1 mode_of_job=$2 workers=$3 servers=$4 rate=$5 link=$6 option=$7
    local i steps join="" width=128 leaf_time job virtual seed seeds=5
    if [ "$rate" = 1Gbit ]; then width=512; fi
    if [ "$option" = small ]; then width=32; fi
    for i in 0 1 2 3 4; do card "$i" "$rate"; done
    virtual=(--cluster-file "$work/tbf.json" --network "$rate,$latency" --ps "$servers"
        --jitter "${jitter[$rate]}")
    steps=40
    leaf_time=$leaf
    if [ "$mode_of_job" = async ]; then
        steps=$((150 * workers))
        seeds=$seeds_of_async
        if [ "$option" != even ]; then leaf_time=$drawn; fi
    fi
    if [ "$link" != - ]; then
        i=${link#worker/}
        card $((2 + ${i%%:*})) "${link#*:}"
        virtual+=(--link "$link")
    fi
    job=(--mode "$mode_of_job" --data synthetic:2000 --micro-batch 4 --steps "$steps" --optimizer sgd
        --model "flatten, dense $width relu, dense 10" --compute "$leaf_time")
    if [ "$mode_of_job" = sync ]; then
        job+=(--global-batch $((4 * workers)))
    else
        job+=(--worker-batch 4)
    fi
    case $option in
        join@*)
            join=${option#join@}
            virtual+=(--join "@$join")
            ;;
        --*) job+=("$option") ;;
    esac
    for seed in $seeds; do
        real "$name-real.$seed" "$servers" "$workers" "$join" --seed "$seed" "${job[@]}"
        "$build/syncopate" simulate "${job[@]}" "${virtual[@]}" --workers "$workers" --log-every 0.2 --quiet \
            --seed "$seed" --out "$work/$name-virtual.$seed" >"$work/$name-virtual.log" 2>&1 ||
            fail "$name: simulate"
    done
    compare "$name" "$steps" "$mode_of_job" "$mode_of_job $workers+$servers $rate $link $option" |
        tee -a "$work/table"
}
# compare NAME STEPS MODE WHAT - lines of the table.
compare()
{
    paste -d ' ' <(figures "$1-real" "$2" "$3") <(figures "$1-virtual" "$2" "$3") |
        awk -v name="$1" -v what="$4" '
            # The deviation of staleness may be 0; its mean is its measure.
            $1 == "staleness" { mean = $2 > 1 ? $2 : 1 }
            { by = $1 == "stale_sd" ? mean : $2
              if (by == 0) by = 1
              printf "%-12s %-11s %10.3f %10.3f %+7.1f %%  %s\n", name, $1, $2, $4, 100 * ($4 - $2) / by, what
              what = "" }'
}

# here NAME MODE WORKERS SERVERS - this machine as it is: no controlled times, its loopback, its
# processors, of which there may be fewer than busy threads.
here()
{
    local name=$1 mode_of_job=$2 workers=$3 servers=$4 steps=400
    local job=(--mode "$mode_of_job" --seed 5 --data synthetic:2000 --micro-batch 16 --steps "$steps"
        --model "$model_here" --optimizer sgd --record off --checkpoint-every 0)
    if [ "$mode_of_job" = sync ]; then
        job+=(--global-batch $((16 * workers)))
    else
        job+=(--worker-batch 16)
    fi
    ip netns exec "$tag-0" "${alike[@]}" "$build/syncopate" run "${job[@]}" --workers "$workers" \
        --ps "$servers" --transport tcp --log-every 0.1 --quiet --out "$work/$name-real.5" \
        >"$work/$name-real.log" 2>&1 </dev/null || fail "$name: launch"
    "$build/syncopate" simulate "${job[@]}" --workers "$workers" --ps "$servers" --log-every 0.1 --quiet \
        --cluster-file "$work/here.json" --out "$work/$name-virtual.5" >"$work/$name-virtual.log" 2>&1 ||
        fail "$name: simulate"
    compare "$name" "$steps" "$mode_of_job" "$mode_of_job $workers+$servers, not controlled"
}
model_here="flatten, dense 256 relu, dense 10"

printf '%-12s %-11s %10s %10s %9s  %s\n' case figure real virtual error "job (workers+servers)"
for line in "${cases[@]}"; do
    read -r -a words <<<"$line"
    if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "${words[0]}"; then continue; fi
    one "${words[@]}"
done

# Only to be seen: as processors are busy with other things, and as leaves beside others take longer.
for line in "${as_it_is[@]}"; do
    read -r -a words <<<"$line"
    if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "${words[0]}"; then continue; fi
    if [ ! -e "$work/here.json" ]; then
        echo "this machine as it is, $(nproc) processors, predicted from what calibrate says of it:"
        ip netns exec "$tag-0" "${alike[@]}" "$build/syncopate" calibrate --model "$model_here" --micro-batch 16 \
            --data synthetic:2000 --optimizer sgd --out "$work/here.json" >"$work/calibrate.log" 2>&1 ||
            fail "calibrate"
    fi
    here "${words[@]}"
done

# Pairs of cases of one network and mode: whose step is longer in the one is longer in the other, unless
# they are less than 5 % apart, which one run of each cannot tell.
awk '$2 == "ms_a_step" { split($1, w, "-"); group = substr($1, 1, 1) w[2]; n++
        for (i = 1; i < n; i++) if (groups[i] == group) { pairs++
            a = (real[i] - $3) / $3; b = (virtual[i] - $4) / $4
            if (a * b < 0 && (a > .05 || a < -.05)) { print names[i], "and", $1, "are the other way round"; wrong++ } }
        groups[n] = group; names[n] = $1; real[n] = $3; virtual[n] = $4 }
    END { print pairs + 0, "pairs,", wrong + 0, "in the wrong order" }' "$work/table" >"$work/order"
cat "$work/order"
awk '{ e = $5 + 0; print e < 0 ? -e : e, $1, $2 }' "$work/table" | sort -n >"$work/errors"
awk -v median_most=$median_most -v worst_most=$worst_most -v orders="$(tail -n 1 "$work/order")" '
    { e[NR] = $1; who = $2 " " $3 }
    END { m = NR % 2 ? e[(NR + 1) / 2] : (e[NR / 2] + e[NR / 2 + 1]) / 2
          good = m <= median_most && e[NR] <= worst_most && orders ~ / 0 in the wrong/
          printf "%s - %d figures: median error %.1f %% (at most %d), worst %.1f %% (at most %d: %s)\n",
              good ? "ok" : "not ok", NR, m, median_most, e[NR], worst_most, who
          exit !good }' "$work/errors"
