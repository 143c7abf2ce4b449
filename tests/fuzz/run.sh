#!/usr/bin/env bash
# run.sh - lets libFuzzer loose on every fuzzer, from the committed corpus on: `make fuzz RUNS=N`.
#
#     FUZZ_BUILD    where the fuzzers are (build/fuzz)
#     RUNS          executions each; SECONDS_MAX: or so many seconds each
#     PARSERS       which ones; all of them when empty
#     JOBS          so many at once
#
# One line a fuzzer says how many executions there were and how fast. New inputs that reach more are
# kept in FUZZ_BUILD/corpus/, an input that fails in FUZZ_BUILD/findings/: copy it into
# tests/fuzz/corpus/ with what repairs it. The last line is "N passed, N failed, 0 skipped"; the exit
# code is 1 when anything was found.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${FUZZ_BUILD:-build/fuzz}
runs=${RUNS:-20000}
seconds_max=${SECONDS_MAX:-0}
jobs=${JOBS:-1}
read -ra parsers <<<"${PARSERS:-$(find tests/fuzz -name 'fuzz_*.c' -printf '%f\n' | sort |
    sed -e 's/^fuzz_//' -e 's/\.c$//' | tr '\n' ' ')}"

# Of a fuzzer's name; nothing when it is not built.
program_of() { find "$build/tests/fuzz" -type f -name "fuzz_$1" -perm -u+x; }

# The longest input worth trying: a header may have 4096 bytes, a script of steps gets slow.
length_of()
{
    case $1 in
    ring | window) echo 300 ;;
    server | options) echo 600 ;;
    model | session) echo 1100 ;;
    message | spans) echo 4200 ;;
    *) echo 2400 ;;
    esac
}

# One fuzzer. Memory beyond its own bound, or 1 GiB in all, is a finding, and so are 300 seconds for
# one input (of the clock, so a machine that has no time for us must not look like a hang).
run_one()
{
    local name=$1 code=0 log=$build/log/$1.txt
    mkdir -p "$build/corpus/$name" "$build/findings" "$build/log"
    if [ ! -d "tests/fuzz/corpus/$name" ]; then
        echo "not ok - $name: has no corpus in tests/fuzz/corpus/$name"
        return 1
    fi
    ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512:detect_leaks=1:quarantine_size_mb=8 \
    UBSAN_OPTIONS=print_stacktrace=1 \
        "$(program_of "$name")" -runs="$runs" -max_total_time="$seconds_max" -max_len="$(length_of "$name")" \
        -timeout=300 -rss_limit_mb=1024 -malloc_limit_mb=512 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "tests/fuzz/corpus/$name" \
        >"$log" 2>&1 </dev/null || code=$?
    if [ "$code" -eq 72 ]; then
        echo "not ok - $name: interrupted"
        return 1
    fi
    if [ "$code" -ne 0 ]; then
        echo "not ok - $name: FOUND SOMETHING (exit code $code), see $log:"
        tail -n 40 "$log"
        return 1
    fi
    awk -v name="$name" '
        /stat::number_of_executed_units/ { executions = $2 }
        /stat::average_exec_per_sec/ { rate = $2 }
        END {
            speed = rate > 0 ? sprintf(", %d a second", rate) : ""
            printf "ok - %-14s %10d executions%s, nothing found\n", name, executions, speed
        }' "$log"
}

if [ ! -d "$build/tests/fuzz" ]; then
    echo "SKIPPED - inputs made up by libFuzzer: this machine's clang has none, or there is no clang"
    exit 0
fi
missing=()
for name in "${parsers[@]}"; do
    if [ -z "$(program_of "$name")" ]; then missing+=("$name"); fi
done
if [ "${#missing[@]}" -gt 0 ]; then
    echo "fuzz: not built: ${missing[*]}" >&2
    exit 1
fi

passed=0
failed=0
finish_one()
{
    if wait -n; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
for name in "${parsers[@]}"; do
    if [ $(($(jobs -rp | wc -l))) -ge "$jobs" ]; then finish_one; fi
    run_one "$name" &
done
while [ $((passed + failed)) -lt "${#parsers[@]}" ]; do finish_one; done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
