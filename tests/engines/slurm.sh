#!/usr/bin/env bash
# slurm.sh - deploy/slurm/*.sbatch under a Slurm of our own: its controller on one host and three nodes. The same job as
# everywhere, a job of two parts, a worker, a batch script, an srun and nodes that die, scancel, a time limit with its
# requeue. Nothing of it is the machine's: all that Slurm writes is in $work, and a controller that runs here already
# is not touched.
# needs: everything
# shellcheck source=tests/engines/lib.sh
. "$(dirname "$0")/lib.sh"
needs slurmctld slurmd munged sbatch
make_hosts head node1 node2 node3

scripts=$root/deploy/slurm
state=$work/slurm
mkdir -m 755 "$state" "$state/state"
chmod 755 "$work" # munged wants its socket to be reachable.
clean_up_engine()
{
    if [ -n "${pids[munged]:-}" ]; then kill "${pids[munged]}" 2>/dev/null || true; fi
}

# What a namespace lacks of a host decides some of it: no cgroups of its own, processors that are not there.
cat >"$state/slurm.conf" <<CONF
ClusterName=syncopate
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge.socket
StateSaveLocation=$state/state
SlurmdSpoolDir=$state/spool-%n
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
KillWait=10
NodeName=node[1-3] CPUs=8 RealMemory=32000
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
CONF
echo CgroupPlugin=cgroup/v1 >"$state/cgroup.conf"
export SLURM_CONF=$state/slurm.conf
export PATH=$build:$PATH # Of jobs, too.

slurm_says() { on head timeout 20 "$@"; } # Slurm's own commands may wait for ever.
start_node()
{
    mkdir -p "$state/spool-$1"
    start_on "$1" "slurmd-$1" slurmd -D -N "$1"
}
nodes_are_up() { [ "$(slurm_says sinfo --noheader --Node --states=idle,mixed 2>/dev/null | wc -l)" -eq 3 ]; }

head -c 1024 /dev/urandom >"$state/munge.key"
chmod 400 "$state/munge.key"
start_munged()
{
    munged --foreground --force --socket="$state/munge.socket" --key-file="$state/munge.key" \
        --pid-file="$state/munged.pid" --log-file="$state/munged-file.log" --seed-file="$state/munged.seed" \
        >"$work/munged.log" 2>&1 </dev/null &
    pids[munged]=$!
}
start_munged
within 10 test -S "$state/munge.socket" || fail "munged does not listen"
start_on head slurmctld slurmctld -D
for node in node1 node2 node3; do start_node "$node"; done
within 20 nodes_are_up || fail "Slurm has no three nodes"

