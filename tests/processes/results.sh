#!/usr/bin/env bash
# results.sh - what a run leaves. What a model scores is what it scored when it was trained, unless somebody says
# otherwise, and then a line says so; what is no model is named for what it is; a run, like a checkpoint, can be gone on
# from. `evaluate --follow` scores checkpoints as they appear, keeps the best, and stops a run that no longer gets better.
# And a run that was recorded is made again in one process: with the bits and the scores of the run, wherever it was
# stopped and went on; two entries swapped are other bits; what is damaged is named; with one thing changed the history is
# the same.
# promises: accumulate evaluate follow record replay replay-other run-json scores
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--data synthetic:2000 --model softmax --epochs 2 --workers 1)
trained=$work/trained
newest=$trained/checkpoints/step-000000000064
run trained 0 syncopate run "${job[@]}" --ps 0 --seed 3 --out "$trained" # Which skips no checkpoint.
own=$(awk "BEGIN { printf \"%.2f\", 100 * $(member "$trained" test_accuracy) }")

# score NAME ARGUMENT... - the accuracy that is printed.
score()
{
    run "$1" 0 syncopate evaluate "${@:2}"
    sed -nE 's/^test accuracy *([0-9.]+) %$/\1/p' "$work/$1.log"
}
silent() { if said "$1" warning; then fail "$1 warns of nothing"; fi; }

# --- on 80 columns --------------------------------------------------------------------------------
# narrow NAME PATTERN - what was said, with such a line, is no wider; only a digest or a path may be.
narrow()
{
    says "$1" "$2"
    if grep -E '^.{81}' "$work/$1.log" | grep -vE "[0-9a-f]{64}|$work"; then
        fail "$1 has a line of more than 80 columns"
    fi
}
run wide 0 syncopate run --data synthetic:64 --steps 2 --ps 1 --workers 1 --out "$work/wide"
narrow wide "^  model      conv 32x3 relu, "
run wide-run 0 syncopate inspect "$work/wide"
narrow wide-run "^  latest  "
run wide-model 0 syncopate inspect "$work/wide/model.safetensors"
narrow wide-model "^  conv1/kernel +[[]3,3,1,32[]] +288 "
run wide-score 0 syncopate evaluate "$work/wide"
narrow wide-score "^model          conv 32x3 relu, "
run wide-export 0 syncopate export "$work/wide" --out "$work/wide.safetensors"
narrow wide-export "^8 variables, "
run wide-help 0 syncopate help
narrow wide-help "^  verify "
ok "what is said has its place in 80 columns"

# --- the data -------------------------------------------------------------------------------------
for path in "$trained" "$newest"; do
    if [ "$(score same "$path")" != "$own" ]; then fail "$path scores on other data than its own"; fi
    says same "^data +synthetic:2000 of seed 3, 400 test examples, as trained on"
    says same "^trained +64 of 64 batches"
    silent same
done
run exported 0 syncopate export "$trained" --out "$work/exported.safetensors"
if [ "$(score alone "$work/exported.safetensors" --data synthetic:2000 --seed 3)" != "$own" ]; then
    fail "a model file with the same data scores differently"
fi
silent alone
ok "a run and a checkpoint are scored on what they were trained on"

if [ "$(score seed "$trained" --seed 4)" = "$own" ]; then fail "--seed is not heard"; fi
says seed "warning: scored on synthetic:2000 of seed 4, but trained on synthetic:2000 of seed 3"
one_line seed
if [ "$(score data "$newest" --data synthetic)" = "$own" ]; then fail "--data is not heard"; fi
says data "warning: scored on synthetic of seed 3, but trained on synthetic:2000 of seed 3"
score_of_variable() { SYNCOPATE_SEED=4 score variable "$trained"; }
if [ "$(score_of_variable)" != "$(score seed "$trained" --seed 4)" ]; then
    fail "the environment is not heard"
fi
ok "--data and --seed win, and it is said that they are not those of the training"

# As another program saves it again, which keeps no metadata.
LC_ALL=C sed 's/"model":/"other":/' "$work/exported.safetensors" >"$work/bare"
run bare-refused 5 syncopate evaluate "$work/bare" --data synthetic:2000 --seed 3
says bare-refused 'bare: names no layers .*--model says them, or --program brings them$'
if [ "$(score bare "$work/bare" --model softmax --data synthetic:2000 --seed 3)" != "$own" ]; then
    fail "a file without metadata scores differently"
