#!/usr/bin/env bash
# calibrate.sh - this host, measured, is a cluster file that simulate takes, and its figures are such as a
# computer can have.
# test: once rare
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

job=(--model softmax --data synthetic:500)
mkdir "$work/apart"
export TMPDIR=$work/apart

if short_run; then
    run measured 0 syncopate calibrate "${job[@]}" --micro-batch 8 --out "$work/here.json"
    says measured "a leaf's gradient .* ms .*half of them"
    says measured "a whole exchange of 102 KB .* us"
    says measured "by the line through the others .* us"

    # between MEMBER LEAST MOST - a figure of the file.
    between()
    {
        local value
        value=$("$build/tests/processes/json_value" "$work/here.json" "$1")
        awk -v v="$value" -v least="$2" -v most="$3" 'BEGIN { exit !(v >= least && v <= most) }' ||
            fail "$1 is $value, and should be from $2 to $3"
    }
    # A factor of a thousand or so each way: sanitizers and busy machines are slow.
    between host.processors 1 1024
    between worker.message_ns 1 20000000
    between compute.score_example_ns 1 20000000
    between server.message_ns 1 20000000
    between worker.message_byte_ps 0 1000000
    between server.message_byte_ps 0 1000000
    between server.apply_byte_ps 1 1000000
    between network.loopback_bits_per_second 1000000 8000000000000
    leaf=$("$build/tests/processes/json_value" "$work/here.json" compute.leaf_time)
    [[ $leaf =~ ^(constant|lognormal):([0-9]+)[.][0-9]+us ]] || fail "a leaf takes $leaf"
    if [ "${BASH_REMATCH[2]}" -lt 1 ]; then fail "a leaf takes $leaf"; fi
    ok "calibrate writes a cluster file with figures of a computer"
    [ -z "$(ls -A "$work/apart")" ] || fail "calibrate leaves something in TMPDIR: $(ls "$work/apart")"
    ok "calibrate leaves nothing in TMPDIR"

    run simulated 0 syncopate simulate "${job[@]}" --cluster-file "$work/here.json" --mode async --workers 2 \
        --worker-batch 8 --epochs 1 --out "$work/virtual"
    says simulated "a leaf takes $leaf"
    ok "simulate takes it"

    # Neither is measured for.
    run nowhere 5 syncopate calibrate "${job[@]}" --out "$work/none/here.json"
    run folder 5 syncopate calibrate "${job[@]}" --out "$work"
    says folder "it is a folder"
    if said folder "leaf.s gradient"; then fail "calibrate measures before it looks where its file goes"; fi
    one_line_at_end() { [ "$(tail -n 1 "$work/$1.log" | grep -c '^syncopate calibrate: ')" -eq 1 ]; }
    one_line_at_end nowhere || fail "a folder that is not there is not said in a line"
    run wrong 2 syncopate calibrate --model "dense x"
    says wrong "syncopate calibrate: "
    ok "what cannot be read or written is said"
fi

if long_run; then
    run printed 0 syncopate calibrate "${job[@]}" --transport shm --quiet
    "$build/tests/processes/json_value" "$work/printed.log" >"$work/whole.log" || fail "standard output is more than a file"
    ok "without --out the file is all there is on standard output"

    start stopped syncopate calibrate "${job[@]}" --out "$work/never.json"
    children() { pgrep -P "${pids[stopped]}" -f syncopate-worker >/dev/null; }
    within $((20 * patience)) children || fail "calibrate starts no worker"
    kill -TERM "${pids[stopped]}"
    ends stopped 143 $((10 * patience))
    says stopped "syncopate calibrate: stopped; nothing is kept"
    [ ! -e "$work/never.json" ] || fail "a calibration that was stopped writes its file"
    [ -z "$(ls -A "$work/apart")" ] || fail "a stopped calibration leaves $(ls "$work/apart")"
    ok "SIGTERM ends its processes and leaves nothing"
fi
