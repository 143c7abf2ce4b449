#!/usr/bin/env bash
# task.sh - syncopate task: one command for all processes of a job, each of which is what its environment says.
# The environments are made up (tests/unit/place has those of all engines), the processes are real: two servers and two
# workers come to the bits of syncopate run, a worker and a server at one place live and end together, and what is wrong is said.
# And launch and probe.
# test: asan
# promises: other-run
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--data synthetic:1000 --model softmax --global-batch 32 --seed 5 --steps 60)
long=(--data synthetic:1000 --model softmax --global-batch 32 --seed 5 --steps 100000 --compute constant:5ms
    --checkpoint-every 50)

# as NAME VARIABLE=VALUE... -- ARGUMENT... - one task in such an environment.
as()
{
    local name=$1 environment=()
    shift
    while [ "$1" != -- ]; do environment+=("$1"); shift; done
    shift
    env "${environment[@]}" "$build/syncopate" task "$@" >"$work/$name.log" 2>&1 </dev/null &
    pids[$name]=$!
}
# four NAME ARGUMENT... - the tasks of one job, in the environments that environment_of NUMBER prints.
four()
{
    local name=$1 i lines
    shift
    for i in 0 1 2 3; do
        mapfile -t lines < <(environment_of "$i")
        as "$name-$i" "${lines[@]}" -- --out "$work/$name" "$@"
    done
}
# trained NAME SAID... - all four end well, with the bits of run, and have said what they are.
trained()
{
    local name=$1 i
    shift
    for i in 0 1 2 3; do
        ends "$name-$i" 0
        said "$name-$i" "place: $1$" || fail "$name-$i does not say: $1"
        shift
    done
    if [ ! -e "$work/here" ]; then
        run here 0 syncopate run "${job[@]}" --ps 2 --workers 2 --quiet --out "$work/here"
    fi
    if [ "$(member "$work/$name" parameters_sha256)" != "$(member "$work/here" parameters_sha256)" ]; then
        fail "$name: other bits than those of run"
    fi
    nothing_runs
}
# two_ports - the first of two that follow each other.
two_ports()
{
    local first
    first=$(free_port)
    while taken $((first + 1)); do first=$(free_port); done
    echo "$first"
}
# trains NAME - and has not only begun, of which those who train hear later than who writes it down.
trains() { grep -qs '"event": "progress"' "$work/$1/events.jsonl"; }
servers="2 servers, 2 workers, from"
workers="2 workers, 2 servers, from"

# --- every source ----------------------------------------------------------------------------------------
if short_run; then
    hosts="127.0.0.1:$(free_port),127.0.0.1:$(free_port)"

    # As scripts of TensorFlow 1 say it.
    line=(--data synthetic:1000 --model softmax --seed 5 --steps 60 --out "$work/line" --ps_hosts "$hosts"
        --worker_hosts "x:1,y:1" --global_batch 32)
    for i in 0 1; do
        as "line-$i" A=b -- "${line[@]}" --job_name ps --task_index "$i"
        as "line-$((i + 2))" SYNCOPATE_JOB_NAME=worker "SYNCOPATE_TASK_INDEX=$i" -- "${line[@]}"
    done
    trained line "ps/0 of $servers the command line" "ps/1 of $servers the command line" \
        "worker/0 of $workers SYNCOPATE_TASK_INDEX=0" "worker/1 of $workers SYNCOPATE_TASK_INDEX=1"

    tf() { echo "TF_CONFIG={\"cluster\":{\"chief\":[\"c:1\"],\"ps\":[\"${hosts/,/\",\"}\"],\"worker\":[\"w:1\"]},\"task\":{\"type\":\"$1\",\"index\":$2},\"environment\":\"cloud\"}"; }
    environment_of() { case $1 in 0) tf ps 0 ;; 1) tf ps 1 ;; 2) tf chief 0 ;; 3) tf worker 0 ;; esac; }
    four tf "${job[@]}"
    trained tf "ps/0 of $servers TF_CONFIG \(ps 0\)" "ps/1 of $servers TF_CONFIG \(ps 1\)" \
        "worker/0 of $workers TF_CONFIG \(chief 0\)" "worker/1 of $workers TF_CONFIG \(worker 0\)"

    hosts="127.0.0.1:$(free_port),127.0.0.1:$(free_port)"
    environment_of() { echo "JOB_COMPLETION_INDEX=$1"; }
    four pods --ps-hosts "$hosts" --ps 2 --workers 2 "${job[@]}"
    trained pods "ps/0 of $servers Kubernetes \(JOB_COMPLETION_INDEX=0\)" \
        "ps/1 of $servers Kubernetes \(JOB_COMPLETION_INDEX=1\)" \
        "worker/0 of $workers Kubernetes \(JOB_COMPLETION_INDEX=2\)" \
        "worker/1 of $workers Kubernetes \(JOB_COMPLETION_INDEX=3\)"
    ok "two servers and two workers by the command line and variables, TF_CONFIG and pods' indices: the bits of run"