fi
cp -r "$trained" "$work/resaved"
cp "$work/bare" "$work/resaved/model.safetensors"
if [ "$(score resaved "$work/resaved")" != "$own" ]; then fail "the run's layers are not taken"; fi
ok "a model file without our metadata is scored, by the run's layers or by --model"

if [ -d /usr/share/datasets/fashion-mnist ]; then
    if [ "$(score other "$trained/model.safetensors")" = "$own" ]; then
        fail "one accuracy for different data"
    fi
    says other "^data +fashion-mnist, 10,000 test examples, for want of a --data"
    silent other
    ok "what a model file alone is scored on is said"
else
    skip "a model file without --data: Fashion-MNIST is not there"
fi

idx "$work/images"
run folder 0 syncopate run --data "$work/images" --global-batch 8 --model softmax --steps 2 --workers 1 \
    --quiet --out "$work/folder-run"
score folder "$work/folder-run" >"$work/score"
says folder "^data +$work/images, 20 test examples, as trained on"
mv "$work/images" "$work/moved"
run gone 5 syncopate evaluate "$work/folder-run"
says gone "$work/images: No such file.*--data says where it is here"
one_line gone
score moved "$work/folder-run" --data "$work/moved" >"$work/score"
says moved "as trained on" # Another name, the same data.
silent moved
mv "$work/moved" "$work/images"
printf '\2' | dd of="$work/images/t10k-labels-idx1-ubyte" bs=1 seek=9 conv=notrunc status=none
score changed "$work/folder-run" >"$work/score"
says changed "warning: $work/images has changed since the model was trained on it"
ok "data are known by what is in them"

# A table with words for classes, and real targets: trained by two workers, scored again and replayed.
own_data()
{
    run "$1" 0 syncopate run "${@:2}" --workers 2 --global-batch 16 --epochs 2 --quiet --out "$work/own-$1"
    run "$1-score" 0 syncopate evaluate "$work/own-$1"
    says "$1-score" "as trained on"
    says "$1-score" "^test loss +$(awk "BEGIN { printf \"%.6f\", $(member "$work/own-$1" test_loss) }")$"
    run "$1-replay" 0 syncopate replay "$work/own-$1"
    says "$1-replay" "as recorded"
}
awk 'BEGIN { print "a;b;kind"
    for (i = 0; i < 90; i++) print i % 3 + i / 400 ";" i % 7 - 3.5 ";" (i % 3 ? "pear" : "fig") }' >"$work/table.csv"
own_data table --data "$work/table.csv" --label kind --model softmax
says table-score "^model +flatten, dense 2$"
awk -F ';' '{ print $1 ";" $2 }' "$work/table.csv" >"$work/real.csv"
own_data real --data "$work/real.csv" --label b --loss mse --model "dense 4 relu, dense 1" --mode async
if grep -q accuracy "$work/real-score.log"; then fail "there is no accuracy where targets are real"; fi
ok "a table is trained on, scored and replayed: classes by words, and real targets"

# --- of every epoch -------------------------------------------------------------------------------
# digits - a loss and an accuracy as they are written.
digits() { tr -d '\n' | tr -s ' ' | sed -nE 's/.*"test_loss": ([^,]+), "test_accuracy": ([^,}]+).*/\1 \2/p'; }
for kind in sync async ssp:1; do
    kept=$work/kept-$kind
    run kept 0 syncopate run --data synthetic:1000 --model "flatten, dense 10" --global-batch 50 --mode "$kind" --workers 2 \
        --ps 2 --epochs 3 --compute constant:8ms --keep-scored --out "$kept"
    compared=0
    for epoch in 1 2 3; do
        told=$(grep "\"event\": \"evaluation\",.* \"step\": $((20 * epoch))," "$kept/events.jsonl" | digits)
        if [ -z "$told" ]; then continue; fi # One worker was kept from its share, and the score was dropped.
        run kept-score 0 syncopate evaluate --json "$kept/scored/epoch-$epoch.safetensors" --data synthetic:1000
        compared=$((compared + 1))
        if [ "$(digits <"$work/kept-score.log")" != "$told" ]; then fail "$kind: epoch $epoch scores otherwise than was told"; fi
    done
    if [ "$compared" -eq 0 ]; then fail "$kind: no epoch was scored"; fi
    cmp -s "$kept/scored/epoch-3.safetensors" "$kept/model.safetensors" || fail "$kind: the last is not the run's model"
