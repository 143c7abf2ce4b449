#!/usr/bin/env bash
# reference.sh - programs that share no code with ours come to the same: what compare says of its runs, worked out again
# from points.csv (conclusion.py); a worker written from PROTOCOL.md (proto/client.py); and runs of every mode made again
# in float64 (tests/reference/replay.py), within 1e-6. With a rule that is wrong, which `syncopate replay` would share, it
# is far from them. And event files that --tensorboard leaves are read (tensorboard.py): every point is as events.jsonl
# and run.json have it, also of runs that are extended, killed, undone, stopped, or on a disk that is full. (TensorBoard
# itself is not in Debian.)
# needs: python3 protoc-c
# test: later
# promises: conclusion reference
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
export PYTHONDONTWRITEBYTECODE=1

# --- compare --------------------------------------------------------------------------------------
reader=$(cd "$(dirname "$0")" && pwd)/conclusion.py

out=$work/out
compared=(--data synthetic:2000 --model softmax --epochs 2 --workers 2 --warm-up 0 --out "$out")

# asked NAME OPTION... - the comparison with these, whose numbers then are right.
asked()
{
    local name=$1
    shift
    run "$name" 0 syncopate compare "${compared[@]}" "$@"
    python3 "$reader" "$out" >"$work/$name.check" 2>&1 || fail "$name: $(cat "$work/$name.check")"
    grep -qE '^[1-9][0-9]+ numbers compared, 0 differ$' "$work/$name.check" || fail "$name: nothing was compared"
}
# intervals PATTERN - whether any lower end matches, of what compare.json has.
intervals() { grep -qE "\"low\": $1" "$out/compare.json"; }

# tells NAME TEXT - in sentences, whose lines end anywhere.
tells() { tr '\n' ' ' <"$work/$1.log" | grep -qF -- "$2" || fail "$1 does not say: $2"; }

asked one --seeds 1
tells one "; one seed: the effect of seeds is not known;"
if intervals '[0-9-]'; then fail "there is an interval of one seed"; fi
if grep -q '+-' "$work/one.log"; then fail "there is a +- of one seed"; fi
ok "of one seed the figures are told, no interval and no deviation"

asked three --seeds 3
intervals '[0-9-]' || fail "there is no interval of three seeds"
if grep -q 'by chance is not known' "$work/three.log"; then fail "three seeds say nothing of chance"; fi
ok "of three seeds there are intervals, and an independent reader has the same"

# What judges published shapes (tests/validation) has its intervals from here.
pairs=$(cd "$(dirname "$0")/../validation" && pwd)/pairs.py
told=$(python3 -c 'import json, sys
points = json.load(open(sys.argv[1]))["groups"][1]["beside_reference"]["accuracy_points"]
print(points["value"], points["low"], points["high"])' "$out/compare.json")
read -r middle low high <<<"$told"
judged() { python3 "$pairs" "$out" test_accuracy async-w2 "$@" >"$work/judged"; }
judged sync-w2 || fail "pairs.py does not end well"
awk -v told="$told" '{ gsub(/[][,]/, ""); split(told, t, " ")
    for (i = 1; i <= 3; i++) if ((t[i] - $i) ^ 2 > 0.0001 * (1 + sqrt(t[i] ^ 2)) ^ 2) exit 1 }' "$work/judged" ||
    fail "compare says $told, pairs.py $(cat "$work/judged")"
judged sync-w2 above "$(awk "BEGIN { print $low - 0.1 }")" || fail "an interval above a limit is not"
judged sync-w2 below "$(awk "BEGIN { print $high + 0.1 }")" || fail "an interval below a limit is not"
if judged sync-w2 above "$middle"; then fail "an interval is above a limit that is in it"; fi
if judged sync-w2 below "$middle"; then fail "an interval is below a limit that is in it"; fi
if judged nobody 2>/dev/null; then fail "an arm that is not there is judged"; fi
ok "a shape is judged by whole intervals, which are those of compare.json"

