# shellcheck shell=bash
# stages.sh - stages of .ci/run, and the table they end with. To be sourced.
#
#     stage TITLE COMMAND...    tests: their last line is "N passed, N failed, N skipped"
#     step TITLE COMMAND...     anything else: one that passed or failed, by its exit code
#     closing                   the table, which tests failed, which of them passed the second time, and
#                               the sum in the same words; fails if anything did
#
# A stage without that line has failed, whatever its exit code: it has tried nothing, or it is not
# known what. A stage that fails does not stop the ones after it.

stages_once=() stages_failures=() stages_late='' stages_rows=() stages_passed=0 stages_failed=0 stages_skipped=0
stages_began=$SECONDS

# stages_found END TITLE LOG - each line of a program that ends with END, and which tests those were.
stages_found()
{
    awk -v title="$2: " -v end=" $1\$" '
        /^\[ *[0-9]+\/[0-9]+\]/ { wanted = $0 ~ end; if (wanted) print title $0 }
        wanted && (/^ *not ok - / || /^ *[^ ]+\.[ch]:[0-9]+:[FE]:/) { sub(/^ */, "    "); print }' "$3"
}

stages_run()
{
    local kind=$1 title=$2 code=0 good='' bad='' left='' began=$SECONDS log
    shift 2
    log=$(mktemp)
    echo "=== $title: $*"
    "$@" 2>&1 | tee "$log" || code=$?
    if [ "$kind" = stage ]; then
        # Behind it make says which target failed, if one did.
        if [ "$code" -ne 0 ]; then sed -i -E '/^make(\[[0-9]+\])?: /d' "$log"; fi
        read -r good bad left < <(tail -n 1 "$log" |
            sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p') || true
        if [ -z "$good" ]; then echo "=== $title: the last line does not say what passed"; fi
        mapfile -t -O "${#stages_once[@]}" stages_once < <(stages_found 'FAILED, once more' "$title" "$log")
        mapfile -t -O "${#stages_failures[@]}" stages_failures < <(stages_found FAILED "$title" "$log")
        stages_late+=$(sed -n "s/^passed the second time: /, $title: /p" "$log")
    elif [ "$code" -eq 0 ]; then
        good=1
    fi
    rm -f "$log"
    if [ -z "$good" ] || { [ "$code" -ne 0 ] && [ "$bad" = 0 ]; }; then bad=$((${bad:-0} + 1)); fi
    good=${good:-0} bad=${bad:-0} left=${left:-0}
    stages_rows+=("$(printf '%-36s %7d %7d %8d %8d' "$title" "$good" "$bad" "$left" \
        $((SECONDS - began)))")
    stages_passed=$((stages_passed + good))
    stages_failed=$((stages_failed + bad))
    stages_skipped=$((stages_skipped + left))
}
stage() { stages_run stage "$@"; }
step() { stages_run step "$@"; }

closing()
{
    printf '\n%-36s %7s %7s %8s %8s\n' stage passed failed skipped seconds
    printf '%s\n' "${stages_rows[@]}"
    printf '%-36s %7s %7s %8s %8d\n' "in all" '' '' '' $((SECONDS - stages_began))
    if [ "${#stages_once[@]}" -gt 0 ]; then printf '%s\n' "failed once:" "${stages_once[@]}"; fi
    if [ "${#stages_failures[@]}" -gt 0 ]; then printf '%s\n' failed: "${stages_failures[@]}"; fi
    if [ -n "$stages_late" ]; then echo "passed the second time: ${stages_late:2}"; fi
    echo "$stages_passed passed, $stages_failed failed, $stages_skipped skipped"
    [ "$stages_failed" -eq 0 ]
}