done
ok "with --keep-scored each score's model is a file of which evaluate says the same, in sync, async and ssp"

# --- what is none ---------------------------------------------------------------------------------
mkdir "$work/none" "$work/none/folder"
printf '\211PNG\r\n\032\n\0\0\0\rIHDR' >"$work/none/image"
echo "Trained for three epochs." >"$work/none/notes"
mkfifo "$work/none/pipe"
head -c 300 "$trained/model.safetensors" >"$work/none/half"
# none PATH PATTERN PATTERN-OF-RESTORE - neither looked at, scored, exported nor gone on from.
none()
{
    local command
    for command in inspect evaluate export; do
        run "none-$command" 5 syncopate "$command" "$1"
        says "none-$command" "$2"
        one_line "none-$command"
    done
    run none-restore 5 syncopate run "${job[@]}" --out "$work/never" --restore "$1"
    says none-restore "--restore[:=].*is neither a checkpoint .* nor a run with one"
    one_line none-restore
    if [ -e "$work/never" ]; then fail "something was begun from $1"; fi
}
none "$work/none/image" "image: is not a safetensors file but a PNG image"
none "$work/none/notes" "notes: is not a safetensors file but text"
none "$work/none/pipe" "pipe: it is a pipe, not a file"
none "$work/none/half" "half: .*cut off"
none "$work/none/folder" "folder:? is (neither|no run)"
for command in evaluate export; do
    run "part-$command" 5 syncopate "$command" "$newest/part-0-of-1.safetensors"
    says "part-$command" "is one server's part of a checkpoint"
done
ok "what is no model is named for what it is"

# --- going on -------------------------------------------------------------------------------------
run straight 0 syncopate run "${job[@]}" --epochs 4 --seed 3 --out "$work/straight"
for ps in 0 2; do
    for from in "$trained" "$newest"; do
        run "on-$ps" 0 syncopate run "${job[@]}" --epochs 4 --seed 3 --ps "$ps" --out "$work/on" \
            --restore "$from"
        if [ "$(model_hash "$work/on")" != "$(model_hash "$work/straight")" ]; then
            fail "--restore $from with $ps servers ends elsewhere"
        fi
        rm -r "$work/on"
    done
done
ok "--restore takes a run as it takes a checkpoint: its newest"

small=(--data synthetic:500 --model softmax --seed 3 --workers 2)
follow() { start "$1" syncopate evaluate --follow "$work/$2" "${@:3}"; }
# value NAME MEMBER [NUMBER] - of the lines that NAME printed as JSON: of all, or of one of them.
value() { sed -nE "s/.*\"$2\": ?\"?([^\",}]*).*/\1/p" "$work/$1.log"; }

# --- --follow: a run that has not begun ---------------------------------------------------------------------
follow early early --json
run early-run 0 syncopate run "${small[@]}" --epochs 8 --checkpoint-every 8 --keep all \
    --compute constant:20ms --out "$work/early"
ends early 0
if [ "$(value early step | tr '\n' ' ')" != "8 16 24 32 40 48 56 64 " ]; then
    fail "not every checkpoint was scored once, in order: $(value early step | tr '\n' ' ')"
fi
if [ "$(value early ended)" != "done" ]; then fail "the last line does not say how it ended"; fi
last=$(grep '"step": *64' "$work/early.log" | sed -nE 's/.*"test_accuracy": ?([0-9.]+).*/\1/p')
if [ "$last" != "$(member "$work/early" test_accuracy)" ]; then fail "the last scores other than the run's"; fi
best=$(value early best_step | tail -n 1)
run early-best 0 syncopate evaluate "$work/early/checkpoints/step-$(printf %012d "$best")" --quiet
run early-kept 0 syncopate evaluate "$work/early/best/model.safetensors" --data synthetic:500 --seed 3 --quiet
cmp -s "$work/early-best.log" "$work/early-kept.log" || fail "what is kept as the best scores differently"
if [ "$(sed -nE 's/^ *"step": ([0-9]+),?$/\1/p' "$work/early/best/best.json")" != "$best" ]; then
    fail "best.json names another step"
fi
ok "each checkpoint of a run that begins later is scored once, in order, and the best is kept with its score"