fi

# --- where nobody knows the servers' hosts ----------------------------------------------------------------
if short_run; then
    mkdir "$work/met.addresses"
    printf '1\n127.0.0.1:1\n' >"$work/met.addresses/ps-0" # An older job's.
    environment_of()
    {
        printf '%s\n' OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2 "OMPI_COMM_WORLD_RANK=$1" \
            PMIX_NAMESPACE=2008940545 PMIX_HOSTNAME=localhost
    }
    four met --ps 2 "${job[@]}"
    trained met "ps/0 of $servers MPI \(OMPI_COMM_WORLD_RANK=0\)" "ps/1 of $servers MPI \(OMPI_COMM_WORLD_RANK=1\)" \
        "worker/0 of $workers MPI \(OMPI_COMM_WORLD_RANK=2\)" "worker/1 of $workers MPI \(OMPI_COMM_WORLD_RANK=3\)"
    environment_of() # Dealt out as one likes, and once in the queue again.
    {
        printf '%s\n' SLURM_JOB_ID=1234 SLURM_STEP_ID=0 SLURM_NTASKS=4 SLURM_STEP_NODELIST=here,localhost \
            SLURM_STEP_TASKS_PER_NODE=2,2 "SLURM_NODEID=$(($1 % 2))" SLURMD_NODENAME=localhost \
            SLURM_DISTRIBUTION=cyclic SLURM_RESTART_COUNT=1 "SLURM_PROCID=$1"
    }
    mkdir "$work/slurm.addresses"
    printf '1234.0.0\n127.0.0.1:1\n' >"$work/slurm.addresses/ps-1"
    four again --ps 2 --meet "$work/slurm.addresses" "${job[@]}"
    trained again "ps/0 of $servers SLURM \(SLURM_PROCID=0\)" "ps/1 of $servers SLURM \(SLURM_PROCID=1\)" \
        "worker/0 of $workers SLURM \(SLURM_PROCID=2\)" "worker/1 of $workers SLURM \(SLURM_PROCID=3\)"

    environment_of()
    {
        printf '%s\n' OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2 "OMPI_COMM_WORLD_RANK=$1" PMIX_NAMESPACE=7
    }
    mapfile -t lines < <(environment_of 3)
    as lost "${lines[@]}" -- --ps 2 --meet "$work/nobody" --start-timeout 0.5 "${job[@]}"
    ends lost 4
    one_line lost
    said lost "server 0 has not left its address in $work/nobody" || fail "it does not say who is missing"
    ok "servers whose hosts nobody knows leave their addresses in a folder; one of an older job is not taken; who waits in vain says for whom"
fi

