#!/usr/bin/env bash
# evaluate.sh - what a model scores is what it scored when it was trained, unless somebody says
# otherwise, and then a line says so; what is no model is named for what it is; and a run, like a
# checkpoint, can be gone on from. `evaluate --follow` scores checkpoints as they appear, keeps the best, and stops a run
# that no longer gets better.
# promises: evaluate follow scores
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
printf 'PK\3\4\0\0\10\10\0\0archive/data.pkl' >"$work/none/torch"
echo "Trained for three epochs." >"$work/none/notes"
: >"$work/none/empty"
truncate -s 1T "$work/none/endless"
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
none "$work/none/torch" "torch: is not a safetensors file but a zip archive, such as torch.save"
none "$work/none/notes" "notes: is not a safetensors file but text"
none "$work/none/empty" "empty: is empty, not a safetensors file"
none "$work/none/endless" "endless: is not a safetensors file but zeros"
none "$work/none/pipe" "pipe: it is a pipe, not a file"
none "$work/none/half" "half: .*cut off"
none "$work/none/folder" "folder:? is neither"
none "$trained/run.json" "run.json: is not a safetensors file but JSON text"
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
cp -r "$trained" "$work/damaged"
truncate -s -1 "$work/damaged/checkpoints/step-000000000064/manifest.json"
run older 0 syncopate run "${job[@]}" --epochs 4 --seed 3 --out "$work/on" \
    --restore "$work/damaged"
says older "warning: checkpoint damaged"
says older "going on after batch 32"
if [ "$(model_hash "$work/on")" != "$(model_hash "$work/straight")" ]; then
    fail "--restore with a damaged newest checkpoint ends elsewhere"
fi
ok "--restore takes a run as it takes a checkpoint: its newest whole one"

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
