#!/usr/bin/env bash
# waits.sh - every state in which a process can wait, with the deadline that ends it when the other
# side is gone, and the test that takes it away: a case of faults.sh, or, where real processes cannot
# be held in that state, a unit test. Prints the list; make check-all runs the cases.
#
# W is --worker-timeout, R --recovery-timeout, P --progress-timeout, T --start-timeout, S
# --stop-timeout.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

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
server 0: finishing, stopped before all have found it again|those who look for it|S|test_coordinator_faults:a_stop_after_a_restart_of_server_0_waits_for_all_to_hear_of_it
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
launcher: waits for a server's address|its word|T|test_launch:a_server_that_never_tells_its_port_is_waited_for_with_a_deadline
launcher: a child has failed, the others are told to stop|their obedience|S, 10 s at most|test_launch:a_child_that_ignores_sigterm_is_killed
launcher: Ctrl-C|the job's obedience|S + 5|test_launch:a_job_that_does_not_stop_is_killed_after_the_deadline
launcher: the workers are done|a server's end|S + 5|test_launch:a_server_that_outlives_its_workers_is_stopped
END
)

cases=$("$root/tests/processes/faults.sh" --table | cut -d'|' -f1)
# proven TEST - there is such a test.
proven()
{
    case $1 in
        *:*) grep -qE "TEST[A-Z_]*\(${1#*:}[,)]" "$root"/tests/unit/*/"${1%%:*}.c" ;;
        *) grep -qxF -- "$1" <<<"$cases" ;;
    esac
}
count=0
while IFS='|' read -r state other deadline test; do
    proven "$test" || fail "there is no test $test"
    printf '    %-68s %-22s %-16s %s\n' "$state" "without $other" "$deadline" "${test#*:}"
    count=$((count + 1))
done <<<"$states"
ok "$count states in which a process can wait: each ends by a deadline when the other side is gone"