# --- a worker and a server at one place -------------------------------------------------------------------
pair_of() { printf '%s\n' OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 "OMPI_COMM_WORLD_RANK=$1" PMIX_NAMESPACE=2008940545; }
# pairs NAME ARGUMENT... - two places.
pairs()
{
    local name=$1 i lines base
    shift
    base=$(two_ports)
    for i in 0 1; do
        mapfile -t lines < <(pair_of "$i")
        as "$name-$i" "${lines[@]}" -- --ps colocated --port-base "$base" --out "$work/$name" "$@"
    done
}
if short_run; then
    pairs pair "${job[@]}"
    ends pair-0 0
    ends pair-1 0
    run alone 0 syncopate run "${job[@]}" --ps 0 --quiet --out "$work/alone"
    if [ "$(member "$work/pair" parameters_sha256)" != "$(member "$work/alone" parameters_sha256)" ]; then
        fail "pairs have other bits"
    fi
    said pair-1 "place: ps/1 and worker/1 of 2 places, from MPI" || fail "a pair does not say what it is"
    said pair-0 " ps/0 " || fail "the server of a pair is not heard"
    said pair-0 " worker/0 " || fail "nor is its worker"
    said pair-0 "^step  *60" || said pair-0 "60 of 60" || said pair-0 "60/60" || fail "server 0 prints no progress"
    nothing_runs

    pairs stopped "${long[@]}"
    says stopped-0 "worker/0 .*(joined|training|ready)"
    within 20 test -e "$work/stopped/run.json" || fail "the job does not begin"
    within 20 trains stopped || fail "nothing is trained"
    kill -TERM "${pids[stopped-1]}"
    ends stopped-1 143
    ends stopped-0 143
    if said stopped-1 "^syncopate task:"; then fail "a stop that was asked for has an explanation"; fi
    nothing_runs

    mapfile -t lines < <(pair_of 0 | sed s/SIZE=2/SIZE=1/)
    exec 5> >(env "${lines[@]}" "$build/syncopate" task --ps colocated --parent-stdin --port-base "$(two_ports)" \
        --out "$work/leash" "${long[@]}" >"$work/leash.log" 2>&1 || echo "ended with $?" >>"$work/leash.log")
    echo hello >&5
    within 20 trains leash || fail "nothing is trained"
    exec 5>&-
    says leash "^ended with 143$" 20
    nothing_runs

    mapfile -t lines < <(pair_of 0 | sed s/SIZE=2/SIZE=1/)
    as half "${lines[@]}" -- --ps colocated --port-base "$(two_ports)" --out "$work/half" --data "$work/nowhere"
    ends half 5
    says half "^syncopate task: worker/0 ended with exit code 5: --data: no data in"
    nothing_runs

    pairs killed "${long[@]}"
    within 20 trains killed || fail "nothing is trained"
    murder killed-0
    murder killed-1
    within 20 no_survivors || fail "what is left of a killed pair: $(survivors)"
    ok "pairs of a worker and a server: the bits of one process, a signal or the end of whoever started them stops both with 143, one that fails says so for both, and nothing is left of those that are killed"
fi

# --- two jobs at one port -----------------------------------------------------------------------------------
if short_run; then
    base=$(free_port)
    task_of() # JOB RANK
    {
        printf '%s\n' "SLURM_JOB_ID=$1" SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_STEP_NODELIST=localhost \
            SLURM_STEP_TASKS_PER_NODE=2 SLURM_NODEID=0 SLURMD_NODENAME=localhost "SLURM_PROCID=$2"
    }
    for i in 0 1; do
        mapfile -t lines < <(task_of 1234 $i)
        as "own-$i" "${lines[@]}" -- --ps 1 --port-base "$base" --out "$work/own" "${long[@]}"
    done
    within 20 trains own || fail "nothing is trained"
    murder own-1 # Its place is free for any.
    mapfile -t lines < <(task_of 1934 1)
    as foreign "${lines[@]}" -- --ps 1 --port-base "$base" "${long[@]}"
    ends foreign 3
    said foreign "the server at localhost:$base is of Slurm job 1234, this task is of Slurm job 1934 \(their ports are the same, for their numbers are 700 apart\): give one of them --port-base P$" ||
        fail "a task of another job does not say so"
    says own-0 "refused worker/0 on .*: of Slurm job 1934, this is Slurm job 1234$"
    as called "${lines[@]}" -- --ps 1 --port-base "$base" --job-id "Slurm job 1234" "${long[@]}"
    joined_again() { [ "$(grep -c "worker/0 joined" "$work/own-0.log")" = 2 ]; }
    within 20 joined_again || fail "a task that is called as the job is not taken"
    kill -TERM "${pids[own-0]}"
    ends own-0 143
    ends called 143
    nothing_runs
    ok "a task of another job at the same port is refused with 3, and both say which jobs these are; --job-id stands over the engine's"
fi

