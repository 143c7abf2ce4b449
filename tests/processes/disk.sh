#!/usr/bin/env bash
# disk.sh - disks that run full or become read-only, and servers killed while they write: training goes on, whatever has
# a manifest can be loaded, and the failure is said once. And whatever stands where a run reads and writes its files (a
# link, a pipe, a folder, a device, zeros without end, somebody else's bytes): nothing hangs, nothing outside is written,
# what is only a log is set aside with a line, and what decides bits is refused in a line or made good from an older
# checkpoint. And who may read what a run leaves. (A slow disk is simulated: tests/unit/engine/test_simulated_disk.c.)
# test: asan
# promises: checkpoints disk folder
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

small=(--data synthetic:500 --model softmax --seed 3)
# Slowed down, or the events of thousands of checkpoints fill the small disk by themselves.
often=("${small[@]}" --steps 100000000 --checkpoint-every 5 --compute constant:1ms)
bounded=("${small[@]}" --steps 1500 --checkpoint-every 5)
mounts=()
clean_up_more()
{
    local place
    for place in "${mounts[@]}"; do umount --lazy "$place" 2>/dev/null || true; done
}

# ps INDEX NAME ARGUMENT..., worker INDEX NAME ARGUMENT...
ps() { start "$2" "${checked:-}syncopate-ps" --task-index "$1" --ps-hosts "$hosts" "${@:3}"; }
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

# Twenty steps more, and so four checkpoints that fall due.
more_steps() { "$build/tests/processes/await_status" "${hosts%,*}" +20 $((10 * patience)) >"$work/status.log"; }

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

snapshot() { (cd "$1" && find . -type f -size -1000k -exec sha256sum {} + | sort); }
# as_stopped RUN - a run that is done counts as stopped, and may go on.
as_stopped() { sed -i 's/"state": "done"/"state": "stopped"/' "$1/run.json"; }

if short_run; then
    # --- killed while they write ----------------------------------------------------------------------
    run plain 0 syncopate run --out "$work/plain" --ps 2 --workers 1 "${bounded[@]}"
    kills=0 checked=checked/
    for point in "ps/0 cut" "ps/1 writes" "ps/0 writes" "ps/0 part" "ps/1 part" "ps/0 manifest"; do
        # Slow enough that the job is not done before the last attempt.
        kills=$((kills + 1))
        victim=${point%% *}
        holds "kill$kills" "$point" a_job "kill$kills" "$work/killed" "${bounded[@]}" --compute constant:3ms
        reached "kill$kills"
        murder "kill$kills-${victim/\//}"
        end_all "kill$kills-ps0" "kill$kills-ps1" "kill$kills-worker0"
        if [ "$kills" -gt 3 ]; then whole "$work/killed" "look$kills" || [ "$kills" -lt 6 ] || fail "there is no checkpoint"; fi
    done
    checked=''
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
    as_stopped "$work/all"
    as_stopped "$work/4"
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

    # --- damaged checkpoints --------------------------------------------------------------------------
    damage() { printf '\377' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 9)) conv=notrunc status=none; }
    run beyond 0 syncopate run --ps 0 --steps 55 "${few[@]}" --out "$work/beyond"
    expected=$(model_hash "$work/beyond")
    newest=$work/default/checkpoints/step-000000000050
    as_stopped "$work/default"
    cp -r "$work/default" "$work/flipped"
    damage "$(echo "$work"/flipped/checkpoints/step-000000000050/part-0-of-1*)"
    run flipped 0 syncopate run --ps 2 --steps 55 "${few[@]}" --out "$work/flipped"
    says flipped "warning: .*damaged.*part-0-of-1"
    if [ "$(model_hash "$work/flipped")" != "$expected" ]; then fail "falling back changed the result"; fi
    for step in 40 45 50; do damage "$(echo "$work"/default/checkpoints/step-0000000000$step/part-0-of-1*)"; done
    before=$(snapshot "$work/default")
    # refused NAME PATTERN ARGUMENT...
    refused()
    {
        run "$1" 5 syncopate "${@:3}"
        says "$1" "$2"
        one_line "$1"
    }
    for ps in 0 2; do
        refused hopeless "checkpoint" run --ps $ps --steps 55 "${few[@]}" --out "$work/default"
        refused named "part-0-of-1" run --ps $ps --steps 55 "${few[@]}" --out "$work/refused" --restore "$newest"
        if [ -e "$work/refused/run.json" ] || [ -e "$work/refused/generation" ]; then
            fail "a refused run leaves a claimed folder"
        fi
    done
    refused exported "part-0-of-1" export "$newest" --out "$work/exported.safetensors"
    if [ "$(snapshot "$work/default")" != "$before" ]; then fail "damaged checkpoints were changed"; fi
    if [ -e "$work/exported.safetensors" ]; then fail "a damaged checkpoint is exported"; fi
    nothing_runs
    ok "a damaged checkpoint is named and the one before it taken; without a whole one nothing is begun, changed or made"
