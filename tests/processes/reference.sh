#!/usr/bin/env bash
# reference.sh - programs that share no code with ours come to the same: what compare says of its runs, worked out again
# from points.csv (conclusion.py); a worker written from PROTOCOL.md (proto/client.py); and runs of every mode made again
# in float64 (tests/reference/replay.py), within 1e-6. With a rule that is wrong, which `syncopate replay` would share, it
# is far from them.
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
