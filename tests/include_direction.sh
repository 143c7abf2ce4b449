#!/usr/bin/env bash
# include_direction.sh - arrows point down: tests -> deploy -> ps, worker -> common -> proto, and
# every foreign library has one doorway (style.md, points 2 and 5). Tests may use any door, because
# they play the hostile peer.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

includes=$(find proto common ps worker deploy -name '*.[ch]' -exec \
    grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"][^>"]+' {} + |
    sed -E 's/:.*[<"]/ /; s# (\.\./)+# #')
wrong=$(awk '
    function only(file) { if ($1 != file) print $1 " includes " $2 ", which belongs in " file " only" }
    BEGIN { below["common"] = "proto"; below["ps"] = below["worker"] = "common proto"
            below["deploy"] = "ps worker common proto" }
    { split($1, from, "/"); split($2, to, "/") }
    to[1] ~ /^(proto|common|ps|worker|deploy|tests)$/ && to[1] != from[1] &&
        !index(" " below[from[1]] " ", " " to[1] " ") { print $1 " includes " $2 ", against the arrows" }
    $2 ~ /^zmq/ && $1 !~ /^common\/transport_zmq(_[a-z]+)?\.c$/ { only("common/transport_zmq*.c") }
    $2 ~ /cblas/ { only("tests/bench/blas.c") }
    $2 ~ /pb-c\.h$|^protobuf-c/ { only("common/message.c") }
    $2 ~ /^jansson/ { only("common/json.c") }          $2 ~ /^sodium/ { only("common/hash.c") }
    $2 ~ /^zlib/ { only("worker/idx.c") }' <<<"$includes")

if [ -n "$wrong" ]; then printf 'not ok - include direction: %s\n' "$wrong"; exit 1; fi
echo "ok - include direction: $(wc -l <<<"$includes") includes, all pointing down"
