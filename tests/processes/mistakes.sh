#!/usr/bin/env bash
# mistakes.sh - what people mistype is answered before anything is started.
#
#     tests/processes/mistakes.sh            checks every row
#     tests/processes/mistakes.sh --table    and prints what was typed and what was answered
#
# A row is a command line, its exit code and what its answer says. For each the test holds: that exit
# code, exactly one line on standard error, nothing on standard output, nothing made or changed on
# disk, an answer at once, and that no server or worker was started: those that the launcher would
# find are stubs that leave a mark. Rows of syncopate-ps and syncopate-worker are the programs
# themselves, which find their mistakes before they look for anybody.
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

table=no
if [ "${1:-}" = --table ]; then table=yes; fi

# --- a place to type in ---------------------------------------------------------------------------
bin=$work/bin here=$work/here
mkdir "$bin" "$here" "$work/tmp"
for role in ps worker; do
    # shellcheck disable=SC2016 # The stub's own name.
    printf '#!/bin/sh\necho "$0" >>"%s"\nexit 7\n' "$work/started" >"$bin/syncopate-$role"
    chmod 755 "$bin/syncopate-$role"
done
export PATH="$build:$PATH" SYNCOPATE_BIN_DIR=$bin TMPDIR=$work/tmp
cd "$here"
listing() { find "$here" "$work/tmp" \( -type f -printf '%p %m %s %T@\n' -o -printf '%p %m %y\n' \) | sort; }

# --- rows -----------------------------------------------------------------------------------------
rows=0 slowest=0 slowest_row=
quoted() { if [[ $1 =~ ^[A-Za-z0-9_./:,=*-]+$ ]]; then printf '%s' "$1"; else printf '"%s"' "$1"; fi; }
typed()
{
    local word line=
    for word in "$@"; do line+=" $(quoted "$word")"; done
    echo "${line:1}"
}

# mistake CODE PATTERN PROGRAM ARGUMENT...
mistake()
{
    local expected=$1 pattern=$2 code=0 began ended before ms line
    shift 2
    line=$(typed "$@")
    before=$(listing)
    began=$EPOCHREALTIME
    timeout --kill-after=5 $((10 * patience)) "$@" >"$work/said" 2>"$work/answer.log" </dev/null || code=$?
    ended=$EPOCHREALTIME
    ms=$(((${ended/./} - ${began/./}) / 1000))
    rows=$((rows + 1))
    if [ "$ms" -gt "$slowest" ]; then slowest=$ms slowest_row=$line; fi
    if [ "$code" -ne "$expected" ]; then fail "$line: exit code $code, not $expected"; fi
    if [ "$(wc -l <"$work/answer.log")" -ne 1 ]; then fail "$line: the answer is not one line"; fi
    if ! grep -qE -- "$pattern" "$work/answer.log"; then fail "$line: does not say: $pattern"; fi
    if [ -s "$work/said" ]; then fail "$line: says something on standard output"; fi
    if [ -e "$work/started" ]; then fail "$line: has started $(sort -u "$work/started")"; fi
    if [ "$(listing)" != "$before" ]; then fail "$line: has changed what is on disk"; fi
    if [ "$table" = yes ]; then
        # Without the time that the role programs put in front of what they log.
        printf '$ %s\n    [%d] %s\n' "$line" "$code" \
            "$(sed -E 's/^[0-9:.]+ //' "$work/answer.log")"
    fi
}

# The stubs are what is found: without a mistake they are started.
"$build/syncopate" run --data synthetic:200 --quiet --out "$work/right" 2>/dev/null && fail "a stub trains"
if [ ! -e "$work/started" ]; then fail "a right command does not start the stubs"; fi
rm -r "$work/started"

# --- data -----------------------------------------------------------------------------------------
run=(syncopate run)
for number in 0 -1 abc 4 10000001 99999999999999999999 ""; do
    mistake 2 "--data=synthetic:$number: write synthetic:N with N training examples, 5 to 10000000" \
        "${run[@]}" --data "synthetic:$number"
