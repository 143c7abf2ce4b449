#!/usr/bin/env bash
# tensorboard.sh - event files that --tensorboard leaves, read by a program that shares nothing with what wrote
# them (tensorboard.py): every point is as events.jsonl and run.json have it, also of runs that are
# extended, killed, undone, stopped, or on a disk that is full. (TensorBoard itself is not in Debian.)
# needs: python3
# test: later
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
reader=$(cd "$(dirname "$0")" && pwd)/tensorboard.py
tb=$work/tb
mounts=()
clean_up_more()
{
    local place
    for place in "${mounts[@]}"; do umount --lazy "$place" 2>/dev/null || true; done
}

code=0
python3 "$reader" files "$work" >"$work/reader" 2>&1 || code=$?
if [ "$code" -eq 3 ] || [ "$code" -ge 126 ]; then
    skip "all of TensorBoard's files: no python3-protobuf"
    exit 0
fi

small=(--data synthetic:1024 --model softmax)
# Long enough to be looked at and killed in the middle: a batch takes 40 ms of a worker at least.
slow=("${small[@]}" --epochs 8 --checkpoint-every 8 --compute constant:10ms --log-every 1000)
since=$(date +%s)

# reads RUN [FOLDER] [OPTION...] - the files of a run are right.
reads()
{
    local run=$1 folder=${2:-$tb/$(basename "$1")}
    python3 "$reader" run "$run" "$folder" "${@:3}" >"$work/reader" 2>&1 || fail "$(basename "$run"): $(cat "$work/reader")"
    grep -qE '^[1-9][0-9]+ points of [1-9]' "$work/reader" || fail "$run: no points: $(cat "$work/reader")"
}
# files RUN - of each file: events, where its session begins, and whether it is torn.
files() { python3 "$reader" files "$tb/$1" 2>&1 | cut -d ' ' -f 2-; }
sessions() { files "$1" | cut -d ' ' -f 2 | tr '\n' ' '; }

# --- whoever trains ----------------------------------------------------------------------------------
run async 0 syncopate run --mode async --workers 3 --epochs 3 --report-every 5 --l2 0.001 "${small[@]}" \
    --out "$work/async" --tensorboard "$tb"
says async "^  board +$tb/async, for"
run alone 0 syncopate run --ps 0 --epochs 3 --schedule step --decay-steps 20 --decay-factor 0.5 --warmup-steps 9 \
    "${small[@]}" --out "$work/alone" --tensorboard "$tb" --tensorboard-run by/hand
reads "$work/async" "$tb/async" --since "$since"
if [ "$(sessions async)" != "0 " ]; then fail "the file of a new run begins at $(sessions async)"; fi
reads "$work/alone" "$tb/by/hand" --since "$since"
ok "a run's event files have what its events have, with servers and without"

# --- longer, and undone ------------------------------------------------------------------------------
run longer 0 syncopate run --ps 0 --epochs 4 --schedule step --decay-steps 20 --decay-factor 0.5 --warmup-steps 9 \
    "${small[@]}" --out "$work/alone" --tensorboard "$tb" --tensorboard-run by/hand
reads "$work/alone" "$tb/by/hand"
if [ "$(sessions by/hand)" != "0 49 " ]; then fail "sessions begin at $(sessions by/hand), not at 0 and 49"; fi
ok "a run that is made longer keeps its points, the last of them too"

