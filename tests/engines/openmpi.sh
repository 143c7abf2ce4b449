#!/usr/bin/env bash
# openmpi.sh - mpirun on a host of its own starts a job on three others, by ssh: one program for all ranks, and one for
# servers and one for workers; a worker, a host and mpirun itself are lost.
# needs: everything
# shellcheck source=tests/engines/lib.sh
. "$(dirname "$0")/lib.sh"
needs mpirun sshd ssh ssh-keygen
make_hosts head node1 node2 node3
nodes=(node1 node2 node3)

ssh-keygen -q -t ed25519 -N '' -f "$work/id"
ssh-keygen -q -t ed25519 -N '' -f "$work/host-key"
cat >"$work/ssh_config" <<CONF
Host *
    IdentityFile $work/id
    IdentitiesOnly yes
    UserKnownHostsFile /dev/null
    StrictHostKeyChecking no
    LogLevel ERROR
    ServerAliveInterval 2
CONF
cat >"$work/sshd_config" <<CONF
HostKey $work/host-key
AuthorizedKeysFile $work/id.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
CONF
start_sshd()
{
    on "$1" sh -c 'mount -t tmpfs run /run && mkdir /run/sshd' # It insists on that folder.
    on "$1" "$(command -v sshd)" -f "$work/sshd_config" -E "$work/sshd-$1.log"
}
for node in "${nodes[@]}"; do start_sshd "$node"; done
printf '%s\n' 'node1 slots=3' 'node2 slots=1' 'node3 slots=1' >"$work/hosts"

# A machine with Slurm's programs is not yet an allocation, and of several networks one is meant. The last: how long
# Open MPI waits before TERM, and again before KILL, when it ends a job: 1 s otherwise, too short for a checkpoint for
# which a lost worker has to be given up first.
mpirun=(mpirun --allow-run-as-root -mca plm rsh -mca ras ^slurm -mca oob_tcp_if_include eth0
    -mca plm_rsh_agent "ssh -F $work/ssh_config" --hostfile "$work/hosts"
    -mca odls_base_sigkill_timeout 3)
task() { echo "$build/syncopate" task --insecure --out "$work/runs/$1"; }
mkdir "$work/runs"
# begin NAME MPIRUN'S OPTION... -- OPTION... - two servers and three workers.
begin()
{
    local name=$1 options=() began=$EPOCHREALTIME
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    # shellcheck disable=SC2046 # Words.
    start_on head "$name" "${mpirun[@]}" "${options[@]}" -np 5 $(task "$name") --ps $servers "${@:2}"
    seconds=$(first_step "$work/runs/$name" "$began")
}

# --- the job of all engines ------------------------------------------------------------------------
reference
begin spmd -- "${job[@]}"
ends spmd 0 40
same_bits "$work/runs/spmd" spmd
says spmd "ps/0 place: ps/0 of 2 servers, 3 workers, from MPI"
empty_within 10
ok "mpirun -np 5 syncopate task --ps 2: the first step $seconds s after the command, the bits of run: $expected"

# shellcheck disable=SC2046 # Words.
start_on head mpmd "${mpirun[@]}" -np 2 $(task mpmd) --job-name ps "${job[@]}" : \
    -np 3 $(task mpmd) --job-name worker "${job[@]}"
ends mpmd 0 40
same_bits "$work/runs/mpmd" mpmd
ok "mpirun -np 2 syncopate task --job-name ps : -np 3 syncopate task --job-name worker: the bits of run"

program_job "$work/net"
begin program -- "${job[@]}"
ends program 0 40
same_bits "$work/runs/program" program
ok "mpirun syncopate task --program: the bits of one process and of run: $expected"

# --- who dies --------------------------------------------------------------------------------------
lasting=(--mode sync --model softmax --data synthetic:2000 --steps 800 --seed 1 --checkpoint-every 200)
reference "${lasting[@]}"
lasting+=(--compute constant:4ms --worker-timeout 2 --recovery-timeout 6)
state_of() { member "$work/runs/$1" state; }

begin recovered --enable-recovery -- "${lasting[@]}"
kill_on node3 KILL "syncopate-worker "
ends recovered 0 40
same_bits "$work/runs/recovered" recovered
empty_within 10
ok "a worker killed, with --enable-recovery: the others do its work, with the bits of run; mpirun ends with 0"

begin lost -- "${lasting[@]}"
kill_on node3 KILL "syncopate-worker "
ends lost 137 40
if [ "$(state_of lost)" != stopped ]; then fail "no clean checkpoint when mpirun ends all: $(state_of lost)"; fi
empty_within 10
begin lost -- "${lasting[@]}"
says lost "resuming from the checkpoint at step"
ends lost 0 40
same_bits "$work/runs/lost" lost
ok "a worker killed: Open MPI ends all, with a clean checkpoint, and mpirun with 137; the same command goes on"

begin terminated -- "${lasting[@]}"
kill_on head TERM "^mpirun "
within 20 gone terminated || fail "mpirun does not end"
code=0
wait "${pids[terminated]}" || code=$?
if [ "$(state_of terminated)" != stopped ]; then fail "no clean checkpoint on mpirun's TERM: $(state_of terminated)"; fi
empty_within 10
ok "mpirun is told to end: a clean checkpoint, exit code $code, and nothing is left on any host"

begin killed -- "${lasting[@]}"
kill_on head KILL "^mpirun "
empty_within 10
if [ "$(state_of killed)" != stopped ]; then fail "no clean checkpoint when mpirun is killed: $(state_of killed)"; fi
ok "kill -9 of mpirun: a clean checkpoint, and nothing is left on any host"

# The others are done before Open MPI notices, most often; what it does then is to end what is there no more. On a
# slow machine they are not, and it ends them, at a clean checkpoint, from which any command goes on.
begin host -- "${lasting[@]}"
began=$EPOCHREALTIME
lose_host node3
within 30 gone host || fail "mpirun does not notice that a host is lost"
code=0
wait "${pids[host]}" || code=$?
seconds=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.0f", b - a }')
empty_within 10
if [ "$(state_of host)" = stopped ]; then
    run_on head host-on 0 "$build/syncopate" run --ps "$servers" --workers "$workers" "${lasting[@]}" --out "$work/runs/host"
fi
same_bits "$work/runs/host" host
ok "a worker's host lost: the others do its work, with the bits of run; mpirun ends with $code, $seconds s after the loss"
