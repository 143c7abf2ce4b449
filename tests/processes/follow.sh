#!/usr/bin/env bash
# follow.sh - `syncopate evaluate --follow`: checkpoints are scored as they appear, the best is kept, and
# a run that no longer gets better is stopped; also before it has begun, and beside --keep.
# promises: follow
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:500 --model softmax --seed 3 --workers 2)
follow() { start "$1" syncopate evaluate --follow "$work/$2" "${@:3}"; }
# value NAME MEMBER [NUMBER] - of the lines that NAME printed as JSON: of all, or of one of them.
value() { sed -nE "s/.*\"$2\": ?\"?([^\",}]*).*/\1/p" "$work/$1.log"; }

# --- a run that has not begun ---------------------------------------------------------------------
follow early early --json
pause 0.5
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

# Once more, by loss, elsewhere, of a run that is done; and who comes after another knows what was best.
run again 0 syncopate evaluate --follow "$work/early" --best loss --out "$work/by-loss"
says again "^step 64  test loss [0-9.]+  test accuracy [0-9.]+ %"
says again "^the run has ended: done; 8 checkpoints scored$"
says again "^the best by test loss is that of step "
rm "$work/early/checkpoints/step-$(printf %012d "$best")/manifest.json"
stamp=$(stat -c %y "$work/early/best/model.safetensors")
run after 0 syncopate evaluate --follow "$work/early"
says after "^the run has ended: done; 7 checkpoints scored$"
if [ "$(stat -c %y "$work/early/best/model.safetensors")" != "$stamp" ]; then
    fail "a worse model has taken the place of the best"
fi
ok "by loss as well, elsewhere; who follows after another keeps what was the best before"

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

start alone-run syncopate run "${small[@]:0:6}" --ps 0 --workers 1 --steps 100000000 --checkpoint-every 4 --optimizer sgd \
    --learning-rate 1e-30 --compute constant:10ms --out "$work/alone"
follow alone alone --patience 2
ends alone-run 0 30
ends alone 0
says alone "^the run has ended: stopped; "
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
echo "left over" >"$work/stale/stop"
start stale-run syncopate run "${small[@]}" --steps 100000000 --compute constant:10ms --verbose --out "$work/stale"
ends stale-run 0
says stale-run "stopping: a note in the run directory asks for it: left over"
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
        *evaluate*) ;;
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
