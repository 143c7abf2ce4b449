#!/usr/bin/env bash
# transports.sh - the same job over TCP, over shared memory and over whatever is best, and over both
# at once: the same bytes, the same end for whoever is left when one dies, nothing left behind. Where
# no memory can be shared, TCP serves, or the reason is said. Workers of one host have their data together.
# With keys: who has the wrong key, or none, or another's, is refused with the reason and exit code 6, and all others go
# on. A server that is watched: /metrics as promtool wants it, health and readiness over HTTP and by our own program, what
# strangers may take of it, and what a service manager is told.
# uses: promtool python3
# test: first asan tsan
# promises: alone bits bits-early keys metrics refused services shared-data shared-memory teach
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--seed 5 --data synthetic:1000 --chunk-bytes 512
    --model "conv 4x3 relu, pool 4, flatten, dense 10")
short=("${small[@]}" --steps 20)
endless=("${small[@]}" --steps 100000000 --checkpoint-every 0)

# hosts SERVERS - ports for so many servers, into $hosts.
hosts()
{
    local i
    hosts=''
    for ((i = 0; i < $1; i++)); do hosts+=${hosts:+,}127.0.0.1:$(free_port); done
}
ps() { start "$2" syncopate-ps --task-index "$1" --ps-hosts "$hosts" --verbose "${@:3}"; }
worker() { start "$2" syncopate-worker --task-index "$1" --ps-hosts "$hosts" --verbose "${@:3}"; }
same_as() { if [ "$(model_hash "$1")" != "$2" ]; then fail "${1##*/} gives other bytes"; fi; }

