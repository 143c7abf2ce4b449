#!/usr/bin/env bash
# disk.sh - disks that run full or become read-only, and servers killed while they write: training
# goes on, whatever has a manifest can be loaded, and the failure is said once. A slow disk is
# simulated: see tests/unit/engine/test_simulated_disk.c and test_checkpointer.c.
# test: asan
# promises: checkpoints disk
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:500 --model softmax --seed 3)
# Slowed down, or the events of thousands of checkpoints fill the small disk by themselves.
often=("${small[@]}" --steps 100000000 --checkpoint-every 5 --compute constant:1ms)
bounded=("${small[@]}" --steps 1500 --checkpoint-every 5)
kills=8
if sanitized; then kills=4; fi
mounts=()
clean_up_more()
{
    local place
    for place in "${mounts[@]}"; do umount --lazy "$place" 2>/dev/null || true; done
}

# ps INDEX NAME ARGUMENT..., worker INDEX NAME ARGUMENT...
ps() { start "$2" syncopate-ps --task-index "$1" --ps-hosts "$hosts" "${@:3}"; }
worker() { start "$2" syncopate-worker --task-index "$1" --ps-hosts "$hosts" "${@:3}"; }
hosts() { hosts="127.0.0.1:$(free_port),127.0.0.1:$(free_port)"; }
checkpoints() { grep -cs '"event": "checkpoint"' "$1/events.jsonl" || true; }
more_checkpoints() { [ "$(checkpoints "$1")" -gt "$2" ] 2>/dev/null; } # No file yet: no number.
times_said() { grep -cE -- "$2" "$work/$1.log" || true; }

