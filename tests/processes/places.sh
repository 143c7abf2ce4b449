#!/usr/bin/env bash
# places.sh - whatever stands where a run reads and writes its files (a link, a pipe, a folder, a
# device, zeros without end, somebody else's bytes): nothing hangs, nothing outside is written, what
# is only a log is set aside with a line, and what decides bits is refused in a line or made good
# from an older checkpoint. And who may read what a run leaves.
# test: later
# promises: folder
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--data synthetic:100 --model softmax --checkpoint-every 2 --workers 1)
outside=$work/outside
older=step-000000000002
newest=step-000000000004
part=checkpoints/$newest/part-0-of-1.g1.safetensors

# The template: stopped at step 4 of 8, with two checkpoints.
for steps in 2 4; do
    run template 0 syncopate run "${job[@]}" --steps "$steps" --out "$work/template"
    sed -i 's/"state": "done"/"state": "stopped"/' "$work/template/run.json"
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
snapshot() { (cd "$1" && find . -type f -size -1000k -exec sha256sum {} + | sort); }

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