# --- what it becomes --------------------------------------------------------------------------------------
if short_run; then
    hosts="127.0.0.1:$(free_port)"
    set_of() { printf '%s\n' KUBERNETES_SERVICE_HOST=10.0.0.1 "HOSTNAME=$1"; }
    pod() # NAME ROLE ARGUMENT...
    {
        mapfile -t lines < <(set_of "$1")
        as "$1" "${lines[@]}" -- --job-name "$2" --ps-hosts "$hosts" --workers 2 --out "$work/set" "${long[@]}" "${@:3}"
    }
    pod ps-0 ps
    pod w-0 worker
    pod w-1 worker
    within 20 trains set || fail "nothing is trained"
    for pair in ps-0:syncopate-ps w-0:syncopate-worke; do
        if [ "$(cat "/proc/${pids[${pair%%:*}]}/comm")" != "${pair#*:}" ]; then fail "${pair%%:*} is not ${pair#*:}"; fi
    done
    # An engine that ends single pods means this one.
    kill -TERM "${pids[w-1]}"
    ends w-1 143
    running w-0 || fail "the others went as well"
    running ps-0 || fail "the server went as well"
    kill -TERM "${pids[ps-0]}"
    ends ps-0 143
    ends w-0 143

    hosts="127.0.0.1:$(free_port)"
    rm -rf "$work/set"
    pod ps-0 ps --on-term stop
    pod w-0 worker --on-term stop
    pod w-1 worker --on-term stop
    within 20 trains set || fail "nothing is trained"
    kill -TERM "${pids[w-1]}"
    ends w-1 143
    ends w-0 143
    ends ps-0 143
    nothing_runs
    ok "a task is the process of its role, with its number and its exit codes; a pod that is told to go leaves, unless --on-term says otherwise"

    as evaluator 'TF_CONFIG={"cluster":{"ps":["p:1"],"worker":["w:1"]},"task":{"type":"evaluator","index":0}}' -- --out "$work/here"
    ends evaluator 0
    as evaluator-lost 'TF_CONFIG={"cluster":{"ps":["p:1"],"worker":["w:1"]},"task":{"type":"evaluator","index":0}}' --
    ends evaluator-lost 2
    one_line evaluator-lost
    as single 'TF_CONFIG={"cluster":{"worker":["w:1"]},"task":{"type":"worker","index":0}}' -- --out "$work/single" "${job[@]}"
    ends single 0
    if [ "$(member "$work/single" parameters_sha256)" != "$(member "$work/here" parameters_sha256)" ]; then
        fail "one task alone has other bits"
    fi
    ok "an evaluator scores the run's checkpoints, a job of one task trains alone"
fi

# --- what is wrong ----------------------------------------------------------------------------------------
# wrong NAME SAID VARIABLE=VALUE... -- ARGUMENT...
wrong()
{
    local name=$1 text=$2
    shift 2
    as "$name" "$@"
    ends "$name" 2
    one_line "$name"
    grep -qF -- "syncopate task: $text" "$work/$name.log" || fail "$name does not say: $text"
}
if short_run; then
    wrong wrong1 "nothing says which of the job's processes this is" A=b -- --ps 2
    wrong wrong2 "TF_CONFIG: task.type is 'chief', and cluster has no chief" \
        'TF_CONFIG={"cluster":{"ps":["a:1"],"worker":["b:1"]},"task":{"type":"chief"}}' --
    ok "what is wrong with an environment is said in one line, with exit code 2"
fi

# --- syncopate launch and probe, as far as one host can try them ------------------------------------------
# A list with nobody but this host, to which nobody logs in, and an ssh that is a script here. On several hosts:
# tests/engines/ssh.sh.
launched=(--mode sync --model softmax --data synthetic:500 --seed 3 --steps 120)
run local 0 syncopate run "${launched[@]}" --ps 1 --workers 1 --quiet --out "$work/local"
expected=$(model_hash "$work/local")

run hosts-here 0 syncopate launch -H localhost --ps 2 --workers 2 "${launched[@]}" --port-base 21300 --out "$work/hosts-here"
says hosts-here 'hosts +localhost: ps/0, ps/1, worker/0, worker/1'
says hosts-here 'sync, 2 servers, 2 workers: done'
if [ "$(model_hash "$work/hosts-here")" != "$expected" ]; then fail "launch changes the bytes"; fi
if [ -e "$work/hosts-here/elsewhere" ] || compgen -G "$work/hosts-here/.launch-*" >/dev/null; then fail "something is left in --out"; fi
ok "launch on a list of this host alone gives the bytes of run, with keys made for the job"

