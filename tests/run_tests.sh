#!/usr/bin/env bash
# run_tests.sh PROGRAM... - runs test programs and scripts and sums them up.
#
#     JOBS            so many at once (1, at most 12); most of them wait most of the time
#     TEST_TIMEOUT    seconds for each; whatever hangs is a failure (900)
#
# A program counts with check's own closing line ("100%: Checks: 12, Failures: 0, Errors: 0"),
# however many it prints; one that prints none, or fails in spite of them, counts as one test by
# its exit code. What it prints is shown when it has ended. Each has a number below JOBS of its own
# in TEST_LANE, so that two at once can keep off each other's ports. The last line is
# "N passed, N failed"; the exit code is 1 when anything failed.
set -euo pipefail

jobs=$((${JOBS:-1} < 12 ? ${JOBS:-1} : 12))
timeout_seconds=${TEST_TIMEOUT:-900}
passed=0
failed=0
failures=()
took=()
declare -A programs=() lanes=() starts=() # By process id.
logs=$(mktemp -d)
clean_up()
{
    local pid
    for pid in "${!programs[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$logs"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# Prints "checks bad" summed over check's closing lines in the log.
count_checks()
{
    sed -nE 's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+).*/\1 \2 \3/p' "$1" |
        awk '{ checks += $1; bad += $2 + $3 } END { print checks + 0, bad + 0 }'
}

free_lane()
{
    local lane=0
    while [[ " ${lanes[*]} " == *" $lane "* ]]; do lane=$((lane + 1)); done
    echo "$lane"
}

start()
{
    local lane
    lane=$(free_lane)
    TEST_LANE=$lane timeout --kill-after=10 "$timeout_seconds" "$1" </dev/null >"$logs/$lane" 2>&1 &
    programs[$!]=$1 lanes[$!]=$lane starts[$!]=$SECONDS
}

# Waits for one, shows what it printed, and counts it.
finish_one()
{
    local pid code=0 program log checks bad
    wait -n -p pid || code=$?
    program=${programs[$pid]} log=$logs/${lanes[$pid]}
    echo "== $program"
    cat "$log"
    read -r checks bad < <(count_checks "$log")
    if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1 checks=$((checks + 1)); fi
    if [ "$checks" -eq 0 ]; then checks=1; fi
    if [ "$code" -eq 124 ]; then echo "$program: gave up after $timeout_seconds seconds"; fi
    if [ "$bad" -gt 0 ]; then failures+=("$program (exit code $code)"); fi
    took+=("$((SECONDS - starts[$pid])) s $program")
    passed=$((passed + checks - bad))
    failed=$((failed + bad))
    unset "programs[$pid]" "lanes[$pid]" "starts[$pid]"
}

if [ $# -eq 0 ]; then
    echo "there are no such tests" >&2
    exit 1
fi
for program in "$@"; do
    if [ "${#programs[@]}" -ge "$jobs" ]; then finish_one; fi
    start "$program"
done
while [ "${#programs[@]}" -gt 0 ]; do finish_one; done

echo "the longest, of $SECONDS s:"
printf '    %s\n' "${took[@]}" | sort -rn | sed -n '1,8p'
if [ "${#failures[@]}" -gt 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