# submit NAME SCRIPT [SBATCH'S OPTION...] -- OPTION... - the job's number is in ids[NAME].
declare -A ids=()
submit()
{
    local name=$1 script=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    ids[$name]=$(slurm_says sbatch --parsable --chdir="$work" --job-name="$name" "${options[@]}" \
        --output="$work/$name.log" "$scripts/$script.sbatch" "${@:2}") || fail "sbatch refuses $name"
}
out() { echo "$work/runs/$1-${ids[$1]}"; }
about() { slurm_says scontrol --oneliner show job "${ids[$1]}" | head -n 1 | grep -oE "\\<$2=[^ ]*" | cut -d = -f 2; }
in_state() { [[ " $2 " == *" $(about "$1" JobState) "* ]]; }
# finishes NAME STATE EXITCODE - as Slurm tells them: COMPLETED 0:0.
finishes()
{
    within 40 in_state "$1" "COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL" || fail "$1 does not end: $(about "$1" JobState)"
    if ! in_state "$1" "$2" || [ "$(about "$1" ExitCode)" != "$3" ]; then
        fail "$1 is $(about "$1" JobState) with $(about "$1" ExitCode), not $2 with $3"
    fi
}
# of_job HOST NAME - ids of the processes of a job there, by the variable that Slurm gives them.
of_job()
{
    # shellcheck disable=SC2016 # For the inner shell.
    on "$1" sh -c 'grep -lzxs "SLURM_JOB_ID=$0" /proc/[0-9]*/environ | cut -d / -f 3' "${ids[$2]}"
}
# kill_task HOST NAME PATTERN - exactly one of them, by its command line.
kill_task()
{
    local id found=()
    for id in $(of_job "$1" "$2"); do
        if on "$1" cat "/proc/$id/cmdline" 2>/dev/null | tr '\0' ' ' | grep -qE -- "$3"; then found+=("$id"); fi
    done
    if [ ${#found[@]} -ne 1 ]; then fail "$2 has not one '$3' on $1, but: ${found[*]:-none}"; fi
    on "$1" kill -KILL "${found[0]}"
}
# nothing_left NAME - on any host, 10 s after its end.
nothing_left()
{
    local deadline=$((SECONDS + 10)) host left=.
    while [ -n "$left" ]; do
        left=
        for host in "${!host_pids[@]}"; do left+=$(of_job "$host" "$1" | sed "s/^/ $host:/"); done
        if [ -n "$left" ] && [ "$SECONDS" -gt "$deadline" ]; then fail "$1: left after 10 s:$left"; fi
        pause 0.1
    done
}
# A job that is in the queue again waits for two minutes, unless it is told not to.
begin_again()
{
    slurm_says scontrol update JobId="${ids[$1]}" StartTime=now TimeLimit=10 >"$work/update.log" 2>&1
    in_state "$1" RUNNING
}
# again NAME - it is in the queue again, with nothing left of its first piece, and is told not to wait.
again()
{
    within 40 restarted "$1" || fail "$1 is not in the queue again: $(about "$1" JobState)"
    nothing_left "$1"
    pause 2 # A slurmd takes what begins in the second in which a job's first piece was ended for that piece.
    within 40 begin_again "$1" || fail "$1 is in the queue and does not begin again: $(about "$1" Reason)"
}
goes_on()
{
    finishes "$1" COMPLETED 0:0
    says "$1" "resuming from the checkpoint at step"
    same_bits "$(out "$1")" "$1"
}
restarted() { [ "$(about "$1" Restarts)" -ge 1 ]; }
is_stopped() { [ "$(member "$(out "$1")" state)" = stopped ]; }
since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# --- what needs time -------------------------------------------------------------------------------
# A minute is Slurm's shortest limit, and it looks twice a minute, so that the warning comes after 10 to 40 s. It goes
# on beside the others, with next to nothing to compute.
long=(--mode sync --model softmax --data synthetic:2000 --steps 1600 --seed 1 --checkpoint-every 0)
reference "${long[@]}"
long_expected=$expected
submit limit restart --nodes=3 --time=1 --signal=TERM@20 -- "${long[@]}" --compute constant:15ms
hold_restarted() { within 200 restarted limit && slurm_says scontrol hold "${ids[limit]}"; }
hold_restarted & # Else Slurm begins it again after two minutes, looked at or not.
holding=$!

# --- the job of all engines ------------------------------------------------------------------------
reference
began=$EPOCHREALTIME
submit plain job --nodes=3 -- "${job[@]}"
seconds=$(first_step "$(out plain)" "$began")
finishes plain COMPLETED 0:0
same_bits "$(out plain)" plain
nothing_left plain
ok "sbatch job.sbatch: the first step $seconds s after the command, the bits of run: $expected"

submit het het -- "${job[@]}"
finishes het COMPLETED 0:0
same_bits "$(out het)" het
for rank in 0 1; do says het "ps/$rank place: ps/$rank of 2 servers, 3 workers"; done
ok "sbatch het.sbatch: servers and workers in two parts, the bits of run"

program_job "$work/net"
start_on head program srun --nodes=3 --ntasks=5 --chdir="$work" syncopate task --ps 2 --insecure \
    --out "$work/runs/program" "${job[@]}"
ends program 0 60
same_bits "$work/runs/program" program
ok "srun syncopate task --program: the bits of one process and of run: $expected"

# --- who dies --------------------------------------------------------------------------------------
# Several seconds of a job, with checkpoints.
lasting=(--mode sync --model softmax --data synthetic:2000 --steps 400 --seed 1 --checkpoint-every 100)
reference "${lasting[@]}"
lasting+=(--compute constant:8ms --worker-timeout 2 --recovery-timeout 6)

# With three nodes, tasks 0 to 2 are on node1, 3 on node2, 4 on node3.
submit worker job --nodes=3 -- "${lasting[@]}"
first_step "$(out worker)" 0 >"$work/seconds"
kill_task node3 worker "syncopate-worker "
finishes worker COMPLETED 0:0
same_bits "$(out worker)" worker
says worker "task 4: Killed"
ok "a worker killed under job.sbatch: srun says 137, the others do its work, the job is COMPLETED with the bits of run"

submit cancelled job --nodes=3 -- "${lasting[@]}"
first_step "$(out cancelled)" 0 >"$work/seconds"
slurm_says scancel "${ids[cancelled]}"
nothing_left cancelled
finishes cancelled CANCELLED 0:15
is_stopped cancelled || fail "scancel leaves no clean checkpoint"
ok "scancel: everybody ends with 143 and a clean checkpoint, and nothing is left on any host"

submit script job --nodes=3 -- "${lasting[@]}"
first_step "$(out script)" 0 >"$work/seconds"
kill_task node1 script "/slurm_script "
nothing_left script
finishes script FAILED 0:9
ok "kill -9 of the batch script: Slurm ends the step, and nothing is left on any host"

submit srun job --nodes=3 -- "${lasting[@]}"
first_step "$(out srun)" 0 >"$work/seconds"
on node1 pkill -KILL -f -- "^srun .*--out runs/srun-" # It is two processes.
nothing_left srun
finishes srun FAILED 137:0
ok "kill -9 of srun in the batch script: the job ends with 137, and nothing is left on any host"

# Typed at a prompt: nobody starts it but a person, and nobody misses it when it dies.
typed=(--ps 2 --insecure --out "$work/runs/typed" "${lasting[@]}" --steps 100000)
start_on head typed srun --nodes=3 --ntasks=5 --chdir="$work" --job-name=typed syncopate task "${typed[@]}"
first_step "$work/runs/typed" 0 >"$work/seconds"
ids[typed]=$(slurm_says squeue --noheader --name=typed --format=%A)
on head pkill -KILL -f -- "^srun .*--job-name=typed" # It is two processes.
ends typed 137
pause 2
in_state typed RUNNING || fail "the step ends with the srun that was typed: $(about typed JobState)"
slurm_says scancel "${ids[typed]}"
nothing_left typed
if [ "$(member "$work/runs/typed" state)" != stopped ]; then fail "scancel of what was typed leaves no checkpoint"; fi
ok "kill -9 of an srun that was typed: the step goes on, and scancel ends it at a checkpoint"

# --- the queue again -------------------------------------------------------------------------------
wait "$holding" || fail "the job is not in the queue again: $(about limit JobState)"
is_stopped limit || fail "the time limit leaves no clean checkpoint"
nothing_left limit
slurm_says scontrol release "${ids[limit]}"
within 40 begin_again limit || fail "limit is released and does not begin again: $(about limit Reason)"

# Two servers and a worker on a node each.
submit server restart --nodes=3 --ntasks=3 --ntasks-per-node=1 -- "${lasting[@]}"
within 40 test -d "$(out server)/checkpoints/step-000000000100" || fail "there is no checkpoint"
kill_task node2 server "syncopate-ps .*--task-index=1 "
again server
goes_on server
says server "ps/0 error: lost ps/1"
says server "restart.sbatch: exit code 137, piece 1"
ok "a server killed under restart.sbatch: all end with 195, srun with 137; the queue again, and on to the bits of run"

lasting_expected=$expected expected=$long_expected
goes_on limit
expected=$lasting_expected
says limit "restart.sbatch: exit code 143, piece 1"
ok "a time limit: TERM before its end, a checkpoint, the queue again, and on from there to the bits of run"

# --- nodes that die --------------------------------------------------------------------------------
# lose NODE, regain NODE - an administrator says so to Slurm, which is told by itself after SlurmdTimeout.
lose()
{
    lose_host "$1"
    slurm_says scontrol update NodeName="$1" State=DOWN Reason=lost
}
regain()
{
    make_host "$1"
    start_node "$1"
    slurm_says scontrol update NodeName="$1" State=RESUME
    within 20 nodes_are_up || fail "$1 does not come back"
}

submit lost restart --nodes=3 --no-kill -- "${lasting[@]}"
first_step "$(out lost)" 0 >"$work/seconds"
began=$EPOCHREALTIME
lose node3
finishes lost COMPLETED 0:0
same_bits "$(out lost)" lost
ok "a worker's node lost under restart.sbatch with --no-kill: the others do its work; done $(since "$began") s later, with the bits of run"

regain node3
submit first restart --nodes=3 -- "${lasting[@]}"
within 40 test -d "$(out first)/checkpoints/step-000000000100" || fail "there is no checkpoint"
lose node1
within 40 restarted first || fail "the job is not in the queue again: $(about first JobState)"
regain node1
again first
goes_on first
ok "the script's node lost, with all servers: Slurm has the job in the queue again, and on to the bits of run"
