#!/usr/bin/env bash
# launch.sh - syncopate launch and probe as far as one host can try them: a list with nobody but this host, to which
# nobody logs in, and an ssh that is a script here. On several hosts: tests/engines/ssh.sh.
# test: asan
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
job=(--mode sync --model softmax --data synthetic:500 --seed 3 --steps 120)
run local 0 syncopate run "${job[@]}" --ps 1 --workers 1 --quiet --out "$work/local"
expected=$(model_hash "$work/local")

run here 0 syncopate launch -H localhost --ps 2 --workers 2 "${job[@]}" --port-base 21300 --out "$work/here"
says here 'hosts +localhost: ps/0, ps/1, worker/0, worker/1'
says here 'sync, 2 servers, 2 workers: done'
if [ "$(model_hash "$work/here")" != "$expected" ]; then fail "launch changes the bytes"; fi
if [ -e "$work/here/elsewhere" ] || compgen -G "$work/here/.launch-*" >/dev/null; then fail "something is left in --out"; fi
ok "launch on a list of this host alone gives the bytes of run, with keys made for the job"

# An ssh that runs its last word here.
cat >"$work/ssh" <<'END'
#!/bin/sh
for last; do :; done
case $* in *nowhere*) echo "ssh: nowhere is not there" >&2; exit 255 ;; esac
cd / && exec sh -c "$last"
END
chmod +x "$work/ssh"
# Each of the two is stopped in the end: no number of steps is so large that none is done before it is disturbed.
start carried syncopate launch -H kim@127.0.0.1:8 --ssh "$work/ssh" --workers 2 "${job[@]}" --compute constant:10ms \
    --insecure --port-base 21320 --report-every 20 --steps 1000000 --out "$work/carried"
says carried 'batches 21 to 40' 30
for pid in $(survivors); do
    case $(tr '\0' ' ' <"/proc/$pid/cmdline") in *syncopate-worker\ *--task-index=1\ *) kill -KILL "$pid" ;; esac
done
says carried 'worker/1 on 127.0.0.1 was killed by signal 9 \(Killed\); started again \(restart 1 of 5\)' 20
reports() { grep -c '"event": "window"' "$work/carried/events.jsonl"; }
before=$(reports)
goes_on() { [ "$(reports)" -gt $((before + 1)) ]; }
within 30 goes_on || fail "it does not go on"
kill -TERM "${pids[carried]}"
ends carried 143 30
run carried-alone 0 syncopate run "${job[@]}" --ps 0 --steps "$(member "$work/carried" step)" --quiet --out "$work/carried-alone"
if [ "$(member "$work/carried" parameters_sha256)" != "$(member "$work/carried-alone" parameters_sha256)" ]; then
    fail "ssh changes the bytes"
fi
nothing_runs
ok "what ssh carries is started again when it is killed"

start stopped syncopate launch -H kim@127.0.0.1:8 --ssh "$work/ssh" --workers 2 "${job[@]}" --compute constant:10ms \
    --insecure --port-base 21340 --report-every 20 --steps 1000000 --out "$work/stopped"
says stopped 'batches 21 to 40' 30
kill -TERM "${pids[stopped]}"
ends stopped 143 30
nothing_runs
if [ "$(member "$work/stopped" state)" != stopped ]; then fail "it is not stopped, but $(member "$work/stopped" state)"; fi
ok "SIGTERM stops a job that ssh carries at a checkpoint, with exit code 143"

run nowhere 5 syncopate launch -H nowhere:8 --ssh "$work/ssh" "${job[@]}" --out "$work/nowhere"
says nowhere 'syncopate launch: nowhere cannot be reached: ssh: nowhere is not there'
says nowhere '1 of 1 host cannot take part; nothing was started'
if [ -e "$work/nowhere" ]; then fail "a folder is left of what was not started"; fi
printf '#!/bin/sh\n: >"%s"\nexec sleep 60\n' "$work/asked" >"$work/slow-ssh"
chmod +x "$work/slow-ssh"
start cut syncopate launch -H kim@far:8 --ssh "$work/slow-ssh" "${job[@]}" --out "$work/cut"
within 20 test -e "$work/asked" || fail "nobody is asked"
kill -INT "${pids[cut]}"
ends cut 130
if compgen -G "$work/cut/.launch-*" >/dev/null; then fail "a Ctrl-C leaves the mark in --out"; fi
run list 5 syncopate launch --hosts a,b "${job[@]}" --out "$work/none"
says list '--hosts=a,b: there is no such file; a list goes with -H$'
run none 2 syncopate launch "${job[@]}"
says none 'on which hosts\?'
run room 2 syncopate launch -H localhost:2 --ps 2 --workers 1 "${job[@]}" --out "$work/room"
says room 'there is no place for worker/0: beside 2 servers the hosts have slots for 0 workers'
run mixed 2 syncopate launch -H localhost,beta "${job[@]}" --out "$work/mixed"
says mixed 'localhost is a different host for everyone who reads it'
run slurm 2 syncopate launch --slurm "${job[@]}"
says slurm "unknown option --slurm: Slurm starts a job itself: srun -n 5 syncopate task --ps 2"
run mpi 2 syncopate launch --mpi -H localhost "${job[@]}"
says mpi "unknown option --mpi: MPI starts a job itself: mpirun -np 5 syncopate task --ps 2"
ok "lists that cannot be are refused before anything is started"

run probe 0 syncopate probe --data synthetic --ports 1-2
says probe '^  data +synthetic: here'
run probe-bad 2 syncopate probe --ports 9-3
says probe-bad 'needs two ports'
ok "probe says what this host has"
