#!/usr/bin/env bash
# client.sh - proto/client.py, a worker written from PROTOCOL.md, trains with servers of ours: each step its loss falls
# as arithmetic says, and one, two or three of them leave the same bits.
# needs: python3 protoc-c
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
client=$(cd "$(dirname "$0")/../../proto" && pwd)/client.py
python=$(command -v /usr/bin/python3 || command -v python3)
if ! "$python" -c 'import zmq, google.protobuf' 2>/dev/null; then
    skip "a worker in Python: no python3-zmq or python3-protobuf"
    exit 0
fi
export PYTHONDONTWRITEBYTECODE=1

# trained WORKERS - two servers and so many clients.
trained()
{
    local hosts worker out=$work/$1
    hosts=127.0.0.1:$(free_port),127.0.0.1:$(free_port)
    start "ps0-$1" syncopate-ps --task-index 0 --ps-hosts "$hosts" --out "$out"
    start "ps1-$1" syncopate-ps --task-index 1 --ps-hosts "$hosts"
    for ((worker = 0; worker < $1; worker++)); do
        "$python" "$client" "$worker" "$1" "$hosts" >"$work/client$worker-$1.log" 2>&1 &
        pids[client$worker-$1]=$!
    done
    for ((worker = 0; worker < $1; worker++)); do ends "client$worker-$1" 0 60; done
    ends "ps0-$1" 0
    ends "ps1-$1" 0
}
for workers in 1 2 3; do trained "$workers"; done
# The learning rate is 0.1: values become 0.9 times what they were, and half their squares 0.81 times.
awk '/^step/ { if (n++ && ($4 / last < 0.80999 || $4 / last > 0.81001)) exit 1; last = $4 } END { exit n != 20 }' \
    "$work/client0-1.log" || fail "client0-1 tells other losses"
ok "a worker written from PROTOCOL.md trains 20 steps, and each loss is 0.81 times the one before"
for workers in 2 3; do
    [ "$(model_hash "$work/$workers")" = "$(model_hash "$work/1")" ] || fail "$workers clients leave other bits than one"
done
ok "two or three of them leave the bits of one"