fi
# --- full -----------------------------------------------------------------------------------------
disk=$work/disk
mkdir "$disk" "$work/tiny"
mounted() { [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o "size=$2,mode=0700" none "$1" 2>/dev/null && mounts+=("$1"); }
full() { ! dd if=/dev/zero of="$disk/ballast" bs=4k oflag=append conv=notrunc 2>/dev/null; }
if ! short_run; then
    :
elif ! mounted "$disk" 2m || ! mounted "$work/tiny" 64k; then
    skip "full and read-only disks: only root can mount a tmpfs (and a container may not)"
else
    # The folder is made and claimed, the model of 94 KB (with its slots) does not fit.
    for ps in 2 0; do
        refused no-room "No space left" run "${few[@]}" --steps 5 --quiet --ps $ps --out "$work/tiny/run$ps"
        if [ -e "$work/tiny/run$ps/model.safetensors" ]; then fail "half a model lies on a full disk"; fi
    done

    a_job full "$disk/run" "${often[@]}"
    within 20 more_checkpoints "$disk/run" 3 || fail "there are no checkpoints to begin with"
    within 10 full || fail "the disk does not run full"
    says full-ps0 "checkpoint at step [0-9]+ not written: .*No space left on device"
    more_steps
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
    more_steps
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
fi

rest_unsanitized

# --- what stands in a place ------------------------------------------------------------------------
job=(--data synthetic:100 --model softmax --checkpoint-every 2 --workers 1)
outside=$work/outside
older="step-000000000002"
newest="step-000000000004"
part=checkpoints/$newest/part-0-of-1.g1.safetensors

# The template: stopped at step 4 of 8, with two checkpoints.
for steps in 2 4; do
    run template 0 syncopate run "${job[@]}" --steps "$steps" --out "$work/template"
    as_stopped "$work/template"
done
if [ ! -e "$work/template/checkpoints/$older/manifest.json" ] || [ ! -e "$work/template/$part" ]; then
    fail "the template is not as wanted"
fi
run straight 0 syncopate run "${job[@]}" --steps 8 --out "$work/straight"
expected=$(model_hash "$work/straight")

# put KIND PATH - something else in the place of what is there.
put()
{
    local kind=$1 path=$2
    rm -rf "$outside"
    mkdir "$outside"
    case $kind in
        link) # What was there is outside now, and a link leads to it.
            if [ -e "$path" ]; then mv "$path" "$outside/it"; else echo precious >"$outside/it"; fi
            ln -s "$outside/it" "$path" ;;
        *) rm -rf "$path" ;;&
        nowhere) ln -s "$outside/nothing-there" "$path" ;;
        loop) ln -s "$(basename "$path")" "$path" ;;
        pipe) mkfifo "$path" ;;
        folder) mkdir "$path"; echo precious >"$path/thesis.txt" ;;
        device) mknod "$path" c 1 5 ;; # /dev/zero
        zeros) truncate -s 64M "$path" ;;
        endless) truncate -s 1T "$path" ;;
        noise) head -c 3000 /dev/urandom >"$path" ;;
        nothing) : >"$path" ;;
    esac
}

# Every kind in every place takes a minute; pipes and links, which hang and lead astray, a few seconds.
kinds=(link pipe)
case ${TEST_LONG:-} in
    only) kinds=(nowhere folder zeros endless noise nothing device) ;;
    1) kinds+=(nowhere folder zeros endless noise nothing device) ;;
esac
can_make_devices()
{
    rm -f "$work/device"
    [ "$(id -u)" -eq 0 ] && mknod "$work/device" c 1 5 2>/dev/null &&
        head -c 1 "$work/device" >"$work/byte" 2>/dev/null
}
if long_run && ! can_make_devices; then
    unset "kinds[-1]"
    skip "devices in the place of files: only root makes them, and not everywhere"
fi