rm "$work/early/checkpoints/step-$(printf %012d "$best")/manifest.json"
stamp=$(stat -c %y "$work/early/best/model.safetensors")
run after 0 syncopate evaluate --follow "$work/early"
says after "^the run has ended: done; 7 checkpoints scored$"
if [ "$(stat -c %y "$work/early/best/model.safetensors")" != "$stamp" ]; then
    fail "a worse model has taken the place of the best"
fi
ok "who follows after another keeps what was the best before"

# --- patience -------------------------------------------------------------------------------------
# Of a rate that moves nothing no checkpoint is better than the first, which is still there when somebody looks.
start lazy-run syncopate run "${small[@]}" --steps 100000000 --checkpoint-every 4 --keep all --optimizer sgd \
    --learning-rate 1e-30 --compute constant:10ms --out "$work/lazy"
follow lazy lazy --patience 3
ends lazy-run 0 30
ends lazy 0
says lazy "^no better test accuracy in 3 checkpoints since step 4: the run is asked to stop$"
says lazy "^the run has ended: stopped; "
if [ "$(member "$work/lazy" state)" != stopped ]; then fail "run.json does not say that it was stopped"; fi
grep -q '"event": "stop", "exit_code": 0' "$work/lazy/events.jsonl" || fail "no event says so"
if [ -e "$work/lazy/stop" ]; then fail "the note is left behind"; fi
run lazy-on 0 syncopate evaluate "$work/lazy" # There is a whole checkpoint, and a model.
ok "--patience N stops a run that gets no better at a checkpoint, all its processes with 0"

# By hand, with the note alone; it is heeded once.
start note-run syncopate run "${small[@]}" --steps 100000000 --compute constant:10ms --out "$work/note"
within 20 grep -qs '"event": "progress"' "$work/note/events.jsonl" || fail "no progress"
printf 'seen enough\033[31m\nnot this' >"$work/note-to-be"
mv "$work/note-to-be" "$work/note/stop" # Whole, or it may be read between two calls of printf.
ends note-run 0
grep -q "a note in the run directory asks for it: seen enough \[31m$" "$work/note/logs/ps-0.log" ||
    fail "the server does not say what the note says"
mkdir -p "$work/stale"
cp -r "$work/note/." "$work/stale"
# Read before anybody has come: who comes is told all the same.
echo "left over again" >"$work/stale/stop"
hosts=127.0.0.1:$(free_port)
start late-ps syncopate-ps --task-index 0 --ps-hosts "$hosts" --out "$work/stale"
within 20 test ! -e "$work/stale/stop" || fail "late-ps does not look for a note"
for i in 0 1; do
    start "late-worker$i" syncopate-worker --task-index "$i" --ps-hosts "$hosts" "${small[@]}" --steps 100000000 --compute constant:10ms
done
for name in late-ps late-worker0 late-worker1; do ends "$name" 0; done
says late-ps "stopping: a note in the run directory asks for it: left over again"
ok "whoever may write to the run's folder ends it by a note there"

# --- checkpoints that go --------------------------------------------------------------------------
start kept-run syncopate run "${small[@]}" --epochs 30 --checkpoint-every 1 --keep 1 --out "$work/kept"
follow kept kept
ends kept-run 0 30
ends kept 0
if grep -q "warning\|error" "$work/kept.log"; then fail "a checkpoint that was removed is an error"; fi
says kept "^step 240 "
rm -rf "$work/damaged"
cp -r "$work/early" "$work/damaged"
for part in "$work"/damaged/checkpoints/step-000000000016/part-*; do truncate -s 100 "$part"; done
run damaged 0 syncopate evaluate --follow "$work/damaged"
says damaged "warning: .*step-000000000016.*; not scored"
says damaged "^the run has ended: done; 6 checkpoints scored$"
ok "a checkpoint that is removed meanwhile is no error, and a damaged one is named and left out"

# --- deadlines ------------------------------------------------------------------------------------
run never 4 syncopate evaluate --follow "$work/never" --start-timeout 1
says never "no run has begun in .*/never within 1 s"
start dead-run syncopate run "${small[@]}" --steps 100000000 --checkpoint-every 4 --compute constant:10ms \
    --out "$work/dead"
follow dead dead --recovery-timeout 2
says dead "^step "
disown "${pids[dead-run]}"
trainers=()
for pid in $(survivors); do
    case $(tr '\0' ' ' <"/proc/$pid/cmdline") in
        *" evaluate --follow "*) ;;
        *) trainers+=("$pid") ;;
    esac