# What is asked is no setting of the runs: these are all there.
between=$(python3 "$reader" "$out" --between)
asked between --seeds 3 --target-loss "$between"
[ "$(grep -c 'is there already' "$work/between.log")" -eq 6 ] || fail "another question made runs anew"
tr -d ' \n' <"$out/compare.json" | grep -oE '"runs":3,"reached":[0-3]' >"$work/reached"
[ "$(wc -l <"$work/reached")" -eq 2 ] || fail "it is not told of both arms how many came to the target"
[ "$(awk -F: '{ n += $NF } END { print n }' "$work/reached")" -eq 3 ] || fail "not half came to a loss between: $(cat "$work/reached")"
grep -q '"inf"' "$out/compare.json" || fail "who did not come to the target is not infinite"
ok "runs that do not come to the target take part as the slowest"

asked accuracy --seeds 3 --target-accuracy 0.5 --margin 3
grep -q '"target": {"kind": "accuracy", "value": 0.5, "asked_for": true, ' "$out/compare.json" ||
    fail "the target is not what was asked for"
grep -q '"margin": 3.0' "$out/compare.json" || fail "nor is the margin"
tells accuracy " reaches test accuracy 50 % "
ok "an accuracy may be the target, and another margin asked for"

asked five --seeds 5 --modes sync,async,ssp:1
if grep -q '"olympic": null' "$out/compare.json"; then fail "five seeds have no olympic mean"; fi
ok "of five seeds there is an olympic mean, too"

# The whole of it as one object, and nothing else.
"$build/syncopate" compare "${compared[@]}" --seeds 5 --modes sync,async,ssp:1 --json 2>/dev/null >"$work/object"
diff <(grep -v '"command"' "$work/object") <(grep -v '"command"' "$out/compare.json") >"$work/diff" ||
    fail "--json is not compare.json: $(head -3 "$work/diff")"
ok "--json prints what is in compare.json, and nothing else"

# And the reader would say so if it were not.
spoilt=$work/spoilt
mkdir "$spoilt"
for spoil in '/"time"/s/"low": [0-9.]/&5/' '/"seconds": {"mean".*median/s/"median": /&1/' '0,/"reached": [0-9]/s//"reached": 9/' \
    '0,/"accuracy_parity": "[a-z]*"/s//"accuracy_parity": "unheard of"/' \
    '/"exchanged_bytes": {"mean".*median/s/"median": /&1/'; do
    cp "$out/points.csv" "$out/runs.csv" "$spoilt/"
    sed "$spoil" "$out/compare.json" >"$spoilt/compare.json"
    if cmp -s "$out/compare.json" "$spoilt/compare.json"; then fail "$spoil changes nothing"; fi
    if python3 "$reader" "$spoilt" >/dev/null 2>&1; then fail "$spoil goes unseen"; fi
done
cp "$out/compare.json" "$spoilt/"
sed 's/\(,loss,.*,\)[0-9.]*$/\10.1/' "$out/points.csv" >"$spoilt/points.csv"
if python3 "$reader" "$spoilt" >/dev/null 2>&1; then fail "points that are others go unseen"; fi
cp "$out/points.csv" "$spoilt/"
sed '2s/,done,/,diverged,/' "$out/runs.csv" >"$spoilt/runs.csv"
if python3 "$reader" "$spoilt" >/dev/null 2>&1; then fail "runs that are others go unseen"; fi
ok "another number in either file is seen"

# The same of what is rare: arms that diverge, in part and whole, and others that are alike.
rare=(--virtual --data synthetic:2000 --epochs 2 --workers 4 --out "$out")
rm -rf "$out"
run diverged 1 syncopate compare "${rare[@]}" --seeds 5 --arm "calm=--mode sync" \
    --model "flatten, dense 64 relu, dense 64 relu, dense 64 relu, dense 10" \
    --arm "wild=--mode sync --optimizer nesterov --learning-rate 8" --arm "gone=--mode async --optimizer nesterov --learning-rate 8"
python3 "$reader" "$out" >"$work/diverged.check" || fail "diverged: $(cat "$work/diverged.check")"
[ "$(grep -c '^gone,[1-5],.*,diverged,' "$out/runs.csv")" -eq 5 ] || fail "not all runs of gone have diverged"
tells diverged "gone 5 diverged"
grep -qE '^wild +0/5 ' "$out/table.txt" || fail "runs of wild that diverged are not counted"
grep -qE '^gone +0/5 ' "$out/table.txt" || fail "an arm whose runs all diverged has no row"
"$build/syncopate" inspect "$out" | grep -qF "gone 5 diverged" || fail "inspect does not know who diverged"
rm -rf "$out"
run ties 0 syncopate compare "${rare[@]}" --model softmax --compute lognormal:20ms,0.3 --seeds 3 --modes sync,allreduce,async,sync+backup:1
python3 "$reader" "$out" >"$work/ties.check" || fail "ties: $(cat "$work/ties.check")"
grep -q '"word": "alike"' "$out/compare.json" || fail "sync and allreduce are not alike"
tells ties "; equal batch"
tells ties "A worker's computation is of 16 examples in sync, of 64 in async."
rm -rf "$out"
ok "it has the same of runs that diverge, and of arms that are alike"