# whole RUN NAME - whatever has a manifest can be loaded; succeeds when there is anything.
whole()
{
    local run=$1 name=$2 manifest found=1
    for manifest in "$run"/checkpoints/*/manifest.json; do
        if [ ! -e "$manifest" ]; then continue; fi
        run "$name" 0 syncopate evaluate "$(dirname "$manifest")" --data synthetic:500 --seed 3
        found=0
    done
    return "$found"
}

# end_all NAME... - kill whoever of them still runs; the shell has no news of it to tell.
end_all()
{
    local name
    for name in "$@"; do
        disown "${pids[$name]}" 2>/dev/null || true
        kill -KILL "${pids[$name]}" 2>/dev/null || true
    done
    for name in "$@"; do within 5 gone "$name" || fail "$name does not die"; done
}

# a_job NAME RUN ARGUMENT... - two servers and a worker
a_job()
{
    local name=$1 run=$2
    shift 2
    hosts
    ps 0 "$name-ps0" --out "$run"
    ps 1 "$name-ps1" --out "$run"
    worker 0 "$name-worker0" --workers 1 "$@"
}

# --- killed at any moment -------------------------------------------------------------------------
run plain 0 syncopate run --out "$work/plain" --ps 2 --workers 1 "${bounded[@]}"

with=0
for ((i = 1; i <= kills; i++)); do
    # Or the job is done before the last attempt, on a fast machine as on one that keeps this script waiting.
    a_job "kill$i" "$work/killed" "${bounded[@]}" --compute constant:3ms
    within 20 said "kill$i-ps0" "training starts" || fail "attempt $i does not start"
    before=$(checkpoints "$work/killed")
    if [ $((i % 3)) -ne 0 ]; then # Some die before the first checkpoint is due.
        within 10 more_checkpoints "$work/killed" "$before" || fail "attempt $i writes no checkpoint"
    fi
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    murder "kill$i-ps$((i % 2))"
    end_all "kill$i-ps0" "kill$i-ps1" "kill$i-worker0"
    if whole "$work/killed" "look$i"; then with=$((with + 1)); fi
done
if [ "$with" -eq 0 ]; then fail "there was never a checkpoint to look at"; fi
a_job last "$work/killed" "${bounded[@]}"
for name in last-ps0 last-ps1 last-worker0; do ends "$name" 0 60; done
says last-ps0 "resuming from the checkpoint at step"
if [ "$(model_hash "$work/killed")" != "$(model_hash "$work/plain")" ]; then
    fail "$kills kills changed the model"
fi
if find "$work/killed" -name '*.tmp' | grep -q .; then fail "a killed writer's file is still there"; fi
left=$(find "$work/killed/checkpoints" -mindepth 1 -maxdepth 1 | wc -l)
if [ "$left" -ne 3 ]; then fail "$left checkpoints are left, not 3"; fi
nothing_runs
ok "servers killed $kills times while they write checkpoints always leave whole ones, and the bits"

# --- how many checkpoints are kept ----------------------------------------------------------------
# Without servers none is skipped.
kept() { (cd "$1/checkpoints" && echo step-*) | sed 's/step-0*//g'; }
few=("${small[@]}" --checkpoint-every 5)
for keep in 1 4 all; do
    run "keep-$keep" 0 syncopate run --ps 0 --steps 50 --keep "$keep" "${few[@]}" --out "$work/$keep"
done
run keep-default 0 syncopate run --ps 0 --steps 50 "${few[@]}" --out "$work/default"
if [ "$(kept "$work/1")" != 50 ]; then fail "--keep 1 leaves $(kept "$work/1")"; fi
if [ "$(kept "$work/4")" != "35 40 45 50" ]; then fail "--keep 4 leaves $(kept "$work/4")"; fi
if [ "$(kept "$work/default")" != "40 45 50" ]; then fail "no --keep leaves $(kept "$work/default")"; fi
if [ "$(kept "$work/all")" != "5 10 15 20 25 30 35 40 45 50" ]; then
    fail "--keep all leaves $(kept "$work/all")"
fi
run look 0 syncopate inspect "$work/all"
says look "^  checkpoints +10, all to be kept"
if [ "$(times_said look '^  checkpoint  .*, 1 part, ')" -ne 10 ]; then fail "inspect does not list them"; fi
# Servers keep as many, and a run that goes on as many as it was begun with.
sed -i 's/"state": "done"/"state": "stopped"/' "$work/all/run.json" "$work/4/run.json"
run keep-on 0 syncopate run --ps 2 --steps 55 "${few[@]}" --out "$work/all"
if [ "$(kept "$work/all" | wc -w)" -ne 11 ]; then fail "a run that goes on removes checkpoints"; fi
run keep-on 0 syncopate run --ps 2 --steps 55 --keep 2 "${few[@]}" --out "$work/4"
if [ "$(kept "$work/4")" != "50 55" ]; then fail "--keep 2 leaves $(kept "$work/4")"; fi
run look 0 syncopate inspect "$work/4"
says look "^  checkpoints +2, the newest 2 to be kept"
ok "--keep says how many checkpoints stay, and a run remembers it"

# --- killed and stopped: who holds the run --------------------------------------------------------
hosts && hosts=${hosts%,*}
ps 0 held-ps0 --out "$work/held"
worker 0 held-worker0 --workers 1 "${often[@]}"
within 20 said held-ps0 "training starts" || fail "training does not start"
kill -STOP "${pids[held-ps0]}"
first=$hosts
hosts && hosts=${hosts%,*}
ps 0 held-next --out "$work/held"
worker 0 held-nextworker --workers 1 "${often[@]}"
ends held-next 5
says held-next "another run is using .*: process ${pids[held-ps0]} \(syncopate-ps\), which is stopped"
one_line held-next
end_all held-ps0 held-worker0 held-nextworker
hosts=$first
ps 0 held-again --out "$work/held"
worker 0 held-againworker --workers 1 "${often[@]}"
within 20 said held-again "training starts" || fail "the run of a killed server 0 does not open"
end_all held-again held-againworker
nothing_runs
ok "a stopped server 0 is named by who cannot have its run, and a killed one is no obstacle"

# --- a damaged checkpoint named by hand -----------------------------------------------------------
mkdir "$work/damaged"
cp "$work/plain/checkpoints"/*1500/* "$work/damaged/"
truncate -s -1 "$work/damaged"/part-1-of-2*
for ps in 0 2; do
    run "refused$ps" 5 syncopate run --out "$work/refused" --ps "$ps" --workers 1 "${bounded[@]}" \
        --restore "$work/damaged"
    if [ -e "$work/refused/run.json" ] || [ -e "$work/refused/generation" ]; then
        fail "a refused run leaves a claimed folder"
    fi
done
ok "--restore with a damaged checkpoint exits 5 and claims nothing"

# --- full -----------------------------------------------------------------------------------------
disk=$work/disk
mkdir "$disk"
if [ "$(id -u)" -ne 0 ] || ! mount -t tmpfs -o size=2m,mode=0700 none "$disk" 2>/dev/null; then
    skip "full and read-only disks: only root can mount a tmpfs (and a container may not)"
    exit 0
fi
mounts+=("$disk")
full() { ! dd if=/dev/zero of="$disk/ballast" bs=4k oflag=append conv=notrunc 2>/dev/null; }

a_job full "$disk/run" "${often[@]}"
within 20 more_checkpoints "$disk/run" 3 || fail "there are no checkpoints to begin with"
within 10 full || fail "the disk does not run full"
says full-ps0 "checkpoint at step [0-9]+ not written: .*No space left on device"
sleep 0.5
full || true
whole "$disk/run" full-look || fail "there is no checkpoint any more"
if [ "$(times_said full-ps0 'not written: .*No space left')" -ne 1 ]; then
    fail "a full disk is complained of more than once"
fi
running full-worker0 || fail "training does not go on"
rm "$disk/ballast"
says full-ps0 "checkpoints are written again; [0-9]+ were not"
before=$(checkpoints "$disk/run")
within 10 more_checkpoints "$disk/run" "$before" || fail "no checkpoints any more"
kill -INT "${pids[full-ps0]}"
for name in full-ps0 full-ps1 full-worker0; do ends "$name" 130; done
run full-score 0 syncopate evaluate "$disk/run" --data synthetic:500 --seed 3
failed=$(sed -nE 's/^ *"checkpoints_failed": ([0-9]+),?$/\1/p' "$disk/run/run.json")
if [ "$failed" -lt 1 ]; then fail "run.json counts no failed checkpoints"; fi
ok "a full disk costs $failed checkpoints, said once; with room again all goes on"

# --- read-only ------------------------------------------------------------------------------------
a_job readonly "$disk/run" "${often[@]}"
within 20 said readonly-ps0 "training starts" || fail "the run does not go on"
mount --bind "$disk/run/checkpoints" "$disk/run/checkpoints"
mounts=("$disk/run/checkpoints" "${mounts[@]}")
within 10 mount -o remount,bind,ro "$disk/run/checkpoints" 2>/dev/null ||
    fail "the folder does not become read-only"
says readonly-ps0 "checkpoint at step [0-9]+ not written: .*Read-only file system"
sleep 0.5
if [ "$(times_said readonly-ps0 'not written: .*Read-only')" -ne 1 ]; then
    fail "a read-only disk is complained of more than once"
fi
whole "$disk/run" readonly-look || fail "there is no checkpoint any more"
within 10 umount "$disk/run/checkpoints" 2>/dev/null || fail "the folder stays in use"
mounts=("${mounts[@]:1}")
says readonly-ps0 "checkpoints are written again"

# --- full at the end ------------------------------------------------------------------------------
within 10 full || fail "the disk does not run full"
says readonly-ps0 "not written: .*No space left on device"
full || true
kill -INT "${pids[readonly-ps0]}"
for name in readonly-ps0 readonly-ps1 readonly-worker0; do ends "$name" 5; done
says readonly-ps0 "error: .*the last checkpoint was not written: .*$disk/run/.*No space left on device"
one_line readonly-ps0
whole "$disk/run" end-look || fail "there is no checkpoint any more"
rm "$disk/ballast"
a_job after "$disk/run" "${often[@]}"
within 20 said after-ps0 "resuming from the checkpoint at step" || fail "the run does not go on"
before=$(checkpoints "$disk/run")
within 10 more_checkpoints "$disk/run" "$before" || fail "no checkpoints any more"
end_all after-ps0 after-ps1 after-worker0
nothing_runs
ok "read-only and full at the end: said once, exit code 5 with the path, and resumed with room"
