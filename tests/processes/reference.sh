#!/usr/bin/env bash
# reference.sh - runs of every mode made again by tests/reference/replay.py, which shares no code with the programs:
# float64 is within 1e-6 of them. With a rule that is wrong, which `syncopate replay` would share, it is far from them.
# promises: reference
# needs: python3
# test: later
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"
reference=$(cd "$(dirname "$0")/../reference" && pwd)/replay.py
if ! python3 -c 'import numpy' 2>/dev/null; then
    skip "the reference in float64: no python3-numpy"
    exit 0
fi
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1

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