done
for word in mnist fashion_mnist Fashion-MNIST fashon-mnist; do
    mistake 2 "--data=$word: there is no data set and no folder of this name; .*mean fashion-mnist" \
        "${run[@]}" --data "$word"
done
mistake 2 "--data=cifar10: .*give fashion-mnist, synthetic, synthetic:N or a folder of IDX files$" \
    "${run[@]}" --data cifar10
mistake 5 "no data in /nowhere/mnist: No such file" "${run[@]}" --data /nowhere/mnist
mistake 5 "/etc/passwd is not a folder" "${run[@]}" --data /etc/passwd
mkdir empty
mistake 5 "neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz in empty" \
    "${run[@]}" --data empty
mkdir damaged
printf 'not a data file, I am afraid' >damaged/train-images-idx3-ubyte
mistake 5 "damaged/train-images-idx3-ubyte: starts with .* not a file of images" \
    "${run[@]}" --data damaged
printf '\0\0\10\3\0\0\0\50\0\0\0\10\0\0\0\10' >damaged/train-images-idx3-ubyte
mistake 5 "damaged/train-images-idx3-ubyte: is cut off: 0 bytes where its header promises 2560" \
    "${run[@]}" --data damaged

# --- batches --------------------------------------------------------------------------------------
small=(syncopate run --data synthetic:100)
mistake 2 "--global-batch=200: .*than there are to train on, 100" "${small[@]}" --global-batch 200
mistake 2 "--worker-batch=101: .*than there are to train on, 100" \
    "${small[@]}" --mode async --worker-batch 101
mistake 2 "--global-batch=60001: .*, 60000" "${run[@]}" --global-batch 60001
mistake 2 "--global-batch=0: needs a whole number from 1 to 65536" "${run[@]}" --global-batch 0
mistake 2 "--micro-batch=0: needs a whole number from 1 to 65536" "${run[@]}" --micro-batch 0
mistake 2 "--global-batch=200: " syncopate compare --data synthetic:100 --global-batch 200
mistake 2 "--worker-batch=200: " syncopate compare --data synthetic:100 --worker-batch 200

# --- models ---------------------------------------------------------------------------------------
model=(syncopate run --model)
mistake 2 "--model: layer 1 'conv 32': write 'conv CxK'" "${model[@]}" "conv 32, flatten, dense 10"
mistake 2 "--model: layer 2 'dense': write 'dense N'" "${model[@]}" "flatten, dense"
mistake 2 "--model: layer 2 'pool 4': a 4x4 window does not fit a 1x1 input" \
    "${model[@]}" "pool 16, pool 4, flatten, dense 10"
mistake 2 "--model: layer 1 'linear 10': not a layer; there are conv CxK, pool N, " \
    "${model[@]}" "linear 10"
mistake 2 "--model: layer 2 'dense 9': dense needs a flat input.*put 'flatten' before it" \
    "${model[@]}" "conv 8x5 relu, dense 9"
mistake 2 "--model: the last layer's output is 1x1x9: end the list with 'dense 10'" \
    "${model[@]}" "flatten, dense 9"
mistake 2 "--model: layer 2 is empty" "${model[@]}" "flatten,, dense 10"
mistake 2 "chunk size .* must be from 64 to 268435456, not 1" "${run[@]}" --chunk-bytes 1

# --- the programs themselves ----------------------------------------------------------------------
worker=(syncopate-worker --ps-hosts 127.0.0.1:1 --workers 1)
mistake 2 "--data=synthetic:0: write synthetic:N" "${worker[@]}" --data synthetic:0
mistake 2 "--data=mnist: there is no data set" "${worker[@]}" --data mnist
mistake 5 "no data in /nowhere/mnist: No such file" "${worker[@]}" --data /nowhere/mnist
mistake 2 "--global-batch=200: " "${worker[@]}" --data synthetic:100 --global-batch 200
mistake 2 "--model: layer 1 'linear 10': not a layer" "${worker[@]}" --model "linear 10"

cd "$work"
nothing_runs
if [ "$slowest" -gt $((2000 * patience)) ]; then fail "$slowest_row: answered after $slowest ms"; fi
ok "$rows mistakes are answered before anything is started, the slowest after $slowest ms: $slowest_row"
