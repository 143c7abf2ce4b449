#!/usr/bin/env bash
# keys.sh - jobs with keys: the same bytes as without; who has the wrong key, or none, or somebody
# else's, is refused with the reason and exit code 6, and everybody else goes on.
# test: asan
# promises: keys refused
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--data synthetic:1000 --model softmax --steps 40 --seed 3 --checkpoint-every 0)
keys=$work/keys

# --- making keys ----------------------------------------------------------------------------------
run keygen 0 syncopate keygen "$keys" --workers 2
for name in servers observer worker-0 worker-1; do
    if [ "$(stat -c %a "$keys/$name.key_secret")" != 600 ]; then fail "$name.key_secret is not 600"; fi
    if grep -q secret-key "$keys/$name.key"; then fail "$name.key tells a secret"; fi
done
before=$(cat "$keys"/* | sha256sum)
run again 0 syncopate keygen "$keys" --workers 2
run taken 5 syncopate keygen "$keys/worker-1"
one_line taken
if [ "$(cat "$keys"/* | sha256sum)" != "$before" ]; then fail "keygen has changed what was there"; fi
run more 0 syncopate keygen "$keys" --workers 3
if [ "$(wc -l <"$work/more.log")" -ne 1 ]; then fail "keygen made more than what was missing"; fi
run spare 0 syncopate keygen "$work/spare"
ok "keygen makes what a job needs, keeps secrets to their owner, and overwrites nothing"

# --- one command ----------------------------------------------------------------------------------
for mode_of_job in sync async; do
    run "plain-$mode_of_job" 0 syncopate run "${job[@]}" --mode $mode_of_job --ps 2 --workers 3 \
        --transport tcp --quiet --out "$work/plain-$mode_of_job"
    run "keyed-$mode_of_job" 0 syncopate run "${job[@]}" --mode $mode_of_job --ps 2 --workers 3 \
        --keys "$keys" --quiet --out "$work/keyed-$mode_of_job"
done
if [ "$(model_hash "$work/plain-sync")" != "$(model_hash "$work/keyed-sync")" ]; then
    fail "encryption changes the bytes"
fi
nothing_runs
ok "one command runs an encrypted job; in sync mode with the same bytes"

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
trains() { [ -s "$work/killed/events.jsonl" ] && grep -q progress "$work/killed/events.jsonl"; }
start killed syncopate run "${job[@]}" --ps 2 --workers 3 --keys "$keys" --slow 0:1000,1:1000,2:1000 \
    --verbose --worker-timeout 20 --out "$work/killed"
within 20 trains || fail "the job with keys does not train"
holder=$(child worker 0) # Nothing ends while it stands.
kill -STOP "$holder"
for victim in "worker 1" "ps 1"; do
    # shellcheck disable=SC2086 # Two words.
    kill -KILL "$(child $victim)"
    says killed "${victim/ //}.*started again" 20
done
kill -CONT "$holder"
ends killed 0 60
if [ "$(model_hash "$work/plain-sync")" != "$(model_hash "$work/killed")" ]; then
    fail "being killed changes the bytes"
fi
nothing_runs
ok "a worker and a server that were killed come back with their keys, and the bytes are the same"

# --- what can be told beforehand ------------------------------------------------------------------
# refused CODE PATTERN PROGRAM ARGUMENT...
count=0
refused()
{
    count=$((count + 1))
    run "refused-$count" "$1" "${@:3}"
    if ! said "refused-$count" "$2"; then fail "${*:3} does not say: $2"; fi
    one_line "refused-$count"
}
launch=(syncopate run "${job[@]}" --out "$work/none")
worker=(syncopate-worker "${job[@]}" --ps-hosts 127.0.0.1:1 --workers 1)
refused 2 "shared memory would bypass the keys" "${launch[@]}" --transport shm --keys "$keys"
refused 2 "keys.*without servers" "${launch[@]}" --ps 0 --keys "$keys"
refused 2 "insecure and --keys exclude" syncopate-ps --ps-hosts 127.0.0.1:0 --keys "$keys" --insecure
refused 2 "certificate needs --keys" "${worker[@]}" --certificate "$keys/worker-0.key_secret"
refused 2 "index=3 needs --role" syncopate keygen "$work/other" --index 3
refused 5 "worker-3.key_secret: No such file" "${launch[@]}" --workers 4 --keys "$keys"
refused 5 "keys=.*nowhere: No such file.*keygen .*nowhere --workers 2" \
    "${launch[@]}" --keys "$work/nowhere"
refused 6 "certificate of worker/1, and this is worker/0" "${worker[@]}" --keys "$keys" \
    --certificate "$keys/worker-1.key_secret"
chmod 640 "$keys/worker-1.key_secret"
refused 5 "worker-1.key_secret: .*chmod 600" "${launch[@]}" --keys "$keys"
chmod 600 "$keys/worker-1.key_secret"
echo "not a certificate" >"$keys/old.key"
refused 5 "keys/old.key: line 1" syncopate-ps --ps-hosts 127.0.0.1:0 --keys "$keys"
rm "$keys/old.key"
if [ -e "$work/none" ]; then fail "a refused run has made its folder"; fi
nothing_runs
ok "keys that are missing, damaged, somebody else's or open to others are named"

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
if [ "$(model_hash "$work/out")" != "$(model_hash "$work/plain-sync")" ]; then
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