# --- a worker written from PROTOCOL.md ------------------------------------------------------------
client=$(cd "$(dirname "$0")/../../proto" && pwd)/client.py
python=$(command -v /usr/bin/python3 || command -v python3)

# trained_by WORKERS - two servers and so many clients.
trained_by()
{
    local hosts worker out=$work/by-$1
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
if "$python" -c 'import zmq, google.protobuf' 2>/dev/null; then
    for workers in 1 2 3; do trained_by "$workers"; done
    # The learning rate is 0.1: values become 0.9 times what they were, and half their squares 0.81 times.
    awk '/^step/ { if (n++ && ($4 / last < 0.80999 || $4 / last > 0.81001)) exit 1; last = $4 } END { exit n != 20 }' \
        "$work/client0-1.log" || fail "client0-1 tells other losses"
    ok "a worker written from PROTOCOL.md trains 20 steps, and each loss is 0.81 times the one before"
    for workers in 2 3; do
        [ "$(model_hash "$work/by-$workers")" = "$(model_hash "$work/by-1")" ] || fail "$workers clients leave other bits than one"
    done
    ok "two or three of them leave the bits of one"
else
    skip "a worker in Python: no python3-zmq or python3-protobuf"
fi

# --- TensorBoard's files ------------------------------------------------------------------------------
board=$(cd "$(dirname "$0")" && pwd)/tensorboard.py
tb=$work/tb
mounts=()
clean_up_more()
{
    local place
    for place in "${mounts[@]}"; do umount --lazy "$place" 2>/dev/null || true; done
}

tensorboard()
{
    small=(--data synthetic:1024 --model softmax)
    # Long enough to be looked at and killed in the middle: a batch takes 40 ms of a worker at least.
    slow=("${small[@]}" --epochs 8 --checkpoint-every 8 --compute constant:10ms --log-every 1000)
    since=$(date +%s)

    # reads RUN [FOLDER] [OPTION...] - the files of a run are right.
    reads()
    {
        local run=$1 folder=${2:-$tb/$(basename "$1")}
        python3 "$board" run "$run" "$folder" "${@:3}" >"$work/board" 2>&1 || fail "$(basename "$run"): $(cat "$work/board")"
        grep -qE '^[1-9][0-9]+ points of [1-9]' "$work/board" || fail "$run: no points: $(cat "$work/board")"
    }
    # files RUN - of each file: events, where its session begins, and whether it is torn.
    files() { python3 "$board" files "$tb/$1" 2>&1 | cut -d ' ' -f 2-; }
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
    mapfile -t live < <(python3 "$board" files "$tb/killed" | cut -d ' ' -f 2)
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
    python3 "$board" log "$tb/killed" >"$work/told"
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
            python3 "$board" mean "$tb/$name/$arm/mean" "$work/$name/runs/$arm"-s[12] >"$work/board" 2>&1 ||
                fail "$name: the mean of $arm: $(cat "$work/board")"
            grep -qE '^[1-9][0-9]+ points, each the mean of 2 runs' "$work/board" || fail "no mean: $(cat "$work/board")"
        done
    }
    compared=(--epochs 2 --report-every 6 --l2 0.001 "${small[@]}" --quiet)
    run shown 0 syncopate compare --workers 2 --modes sync,async --seeds 2 "${compared[@]}" --out "$work/shown" --tensorboard "$tb/shown"
    means shown sync-w2 async-w2
    there=$(cd "$tb/shown" && echo * */*)
    wanted="async-w2 sync-w2 async-w2/mean async-w2/seed-1 async-w2/seed-2 sync-w2/mean sync-w2/seed-1 sync-w2/seed-2"
    if [ "$there" != "$wanted" ]; then fail "a comparison shows $there"; fi # And no run that counts nowhere.
    # Side by side; then with one seed more than at first, which is no other plan.
    side=(syncopate compare --virtual --workers "2,4" --modes async "${compared[@]}" --out "$work/side")
    run side 0 "${side[@]}" --seeds 1
    run side 0 "${side[@]}" --seeds 2 --tensorboard "$tb/side"
    for arm in async-w2 async-w4; do
        reads "$work/side/runs/$arm-s2" "$tb/side/$arm/seed-2"
        python3 "$board" mean "$tb/side/$arm/mean" "$work/side/runs/$arm"-s[12] >"$work/board" 2>&1 ||
            fail "the mean of $arm, of which one was there: $(cat "$work/board")"
    done
    run side 0 "${side[@]}" --seeds 2 --tensorboard "$tb/side"
    python3 "$board" mean "$tb/side/async-w2/mean" "$work/side/runs/async-w2"-s[12] >"$work/board" 2>&1 ||
        fail "the mean, told again: $(cat "$work/board")"
    [ "$(find "$tb/side/async-w2/mean" -type f | wc -l)" -eq 2 ] || fail "a mean that is told again has no file of its own"
    run nowhere 5 syncopate compare --workers 2 "${compared[@]}" --out "$work/none" --tensorboard "$work/board"
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
        python3 "$board" files "$work/full/on-full" >"$work/files" || fail "a full disk: $(cat "$work/files")"
        if grep -q torn "$work/files"; then fail "a record is torn where the disk is full"; fi
        head -c 1M /dev/zero >"$work/full/rest" 2>/dev/null || true
        run no-room 0 syncopate run --ps 0 --epochs 1 "${small[@]}" --out "$work/no-room" --tensorboard "$work/full"
        [ "$(grep -c 'TensorBoard lacks events' "$work/no-room.log")" -eq 1 ] || fail "no room at all is not said once"
        ok "a full disk costs events and one line, and the run goes on"
    else
        skip "a full disk, and one that is read-only: no mounting here"
    fi
}
code=0
python3 "$board" files "$work" >"$work/board" 2>&1 || code=$?
if [ "$code" -eq 3 ] || [ "$code" -ge 126 ]; then
    skip "all of TensorBoard's files: no python3-protobuf"
else
    tensorboard
fi


# --- replay in float64 ----------------------------------------------------------------------------
reference=$(cd "$(dirname "$0")/../reference" && pwd)/replay.py
if ! python3 -c 'import numpy' 2>/dev/null; then
    skip "the reference in float64: no python3-numpy"
    exit 0
fi
export OMP_NUM_THREADS=1

# 300 images of 8x8 in ten classes: epochs of 15 batches of 20, and of 19 batches of 16 with a ragged last one.
python3 - "$work/data" <<'END'
import pathlib, sys
import numpy as np
folder, random = pathlib.Path(sys.argv[1]), np.random.Generator(np.random.PCG64(1))
folder.mkdir()
classes = random.uniform(0, 255, (10, 8, 8))
for name, count in ("train", 300), ("t10k", 40):
    labels = random.integers(0, 10, count, np.uint8)
    images = np.clip(classes[labels] + random.normal(0, 60, (count, 8, 8)), 0, 255).astype(np.uint8)
    for kind, a in ("images-idx3", images), ("labels-idx1", labels):
        sizes = np.array([0x800 + a.ndim, *a.shape], ">u4")
        (folder / f"{name}-{kind}-ubyte").write_bytes(sizes.tobytes() + a.tobytes())
END

# trained NAME COMMAND ARGUMENT... - a run of 60 batches or so, whose gradients grow old.
trained()
{
    local name=$1 command=$2
    shift 2
    run "$name" 0 syncopate "$command" --data "$work/data" --model "conv 4x3 relu, pool 2, flatten, dense 12 relu, dense 10" \
        --micro-batch 4 --workers 4 --ps 2 --seed 3 --compute lognormal:20ms,0.5 --out "$work/$name" "$@"
}
# again NAME CODE [ARGUMENT...] - made again; what is said of it is in $found.
again()
{
    local name=$1 expected=$2 code=0
    shift 2
    found=$(python3 "$reference" "$work/$name" --data "$work/data" "$@" 2>&1) || code=$?
    if [ "$code" -ne "$expected" ]; then fail "$name: the reference ${*:-is too far}: $code: $found"; fi
}
# near NAME WHAT - it is within 1e-6.
near()
{
    again "$1" 0
    ok "$2 again in float64: $found"
}
# far NAME RULE - with that rule planted it is a thousand times as far, at least.
far()
{
    again "$1" 1 --plant "$2"
    awk -v d="${found%% *}" 'BEGIN { exit !(d > 1e-3) }' || fail "$1: with $2 it is $found"
    ok "... and with $2 planted: $found"
}

async=(--mode async --worker-batch 20 --epochs 4)
ragged=(--mode async --worker-batch 16 --epochs 4)

trained plain simulate "${async[@]}" --optimizer sgd --learning-rate 0.1
near plain "async with sgd"
trained scheduled simulate "${ragged[@]}" --optimizer momentum --learning-rate 0.05 --l2 0.02 --staleness-rate inverse \
    --loss-scale global-batch --schedule cosine --warmup-steps 30 --warmup-from 0.2
near scheduled "async with momentum, a schedule, l2 and rates by staleness"
far scheduled staleness-less-one
far scheduled l2-on-biases
far scheduled schedule-one-late
trained compensated simulate "${ragged[@]}" --optimizer sgd --learning-rate 0.2 --delay-compensation 2
near compensated "async with compensation"
far compensated newer-base
trained adaptive simulate "${ragged[@]}" --optimizer sgd --learning-rate 0.2 --delay-compensation adaptive:2 \
    --loss-scale global-batch --staleness-rate constant
near adaptive "async with compensation that adapts"
far adaptive newer-base
trained grouped simulate "${ragged[@]}" --workers 8 --optimizer adam --epsilon 1e-3 --learning-rate 0.01 --accumulate 4 \
    --staleness-rate inverse --schedule step --decay-steps 30
near grouped "async in groups of four"
far grouped last-of-the-group
far grouped schedule-one-late

# --- older than a bound, further ahead than one -------------------------------------------------------
for bounded in 3 3:lost; do
    trained "bounded-$bounded" simulate "${ragged[@]}" --optimizer rmsprop --momentum 0.5 --epsilon 1e-2 --learning-rate 0.003 \
        --max-staleness "$bounded"
    if [ "$(member "$work/bounded-$bounded" stale)" = 0 ]; then fail "bounded-$bounded: nothing was too old"; fi
    near "bounded-$bounded" "async, of --max-staleness $bounded,"
done
# (A smaller decay, of 2e-5 of a value an update, is rounded alike in each of them: 76 are 2e-6 apart.)
trained ssp simulate --mode ssp:2 --worker-batch 16 --epochs 4 --use-locking --slow 1:3 --optimizer adamw --epsilon 1e-3 \
    --weight-decay 0.1 --learning-rate 0.02
near ssp "ssp:2, every gradient from what the bound promises,"
again ssp 1 --plant bound-less-one
[[ $found == "not ok - "* ]] || fail "no gradient was at ssp's bound: $found"
ok "... and of a bound that is one less it is said: ${found#not ok - }"

# --- steps that are made by all -----------------------------------------------------------------------
trained backup simulate --backup-workers 1 --global-batch 60 --epochs 6 --optimizer nesterov --learning-rate 0.02
near backup "sync with a backup worker, every set of three workers' leaves,"
far backup dropped-leaves-too
for mode in sync allreduce; do
    trained "$mode" simulate --mode "$mode" --global-batch 64 --epochs 6 --optimizer adagrad --learning-rate 0.1
    near "$mode" "$mode"
done

# --- whoever is killed, and wherever it goes on; and processes that are real --------------------------
struck=("${async[@]}" --optimizer momentum --learning-rate 0.02 --delay-compensation 0.5 --checkpoint-every 7)
trained struck simulate "${struck[@]}" --kill ps/1@0.2s+2s,worker/2@2.5s+1s
trained struck simulate "${struck[@]}" --epochs 6 --workers 3 --ps 3
if [ "$(member "$work/struck" generation)" != 2 ]; then fail "struck: it has not gone back, and gone on"; fi
near struck "async, killed and gone on with by others,"
trained real run "${async[@]}" --epochs 2 --optimizer sgd --learning-rate 0.05 --compute constant:5ms
near real "async of real processes"
nothing_runs