# --- what must not stay behind --------------------------------------------------------------------
# Abstract sockets that this process has: NAME... of its own network namespace.
sockets_of()
{
    local inode
    for inode in $(readlink "/proc/$1/fd/"* 2>/dev/null | sed -n 's/^socket:\[\(.*\)\]$/\1/p'); do
        awk -v inode="$inode" '$7 == inode && $8 ~ /^@syncopate-/ { print $8 }' /proc/net/unix
    done
}
has_socket() { [ -n "$(sockets_of "${pids[$1]}")" ]; }
nothing_stays() # And what went well need not be read.
{
    nothing_runs
    if compgen -G "/dev/shm/*syncopate*" >/dev/null; then fail "something stays in /dev/shm"; fi
    rm -f "$work"/*.log
}

# Memory that a process has been handed or has handed out: descriptors of it.
memories() { readlink "/proc/${pids[$1]}/fd/"* 2>/dev/null | grep -c '^/memfd:syncopate' || true; }
shares_memory() { [ "$(memories "$1")" -gt 0 ]; }

# --- the same bytes ---------------------------------------------------------------------------------
run alone 0 syncopate run --mode sync --quiet --out "$work/alone" --ps 0 "${short[@]}"
expected=$(model_hash "$work/alone")
counts="1 3"
if sanitized; then counts=3; fi
for workers in $counts; do
    for way in tcp shm auto; do
        start "$way-$workers" syncopate run --mode sync --quiet --transport "$way" --ps 2 --workers "$workers" \
            --out "$work/$way-$workers" "${short[@]}"
    done
    for way in tcp shm auto; do
        ends "$way-$workers" 0 60
        same_as "$work/$way-$workers" "$expected"
    done
done
# More workers than leaves: some only look on. Every step's last nodes come from few.
run many 0 syncopate run --mode sync --quiet --transport shm --ps 1 --workers 6 --out "$work/many" \
    "${short[@]}" --global-batch 48 --steps 30
run few 0 syncopate run --mode sync --quiet --ps 0 --out "$work/few" "${short[@]}" \
    --global-batch 48 --steps 30
same_as "$work/many" "$(model_hash "$work/few")"
# Several leaves a worker and one; what leaves early goes into the same sums.
# early MODE MICRO-BATCH ARGUMENT...
early()
{
    local options=("${short[@]}" --global-batch 48 --steps 30 --micro-batch "$2")
    run "early-$2" 0 syncopate run --mode "$1" --quiet --transport tcp --overlap --ps 2 --workers 3 --out "$work/early-$2" \
        "${options[@]}" "${@:3}"
    run "late-$2" 0 syncopate run --mode sync --quiet --ps 0 --out "$work/late-$2" "${options[@]}"
    same_as "$work/early-$2" "$(model_hash "$work/late-$2")"
}
early sync 8
early allreduce 16 --chunks-at-layers
ok "gradients that leave early give the bytes of one process"
nothing_stays
ok "tcp, shm and auto give the bytes of one process: $counts workers, 6 for 3 leaves"

# --- both at once -----------------------------------------------------------------------------------
# mixed MODE - one worker over TCP, one over shared memory.
mixed()
{
    hosts 1
    ps 0 "$1-ps0" --out "$work/$1"
    worker 0 "$1-worker0" --workers 2 --mode "$1" --transport tcp "${short[@]}"
    worker 1 "$1-worker1" --workers 2 --mode "$1" --transport shm "${short[@]}"
    for name in ps0 worker0 worker1; do ends "$1-$name" 0; done
    says "$1-worker1" "sharing memory with ps/0: ok"
    if said "$1-worker0" "sharing memory"; then fail "worker 0 shares memory over TCP"; fi
}
mixed sync
same_as "$work/sync" "$expected"
mixed async
# In units of chunks: each of 20 batches was applied once to each.
chunks=$(sed -nE 's/.*plan chunks=([0-9]+) .*/\1/p' "$work/async-ps0.log")
for verdict in applied stale duplicate rejected; do
    count=$(member "$work/async" "$verdict")
    wanted=0
    if [ "$verdict" = applied ]; then wanted=$((20 * chunks)); fi
    if [ "$count" != "$wanted" ]; then fail "$count gradients were $verdict, not $wanted"; fi
done
nothing_stays
ok "one worker over TCP and one over shared memory: the same bytes; async: every gradient once"

# --- somebody dies ----------------------------------------------------------------------------------
# dies VICTIM WAY - one server and two workers; the victim is killed, and the job ends for all.
dies()
{
    local victim=$1 way=$2 name tag=$1-$2
    hosts 1
    ps 0 "$tag-ps0" --out "$work/$tag" --worker-timeout "$patience" \
        --recovery-timeout "$patience" --on-worker-loss fail
    for i in 0 1; do
        worker "$i" "$tag-worker$i" --workers 2 --mode sync --transport "$way" "${endless[@]}" \
            --worker-timeout "$patience" --recovery-timeout "$patience"
    done
    says "$tag-ps0" "training starts" 20
    if [ "$way" = shm ]; then
        for name in ps0 worker0 worker1; do
            within 10 shares_memory "$tag-$name" || fail "$tag-$name shares no memory"
        done
        within 5 has_socket "$tag-ps0" || fail "$tag-ps0 cannot be found"
        socket=$(sockets_of "${pids[$tag-ps0]}")
    elif shares_memory "$tag-worker0"; then
        fail "$tag-worker0 shares memory"
    fi
    murder "$tag-$victim"
    for name in ps0 worker0 worker1; do
        if [ "$name" != "$victim" ]; then ends "$tag-$name" 195; fi
    done
    if [ "$way" = shm ] && grep -qwF "$socket" /proc/net/unix; then fail "$socket is still there"; fi
}
for way in tcp shm; do
    dies worker1 "$way"
    says "worker1-$way-ps0" "error: lost worker/1 .*nothing heard for"
    says "worker1-$way-worker0" "error: lost worker/1 .*nothing heard for"
    dies ps0 "$way"
    for i in 0 1; do says "ps0-$way-worker$i" "error: lost ps/0: nothing heard for"; done
    nothing_stays
done
ok "a worker or the server is killed: all others end with 195, over memory as over TCP"

# --- where no memory is shared ----------------------------------------------------------------------
hosts 1
ps 0 deaf-ps0 --out "$work/deaf" --transport tcp
began=$SECONDS
worker 0 deaf-worker0 --workers 1 --mode sync --transport shm "${short[@]}"
ends deaf-worker0 5
if [ $((SECONDS - began)) -gt $((5 * patience)) ]; then fail "it took long to say so"; fi
says deaf-worker0 "error: .*shares no memory.*--transport is shm.*has --transport tcp"
one_line deaf-worker0
ends deaf-ps0 5
hosts 1
ps 0 deaf-auto-ps0 --out "$work/deaf-auto" --transport tcp
worker 0 deaf-auto-worker0 --workers 1 --mode sync "${short[@]}"
for name in ps0 worker0; do ends "deaf-auto-$name" 0; done
says deaf-auto-worker0 "sharing memory with ps/0: not found"
same_as "$work/deaf-auto" "$expected"
nothing_stays
ok "a server with --transport tcp: shm is refused with the reason, auto does without"

# --- the data of a host's workers ---------------------------------------------------------------------
shared=(--seed 5 --global-batch 20 --model softmax)
idx "$work/data"

workers()
{
    local pid name
    for pid in $(survivors); do
        { read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
        case $name in syncopate-worke*) echo "$pid" ;; esac
    done
}
# How many workers have the data mapped, and how many still have a descriptor of them.
mapped() { for pid in $(workers); do grep -l '/memfd:syncopate-data' "/proc/$pid/maps" 2>/dev/null || true; done | wc -l; }
open_files() { for pid in $(workers); do readlink "/proc/$pid/fd/"* 2>/dev/null || true; done | grep -c memfd:syncopate-data || true; }
all_have_them() { [ "$(mapped)" -eq "$1" ]; }

# --- together, and each by itself --------------------------------------------------------------------
run apart 0 syncopate run --quiet --ps 0 --data "$work/data" --steps 20 --out "$work/apart-data" "${shared[@]}"
run together 0 syncopate run --quiet --ps 1 --workers 3 --data "$work/data" --steps 20 --out "$work/together" "${shared[@]}"
if [ "$(model_hash "$work/apart-data")" != "$(model_hash "$work/together")" ]; then fail "other bytes than those of one worker"; fi

hosts=127.0.0.1:$(free_port)
start ps syncopate-ps --ps-hosts "$hosts" --workers 2 --data "$work/data" --steps 20 --out "$work/apart" "${shared[@]}"
for i in 0 1; do
    start "w$i" syncopate-worker --task-index "$i" --ps-hosts "$hosts" --workers 2 --data "$work/data" --steps 20 "${shared[@]}"
done
for name in ps w0 w1; do ends "$name" 0 60; done
if [ "$(model_hash "$work/apart-data")" != "$(model_hash "$work/apart")" ]; then fail "other bytes where each reads by itself"; fi
ok "the same bytes with data that workers have together, and each by itself"

# --- started again -----------------------------------------------------------------------------------
start endless syncopate run --verbose --ps 1 --workers 3 --data "$work/data" --steps 100000000 --checkpoint-every 0 \
    --out "$work/endless" "${shared[@]}"
within 20 all_have_them 3 || fail "$(mapped) of 3 workers have the data together"
trains() { grep -qs '"event": "progress"' "$work/endless/events.jsonl"; } # All have closed then what they had to.
within 20 trains || fail "training does not begin"
if [ "$(open_files)" -ne 0 ]; then fail "workers keep a descriptor of what they have mapped"; fi
# Read again they would be other data, with which no worker may join.
{ be32 0x801; be32 40; head -c 40 /dev/zero | tr '\0' '\4'; } >"$work/data/train-labels-idx1-ubyte"
mapfile -t before < <(workers)
victim=${before[0]}
kill -KILL "$victim"
again() { said endless 'started again [(]restart' && all_have_them 3 && ! grep -qx "$victim" <(workers); }
within 20 again || fail "the worker that is started again has no data"
kill -INT "${pids[endless]}"
ends endless 130 60
nothing_runs
ok "who is started again has the data that the others have, although a file has changed since"

# --- what is no such memory --------------------------------------------------------------------------
run wrong 5 syncopate-worker --data-fd 9 --task-index 0 --workers 1 --ps-hosts "$hosts" --data synthetic:100 "${shared[@]}"
one_line wrong
grep -q -- '--data.*descriptor 9 is no memory to share' "$work/wrong.log" || fail "it does not say what is wrong"
ok "a descriptor that is no memory of a launcher is refused in one line"

# --- another network namespace: as good as another host -----------------------------------------
tag=st$$
clean_up_more() { ip netns delete "$tag" 2>/dev/null || true; }
# elsewhere - a worker there; fails where there is none.
elsewhere()
{
    ip address add 10.213.79.1/24 dev "$tag"
    ip link set "$tag" up
    ip -n "$tag" address add 10.213.79.2/24 dev eth0
    ip -n "$tag" link set eth0 up
    ip -n "$tag" link set lo up
    hosts=10.213.79.1:$(free_port)
    # away NAME ARGUMENT... - worker 1, over there.
    away()
    {
        ip netns exec "$tag" "$build/syncopate-worker" --task-index 1 --ps-hosts "$hosts" --verbose \
            --workers 2 --mode sync "${@:2}" "${short[@]}" >"$work/$1.log" 2>&1 </dev/null &
        pids[$1]=$!
    }
    ps 0 near --out "$work/away" --insecure
    worker 0 near-worker0 --workers 2 --mode sync --transport shm "${short[@]}"
    away away-worker1 --transport auto
    for name in near near-worker0 away-worker1; do ends "$name" 0; done
    says near-worker0 "sharing memory with ps/0: ok"
    says away-worker1 "sharing memory with ps/0: not found"
    same_as "$work/away" "$expected"
    ps 0 refused --out "$work/refused" --insecure
    worker 0 refused-worker0 --workers 2 --mode sync "${short[@]}"
    away refused-worker1 --transport shm
    for name in refused refused-worker0 refused-worker1; do ends "$name" 5; done
    says refused-worker1 "error: .*shares no memory"
    nothing_stays
    ok "a worker in another network namespace: auto falls back to TCP with the same bytes, shm says why"
}
if [ "$(id -u)" -ne 0 ] || ! ip netns add "$tag" 2>/dev/null; then
    skip "a worker in another namespace: network namespaces need root and the ip program"
elif ! ip netns exec "$tag" true 2>/dev/null; then
    skip "a worker in another namespace: programs cannot be run in one here (a chroot, perhaps)"
elif ! ip link add "$tag" type veth peer name eth0 netns "$tag" 2>/dev/null; then
    skip "a worker in another namespace: this kernel makes no links"
else
    elsewhere
fi

# --- keys -----------------------------------------------------------------------------------------
job=(--data synthetic:1000 --model softmax --steps 40 --seed 3 --checkpoint-every 0)
keys=$work/keys

# --- making keys ----------------------------------------------------------------------------------
run keygen 0 syncopate keygen "$keys" --workers 2
for name in servers observer worker-0 worker-1; do
    if [ "$(stat -c %a "$keys/$name.key_secret")" != 600 ]; then fail "$name.key_secret is not 600"; fi
    if grep -q secret-key "$keys/$name.key"; then fail "$name.key tells a secret"; fi
done
kept=$(cat "$keys"/* | sha256sum)
run again 0 syncopate keygen "$keys" --workers 2
run taken 5 syncopate keygen "$keys/worker-1"
one_line taken
if [ "$(cat "$keys"/* | sha256sum)" != "$kept" ]; then fail "keygen has changed what was there"; fi
run more 0 syncopate keygen "$keys" --workers 3
if [ "$(wc -l <"$work/more.log")" -ne 1 ]; then fail "keygen made more than what was missing"; fi
run spare 0 syncopate keygen "$work/spare"
ok "keygen makes what a job needs, keeps secrets to their owner, and overwrites nothing"

# --- one command ----------------------------------------------------------------------------------
run alone-40 0 syncopate run "${job[@]}" --ps 0 --quiet --out "$work/alone-40"
# Killed and started again, a worker is known by its key, and so is a server.
# child ROLE INDEX - the process of the launcher that has this place.
child()
{
    local pid
    for pid in $(survivors); do
        if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "syncopate-$1 .*--task-index=$2 "; then
            echo "$pid"
        fi
    done
}
trained() { [ -s "$work/killed/events.jsonl" ] && grep -q progress "$work/killed/events.jsonl"; }
start killed syncopate run "${job[@]}" --ps 2 --workers 3 --keys "$keys" --slow 0:1000,1:1000,2:1000 \
    --verbose --worker-timeout 20 --out "$work/killed"
within 20 trained || fail "the job with keys does not train"
holder=$(child worker 0) # Nothing ends while it stands.
kill -STOP "$holder"
for victim in "worker 1" "ps 1"; do
    # shellcheck disable=SC2086 # Two words.
    kill -KILL "$(child $victim)"
    says killed "${victim/ //}.*started again" 20
done
kill -CONT "$holder"
ends killed 0 60
if [ "$(model_hash "$work/alone-40")" != "$(model_hash "$work/killed")" ]; then
    fail "being killed changes the bytes"
fi
nothing_runs
ok "a worker and a server that were killed come back with their keys, and the bytes are the same"

# --- strangers ------------------------------------------------------------------------------------
# Hosts of their own: the servers', that of each worker, and those of strangers.
host() # NAME FILE...
{
    mkdir "$work/$1"
    for file in "${@:2}"; do cp -p "$keys/$file" "$work/$1/"; done
}
host servers servers.key_secret worker-0.key worker-1.key observer.key
host worker-0 servers.key worker-0.key_secret
host worker-1 servers.key worker-1.key_secret
host observer servers.key observer.key_secret
host stranger servers.key
cp -p "$work/spare.key_secret" "$work/stranger/worker-0.key_secret"
host deceived
cp -p "$keys/worker-0.key_secret" "$work/deceived/"
cp -p "$work/spare.key" "$work/deceived/servers.key"
# Worker 0, who has taken out of its certificate that it is worker 0.
host thief servers.key
sed '/role =/d; /index =/d' "$keys/worker-0.key_secret" >"$work/thief/worker-1.key_secret"
chmod 600 "$work/thief/worker-1.key_secret"

serve() # NAME INDEX LIST ARGUMENT...
{
    start "$1" syncopate-ps --task-index "$2" --ps-hosts "$3" --start-timeout 40 \
        --out "$work/out" "${@:4}"
}
work_as() # NAME INDEX ARGUMENT...
{
    start "$1" syncopate-worker "${job[@]}" --ps-hosts "$hosts" --workers 2 --task-index "$2" \
        --start-timeout 40 "${@:3}"
}
port=$(free_port)
other=$(free_port)
hosts=127.0.0.1:$port,127.0.0.1:$other
# With keys a server may listen everywhere.
serve ps0 0 "$hosts" --bind "*:$port" --keys "$work/servers"
says ps0 "listening on .* encrypted"

# is_refused NAME PATTERN - long before --start-timeout.
is_refused()
{
    ends "$1" 6 20
    says "$1" "error: .*$2"
    one_line "$1"
}
work_as no-keys 0
is_refused no-keys "ps/0 at 127.0.0.1:$port: it wants keys, and this process has none"
work_as stranger 0 --keys "$work/stranger"
is_refused stranger "not authorised"
says ps0 "warning: refused a peer address=.*127.0.0.1 key=.*not authorised"
work_as deceived 0 --keys "$work/deceived"
is_refused deceived "wrong key: it is not the server of .*/deceived/servers.key"
work_as thief 1 --keys "$work/thief"
is_refused thief "this key is for worker/0, and speaks as worker/1"
says ps0 "warning: refused a wrong key key=.*: this key is for worker/0"
start observer syncopate inspect "127.0.0.1:$port"
ends observer 6
says observer "it wants keys"
start stranger-server syncopate-ps --task-index 1 --ps-hosts "$hosts" --bind 127.0.0.1:0 \
    --keys "$work/stranger" --certificate "$work/spare.key_secret" --out "$work/none"
is_refused stranger-server "wrong key: it does not have the one that all servers share"
work_as stranger-again 0 --keys "$work/stranger"
is_refused stranger-again "not authorised"
if [ "$(grep -c 'refused a peer' "$work/ps0.log")" -ne 1 ]; then
    fail "one stranger is named more than once"
fi
ok "no key, an unknown key, another server's key and another worker's name end with exit code 6"

# Plain TCP.
for _ in 1 2 3; do
    head -c 3000 /dev/urandom >"/dev/tcp/127.0.0.1/$port" || true
    printf 'GET / HTTP/1.0\r\n\r\n' >"/dev/tcp/127.0.0.1/$port" || true
done 2>/dev/null
says ps0 "warning: refused connections count=[0-9]+: .*does not speak ZeroMQ" 20

# All that did not disturb anybody who may.
run watching 0 syncopate inspect "127.0.0.1:$port" --keys "$work/observer"
says watching "^state: waiting for a job"
serve ps1 1 "$hosts" --keys "$work/servers"
work_as worker0 0 --keys "$work/worker-0"
work_as worker1 1 --keys "$work/worker-1"
for name in ps0 ps1 worker0 worker1; do ends "$name" 0 60; done
if [ "$(model_hash "$work/out")" != "$(model_hash "$work/alone-40")" ]; then
    fail "the bytes are not those of a run without strangers"
fi
if [ "$(grep -c 'warning: refused connections' "$work/ps0.log")" -gt 5 ]; then
    fail "refused connections flood the log"
fi
nothing_runs
port_is_free "$port"
ok "strangers and garbage are counted, named once, and disturb nobody"

# A worker with keys, and a server without.
serve plain-ps0 0 "127.0.0.1:$port" --start-timeout 10
says plain-ps0 listening
hosts=127.0.0.1:$port
work_as careful 0 --keys "$work/worker-0"
is_refused careful "it has no keys.*and this process has"
kill -TERM "${pids[plain-ps0]}"
ends plain-ps0 143
nothing_runs
ok "a worker with keys does not talk to a server without"

# --- figures, health and readiness ----------------------------------------------------------------
small=(--mode async --data synthetic:500 --model softmax --seed 3 --compute constant:5ms --worker-timeout 60)
# Server 1 is stopped for a while, and is not to be given up.
server() { start "$1" syncopate-ps --ps-hosts "$hosts" --worker-timeout 60 "${@:2}"; }
works() { start "w$1" syncopate-worker --ps-hosts "$hosts" --workers 2 --task-index "$1" "${small[@]}" "${@:2}"; }
# get PORT PATH [METHOD [HEADER]] - the answer's first line into $status, its body into $body.
get()
{
    local answer
    answer=$(
        exec 2>/dev/null 8<>"/dev/tcp/127.0.0.1/$1" || exit 0
        printf '%s %s HTTP/1.0\r\n%s\r\n\r\n' "${3:-GET}" "$2" "${4:-X: }" >&8
        cat <&8 | tr -d '\r'
    ) || true # Who is cut off has no answer.
    status=${answer%%$'\n'*}
    body=${answer#*$'\n\n'}
}
answers() { get "$1" "$2" && [[ $status == *" $3 "* ]]; }
figure() { sed -nE "s/^$1 ([^ ]+)$/\1/p" <<<"$body"; } # NAME, with its labels

port=$(free_port)
hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
server ps0 --out "$work/run" --serve "$port" --start-timeout 600
says ps0 "page on http://127.0.0.1:$port/$"
within 5 answers "$port" /healthz 200 || fail "a server that waits is not alive: $status"
within 5 answers "$port" /readyz 503 || fail "a server that waits is ready: $status"
if [ "$body" != "ps/0 is waiting for a job" ]; then fail "/readyz does not say for what: $body"; fi
run alive 0 syncopate inspect "${hosts%,*}" --alive
says alive "^ps/0 is alive$"
run unready 4 syncopate inspect "${hosts%,*}" --ready
says unready "syncopate inspect: ps/0 is waiting for a job"
one_line unready
works 0 --steps 100000000 --checkpoint-every 0
waits_for() { answers "$port" /readyz 503 && [[ $body == *"$1"* ]]; }
within 10 waits_for "for ps/1 (never seen), worker/1 (never seen)" || fail "/readyz does not say for whom: $body"
answers "$port" /metrics 200 || fail "no metrics while the job gathers"
if [ "$(figure 'syncopate_job_state\{state="gathering"\}')" != 1 ]; then fail "the state is another: $body"; fi
if [ "$(figure syncopate_server_waiting)" != 1 ]; then fail "nobody is waited for"; fi
works 1 --steps 100000000 --checkpoint-every 0
other=$(free_port)
server ps1 --task-index 1 --serve "[::1]:$other"
within 20 answers "$port" /readyz 200 || fail "a running job is not ready: $status $body"
says ps1 "page on http://\[::1\]:$other/"
run ready 0 syncopate inspect "${hosts%,*}" --ready
is_ready() { "$build/syncopate" inspect "${hosts#*,}" --ready >"$work/ready-1.log" 2>&1; } # It hears of the start after server 0.
within 10 is_ready || fail "ready-1: server 1 of a running job is not ready"
says ready-1 "^ps/1 is ready$"
run alive-1 0 syncopate inspect "${hosts#*,}" --alive --quiet
stepped() { answers "$port" /metrics 200 && [ "$(figure syncopate_global_step)" -ge 20 ]; }
within 20 stepped || fail "the step does not grow"
for line in 'syncopate_job_workers 2' 'syncopate_job_servers_ready 2' 'syncopate_worker_up\{worker="1"\} 1' \
    'syncopate_server_state\{state="serving"\} 1' 'syncopate_build_info\{version="[0-9.]+",role="ps",index="0"\} 1'; do
    grep -qE "^$line$" <<<"$body" || fail "there is no $line"
done
counted() { answers "$port" /metrics 200 && [ "$(figure syncopate_push_staleness_steps_count)" -gt 0 ]; }
within 10 counted || fail "there is no histogram of staleness"
ok "/metrics, /healthz and /readyz tell what server and job do, and for whom they wait"

if command -v promtool >/dev/null; then
    promtool check metrics <<<"$body" >"$work/promtool.log" 2>&1 || fail "promtool finds fault with it"
    if [ -s "$work/promtool.log" ]; then fail "promtool has something to say"; fi
    ok "promtool has nothing to say against $(grep -c '^# HELP' <<<"$body") metrics"
else
    skip "metrics as promtool checks them: it is not here (Debian's prometheus)"
fi

# --- what the page reads --------------------------------------------------------------------------
answers "$port" /state 200 || fail "there is no /state: $status"
for name in worker/0 worker/1 ps/0 ps/1; do
    [[ $body == *"{\"name\":\"$name\",\"state\":"* ]] || fail "/state has no $name: $body"
done
kill -STOP "${pids[w1]}"
silent() { answers "$port" /state 200 && [[ $body =~ \"worker/1\"[^}]*\"heard\":[2-9] ]]; }
within 20 silent || fail "/state does not say that nothing is heard of worker 1: $body"
kill -CONT "${pids[w1]}"
answers "$port" /events 200 || fail "there are no events: $status"
if ! cmp -s <(head -n 20 "$work/run/events.jsonl") <(head -n 20 <<<"$body"); then fail "the events are others"; fi
get "$port" /state GET "Host: evil.example"
if [[ $status != *" 403 "* ]]; then fail "a stranger's name is answered $status"; fi
ok "/state and /events tell of members, how long they are silent, and what happened, under this host's names"

# A server for other hosts: the token is printed, and in a file of its own.
open=$(free_port)
ps_hosts=$hosts hosts=127.0.0.1:$(free_port)
server open --out "$work/open" --serve "0.0.0.0:$open" --start-timeout 600
says open "page on http://.*:$open/#token=[0-9a-f]{32}$"
token=$(cat "$work/open.token")
if [ "$(stat -c %a "$work/open.token")" != 600 ]; then fail "others may read the token"; fi
within 5 answers "$open" /healthz 200 || fail "a probe needs a token: $status"
get "$open" /state
if [[ $status != *" 401 "* ]]; then fail "without the token /state is answered $status"; fi
get "$open" /state GET "Authorization: Bearer $token"
if [[ $status != *" 200 "* ]]; then fail "with the token /state is answered $status"; fi
kill -TERM "${pids[open]}"
ends open 143
hosts=$ps_hosts
ok "beyond this host the page's data needs a token"

# The page of a run: of a step that waits for a worker, and of a server 0 that was started again.
start run syncopate run --workers 3 "${small[@]:2}" --steps 100000000 --serve 0 --teach --out "$work/served"
says run "page  *http://127.0.0.1:[0-9]+/#token=[0-9a-f]{32}$"
page=$(sed -nE 's|.*page +http://127.0.0.1:([0-9]+)/.*|\1|p' "$work/run.log")
teach() # CODE PATH [HEADER]
{
    get "$page" "$2" POST "${3-Authorization: Bearer $(cat "$work/served.token")}"
    [[ $status == *" $1 "* ]] || fail "POST $2: $status"
}
within 20 answers "$page" /logs/worker-1.log 200 || fail "the page has no log of worker 1: $status"
if [[ $body != *"worker/1 ready"* ]]; then fail "the log is another: $body"; fi
teach 401 /teach/kill/worker/2 "X: "
teach 404 /teach/kill/worker/3
teach 404 /state
teach 200 /teach/stop/worker/1
waits() { answers "$page" /state 200 && [[ $body == *'"worker/0","state":"waits","for":"worker/1"'* ]]; }
within 20 waits || fail "/state does not say who is waited for: $body"
tells() { answers "$page" /events 200 && [[ $body == *"\"event\": \"$1\", \"role\": \"worker\", \"index\": 1"* ]]; }
within 20 tells awaited || fail "no event says that worker 1 is waited for"
within 20 tells awaited_over || fail "no event says that worker 1 is waited for no more"
answers "$page" /state 200 || fail "no /state: $status"
bytes=$(sed -E 's/.*"events":([0-9]+).*/\1/' <<<"$body") # Until then.
teach 200 /teach/kill/ps/0
gone_on() { answers "$page" "/events?from=$bytes" 200 && [[ $body == *'"event": "start"'* ]]; }
within 20 gone_on || fail "the page of a server 0 that was started again tells nothing: $status"
says run "ps/0 is killed, as the page asks"
run alone 2 syncopate run --ps 0 --serve 0
says alone "serve=0: server 0 has the page, and --ps=0 has none"
run far 2 syncopate run --serve 0.0.0.0:0 --teach
says far "teach: only on a page of this host alone, and --serve=0.0.0.0:0 is not"
run unseen 2 syncopate run --teach
says unseen "teach: its buttons are on the page of --serve"
kill -TERM "${pids[run]}"
ends run 143
start shown syncopate serve "$work/served"
says shown "^http://127.0.0.1:[0-9]+/$"
page=$(sed -nE 's|http://127.0.0.1:([0-9]+)/|\1|p' "$work/shown.log")
answers "$page" /state 200 || fail "a run that has ended has no state: $status"
if [[ $body != *'"live":false,'*'"state":"stopped"'* ]]; then fail "its state is another: $body"; fi
answers "$page" /events 200 || fail "a run that has ended has no events: $status"
teach 405 /teach/kill/worker/0
kill -INT "${pids[shown]}"
ends shown 130
run short 0 syncopate run "${small[@]:2}" --steps 2 --out "$work/short"
next=$(sed -n 's/^next: syncopate //p; s|^next: .*/syncopate ||p' "$work/short.log")
# shellcheck disable=SC2086 # As it is typed.
start typed syncopate $next
says typed "^http://127.0.0.1:[0-9]+/$"
kill -INT "${pids[typed]}"
ends typed 130
run nothing 5 syncopate serve "$work"
says nothing "is no folder of a run .no run.json., and none of a comparison with a run that is done"
ok "run --serve: who is waited for, logs and events, at one address, also of a server 0 that was started again"

# --- strangers ------------------------------------------------------------------------------------
get "$port" /metrics POST
if [[ $status != *" 405 "* ]]; then fail "a POST is answered $status"; fi
get "$port" /../etc/passwd
if [[ $status != *" 404 "* ]]; then fail "another page is answered $status"; fi
get "$port" "/$(printf 'x%.0s' $(seq 90000))" || true
if [[ $status == *" 200 "* ]]; then fail "a long request is answered"; fi
# Those who say nothing have some of the places, for a while, and the job does not notice.
noted=$(grep -c . "$work/run/events.jsonl")
for _ in $(seq 40); do
    { exec {file}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || break
    { printf 'GET /metr' >&"$file" || true; } 2>/dev/null
done
goes_on() { [ "$(grep -c . "$work/run/events.jsonl")" -gt "$noted" ]; }
within 10 goes_on || fail "a job does not go on while strangers hold connections"
within 20 answers "$port" /healthz 200 || fail "silent strangers keep everybody out: $status"
run taken 5 syncopate-ps --ps-hosts 127.0.0.1:0 --serve "$port" --out "$work/none"
says taken "--serve=$port: cannot listen on port $port of 127.0.0.1: Address already in use"
run named 2 syncopate-ps --ps-hosts 127.0.0.1:0 --serve localhost:80 --out "$work/none"
says named "serve=localhost:80: needs a port, or a numeric address and a port"
ok "of strangers only GET is answered, and those who say nothing keep nobody out for long"

# A server that is stopped answers no probe, and one that is not there none.
kill -STOP "${pids[ps1]}"
run stopped 5 syncopate inspect "${hosts#*,}" --alive
kill -CONT "${pids[ps1]}"
kill -TERM "${pids[ps0]}"
for name in ps0 ps1 w0 w1; do ends "$name" 143; done
run gone 5 syncopate inspect "${hosts%,*}" --alive
one_line gone
port_is_free "$port"
# As in a server's container, whose environment has the options and keys of the server.
hosts=127.0.0.1:$(free_port)
"$build/syncopate" keygen "$work/probe-keys" --workers 1 --quiet
mkdir -m 700 "$work/own" # Of the secrets only the servers'.
cp -p "$work/probe-keys"/servers.key* "$work/probe-keys"/worker-0.key "$work/own"
export SYNCOPATE_KEYS=$work/own SYNCOPATE_PS_HOSTS=$hosts SYNCOPATE_OUT=$work/keyed SYNCOPATE_START_TIMEOUT=600
start keyed syncopate-ps
says keyed "listening on $hosts encrypted"
run keyed-alive 0 syncopate inspect "$hosts" --alive
run keyed-ready 4 syncopate inspect "$hosts" --ready
unset SYNCOPATE_KEYS SYNCOPATE_PS_HOSTS SYNCOPATE_OUT SYNCOPATE_START_TIMEOUT
run unkeyed 6 syncopate inspect "$hosts" --alive
kill -TERM "${pids[keyed]}"
ends keyed 143
ok "inspect --alive and --ready tell a probe by their exit code"

# --- a service manager ----------------------------------------------------------------------------
if ! command -v python3 >/dev/null; then
    skip "what a service manager is told: python3, which plays one, is not here"
    exit 0
fi
# manager NAME ADDRESS - writes down what it is told; @ begins an abstract name.
manager()
{
    python3 -uc '
import socket, sys
name = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + name[1:] if name[0] == "@" else name)
print("here")
while True: print(s.recv(4096).decode().replace("\n", " "))' "$2" >"$work/$1.log" 2>&1 </dev/null &
    pids[$1]=$!
    says "$1" here
}
manager server "$work/notify"
manager other "@syncopate-test-$$"
hosts=127.0.0.1:$(free_port)
NOTIFY_SOCKET=$work/notify WATCHDOG_USEC=2000000 server told --out "$work/told"
says server "^READY=1$"
says server "^STATUS=waiting for a job$"
says server "^WATCHDOG=1$"
NOTIFY_SOCKET=@syncopate-test-$$ WATCHDOG_USEC=2000000 works 0 --steps 100000000
says other "^READY=1$"
says other "^STATUS=waiting .* for ps/0, which says: waiting .* for worker/1 \(never seen\)$"
says server "^STATUS=waiting .* for worker/1 \(never seen\)$"
works 1 --steps 100000000
says other "^STATUS=training$"
says server "^STATUS=running: update [0-9,]+ of 100,000,000, 2 workers$"
beats() { [ "$(grep -c WATCHDOG=1 "$work/$1.log")" -ge "$2" ]; }
for name in server other; do within 10 beats "$name" 3 || fail "$name hears no more signs of life"; done
kill -TERM "${pids[told]}"
for name in told w0 w1; do ends "$name" 143; done
says server "^STOPPING=1 EXTEND_TIMEOUT_USEC=60000000 STATUS=stopping$"
for name in server other; do
    disown "${pids[$name]}"
    kill "${pids[$name]}"
done
ok "a service manager is told of readiness, status, life and the end, by path and by abstract name"
