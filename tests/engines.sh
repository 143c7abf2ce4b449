#!/usr/bin/env bash
# engines.sh - jobs started by Slurm, Open MPI, ssh, as pods and by compose, each on several hosts that are namespaces
# here: tests/engines/*.sh, all at once, with what run_tests.sh says of them. The line before its last is
# "engines: N of 5 run", of those that have tried anything: what an engine lacks is named among the skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

engines=(slurm openmpi ssh pods compose)
scripts=()
for engine in "${engines[@]}"; do
    if [ -e "tests/engines/$engine.sh" ]; then scripts+=("tests/engines/$engine.sh"); fi
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT

code=0
JOBS=${#engines[@]} TEST_TIMEOUT=${TEST_TIMEOUT:-420} tests/run_tests.sh "${scripts[@]}" | tee "$log" | sed '$d' || code=$?
run=$(sed -nE 's/^\[ *[0-9]+\/[0-9]+\] (engines\/[a-z]+\.sh) +([1-9][0-9]* passed| *0 passed.*FAILED).*/\1/p' "$log" |
    sort -u | wc -l)
echo "engines: $run of ${#engines[@]} run"
tail -n 1 "$log"
exit "$code"