# tried OUTCOME PLACE [KIND...] - resume with each kind of thing (that is in question now) in that place. The outcome is `goes`
# (it goes on to the right bits), `aside` (so it does, and says that it has set something aside),
# `older` (so it does, and says that it passed over a checkpoint) or `refused` (one line names the
# place, nothing is changed).
tried()
{
    local outcome=$1 place=$2 kind ps code case before outside_before
    shift 2
    for kind in "$@"; do
        if [[ " ${kinds[*]} " != *" $kind "* ]]; then continue; fi
        for ps in 1 0; do
            # A job without servers reads and writes with the same functions: three kinds are enough.
            if [ "$ps" -eq 0 ] && [[ ! $kind =~ ^(link|pipe|folder)$ ]]; then continue; fi
            if [ "$ps" -eq 0 ] && [[ $place =~ ^(generation|logs) ]]; then continue; fi
            case=$work/case
            rm -rf "$case"
            cp -r "$work/template" "$case"
            put "$kind" "$case/$place"
            before=$(snapshot "$case")
            outside_before=$(snapshot "$outside")
            what="$place as $kind, $ps servers"
            code=0
            timeout -k 1 20 "$build/syncopate" run "${job[@]}" --steps 8 --ps "$ps" --out "$case" \
                >"$work/case.log" 2>&1 </dev/null || code=$?
            if [ "$(snapshot "$outside")" != "$outside_before" ]; then
                fail "$what: something outside was changed"
            fi
            judge "$outcome" "$code" "$place" "$what" "$before"
            code=0
            timeout -k 1 10 "$build/syncopate" inspect "$case" >"$work/inspect.log" 2>&1 || code=$?
            if [ "$code" -ne 0 ] && [ "$code" -ne 5 ]; then fail "$what: inspect ends with $code"; fi
        done
    done
}

judge()
{
    local outcome=$1 code=$2 place=$3 what=$4 before=$5
    if [ "$outcome" = refused ]; then
        if [ "$code" -ne 5 ]; then fail "$what: exit code $code, not 5"; fi
        said case "^syncopate run: .*$place" || fail "$what: not said in a line that names it"
        one_line case
        if [ "$(snapshot "$work/case")" != "$before" ]; then fail "$what: refused, but changed"; fi
        return
    fi
    if [ "$code" -ne 0 ]; then fail "$what: exit code $code"; fi
    if [ "$(model_hash "$work/case")" != "$expected" ]; then fail "$what: another model"; fi
    case $outcome in
        aside)
            said case "$place.* is now .*$place.damaged-1" || fail "$what: not said"
            if ! [ -e "$work/case/$place.damaged-1" ] && ! [ -L "$work/case/$place.damaged-1" ]; then
                fail "$what: not kept"
            fi
            if [ -L "$work/case/$place" ]; then fail "$what: still a link"; fi ;;
        older) said case "warning: checkpoint (damaged|cannot)" || fail "$what: not said" ;;
    esac
}
but() # but OUTCOME PLACE EXCEPT... - every kind but these.
{
    local outcome=$1 place=$2 kind some=()
    shift 2
    for kind in "${kinds[@]}"; do
        if [[ " $* " != *" $kind "* ]]; then some+=("$kind"); fi
    done
    tried "$outcome" "$place" "${some[@]}"
}

# --- logs -----------------------------------------------------------------------------------------
but aside events.jsonl nothing
tried goes events.jsonl nothing
but aside logs folder
tried goes logs folder
tried aside logs/ps-0.log link nowhere pipe folder
tried goes logs/worker-0.log zeros noise nothing
ok "what is only a log is set aside with a line, and never stops a run"

# --- what decides bits ----------------------------------------------------------------------------
but refused run.json link
tried goes run.json link
but refused generation link nowhere
tried goes generation link nowhere
but refused checkpoints folder
but older "checkpoints/$newest/manifest.json" link nowhere
tried goes "checkpoints/$newest/manifest.json" link nowhere # Without a manifest it is none.
but older "$part" link
tried goes "$part" link
but refused "checkpoints/$newest" link nowhere folder
tried goes "checkpoints/$newest" link nowhere folder
ok "what decides bits is refused in a line, or an older checkpoint is taken"