# By hand: server 0 is killed in the middle, and leaves a record of which the end is missing.
hosts=127.0.0.1:$(free_port)
by_hand=(--ps-hosts "$hosts" --task-index 0 --worker-timeout "$patience")
start ps0 syncopate-ps "${by_hand[@]}" --out "$work/killed" --tensorboard "$tb" --log-every 1000
start worker0 syncopate-worker "${by_hand[@]}" --workers 2 --mode ssp:2 "${slow[@]}"
start worker1 syncopate-worker --ps-hosts "$hosts" --task-index 1 --worker-timeout "$patience" --workers 2 --mode ssp:2 "${slow[@]}"
checkpoints() { grep -cs '"event": "checkpoint"' "$1/events.jsonl" || true; }
has_checkpoints() { [ "0$(checkpoints "$1")" -ge "$2" ]; } # No file yet: no number.
within 20 has_checkpoints "$work/killed" 2 || fail "there is no checkpoint"
# It is told while it goes on, not when it has ended.
mapfile -t live < <(python3 "$reader" files "$tb/killed" | cut -d ' ' -f 2)
if [ "${live[0]:-0}" -lt 15 ]; then fail "only ${live[0]:-0} events are there while it trains"; fi
murder ps0
within 5 gone ps0 || fail "server 0 lives"
first=$(echo "$tb"/killed/*)
truncate -s -7 "$first"
hash=$(sha256sum <"$first")
before=$(checkpoints "$work/killed")
start ps0 syncopate-ps "${by_hand[@]}" --out "$work/killed" --tensorboard "$tb" --log-every 1000
says ps0 "worker/1 joined"
within 20 has_checkpoints "$work/killed" $((before + 1)) || fail "it does not go on"
murder worker1
ends ps0 0 60
ends worker0 0 60
if [ "$(sha256sum <"$first")" != "$hash" ]; then fail "the file of the server 0 that was killed was changed"; fi
files killed >"$work/files"
[ "$(wc -l <"$work/files")" -ge 2 ] || fail "the new server 0 has no file of its own"
grep -q ' torn$' <(head -n 1 "$work/files") || fail "the first file is not torn: $(cat "$work/files")"
if tail -n +2 "$work/files" | grep -q torn; then fail "another one is torn: $(cat "$work/files")"; fi
awk 'NR > 1 && $2 % 8 != 1 { exit 1 }' "$work/files" || fail "who goes on does not begin behind a checkpoint: $(cat "$work/files")"
reads "$work/killed" "$tb/killed" --killed
python3 "$reader" log "$tb/killed" >"$work/told"
grep -q '^- lost: role worker, index 1' "$work/told" || fail "the loss of a worker is not told: $(cat "$work/told")"
grep -q '^1\.0$' "$work/told" || fail "nor that one is left"
ok "server 0 killed in the middle: another file from the checkpoint on, and what is torn stays alone"

# All go back for a lost server: the same process, another file.
start back syncopate run --mode sync --ps 2 --workers 2 "${slow[@]}" --out "$work/back" --tensorboard "$tb"
within 20 has_checkpoints "$work/back" 1 || fail "there is no checkpoint"
child=$(pgrep -f -- "--task-index=1 .*--out=$work/back" | head -n 1)
kill -KILL "$child"
ends back 0 60
reads "$work/back"
[ "$(files back | wc -l)" -eq 2 ] || fail "a going back does not begin a file: $(files back)"
ok "what was undone with a lost server is made again in a file that says so"

# --- virtual time ------------------------------------------------------------------------------------
virtual=(syncopate simulate --mode async --workers 8 --epochs 4 --compute constant:5ms --kill ps/0@100ms+20ms --checkpoint-every 8 "${small[@]}")
run virtual 0 "${virtual[@]}" --out "$work/virtual" --tensorboard "$tb"
run without 0 "${virtual[@]}" --out "$work/without"
reads "$work/virtual"
if [ "$(files virtual | wc -l)" -ne 2 ]; then fail "a server 0 in virtual time: $(files virtual)"; fi
cmp "$work/virtual/events.jsonl" "$work/without/events.jsonl" || fail "event files change what happens in virtual time"
ok "in virtual time points have virtual times, and nothing happens otherwise for it"

# --- comparisons -------------------------------------------------------------------------------------
# means NAME ARM... - of arms of two runs each, the runs and their mean.
means()
{
    local name=$1 arm
    for arm in "${@:2}"; do
        reads "$work/$name/runs/$arm-s1" "$tb/$name/$arm/seed-1"
        reads "$work/$name/runs/$arm-s2" "$tb/$name/$arm/seed-2"
        python3 "$reader" mean "$tb/$name/$arm/mean" "$work/$name/runs/$arm"-s[12] >"$work/reader" 2>&1 ||
            fail "$name: the mean of $arm: $(cat "$work/reader")"
        grep -qE '^[1-9][0-9]+ points, each the mean of 2 runs' "$work/reader" || fail "no mean: $(cat "$work/reader")"
    done
}
compared=(--epochs 2 --report-every 6 --l2 0.001 "${small[@]}" --quiet)
run real 0 syncopate compare --workers 2 --modes sync,async --seeds 2 "${compared[@]}" --out "$work/real" --tensorboard "$tb/real"
means real sync-w2 async-w2
there=$(cd "$tb/real" && echo * */*)
wanted="async-w2 sync-w2 async-w2/mean async-w2/seed-1 async-w2/seed-2 sync-w2/mean sync-w2/seed-1 sync-w2/seed-2"
if [ "$there" != "$wanted" ]; then fail "a comparison shows $there"; fi # And no run that counts nowhere.
# Side by side; then with one seed more than at first, which is no other plan.
side=(syncopate compare --virtual --workers "2,4" --modes async "${compared[@]}" --out "$work/side")
run side 0 "${side[@]}" --seeds 1
run side 0 "${side[@]}" --seeds 2 --tensorboard "$tb/side"
for arm in async-w2 async-w4; do
    reads "$work/side/runs/$arm-s2" "$tb/side/$arm/seed-2"
    python3 "$reader" mean "$tb/side/$arm/mean" "$work/side/runs/$arm"-s[12] >"$work/reader" 2>&1 ||
        fail "the mean of $arm, of which one was there: $(cat "$work/reader")"
