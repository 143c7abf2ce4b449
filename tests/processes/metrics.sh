#!/usr/bin/env bash
# metrics.sh - a server that is watched: /metrics as promtool wants it, health and readiness over HTTP
# and by our own program, what the page reads and from whom it is kept, and what a service manager is told.
# promises: metrics serve services
# uses: promtool python3
# test: asan tsan
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--mode async --data synthetic:500 --model softmax --seed 3 --compute constant:5ms --worker-timeout 60)
# Server 1 is stopped for a while, and is not to be given up.
ps() { start "$1" syncopate-ps --ps-hosts "$hosts" --worker-timeout 60 "${@:2}"; }
worker() { start "w$1" syncopate-worker --ps-hosts "$hosts" --workers 2 --task-index "$1" "${small[@]}" "${@:2}"; }
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

# --- figures --------------------------------------------------------------------------------------
port=$(free_port)
hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
ps ps0 --out "$work/run" --serve "$port" --start-timeout 600
says ps0 "page on http://127.0.0.1:$port/$"
within 5 answers "$port" /healthz 200 || fail "a server that waits is not alive: $status"
within 5 answers "$port" /readyz 503 || fail "a server that waits is ready: $status"
if [ "$body" != "ps/0 is waiting for a job" ]; then fail "/readyz does not say for what: $body"; fi
run alive 0 syncopate inspect "${hosts%,*}" --alive
says alive "^ps/0 is alive$"
run unready 4 syncopate inspect "${hosts%,*}" --ready
says unready "syncopate inspect: ps/0 is waiting for a job"
one_line unready
worker 0 --steps 100000000 --checkpoint-every 0
waits_for() { answers "$port" /readyz 503 && [[ $body == *"$1"* ]]; }
within 10 waits_for "for ps/1 (never seen), worker/1 (never seen)" || fail "/readyz does not say for whom: $body"
answers "$port" /metrics 200 || fail "no metrics while the job gathers"
if [ "$(figure 'syncopate_job_state\{state="gathering"\}')" != 1 ]; then fail "the state is another: $body"; fi
if [ "$(figure syncopate_server_waiting)" != 1 ]; then fail "nobody is waited for"; fi
worker 1 --steps 100000000 --checkpoint-every 0
other=$(free_port)
ps ps1 --task-index 1 --serve "[::1]:$other"
within 20 answers "$port" /readyz 200 || fail "a running job is not ready: $status $body"
says ps1 "page on http://\[::1\]:$other/"
run ready 0 syncopate inspect "${hosts%,*}" --ready
is_ready() { "$build/syncopate" inspect "${hosts#*,}" --ready >"$work/ready-1.log" 2>&1; } # It hears of the start after server 0.
within 10 is_ready || fail "ready-1: server 1 of a running job is not ready"
says ready-1 "^ps/1 is ready$"
run alive-1 0 syncopate inspect "${hosts#*,}" --alive --quiet
trained() { answers "$port" /metrics 200 && [ "$(figure syncopate_global_step)" -ge 20 ]; }
within 20 trained || fail "the step does not grow"
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
ps open --out "$work/open" --serve "0.0.0.0:$open" --start-timeout 600
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
start run syncopate run --workers 3 "${small[@]:2}" --steps 100000000 --serve 0 --out "$work/served"
says run "page  *http://127.0.0.1:[0-9]+/$"
page=$(sed -nE 's|.*page +http://127.0.0.1:([0-9]+)/|\1|p' "$work/run.log")
worker_of() { pgrep -P "${pids[run]}" -f "syncopate-$1 .*--task-index=$2( |\$)"; }
within 20 answers "$page" /logs/worker-1.log 200 || fail "the page has no log of worker 1: $status"
if [[ $body != *"worker/1 ready"* ]]; then fail "the log is another: $body"; fi
kill -STOP "$(worker_of worker 1)"
waits() { answers "$page" /state 200 && [[ $body == *'"worker/0","state":"waits","for":"worker/1"'* ]]; }
within 20 waits || fail "/state does not say who is waited for: $body"
kill -CONT "$(worker_of worker 1)"
kill -KILL "$(worker_of ps 0)"
bytes=$(sed -E 's/.*"events":([0-9]+).*/\1/' <<<"$body") # Until then.
gone_on() { answers "$page" "/events?from=$bytes" 200 && [[ $body == *'"event": "start"'* ]]; }
within 20 gone_on || fail "the page of a server 0 that was started again tells nothing: $status"
run alone 2 syncopate run --ps 0 --serve 0
says alone "serve=0: server 0 has the page, and --ps=0 has none"
kill -TERM "${pids[run]}"
ends run 143
ok "run --serve: who is waited for, logs and events, at one address, also of a server 0 that was started again"

# --- strangers ------------------------------------------------------------------------------------
get "$port" /metrics POST
if [[ $status != *" 405 "* ]]; then fail "a POST is answered $status"; fi
get "$port" /../etc/passwd
if [[ $status != *" 404 "* ]]; then fail "another page is answered $status"; fi
get "$port" "/$(printf 'x%.0s' $(seq 90000))" || true
if [[ $status == *" 200 "* ]]; then fail "a long request is answered"; fi
# Those who say nothing have some of the places, for a while, and the job does not notice.
before=$(grep -c . "$work/run/events.jsonl")
for _ in $(seq 40); do
    { exec {file}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || break
    { printf 'GET /metr' >&"$file" || true; } 2>/dev/null
done
goes_on() { [ "$(grep -c . "$work/run/events.jsonl")" -gt "$before" ]; }
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
"$build/syncopate" keygen "$work/keys" --workers 1 --quiet
mkdir -m 700 "$work/own" # Of the secrets only the servers'.
cp -p "$work/keys"/servers.key* "$work/keys"/worker-0.key "$work/own"
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
NOTIFY_SOCKET=$work/notify WATCHDOG_USEC=2000000 ps told --out "$work/told"
says server "^READY=1$"
says server "^STATUS=waiting for a job$"
says server "^WATCHDOG=1$"
NOTIFY_SOCKET=@syncopate-test-$$ WATCHDOG_USEC=2000000 worker 0 --steps 100000000
says other "^READY=1$"
says other "^STATUS=waiting .* for ps/0, which says: waiting .* for worker/1 \(never seen\)$"
says server "^STATUS=waiting .* for worker/1 \(never seen\)$"
worker 1 --steps 100000000
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