# --- the record -----------------------------------------------------------------------------------
but refused record/0002.log link noise nothing zeros endless
tried goes record/0002.log link noise zeros endless
but refused record folder
tried goes record folder
if short_run; then
    rm -rf "$work/case"
    cp -r "$work/template" "$work/case"
    truncate -s 20 "$work/case/record/0002.log"
    run shorter 0 syncopate run "${job[@]}" --steps 8 --out "$work/case"
    said shorter "warning: .*record/0002.log has 20 bytes, and [0-9]+ when .*: this run cannot be replayed" ||
        fail "a record that has become shorter: not said"
    run shorter 3 syncopate replay "$work/case"
    said shorter "record/0002.log: .*damaged" || fail "a record that has become shorter: replayed otherwise"
    ok "what is in the place of a record is not thrown away, and one that has become shorter is told"
fi

# --- what is only read ----------------------------------------------------------------------------
# answers CODE PLACE COMMAND... - with something in that place (of $work/case) that is no file: the
# command ends by itself with this code and, unless that is 0, one line that names the place.
answers()
{
    local code=$1 place=$2 kind found
    shift 2
    for kind in pipe folder loop device; do
        if [ "$kind" = device ] && ! can_make_devices; then continue; fi
        rm -rf "$work/case" "$work/made" "$work/made.safetensors"
        cp -r "$work/readable" "$work/case"
        put "$kind" "$work/case/$place"
        found=0
        timeout -k 1 10 "$build/$1" "${@:2}" >"$work/answer.log" 2>&1 </dev/null || found=$?
        what="$* with $place as $kind"
        if [ "$found" -ne "$code" ]; then fail "$what: exit code $found, not $code"; fi
        if [ "$code" -ne 0 ]; then
            said answer "(error|syncopate [a-z]+): .*$(basename "$place").*(it is a |is a |is neither|Too many levels)" ||
                fail "$what: not said in a line that names it and what it is"
            one_line answer
        fi
    done
}
if short_run; then
    run readable 0 syncopate run --data synthetic:100 --model softmax --workers 1 --mode async --steps 4 \
        --checkpoint-every 0 --keep-scored --compute constant:2ms --out "$work/readable"
    run readable 0 syncopate keygen "$work/readable/keys" --workers 1
    case=$work/case
    data=(--data synthetic:100)
    answers 5 run.json syncopate replay "$case"
    answers 5 run.json syncopate inspect "$case"
    answers 0 run.json syncopate evaluate "$case" "${data[@]}"
    answers 0 run.json syncopate export "$case" --out "$work/made.safetensors"
    answers 3 record/0001.log syncopate replay "$case"
    answers 0 record/0001.log syncopate inspect "$case"
    answers 5 model.safetensors syncopate evaluate "$case" "${data[@]}"
    answers 5 model.safetensors syncopate export "$case" --out "$work/made.safetensors"
    answers 5 scored/epoch-1.safetensors syncopate evaluate "$case/scored/epoch-1.safetensors" "${data[@]}"
    answers 0 generation syncopate replay "$case"
    answers 3 "checkpoints/$newest/manifest.json" syncopate replay "$case"
    answers 5 "checkpoints/$newest/part-0-of-1.safetensors" syncopate export "$case/checkpoints/$newest" --out "$work/made.safetensors"
    answers 5 keys/servers.key_secret syncopate run "${job[@]}" --steps 2 --keys "$case/keys" --out "$work/made"
    answers 5 keys/worker-0.key syncopate run "${job[@]}" --steps 2 --keys "$case/keys" --out "$work/made"
    answers 5 diary syncopate-ps --bind 127.0.0.1:0 --start-timeout 0.1 --diary "$case/diary"
    answers 5 diary syncopate-worker --ps 0 "${job[@]:0:4}" --steps 1 --out "$work/made" --diary "$case/diary"
    ok "whoever only reads, or writes a diary, waits for nothing that is no file, and says what it is"
fi

# --- what is written anew -------------------------------------------------------------------------
but goes model.safetensors folder
tried refused model.safetensors folder
for file in run.json generation model.safetensors; do
    tried goes "$file.tmp" link nowhere pipe noise
    tried refused "$file.tmp" folder
done
ok "files that are written anew replace what is there, and nothing is written through a link"

