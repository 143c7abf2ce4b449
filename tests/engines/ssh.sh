#!/usr/bin/env bash
# ssh.sh - syncopate launch: one command on a host of its own starts a job on three others over ssh, with the same
# bits as run; and what becomes of it when a worker, a host, the launcher or patience is lost. Each host has an sshd
# with keys of its own. The last part is a list of sixteen, one down, one with another version, one without data.
# needs: everything
# shellcheck source=tests/engines/lib.sh
. "$(dirname "$0")/lib.sh"
needs sshd ssh ssh-keygen
sshd=$(command -v sshd)
three=(alpha beta gamma)
many=()
for i in 04 05 06 07 08 09 10 11 12 13 14 15 16; do many+=("host$i"); done
make_hosts head "${three[@]}" "${many[@]}"

# serve HOST... - an sshd there, that lets in whoever has our key.
ssh-keygen -q -t ed25519 -N '' -f "$work/id"
cat >"$work/ssh_config" <<END
Host *
    IdentityFile $work/id
    IdentitiesOnly yes
    UserKnownHostsFile $work/known_hosts
    StrictHostKeyChecking accept-new
    LogLevel ERROR
END
serve()
{
    local name
    mkdir -p /run/sshd
    for name in "$@"; do
        if [ ! -e "$work/host-key-$name" ]; then ssh-keygen -q -t ed25519 -N '' -f "$work/host-key-$name"; fi
        cat >"$work/sshd-$name.conf" <<END
HostKey $work/host-key-$name
AuthorizedKeysFile $work/id.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
SetEnv TMPDIR=$work/tmp
END
        on "$name" "$sshd" -f "$work/sshd-$name.conf" -E "$work/$name.sshd"
    done
}
serve "${three[@]}" "${many[@]}"

# Each of the three has a disk of its own for what is in $disks, and a home of its own.
disks=$work/disks
mkdir "$disks" "$work/tmp"
own_disks()
{
    local name
    for name in "$@"; do
        on "$name" mount -t tmpfs disk "$disks"
        on "$name" mount -t tmpfs home /root
    done
}
own_disks "${three[@]}"

printf '%s\n' '# The three.' alpha 'beta slots=2' 'gamma' >"$work/hosts"
launch=("$build/syncopate" launch --ssh "ssh -F $work/ssh_config")
trio=("${launch[@]}" --hosts "$work/hosts" --ps "$servers" --workers "$workers" "${job[@]}")
reference "${job[@]}"
no_keys_left()
{
    if [ -n "$(ls -A "$work/tmp")" ]; then fail "keys are left: $(ls "$work/tmp"/*)"; fi
}

# What is lost and stopped is a shorter one, half of which goes by until something happens to it.
short=(--mode sync --model softmax --steps 600 --seed 1 --checkpoint-every 120 --report-every 50)
pair=("${launch[@]}" --hosts "$work/hosts" --ps "$servers" --workers "$workers" "${short[@]}" --compute constant:2ms)
slower=(--compute constant:5ms) # Seconds are left then.
# begun NAME - it trains, and is far from its end.
begun() { says "$1" 'batches 151 to 200' 40; }

# --- start and end -----------------------------------------------------------------------------------------------
since=$EPOCHREALTIME
start_on head shared "${trio[@]}" --out "$work/shared"
seconds=$(first_step "$work/shared" "$since")
ends shared 0 60
same_bits "$work/shared" "launch over ssh"
says shared 'hosts +alpha: ps/0'
says shared 'epoch 5 +step 4,690'
says shared 'sync, 2 servers, 3 workers: done'
for name in ps-0 ps-1 worker-0 worker-1 worker-2; do
    if [ ! -s "$work/shared/logs/$name.log" ]; then fail "there is no log of $name"; fi
done
grep -qs 'encrypted, for those who have keys' "$work/shared/logs/ps-0.log" || fail "keys were not used"
empty_within 10
no_keys_left
ok "launch over ssh: the bits of run, with keys made for the job; first step after $seconds s"

reference "${short[@]}"
run_on head apart 0 "${pair[@]}" --insecure --out "$disks/apart"
same_bits "$disks/apart" "launch without a shared disk"
says apart "$disks/apart has the run directory of server 0 on alpha"
if on alpha ls -A /root/.cache/syncopate | grep .; then fail "something is left on alpha"; fi
ok "where server 0's disk is not ours its run directory is brought here, and nothing stays there"

# --- losses ------------------------------------------------------------------------------------------------------
start_on head worker "${pair[@]}" "${slower[@]}" --out "$work/worker"
begun worker
kill_on gamma KILL '^[^ ]*/syncopate-worker '
ends worker 0 60
says worker 'worker/[0-9] on gamma was killed by signal 9 \(Killed\); started again \(restart 1 of 5\)'
same_bits "$work/worker" "a lost worker"
ok "a worker that is killed is started again on its host; the same bits"

