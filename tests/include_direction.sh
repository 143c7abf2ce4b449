#!/usr/bin/env bash
# include_direction.sh - arrows point down: tests -> deploy -> ps, worker -> common -> proto; within
# each of them a room includes only rooms that stand above it in the list below; every foreign library
# has one doorway; and no room is crowded. What a job's mode is nobody asks but the rooms of the modes,
# the options and the declaration: all others ask for its facts, job_mode(job)->steps and the like.
# Tests may use any door, because they play the hostile peer.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# The rooms, lowest first. Rooms of one line do not know each other; "." is the folder itself.
rooms='
common  base
common  kernels file
common  process optimizer figures
common  job
common  events
common  steps
common  store wire compute
common  tensorboard
common  keys address trace watch
common  options transport
common  transport/zmq transport/shm
common  progress
ps      orders
ps      shard
ps      work extension
ps      mode
ps      owner router
ps      coordinator checkpointer
ps      watch
ps      .
worker  program
worker  model
worker  data
worker  source program
worker  mode
worker  client
worker  .
deploy  cluster
deploy  launcher manual replay conclusion engine calibrate trace place
deploy  hosts
deploy  page
deploy  report
deploy  compare
deploy  explain verify simulate
deploy  inspect follow run serve
deploy  command
deploy  labs
deploy  .'
most=22 # Files of C that a folder has.

includes=$(find proto common ps worker deploy -name '*.[ch]' -exec \
    grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"][^>"]+' {} + |
    sed -E 's/:.*[<"]/ /; s# (\.\./)+# #')
wrong=$(awk '
    function only(file) { if ($1 != file) print $1 " includes " $2 ", which belongs in " file " only" }
    function folder(path) { sub("/[^/]*$", "", path); return path }
    BEGIN { below["common"] = "proto"; below["ps"] = below["worker"] = "common proto"
            below["deploy"] = "ps worker common proto"
            doors["proto/syncopate.pb-c.h"] = "common/wire/message.c"
            doors["proto/tensorboard.pb-c.h"] = "common/tensorboard/board_event.c" }
    NR == FNR { for (i = 2; i <= NF; i++) height[$i == "." ? $1 : $1 "/" $i] = NR; next }
    { split($1, from, "/"); split($2, to, "/"); room = folder($1); other = folder($2) }
    !/^proto/ && !(room in height) && !unknown[room]++ { print room " is not among the rooms of this script" }
    to[1] ~ /^(proto|common|ps|worker|deploy|tests)$/ && to[1] != from[1] &&
        !index(" " below[from[1]] " ", " " to[1] " ") { print $1 " includes " $2 ", against the arrows" }
    to[1] == from[1] && other != room && height[other] >= height[room] {
        print $1 " includes " $2 ", of a room that is not below" }
    # What is described knows nobody who trains.
    room == "deploy/cluster" && other != room && to[1] !~ /^common$/ && $2 ~ /\// && $2 !~ /^sys\// {
        print $1 " includes " $2 ", and deploy/cluster only what is common" }
    # Training goes on without whoever only listens to it.
    room ~ /^ps\/(owner|mode)$/ && other == "ps/extension" {
        print $1 " includes " $2 ", which only listens: owners know its table alone" }
    # The library of programs is linked to what others write: it brings nothing of ours along.
    room == "worker/program" && $2 ~ /\// && $2 !~ /^sys\// && $2 != "worker/program/syncopate.h" {
        print $1 " includes " $2 ", and worker/program only what libc has" }
    $2 ~ /^zmq/ && room != "common/transport/zmq" { only("common/transport/zmq") }
    $2 ~ /cblas/ { only("tests/bench/lib/blas.c") }
    # Each file of messages has its own door; what protobuf-c calls everything by comes with it.
    $2 ~ /pb-c\.h$/ && !($2 in doors) { print $1 " includes " $2 ", which has no door in this script" }
    $2 in doors { only(doors[$2]) }
    $2 ~ /^protobuf-c/ { print $1 " includes " $2 ", which comes with the messages" }
    $2 ~ /^jansson/ { only("common/file/json.c") }     $2 ~ /^(sodium|nettle)/ { only("common/base/hash.c") }
    $2 ~ /^microhttpd/ { only("common/watch/http_server.c") }
    $2 ~ /^zlib/ { only("worker/data/packed.c") }' <(sed '/^$/d' <<<"$rooms") - <<<"$includes")
crowded=$(find common ps worker deploy tests -name '*.c' | sed 's#/[^/]*$##' | sort | uniq -c |
    awk -v most=$most '$1 > most { print $2 " has " $1 " files of C, and " most " are many" }')

# A mode's number, a function or a flag that is called after a mode, a mode's name as a text, and a
# comparison of facts->number. Assigning a mode is making a declaration, and is let through; so is a table by mode.
moded=$(find common ps worker deploy -name '*.[ch]' ! -path 'common/job/*' ! -path 'common/options/*' \
    ! -path '*/mode/*' ! -path 'deploy/verify/mode_invariants*' -exec perl -0777 -ne '
    BEGIN { $mode = "sync|async|ssp" }
    s{/\*.*?\*/}{$& =~ tr/\n//cdr}gse;          # Comments may speak of modes.
    my $line = 0;
    for (split /\n/) {
        $line++;
        my $code = s/"(?:[^"\\]|\\.)*"/""/gr;
        print "$ARGV:$line asks which mode it is: $_\n"
            if $code =~ /(->|\.)mode\b(?!\s*=[^=]|\])/ || $code =~ /\bMODE_(SYNC|ASYNC|SSP)\b/ ||
               $code =~ /\b(mode_)?is_($mode)\b|\b($mode)\b(?!\.h)|mode\w*(\([^()]*\))?->number\s*[!=]=/ || /"($mode)(:\w*)?"/;
    }' {} +)
facts=$({ grep -rhoE 'job_mode\(|mode_facts_named\(' common ps worker deploy --include='*.c' || true; } | wc -l)

if [ -n "$wrong$crowded$moded" ]; then
    printf 'not ok - include direction: %s\n' "$wrong$crowded$moded"
    exit 1
fi
echo "ok - include direction: $(wc -l <<<"$includes") includes, all pointing down; a mode's facts are asked for in $facts places"