done
run side 0 "${side[@]}" --seeds 2 --tensorboard "$tb/side"
python3 "$reader" mean "$tb/side/async-w2/mean" "$work/side/runs/async-w2"-s[12] >"$work/reader" 2>&1 ||
    fail "the mean, told again: $(cat "$work/reader")"
[ "$(find "$tb/side/async-w2/mean" -type f | wc -l)" -eq 2 ] || fail "a mean that is told again has no file of its own"
run nowhere 5 syncopate compare --workers 2 "${compared[@]}" --out "$work/none" --tensorboard "$work/reader"
if [ -e "$work/none" ]; then fail "a comparison was begun for a folder that cannot be"; fi
ok "comparisons have a folder for every run, and of every arm the mean at common steps"

# --- what cannot be written --------------------------------------------------------------------------
echo precious >"$work/file"
run not-a-folder 5 syncopate run "${small[@]}" --epochs 1 --out "$work/none" --tensorboard "$work/file"
one_line not-a-folder
says not-a-folder "--tensorboard: cannot make $work/file/none: $work/file is not a folder"
run ps-not-a-folder 5 syncopate-ps "${by_hand[@]}" --out "$work/none" --tensorboard "$work/file"
run alone-not-a-folder 5 syncopate-worker --ps 0 "${small[@]}" --epochs 1 --out "$work/none" --tensorboard "$work/file"
run virtual-not-a-folder 5 syncopate simulate "${small[@]}" --epochs 1 --out "$work/none" --tensorboard "$work/file"
if [ -e "$work/none" ]; then fail "something was begun for a folder that cannot be"; fi
ok "a folder that cannot be made is exit code 5, before anything is begun"

mkdir "$work/full" "$work/fixed"
if mount -t tmpfs -o size=16k tmpfs "$work/full" 2>/dev/null; then
    mounts+=("$work/full" "$work/fixed")
    mount -t tmpfs -o ro tmpfs "$work/fixed"
    run read-only 5 syncopate run "${small[@]}" --epochs 1 --out "$work/none" --tensorboard "$work/fixed"
    says read-only "--tensorboard: .*Read-only file system"
    if [ -e "$work/none" ]; then fail "something was begun for a disk that is read-only"; fi
    run full 0 syncopate run --mode sync --workers 2 --epochs 12 "${small[@]}" --out "$work/on-full" --tensorboard "$work/full"
    [ "$(grep -c 'TensorBoard lacks events: cannot write .*: No space left on device' "$work/full.log")" -eq 1 ] ||
        fail "it is not said once that the disk is full"
    python3 "$reader" files "$work/full/on-full" >"$work/files" || fail "a full disk: $(cat "$work/files")"
    if grep -q torn "$work/files"; then fail "a record is torn where the disk is full"; fi
    head -c 1M /dev/zero >"$work/full/rest" 2>/dev/null || true
    run no-room 0 syncopate run --ps 0 --epochs 1 "${small[@]}" --out "$work/no-room" --tensorboard "$work/full"
    [ "$(grep -c 'TensorBoard lacks events' "$work/no-room.log")" -eq 1 ] || fail "no room at all is not said once"
    ok "a full disk costs events and one line, and the run goes on"
else
    skip "a full disk, and one that is read-only: no mounting here"
fi
