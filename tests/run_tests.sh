#!/usr/bin/env bash
# run_tests.sh PROGRAM... - runs test programs and scripts one after another and sums them up.
#
# A program counts with check's own closing line ("100%: Checks: 12, Failures: 0, Errors: 0"),
# however many it prints; one that prints none, or fails in spite of them, counts as one test by
# its exit code. One after another, because several of them measure time and start processes of
# their own. The last line is "N passed, N failed"; the exit code is 1 when anything failed.
set -euo pipefail

timeout_seconds=${TEST_TIMEOUT:-900} # For each program: whatever hangs is a failure.
passed=0
failed=0
failures=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Prints "checks bad" summed over check's closing lines in the log.
count_checks()
{
    sed -nE 's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+).*/\1 \2 \3/p' "$log" |
        awk '{ checks += $1; bad += $2 + $3 } END { print checks + 0, bad + 0 }'
}

if [ $# -eq 0 ]; then
    echo "there are no such tests" >&2
    exit 1
fi
for program in "$@"; do
    echo "== $program"
    code=0
    timeout --kill-after=10 "$timeout_seconds" "$program" </dev/null 2>&1 | tee "$log" || code=$?
    read -r checks bad < <(count_checks)
    if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1 checks=$((checks + 1)); fi
    if [ "$checks" -eq 0 ]; then checks=1; fi
    if [ "$code" -eq 124 ]; then echo "$program: gave up after $timeout_seconds seconds"; fi
    if [ "$bad" -gt 0 ]; then failures+=("$program (exit code $code)"); fi
    passed=$((passed + checks - bad))
    failed=$((failed + bad))
done

if [ "${#failures[@]}" -gt 0 ]; then printf 'failed: %s\n' "${failures[@]}"; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
