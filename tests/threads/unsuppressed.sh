#!/usr/bin/env bash
# unsuppressed.sh - in a build with ThreadSanitizer: whole servers and workers over the transport
# inside one process and over shared memory, with nothing suppressed. (Elsewhere test_cluster alone has said it all.)
set -euo pipefail

if [ "${TEST_MODE:-release}" != tsan ]; then
    echo "unsuppressed.sh: says nothing new without ThreadSanitizer; see the Makefile" >&2
    exit 1
fi
export TSAN_OPTIONS=exitcode=87:second_deadlock_stack=1
for case in memory shm; do
    CK_RUN_CASE=$case "$TEST_BUILD/tests/threads/test_cluster"
done