start_on head host "${pair[@]}" --compute constant:8ms --out "$work/host"
begun host
lose_host gamma
lost=$EPOCHREALTIME
says host 'worker/[0-9] on gamma: the connection to it broke.*started again on (alpha|beta) \(restart 1\)' 30
seconds=$(awk -v now="$EPOCHREALTIME" -v since="$lost" 'BEGIN { printf "%.1f", now - since }')
ends host 0 60
same_bits "$work/host" "a lost host"
empty_within 10
ok "the worker of a host that is gone goes on elsewhere, after $seconds s; the same bits"
rm -rf "$work"/tmp/* # Its disk was lost with it.
make_host gamma
serve gamma
own_disks gamma
for name in head alpha beta; do on "$name" ip neighbour flush dev eth0; done # It has another card now.

# --- broken connections ------------------------------------------------------------------------------------------
# Each costs the one process, which is started again. `session HOST PROGRAM` and `client PROGRAM INDEX` name what
# holds it: the sshd over there, or the ssh here.
session()
{
    # shellcheck disable=SC2016 # For the inner shell.
    on "$1" sh -c 'p=$(pgrep -o -f "^[^ ]*/$1 ") && p=$(ps -o ppid= -p $p) && ps -o ppid= -p $p' sh "$2"
}
client() { on head pgrep -f "^ssh .*'[^ ]*/$1' .*'--task-index=$2'"; }
again() { [ "$(grep -c "started again" "$work/broken.log")" -ge "$1" ]; }
windows() { grep -c 'batches [0-9,]* to ' "$work/broken.log"; }
further() { [ "$(windows)" -gt "$1" ]; }
# breaks COUNT HOST PID... - ends these; so many have been started again since the job began, and training goes on.
breaks()
{
    local count=$1 host=$2 seen
    shift 2
    on "$host" kill -KILL "$@"
    within 30 again "$count" || fail "after break $count nobody is started again"
    seen=$(windows)
    within 60 further $((seen + 1)) || fail "after break $count nothing is trained"
}
long=("${short[@]}" --steps 9000)
reference "${long[@]}"
broken=("${launch[@]}" --hosts "$work/hosts" --ps "$servers" --workers "$workers" "${long[@]}" --out "$work/broken")
start_on head broken "${broken[@]}" "${slower[@]}"
begun broken
breaks 1 head "$(client syncopate-ps 0)"
breaks 2 gamma "$(session gamma syncopate-worker)"
breaks 3 alpha "$(session alpha syncopate-ps)"
breaks 5 head "$(client syncopate-worker 1)" "$(client syncopate-ps 1)"
breaks 6 head "$(client syncopate-worker 0)"
breaks 7 beta "$(session beta syncopate-ps)"
breaks 8 head "$(client syncopate-ps 1)"
kill_on head INT '^[^ ]*/syncopate launch ' # It has shown that it trains.
ends broken 130 30
run_on head mended 0 "${broken[@]}"
same_bits "$work/broken" "broken connections"
empty_within 10
no_keys_left
ok "a broken connection of a worker, of a server or of server 0 costs that process, which is started again: the same bits"

# --- stops -------------------------------------------------------------------------------------------------------
reference "${short[@]}"
start_on head stop "${pair[@]}" "${slower[@]}" --out "$disks/stop"
begun stop
kill_on head INT '^[^ ]*/syncopate launch '
ends stop 130 30
says stop 'stopping at a checkpoint'
says stop 'goes on from there'
empty_within 10
no_keys_left
if [ "$(member "$disks/stop" state)" != stopped ]; then fail "what was stopped is not here"; fi
run_on head resume 0 "${pair[@]}" --out "$disks/stop"
same_bits "$disks/stop" "Ctrl-C and resume"
ok "Ctrl-C stops at a checkpoint, with exit code 130 and the run brought here; the same command goes on to the same bits"

start_on head dead "${pair[@]}" "${slower[@]}" --out "$disks/dead"
begun dead
kill_on head KILL '^[^ ]*/syncopate launch '
empty_within 10
no_keys_left
ends dead 137
run_on head revived 0 "${pair[@]}" --out "$disks/dead"
says revived 'the state of an earlier launch on another host is in'
same_bits "$disks/dead" "kill -9 of the launcher and resume"
ok "kill -9 of the launcher: nothing is left on any host within 10 s, and the same command goes on from its checkpoint"