# --- files that are not ours ----------------------------------------------------------------------
# Root may open everything, so that somebody else has to try.
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
forbidden() # forbidden PLACE CODE PATTERN
{
    local code=0
    rm -rf "$work/case"
    cp -r "$work/template" "$work/case"
    chown -R 65534:65534 "$work/case"
    chmod 000 "$work/case/$1"
    "${as_nobody[@]}" timeout -k 1 20 "$work/programs/syncopate" run "${job[@]}" --steps 8 \
        --out "$work/case" >"$work/case.log" 2>&1 </dev/null || code=$?
    if [ "$code" -ne "$2" ]; then fail "$1 of somebody else: exit code $code, not $2"; fi
    said case "$3" || fail "$1 of somebody else: does not say: $3"
    if [ "$code" -eq 0 ] && [ "$(model_hash "$work/case")" != "$expected" ]; then
        fail "$1 of somebody else: another model"
    fi
}
if short_run; then
    chmod 755 "$work"
    mkdir -m 755 "$work/programs" # Which somebody else may run, wherever this folder is.
    cp "$build"/syncopate{,-ps,-worker} "$work/programs"
    if [ "$(id -u)" -eq 0 ] && "${as_nobody[@]}" timeout 20 "$work/programs/syncopate" --version \
        >"$work/nobody.log" 2>&1
    then
        forbidden events.jsonl 0 "events.jsonl: Permission denied; it is now .*damaged-1"
        forbidden logs/ps-0.log 0 "ps-0.log: Permission denied; it is now .*damaged-1"
        forbidden run.json 5 "run.json: Permission denied; choose another --out"
        forbidden generation 5 "generation: Permission denied"
        forbidden "checkpoints/$newest/manifest.json" 0 "warning: .*Permission denied"
        forbidden "$part" 0 "warning: .*Permission denied"
        forbidden model.safetensors 0 "done"
        ok "files that may not be read are named, and logs among them stop no run"
    else
        skip "files that may not be read: only root can be somebody else"
    fi
fi

# --- the port file --------------------------------------------------------------------------------
port_file() # port_file KIND
{
    put "$1" "$work/port"
    start "port-$1" syncopate-ps --bind 127.0.0.1:0 --port-file "$work/port" --out "$work/none"
    if [ "$1" = folder ]; then
        ends "port-$1" 5
        says "port-$1" "cannot write .*port: Is a directory"
        return
    fi
    says "port-$1" listening
    kill -TERM "${pids[port-$1]}"
    ends "port-$1" 143
    if [ -L "$work/port" ] || ! grep -q 127.0.0.1: "$work/port"; then
        fail "a port file in the place of a $1 is none"
    fi
    if [ -e "$outside/it" ] && [ "$(cat "$outside/it")" != precious ]; then
        fail "a port file was written through a link"
    fi
}
if short_run; then
    for kind in pipe folder link; do
        rm -rf "$work/port"
        port_file "$kind"
    done
    ok "a port file replaces what is there"
fi

# --- who may read it ------------------------------------------------------------------------------
# modes UMASK FILE-MODE FOLDER-MODE - of everything that a comparison, a run by hand and an export leave.
modes()
{
    local place=$work/umask-$1 wrong
    (
        umask "$1" && mkdir "$place" && cd "$place" &&
            "$build/syncopate" compare --data synthetic:100 --model softmax --steps 2 --workers 1 \
                --out compared &&
            "$build/syncopate" run "${job[@]}" --steps 2 --ps 0 --out alone &&
            "$build/syncopate" run "${job[@]}" --steps 2 &&
            "$build/syncopate" export alone --out exported.safetensors &&
            "$build/syncopate" keygen keys --workers 1 &&
            { "$build/syncopate-ps" --bind 127.0.0.1:0 --port-file port --start-timeout 0.1; [ $? -eq 4 ]; }
    ) >"$work/umask.log" 2>&1 </dev/null || fail "umask $1: something does not work"
    wrong=$(cd "$place" && find . -path ./keys -prune -o -type f ! -perm "$2" -print -o \
        -type d ! -perm "$3" -print)
    if [ -n "$wrong" ]; then fail "umask $1: not $2 and $3: $wrong"; fi
    wrong=$(find "$place" -type f | wc -l)
    if [ "$wrong" -lt 30 ]; then fail "only $wrong files to look at"; fi
    wrong=$(find "$place/keys" -name '*.key_secret' ! -perm 600)
    if [ -n "$wrong" ] || [ ! -e "$place/keys/worker-0.key_secret" ]; then
        fail "umask $1: secrets that others may read: $wrong"
    fi
}
if short_run; then
    modes 022 644 755
    modes 077 600 700
    modes 000 666 777
    ok "the umask decides who may read what a run leaves, but secret keys are the owner's alone"
fi