# An ssh that runs its last word here.
cat >"$work/ssh" <<'END'
#!/bin/sh
for last; do :; done
case $* in *nowhere*) echo "ssh: nowhere is not there" >&2; exit 255 ;; esac
case " $*" in *" -L "*) echo "$*" >"$0.page" ;; esac
cd / && exec sh -c "$last"
END
chmod +x "$work/ssh"
# Each of the two is stopped in the end: no number of steps is so large that none is done before it is disturbed.
start carried syncopate launch -H kim@127.0.0.1:8 --ssh "$work/ssh" --workers 2 "${launched[@]}" --compute constant:10ms \
    --insecure --port-base 21320 --report-every 20 --steps 1000000 --serve 0 --out "$work/carried"
says carried 'page +http://127.0.0.1:[0-9]+/$'
says carried 'batches 21 to 40' 30
page=$(sed -nE 's|.*page +http://(127.0.0.1:[0-9]+)/|\1|p' "$work/carried.log")
grep -qE -- "-L (127.0.0.1:[0-9]+):\\1 " "$work/ssh.page" || fail "ssh does not bring here what server 0 says"
(exec 8<>"/dev/tcp/${page/://}" && printf 'GET /state HTTP/1.0\r\n\r\n' >&8 && grep -q '"name":"worker/1"' <&8) || fail "the page says nothing"
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
run carried-alone 0 syncopate run "${launched[@]}" --ps 0 --steps "$(member "$work/carried" step)" --quiet --out "$work/carried-alone"
if [ "$(member "$work/carried" parameters_sha256)" != "$(member "$work/carried-alone" parameters_sha256)" ]; then
    fail "ssh changes the bytes"
fi
nothing_runs
ok "what ssh carries is started again when it is killed"

start called-off syncopate launch -H kim@127.0.0.1:8 --ssh "$work/ssh" --workers 2 "${launched[@]}" --compute constant:10ms \
    --insecure --port-base 21340 --report-every 20 --steps 1000000 --out "$work/called-off"
says called-off 'batches 21 to 40' 30
kill -TERM "${pids[called-off]}"
ends called-off 143 30
nothing_runs
if [ "$(member "$work/called-off" state)" != stopped ]; then fail "it is not stopped, but $(member "$work/called-off" state)"; fi
ok "SIGTERM stops a job that ssh carries at a checkpoint, with exit code 143"

run nowhere 5 syncopate launch -H nowhere:8 --ssh "$work/ssh" "${launched[@]}" --out "$work/nowhere"
says nowhere 'syncopate launch: nowhere cannot be reached: ssh: nowhere is not there'
says nowhere '1 of 1 host cannot take part; nothing was started'
if [ -e "$work/nowhere" ]; then fail "a folder is left of what was not started"; fi
printf '#!/bin/sh\n: >"%s"\nexec sleep 60\n' "$work/asked" >"$work/slow-ssh"
chmod +x "$work/slow-ssh"
start cut syncopate launch -H kim@far:8 --ssh "$work/slow-ssh" "${launched[@]}" --out "$work/cut"
within 20 test -e "$work/asked" || fail "nobody is asked"
kill -INT "${pids[cut]}"
ends cut 130
if compgen -G "$work/cut/.launch-*" >/dev/null; then fail "a Ctrl-C leaves the mark in --out"; fi
run list 5 syncopate launch --hosts a,b "${launched[@]}" --out "$work/none"
says list '--hosts=a,b: there is no such file; a list goes with -H$'
run none 2 syncopate launch "${launched[@]}"
says none 'on which hosts\?'
run room 2 syncopate launch -H localhost:2 --ps 2 --workers 1 "${launched[@]}" --out "$work/room"
says room 'there is no place for worker/0: beside 2 servers the hosts have slots for 0 workers'
run mixed 2 syncopate launch -H localhost,beta "${launched[@]}" --out "$work/mixed"
says mixed 'localhost is a different host for everyone who reads it'
run slurm 2 syncopate launch --slurm "${launched[@]}"
says slurm "unknown option --slurm: Slurm starts a job itself: srun -n 5 syncopate task --ps 2"
run mpi 2 syncopate launch --mpi -H localhost "${launched[@]}"
says mpi "unknown option --mpi: MPI starts a job itself: mpirun -np 5 syncopate task --ps 2"
ok "lists that cannot be are refused before anything is started"

run probe 0 syncopate probe --data synthetic --ports 1-2
says probe '^  data +synthetic: here'
run probe-bad 2 syncopate probe --ports 9-3
says probe-bad 'needs two ports'
ok "probe says what this host has"