done
kill -STOP "${trainers[@]}" # Or those who are killed last have ended by themselves, at a checkpoint, as the first are gone.
kill -KILL "${trainers[@]}"
ends dead 195
says dead "no process has been training .*/dead for 2 s; [0-9]+ checkpoints? w"
start gone-run syncopate run "${small[@]}" --steps 100000000 --checkpoint-every 4 --compute constant:10ms --out "$work/gone"
follow gone gone
says gone "^step "
rm "$work/gone/run.json"
ends gone 195
says gone "gone/run.json is gone, and with it the run; [0-9]+ checkpoints? w"
kill -INT "${pids[gone-run]}"
wait "${pids[gone-run]}" || true # Its folder is damaged.
unset "pids[gone-run]"
run odd 2 syncopate evaluate "$work/early" --patience 3
says odd "patience=3: only used with --follow"
ok "a run that never begins is exit code 4, and one that nobody trains any more 195"

# --- replay ---------------------------------------------------------------------------------------
# 63 batches an epoch, many small chunks.
job=(--data synthetic:1008 --global-batch 16 --seed 5 --chunk-bytes 512 --epochs 2
    --model "conv 4x3 relu, pool 4, flatten, dense 10")

bits_of() { member "$1" parameters_sha256; }
# trains NAME ARGUMENT... - a run in $work/NAME, to its end.
trains() { run "$1" 0 syncopate run "${job[@]}" --out "$work/$1" "${@:2}"; }

# other_scores NAME - whether its replay has found a score that is another.
other_scores() { grep -v 'none of which differs' "$work/$1.log" | grep -q differs; }
# again NAME [WHAT] - the very bits and scores of the run $work/NAME. One that the run lacks it has dropped,
# because the epoch was shorter than its scoring, and has counted.
again()
{
    run "$1-again" 0 syncopate replay "$work/$1"
    said "$1-again" "^parameters_sha256 $(bits_of "$work/$1"): as recorded$" ||
        fail "${2:-$1}: not the bits of the run"
    if other_scores "$1-again"; then fail "${2:-$1}: other scores"; fi
    local lacking
    lacking=$(grep -c "no score there" "$work/$1-again.log" || true)
    if [ "$lacking" -gt "$(member "$work/$1" scores_dropped)" ]; then fail "${2:-$1}: $lacking scores are not there"; fi
}
trains two --mode async --workers 2 --ps 1 --transport tcp --compute constant:8ms --checkpoint-every 21
again two
ok "two workers over tcp: the bits of the run, and its scores"
trains four --mode async --workers 4 --ps 2 --optimizer momentum --learning-rate 0.01 --slow 3:2
again four
ok "four workers, one of them slow, two servers, shared memory: the bits of the run"
trains bound --mode ssp:1 --workers 3 --ps 2
again bound
said bound-again '^ssp:1: .* the promised values$' || fail "nothing is said of what ssp promises"
ok "ssp:1: the bits of the run, and every computation began from what was promised"
trains sync --mode sync --workers 2 --ps 2
again sync
said sync-again 'as one process makes them' || fail "sync is not made by one process"
ok "sync: the bits of the run, as one process makes them"

