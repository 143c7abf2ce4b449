#!/usr/bin/env bash
# compose.sh - deploy/compose.yml, by podman-compose: the bits of a run here; a worker and a server that crash are
# started again, a worker that is stopped leaves and comes back, all are stopped at a checkpoint and go on from there.
# needs: everything
# shellcheck source=tests/engines/containers.sh
. "$(dirname "$0")/containers.sh"
begin_containers podman podman-compose
make_image

export IMAGE=$image
kept=$volumes/job_runs/_data/one
# compose NAME ARGUMENT...
compose()
{
    local name=$1
    shift
    podman-compose -p job -f "$root/deploy/compose.yml" "$@" >"$work/$name.log" 2>&1
}
container() { echo "job_$1_1"; }
fail_with_logs()
{
    local name
    for name in ps-0 ps-1 worker-0 worker-1 worker-2; do
        podman logs "$(container "$name")" >"$work/$name.log" 2>&1 || true
    done
    podman ps --all >"$work/ps.log"
    fail "$1"
}
all_in_state()
{
    local name
    for name in ps-0 ps-1 worker-0 worker-1 worker-2; do is_in_state "$(container "$name")" "$1" || return 1; done
}

reference
since=$EPOCHREALTIME
compose up up &
pids[up]=$!
seconds=$(first_step "$kept" "$since") || fail_with_logs "no step is done"
ends up 0 60
all_in_state "exited 0" || fail_with_logs "not all have ended with 0"
same_bits "$kept" "by compose"
ok "podman-compose up ends by itself, everybody with 0: the bits of a run here; the first step after $seconds s"

remove_containers podman-compose -p job -f "$root/deploy/compose.yml" down -v
ok "down takes all of it away: no process, no container"

# --- what befalls it -------------------------------------------------------------------------------
inspected()
{
    podman exec "$(container ps-0)" syncopate inspect ps-0:7000 >"$work/inspect.log" 2>&1 &&
        grep -qE "$1" "$work/inspect.log"
}
crashes()
{
    crash "$(container "$1")"
    within 30 is_back "$1" || fail_with_logs "$1 is not started again"
}
is_back() { [ "$(restarts_of "$(container "$1")")" -ge 1 ]; }
export SYNCOPATE_COMPUTE=constant:5ms # A step takes long enough for what follows.
compose up up &
pids[up]=$!
within 60 inspected '^step: [1-9]' || fail_with_logs "the job does not train"
crashes worker-1
podman stop --time 60 "$(container worker-2)" >"$work/stop.log" || fail "a worker cannot be stopped"
comes_to "$(container worker-2)" "exited 143"
podman start "$(container worker-2)" >"$work/start.log" || fail "a worker cannot be started again"
crashes ps-1
# Whoever is stopped while it comes back does not stop the job, which then waits for it.
is_there_again()
{
    podman logs "$(container ps-1)" >"$work/ps-1.log" 2>&1 && said ps-1 "generation=1 starts"
}
within 30 is_there_again || fail_with_logs "ps-1 does not take its place"
within 30 inspected '^workers: 3 of 3' || fail_with_logs "not all are back"
podman logs "$(container ps-0)" >"$work/ps-0.log" 2>&1
says ps-0 "lost worker/1"
says ps-0 "worker/2 leaves"
ok "a worker and a server that crash are started again; one that is stopped leaves with 143, and comes back"

# podman-compose stops one after the other: the first server ends the job, and another may have been started again
# when its own turn comes. The second time it has nothing to go on with.
stopped()
{
    all_in_state "exited 143" && return
    compose stopped stop && pause 1 && all_in_state "exited 143"
}
within 30 stopped || fail_with_logs "not all have ended with 143"
within 30 gone up || fail "up does not end"
wait "${pids[up]}" || true # What it says of those that were stopped.
if [ "$(member "$kept" state)" != stopped ]; then fail_with_logs "the run is $(member "$kept" state), not stopped"; fi
unset SYNCOPATE_COMPUTE
compose again up &
pids[up]=$!
ends up 0 60
within 30 all_in_state "exited 0" || fail_with_logs "not all have ended with 0"
says again "going on from|resum" 1
same_bits "$kept" "by compose, stopped and gone on with"
ok "stop ends everybody at a checkpoint (143); up goes on from there: the same bits"

remove_containers podman-compose -p job -f "$root/deploy/compose.yml" down -v
nothing_runs