# --- before a start ----------------------------------------------------------------------------------------------
# refused NAME CODE PATTERN ARGUMENT... - nothing is started, nothing left.
refused()
{
    run_on head "$1" "$2" "${launch[@]}" "${job[@]}" --out "$work/$1" "${@:4}"
    says "$1" "$3"
    if [ -e "$work/$1/run.json" ]; then fail "$1 was begun"; fi
    if ! hosts_are_empty; then fail "$1 left processes: $(left_on_hosts)"; fi
}
refused wrong-host 5 'syncopate launch: nowhere cannot be reached: ssh: .*nowhere' -H alpha,nowhere --workers 1
says wrong-host '1 of 2 hosts cannot take part; nothing was started'
refused wrong-bin 5 'syncopate launch: alpha cannot run the programs: there is no program /nowhere/syncopate' -H alpha:2 \
    --remote-bin /nowhere
printf 'alpha\nbeta\nkim@alpha\n' >"$work/twice"
refused twice 2 'twice: alpha is there twice, as line 1 and 3, with another user' --hosts "$work/twice"
ok "a host that cannot be reached, programs that are not there and a host that is there twice in two ways are named before anything is started"

start_on beta squatter "$build/syncopate-ps" --ps-hosts beta:20001 --insecure --out "$work/squatter"
says squatter 'listening on'
run_on head port 0 "${pair[@]}" --insecure --out "$work/port"
says port 'servers listen from port 20016 on: a port from 20000 on is taken'
same_bits "$work/port" "a port that is taken"
kill_on beta TERM '^[^ ]*/syncopate-ps '
ends squatter 143
ok "where a port is taken servers take the next ones"

# --- sixteen hosts -----------------------------------------------------------------------------------------------
# host05 is off, host06 has another version, host07 has no data.
mkdir "$work/bin" "$work/old"
ln -s "$build"/syncopate{,-ps,-worker} "$work/bin"
for program in syncopate syncopate-ps syncopate-worker; do
    printf '#!/bin/sh\necho syncopate 0.0.9\n' >"$work/old/$program"
    chmod +x "$work/old/$program"
done
lose_host host05
on host06 mount --bind "$work/old" "$work/bin"
on host07 mount -t tmpfs nothing /usr/share/datasets
printf '%s\n' "${three[@]}" "${many[@]}" >"$work/hosts16"
since=$EPOCHREALTIME
refused sixteen 5 'syncopate launch: host05 cannot be reached: ssh: .*host05' --hosts "$work/hosts16" --ps 2 --remote-bin "$work/bin"
seconds=$(awk -v now="$EPOCHREALTIME" -v since="$since" 'BEGIN { printf "%.1f", now - since }')
says sixteen "syncopate launch: host06 has another version: $work/bin/syncopate is 'syncopate 0.0.9', here it is 'syncopate [0-9.]+'"
says sixteen 'syncopate launch: host07 has not the data: '
says sixteen '3 of 16 hosts cannot take part; nothing was started'
if [ "$(grep -c '^syncopate launch: ' "$work/sixteen.log")" -ne 4 ]; then fail "not a line for each host, and one for all"; fi
ok "of sixteen hosts one is down, one has another version, one no data: a line each, after $seconds s"

on host06 umount "$work/bin"
on host07 umount /usr/share/datasets
grep -v host05 "$work/hosts16" >"$work/hosts15"
since=$EPOCHREALTIME
start_on head fifteen "${launch[@]}" --hosts "$work/hosts15" --ps 2 --remote-bin "$work/bin" --mode sync --model softmax \
    --global-batch 240 --epochs 1 --seed 1 --report-every 10 --out "$work/fifteen"
seconds=$(first_step "$work/fifteen" "$since")
ends fifteen 0 60
empty_within 10
ok "two servers and fifteen workers on fifteen hosts train; first step after $seconds s"

# --- a program ---------------------------------------------------------------------------------------------------
program_job "$disks/net" "${three[@]}"
run_on head program 0 "${launch[@]}" --hosts "$work/hosts" --ps "$servers" --workers "$workers" "${job[@]}" \
    --out "$disks/program"
same_bits "$disks/program" "launch of a program"
on beta sh -c "echo >>$disks/net/softmax.py"
on gamma rm "$disks/net/softmax.py"
refused program-faults 3 "syncopate launch: beta has not the program of alpha, or it computes other bits" --hosts "$work/hosts"
says program-faults "syncopate launch: gamma cannot run the program: it ended with exit code 2 .*/softmax.py'"
printf '%s\n' 'alpha role=worker' 'gamma role=ps' >"$work/roles"
run_on head program-roles 0 "${launch[@]}" --hosts "$work/roles" --ps 1 --workers 2 "${job[@]}" --out "$disks/program-roles"
same_bits "$disks/program-roles" "servers without the program"
ok "launch --program, no disk shared: the bits of one process and of run; where it is missing or another is said first; servers need none"