first=$(find "$work/two/checkpoints" -name 'step-*' -printf '%f\n' | sort | head -n 1)
first=$((10#${first#step-}))
if [ "$first" -ge 126 ]; then fail "the run has no checkpoint on the way"; fi
run until 0 syncopate replay "$work/two" --until "$first"
said until '^parameters_sha256 [0-9a-f]{64}: as the checkpoint of this batch$' ||
    fail "--until $first is not the checkpoint of this batch"
run beyond 2 syncopate replay "$work/two" --until 127
said beyond -- '--until=127: the record ends after 126 batches' || fail "--until beyond the end"
ok "--until stops when every chunk has had so many batches: there its checkpoint has these bits"

run paired 0 syncopate replay "$work/two" --learning-rate 0.01
said paired "^paired with $work/two: learning rate: 0.001 in the run, 0.01 in the replay$" ||
    fail "it does not say what is changed"
said paired '^loss [0-9.]+; the run has [0-9.]+ ' || fail "no losses side by side"
if said paired 'recorded|differs'; then fail "what is changed is held against the run"; fi
run nothing 2 syncopate replay "$work/sync" --staleness-rate inverse
said nothing 'the run is sync, in which nothing is stale' || fail "staleness in a sync run"
ok "with another learning rate the history is the same, and losses stand side by side"

# --- for programs ---------------------------------------------------------------------------------
# is NAME MEMBER VALUE - of the object that it printed, which is all that it printed.
is()
{
    local value
    value=$("$build/tests/processes/json_value" "$work/$1.log" "$2") ||
        fail "$1 does not print an object with $2: $(head -c 200 "$work/$1.log")"
    if [ "$value" != "$3" ]; then fail "$1: $2 is $value, not $3"; fi
}
# times NAME LINE - how often an object has a member so.
times() { grep -cE "^ *$2,?$" "$work/$1.log" || true; }

run told 0 syncopate replay "$work/four" --json
for pair in "path $work/four" "mode async" "changed null" "broken null" "step 126" "as_recorded true" \
    "expected_in run.json" "parameters_sha256 $(bits_of "$work/four")" "skipped_entries 0" \
    "expected_sha256 $(bits_of "$work/four")" "computations 126" "train_epoch 2" \
    "train_loss $(member "$work/four" train_loss)" \
    "record_bytes $(cat "$work/four"/record/*.log | wc -c)"; do
    is told "${pair%% *}" "${pair#* }"
done
chunks=$(sed -nE 's/.*"chunks": ([0-9]+),?/\1/p' "$work/told.log")
is told entries $((126 * chunks))
for line in '"session": 1' '"workers": 4' '"servers": 2' '"first_batch": 0' '"end_batch": 126' '"end_version": 126'; do
    if [ "$(times told "$line")" -ne 1 ]; then fail "not one segment with $line"; fi
done
# The run's own scores, each with its step, digit by digit.
grep -oE '"event": "evaluation".*' "$work/four/events.jsonl" | tr ',' '\n' |
    sed -nE 's/^ ("step": .*)/\1/p; s/^ "(test_[a-z]+": .*)/"run_\1/p' >"$work/scores"
if [ "$(wc -l <"$work/scores")" -lt 3 ]; then fail "the run has no scores"; fi
while read -r line; do
    if [ "$(times told "$line")" -lt 1 ]; then fail "not among the scores: $line"; fi
done <"$work/scores"
# Each, and the parameters.
if [ "$(times told '"as_recorded": true')" -ne $(($(grep -c run_test_loss "$work/scores") + 1)) ]; then
    fail "not every score is as recorded"
fi
if ! (cd "$work" && sync_told=$("$build/syncopate" replay sync --json) && grep -q '"chunks": 0' <<<"$sync_told"); then
    fail "a sync run's segment has chunks"
fi
run told-paired 0 syncopate replay "$work/four" --json --learning-rate 0.02
is told-paired changed "learning rate: 0.01 in the run, 0.02 in the replay"
is told-paired as_recorded null
is told-paired expected_sha256 null
if [ "$(times told-paired '"as_recorded": (true|false)')" -ne 0 ]; then fail "what is changed is held against the run"; fi
ok "--json: one object with the bits, what they had to be, segments, and the scores with their steps"

# --- what is damaged ------------------------------------------------------------------------------
# refused NAME WORDS - the copy $work/NAME is refused with these words.
refused()
{
    run "$1" 3 syncopate replay "$work/$1"
    said "$1" "$2" || fail "$1: does not say: $2"
    if [ "$(wc -l <"$work/$1.log")" -ne 1 ]; then fail "$1: more than a line"; fi
}
copy() { cp -r "$work/two" "$work/$1"; }
copy flipped
byte=$(od -An -tu1 -j700 -N1 "$work/flipped/record/0001.log") # Which every run has another of.
# shellcheck disable=SC2059 # The byte is the format.
printf "\\x$(printf %02x $((byte ^ 255)))" |
    dd of="$work/flipped/record/0001.log" bs=1 seek=700 conv=notrunc status=none
refused flipped "flipped/record/0001.log: damaged at byte [0-9]+: the checksum of this block is wrong"
copy short
truncate -s -1 "$work/short/record/0001.log"
refused short "short/record/0001.log: damaged: it has [0-9]+ bytes, and [0-9]+ when"
copy longer # As a kill between the record and its manifest leaves it.
echo "half a block" >>"$work/longer/record/0001.log"
run longer 0 syncopate replay "$work/longer" --quiet
copy missing
rm "$work/missing/record/0001.log"
refused missing "cannot read .*missing/record/0001.log"
copy newer
printf '\11' | dd of="$work/newer/record/0001.log" bs=1 seek=16 conv=notrunc status=none
refused newer "newer/record/0001.log: is a record of format 9, and this program reads 4"
copy other
cp "$work/four/record/0001.log" "$work/other/record/0001.log"
refused other "other/record/0001.log: (is the record of a run of another declaration|damaged)"
trains off --mode async --workers 2 --ps 1 --record off
refused off "off: has no record \(--record off\)"
run empty 5 syncopate replay "$work"
# changed NAME WORDS - the copy of that name with one number changed, every checksum as it has to be.
changed()
{
    copy "changed-$1"
    "$build/tests/processes/swap_entries" "$work/changed-$1/record/0001.log" "$1" || fail "no $1 to change"
    refused "changed-$1" "changed-$1/record/0001.log: $2"
}
changed run "is the record of run [0-9a-f]{16}, and the newest checkpoint is of run $(member "$work/two" run_id)"
changed worker "damaged: computation [0-9]+ is of worker/[78], and the run has had 2 workers"
changed clock "damaged: computation [0-9]+ is at clock 1, and workers have no clocks in this mode"
ok "another run's id, a worker that the run has not had, a clock in async: refused with 3, and named"
ok "a flipped byte, a short file, none, a newer format, another run's: refused with 3, and named"

copy swapped
"$build/tests/processes/swap_entries" "$work/swapped/record/0001.log" >"$work/where" ||
    fail "there are no two entries to be swapped"
size=$(stat -c %s "$work/swapped/record/0001.log")
if [ "$size" != "$(stat -c %s "$work/two/record/0001.log")" ]; then fail "they take $size bytes"; fi
run swapped 1 syncopate replay "$work/swapped"
said swapped "differs from run.json: $(bits_of "$work/two")" || fail "swapped entries: the same bits"
run swapped-told 1 syncopate replay "$work/swapped" --json
is swapped-told as_recorded false
is swapped-told expected_sha256 "$(bits_of "$work/two")"
run newer-told 3 syncopate replay "$work/newer" --json
if grep -q '{' "$work/newer-told.log"; then fail "an object of what cannot be read"; fi
ok "two entries swapped, with every checksum right: other bits, exit code 1, also with --json"
# What run.json and the model's file say beside the bits is compared, too.
copy figures
sed -i -e 's/"train_loss": /&9/' -e 's/"applied": /&9/' "$work/figures/run.json"
cp "$work/four/model.safetensors" "$work/figures/model.safetensors"
run figures 1 syncopate replay "$work/figures" --quiet
for what in train_loss verdicts model.safetensors; do
    said figures "^$what: differs from the run's$" || fail "figures: $what is not compared"
done
said figures "^parameters_sha256 $(bits_of "$work/two"): as recorded$" || fail "figures: other bits"
run figures-told 1 syncopate replay "$work/figures" --json
if [ "$(times figures-told '"model.safetensors"')" -ne 1 ]; then fail "figures: --json does not name the model"; fi
ok "another loss, other counts, another model's file: named, exit code 1"

# --- records that end -----------------------------------------------------------------------------
record_ends() { sed -n '/^  "record": {/,/}/s/.*"ends_at": \([0-9a-z]*\).*/\1/p' "$work/$1/run.json"; }
half=(--mode async --workers 2 --ps 2)
trains half "${half[@]}" --epochs 1
printf 'left over' | tee -a "$work/half/record/0001.log" >"$work/half/record/0002.log" # No manifest names it.
trains half "${half[@]}"
again half
said half-again '^session 2: 2 workers, 2 servers' || fail "the second session is not told"
if [ "$(record_ends half)" != null ]; then fail "a whole record is said to end at $(record_ends half)"; fi
ok "a run gone on with has a file more, and what no manifest names is gone"
trains half "${half[@]}" --epochs 3 --record off
trains half "${half[@]}" --epochs 4
said half "warning: the record of this run ends at batch 126" || fail "a record that has ended is gone on with"
if [ "$(record_ends half)" != 126 ]; then fail "a session after one without a record: not in run.json"; fi
run replayed 3 syncopate replay "$work/half"
said replayed "its record ends at batch 126, and the run went on to 252 without one" || fail "replayed otherwise"
ok "a session without a record ends it, and run.json, the run and replay say so"
nothing_runs
