#!/usr/bin/env bash
# mistakes.sh - what people mistype is answered before anything is started; and what machines get wrong (ports, disks,
# checkpoints) by one clear line and the right exit code: nothing is left running and nothing overwritten.
#
#     tests/processes/mistakes.sh            checks every row
#     tests/processes/mistakes.sh --table    and prints what was typed and what was answered
#
# A row is a command line, its exit code and what its answer says. For each the test holds: that exit
# code, exactly one line on standard error, nothing on standard output, nothing made or changed on
# disk, an answer at once, and that no server or worker was started: those that the launcher would
# find are stubs that leave a mark. Rows of syncopate-ps and syncopate-worker are the programs
# themselves, which find their mistakes before they look for anybody.
# test: first asan
# promises: environment exit-codes mistakes
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
rows=0 told=0 slowest=0 slowest_row=
# answered WHAT - so far; counts since the last time.
answered()
{
    ok "$((rows - told)) mistakes $1 are answered before anything is started"
    told=$rows
}
quoted() { if [[ $1 =~ ^[A-Za-z0-9_./:,=*-]+$ ]]; then printf '%s' "$1"; else printf '"%s"' "$1"; fi; }
typed()
{
    local word line=
    for word in "$@"; do line+=" $(quoted "${word#"$bin/"}")"; done
    echo "${line:1}"
}

# mistake CODE PATTERN PROGRAM ARGUMENT... - through the command ${under[@]}, called $whose, if any.
under=() whose=
mistake()
{
    local expected=$1 pattern=$2 code=0 began ended before ms line
    shift 2
    line=$whose$(typed "$@")
    before=$(listing)
    began=$EPOCHREALTIME
    timeout --kill-after=5 $((10 * patience)) "${under[@]}" "$@" >"$work/said" 2>"$work/answer.log" </dev/null || code=$?
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
            "$(sed -E 's/^[-0-9T:.+Z ]+ ((ps|worker)\/)/\1/' "$work/answer.log")"
    fi
}

# understood PROGRAM ARGUMENT... - what is no mistake, and starts the stubs.
understood()
{
    local line
    line=$(typed "$@")
    "$@" --quiet --out "$work/right" >/dev/null 2>&1 </dev/null || true
    if [ ! -e "$work/started" ]; then fail "$line: is not understood"; fi
    rm -rf "$work/started" "$work/right"
}

# The stubs are what is found: without a mistake they are started.
understood syncopate run --data synthetic:200

# --- data -----------------------------------------------------------------------------------------
run=(syncopate run)
compare=(syncopate compare)
for number in 4 abc 99999999999999999999; do
    mistake 2 "--data=synthetic:$number: write synthetic:N with N training examples, 5 to 10000000" \
        "${run[@]}" --data "synthetic:$number"
done
mistake 2 "--data=fashion_mnist: there is no data set, no folder and no file of this name; .*mean fashion-mnist" \
    "${run[@]}" --data fashion_mnist
mistake 2 "--data=cifar10: .*give fashion-mnist, synthetic, synthetic:N, a folder of IDX files, FILE.npz" \
    "${run[@]}" --data cifar10
mistake 5 "no data in /nowhere/mnist: No such file or directory; give fashion-mnist, synthetic, .*or FILE.csv$" \
    "${run[@]}" --data /nowhere/mnist
mkdir empty
mistake 5 "neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz in empty" \
    "${run[@]}" --data empty
mkdir damaged
printf 'not a data file, I am afraid' >damaged/train-images-idx3-ubyte
mistake 5 "damaged/train-images-idx3-ubyte: is text .'not'., not IDX or .npy" \
    "${run[@]}" --data damaged
mv damaged/train-images-idx3-ubyte empty/renamed
mkfifo damaged/train-images-idx3-ubyte # Whoever opened it would wait for ever.
mistake 5 "cannot read damaged/train-images-idx3-ubyte: it is a pipe, not a file" "${run[@]}" --data damaged

answered "about data"

# --- batches --------------------------------------------------------------------------------------
small=(syncopate run --data synthetic:100)
mistake 2 "--global-batch=200: .*than there are to train on, 100" "${small[@]}" --global-batch 200
mistake 2 "--worker-batch=101: .*than there are to train on, 100" \
    "${small[@]}" --mode async --worker-batch 101
mistake 2 "--global-batch=0: needs a whole number from 1 to 65536" "${run[@]}" --global-batch 0
mistake 2 "--worker-batch=200: " syncopate compare --data synthetic:100 --worker-batch 200

answered "about batches"

# --- numbers, words and lists: each kind of value (test_options has the others) -----------------------
mistake 2 "--epochs='?1,000'?: needs a whole number from 1 to 1000000 .did you mean 1000\?" "${run[@]}" --epochs 1,000
mistake 2 "--start-timeout=10s: needs a number of seconds, .* .did you mean 10\?" "${run[@]}" --start-timeout 10s
mistake 2 "--quiet=maybe: needs true or false" "${run[@]}" --quiet=maybe
mistake 2 "--ps=colocated: 257 workers would be as many servers" "${run[@]}" --ps colocated --workers 257
mistake 2 "--workers=3: without servers .--ps 0. there is one worker" "${run[@]}" --ps 0 --workers 3
mistake 2 "--mode=ssync: needs one of sync, async, ssp:S, allreduce with S from 0 to 1000000000, or inf .did you mean sync\?" \
    "${run[@]}" --mode ssync
mistake 2 "--staleness-rate=inverse: only used with --mode=async" "${run[@]}" --staleness-rate inverse
mistake 2 ": 4 of 4 workers cannot be backup workers" "${run[@]}" --backup-workers 4 --workers 4
mistake 2 "--quiet and --verbose exclude each other" "${run[@]}" --quiet --verbose
mistake 2 "--modes=sync,asnyc: 'asnyc' is no mode; .*did you mean async\?" "${compare[@]}" --modes sync,asnyc
mistake 2 "--compute=constant:30: '30' needs a unit: us, ms or s" "${run[@]}" --compute constant:30
mistake 2 "--chunk-bytes=64X: needs a size such as 64KiB" "${run[@]}" --chunk-bytes 64X
mistake 2 "--weight-decay=1: only used with --optimizer=adamw, but the optimizer is adam" "${run[@]}" --weight-decay 1
mistake 2 "--slow=5:2: there is no worker 5; there are 2, from 0 on" "${run[@]}" --slow 5:2
mistake 2 "--workers=1,2,1: 1 is there twice" "${compare[@]}" --workers 1,2,1
mistake 2 "40 servers are too many: the model has only 4 pieces of 64 bytes" "${run[@]}" --data synthetic:200 \
    --model "pool 14, flatten, dense 10" --ps 40
understood syncopate run --data synthetic:200 --mode SSP:2 --use-locking --worker-batch 8
understood env SYNCOPATE_MODE=ssp:2 syncopate run --data synthetic:200
understood syncopate compare --data synthetic:200 --modes "async sync"
understood syncopate run --data synthetic:200 --compute LogNormal:200us,0.3 --straggle 0.1:constant:2 --slow "0:2;1:3"

answered "about numbers, words and lists"

# --- models ---------------------------------------------------------------------------------------
model=(syncopate run --model)
mistake 2 "--model: layer 1 'conv 32': write 'conv CxK'" "${model[@]}" "conv 32, flatten, dense 10"
mistake 2 "--model: the last layer has 9 outputs for 10 classes: end the list with 'dense 10'" \
    "${model[@]}" "flatten, dense 9"
mistake 2 "chunk bytes must be 0, or from 64 to 268435456, not 1" "${run[@]}" --chunk-bytes 1

mistake 2 "unexpected argument '32x3' .a value with blanks, such as that of --model, goes between" \
    "${model[@]}" conv 32x3 relu
for list in CNN "Conv 8x3 ReLU; Flatten; DENSE 10" "flatten;dense 10"; do
    understood syncopate run --data synthetic:200 --model "$list"
done

answered "about models"

# --- options --------------------------------------------------------------------------------------
mistake 2 "unknown option --wrokers .did you mean --workers\?" "${run[@]}" --wrokers 3
mistake 2 "unknown option --frobnicate .--help lists them" "${run[@]}" --frobnicate
mistake 2 "unknown option --mode .did you mean --modes" \
    "${compare[@]}" --mode sync
mistake 2 "--out needs a value" "${run[@]}" --out
mistake 2 "unexpected argument 'fast'; options begin with --" "${run[@]}" fast
mistake 2 "the variable SYNCOPATE_LR is no option's .did you mean SYNCOPATE_LEARNING_RATE" \
    env SYNCOPATE_LR=0.1 syncopate run
# Not a mistake for sure, so it is only said which counts.
for words in "--seed 1 --seed 2:--seed=2 counts, not 1" "--steps 9 --epochs 2:--steps=9 counts, not --epochs=2"; do
    # shellcheck disable=SC2086 # Several words.
    syncopate run --data synthetic:200 ${words%%:*} --out "$work/right" >"$work/said" 2>/dev/null || true
    if ! grep -q -- "note .*${words#*:}" "$work/said"; then fail "${words%%:*}: which counts?"; fi
    rm -rf "$work/started" "$work/right"
done
# called WORD RIGHT - what other programs call it.
called() { mistake 2 "unknown option $1:? .*$2" "${run[@]}" "$1" 3; }
called --resume --out
called --gpu "there is no GPU support"
mistake 2 "unknown option --lr: it is --learning-rate, which is not an option of this program" \
    syncopate evaluate model.safetensors --lr 0.1

answered "about options, and what others call them"

# --- commands -------------------------------------------------------------------------------------
mistake 2 "there is no command 'rnu'; .*did you mean run\?" syncopate rnu
mistake 2 "there is no command 'frobnicate'; syncopate --help lists them$" syncopate frobnicate
mistake 2 "there is no command 'ps'; the program syncopate-ps" syncopate ps
mistake 2 "there is no command 'train'; write 'syncopate run'" syncopate train
mistake 2 "unknown option --mode: a command comes before its options" syncopate --mode sync run
mistake 2 "unknown option -v .did you mean --version\?" syncopate -v
mistake 2 "needs the path of a run's folder, a checkpoint or a model" syncopate evaluate
mistake 2 "needs the path of a run's folder, .*, or a server's host:port" syncopate inspect
mistake 2 "takes one path, but 'a' and 'b' were given" syncopate evaluate a b
mistake 5 "nowhere: No such file or directory" syncopate evaluate nowhere
mistake 5 "nowhere: No such file or directory .a running job is its server 0's host:port" \
    syncopate inspect nowhere
mistake 2 "'127.0.0.1:99999' is neither a path here nor host:port, with a port up to 65535" \
    syncopate inspect 127.0.0.1:99999
mistake 2 "':7000' is neither a path here nor host:port" syncopate inspect :7000
mistake 5 "no server 0 answers: nosuchhost.invalid:7000: (host name does not resolve|no name server)" \
    syncopate inspect nosuchhost.invalid:7000
mistake 5 "no server 0 answers: connection refused by 127.0.0.1:1: nothing listens there" \
    syncopate inspect 127.0.0.1:1
# prints PATTERN PROGRAM ARGUMENT... - no mistake: it ends with 0 and prints this.
prints()
{
    local pattern=$1
    shift
    if ! "$@" >"$work/said" 2>&1 || ! grep -qE -- "$pattern" "$work/said"; then
        fail "$(typed "$@"): does not print: $pattern"
    fi
}
for flag in -h --help; do
    prints "^usage: syncopate COMMAND" syncopate "$flag"
    prints "^Usage: syncopate run" syncopate run "$flag"
done
prints "^Usage: syncopate compare" syncopate help compare
for flag in -V --version; do
    prints "^syncopate [0-9]" syncopate "$flag"
    prints "^syncopate [0-9]" syncopate run "$flag"
done

answered "about commands"

# --- folders --------------------------------------------------------------------------------------
# real PROGRAM ARGUMENT... - with the servers and workers that there are.
real() { env -u SYNCOPATE_BIN_DIR "$@" --quiet >"$work/said" 2>&1 || fail "$(typed "$@")"; }
small=(syncopate run --data synthetic:200 --model softmax --steps 5)
out=("${small[@]}" --out)
real "${out[@]}" finished
real "${out[@]}" unfinished
sed -i 's/"state": "done"/"state": "stopped"/' unfinished/run.json
echo precious >thesis.txt
ln -s nowhere dangling
mistake 5 "--out: thesis.txt is not a folder" "${run[@]}" --out thesis.txt
mistake 5 "--out: cannot make thesis.txt/x: thesis.txt is not a folder" "${run[@]}" --out thesis.txt/x
mistake 5 "--out: dangling is a symbolic link that leads nowhere" "${run[@]}" --out dangling
mistake 5 "--out: cannot make /proc/x: no folder can be made in /proc" "${run[@]}" --out /proc/x
mistake 5 "empty is not empty and holds no run; choose another --out" "${run[@]}" --out empty
mistake 5 "finished holds a finished run of 5 updates; --steps 6 or more trains it further" \
    "${out[@]}" finished
mistake 3 "finished holds a finished run of another job: seed: 2 in this job, 1 in the earlier" \
    "${out[@]}" finished --steps 6 --seed 2
mistake 3 "unfinished holds an unfinished run of another job: seed: 2 in this job, 1 in the earlier" \
    "${out[@]}" unfinished --seed 2
mistake 5 "--out: thesis.txt is not a folder" "${compare[@]}" --out thesis.txt
mistake 5 "finished: something is there already and is not overwritten" "${compare[@]}" --out finished
mistake 5 "--restore: .*nowhere: No such file or directory" "${run[@]}" --restore nowhere
mistake 5 "--restore: empty is neither a checkpoint .* nor a run with one" \
    "${run[@]}" --restore empty
mistake 3 "--restore=finished: optimizer: adam in the checkpoint, sgd in this job" \
    "${out[@]}" new --restore finished --optimizer sgd
mistake 3 "--restore=finished: the checkpoint is at step 5, beyond the 3 steps of this job" \
    "${run[@]}" --data synthetic:200 --model softmax --steps 3 --restore finished
understood "${small[@]}" --restore finished
mistake 2 "--data=mnist: there is no data set" syncopate evaluate finished --data mnist
mistake 5 "neither train-images-idx3-ubyte nor" syncopate evaluate finished --data empty
mistake 2 "--out=m.onnx: a model is written as safetensors alone: NAME.safetensors" \
    syncopate export finished --out m.onnx
mistake 5 "--out: cannot write to the folder nowhere: No such file" \
    syncopate export finished --out nowhere/model.safetensors
mistake 5 "nowhere/k.key_secret: No such file" syncopate keygen nowhere/k
if [ "$(id -u)" -eq 0 ]; then
    cp "$build/syncopate" "$bin/"
    chmod 755 "$work" "$bin" "$here"
    mkdir -m 755 others
    under=(setpriv --reuid=65534 --regid=65534 --clear-groups) whose="nobody$ "
    mistake 5 "cannot make the folder runs here: Permission denied .use --out" "$bin/syncopate" run
    mistake 5 "--out: cannot write to others: Permission denied" "$bin/syncopate" run --out others
    mistake 5 "--out: cannot write to others: Permission denied" "$bin/syncopate" run --out others/x/y
    mkdir -m 700 private
    mistake 5 "no data in private/data: Permission denied" "$bin/syncopate" run --data private/data
    mkdir secret
    install -m 000 /dev/null secret/train-images-idx3-ubyte
    mistake 5 "secret/train-images-idx3-ubyte: .*Permission denied" "$bin/syncopate" run --data secret
    under=() whose=
else
    mkdir -m 555 others
    mistake 5 "--out: cannot write to others: Permission denied" "${run[@]}" --out others/x/y
fi
if unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016 # For the other shell.
    under=(unshare --mount sh -c 'mount -t tmpfs -o ro none empty && exec "$@"' sh) whose="(read-only) "
    mistake 5 "--out: cannot write to empty: Read-only file system" "${run[@]}" --out empty/run
    # shellcheck disable=SC2016
    under=(unshare --mount sh -c 'mount -t tmpfs none /usr/share/datasets && exec "$@"' sh)
    whose="(without the package) "
    mistake 5 "apt-get install dataset-fashion-mnist', or give --data DIR or --data synthetic" "${run[@]}"
    under=() whose=
else
    skip "a read-only disk, and Debian's data missing: only root may mount something else there (and a container may not)"
fi

answered "about folders and files"

# --- keys -----------------------------------------------------------------------------------------
keyed=(syncopate run --data synthetic:200 --keys)
syncopate keygen keys --workers 2 --quiet
syncopate keygen stranger --quiet
understood "${keyed[@]}" keys
# spoiled NAME - a folder of keys to do something to.
spoiled() { cp -rp keys "$1"; }
mistake 5 "--keys=nowhere: No such file .*syncopate keygen nowhere --workers 2 makes" \
    "${keyed[@]}" nowhere
mistake 5 "--keys=thesis.txt: is not a folder" "${keyed[@]}" thesis.txt
mistake 5 "keys/worker-2.key_secret: No such file .*syncopate keygen keys --workers 3 makes" \
    "${keyed[@]}" keys --workers 3
mistake 5 "keys/worker-2.key_secret: No such file" \
    "${compare[@]}" --data synthetic:200 --keys keys --workers 1,3
spoiled open-to-others && chmod 644 open-to-others/worker-1.key_secret
mistake 5 "open-to-others/worker-1.key_secret: holds a secret key and others may use the file; chmod 600" \
    "${keyed[@]}" open-to-others
spoiled secret-for-public && cp secret-for-public/servers.key_secret secret-for-public/servers.key
mistake 5 "secret-for-public/servers.key: holds a secret key; a public certificate belongs there" \
    "${keyed[@]}" secret-for-public
spoiled garbage && echo "not a certificate" >garbage/worker-0.key_secret
mistake 5 "garbage/worker-0.key_secret: line 1: is neither a section nor" "${keyed[@]}" garbage
spoiled no-pair && sed -i "/public-key/{r /dev/stdin
    d}" no-pair/worker-0.key_secret <<<"$(grep public-key stranger.key)"
cp stranger.key no-pair/
mistake 5 "no-pair/worker-0.key_secret: is damaged: its public-key does not belong to its secret-key" \
    "${keyed[@]}" no-pair
spoiled of-worker-1 && cp -p of-worker-1/worker-1.key_secret of-worker-1/worker-0.key_secret
mistake 6 "of-worker-1/worker-0.key_secret: is the certificate of worker/1, and this is worker/0" \
    "${keyed[@]}" of-worker-1
spoiled servers-of-worker-1 && cp -p servers-of-worker-1/worker-1.key_secret servers-of-worker-1/servers.key_secret
mistake 6 "servers-of-worker-1/servers.key_secret: is the certificate of worker/1, and this is ps/0" \
    "${keyed[@]}" servers-of-worker-1
spoiled unlisted && rm unlisted/worker-1.key
mistake 6 "no \*.key has the public half of worker-1.key_secret, so that the servers would refuse" \
    "${keyed[@]}" unlisted
spoiled other-servers && cp stranger.key other-servers/servers.key
mistake 6 "other-servers/servers.key: is not the public half of servers.key_secret" "${keyed[@]}" other-servers
mistake 2 "--transport=shm and --keys exclude each other" "${keyed[@]}" keys --transport shm
mistake 2 "without servers .--ps=0. there is no server to talk to" "${keyed[@]}" keys --ps 0
mistake 2 "insecure and --keys exclude" syncopate-ps --ps-hosts 127.0.0.1:0 --keys keys --insecure
mistake 2 "certificate needs --keys" syncopate-worker --ps-hosts 127.0.0.1:1 --workers 1 --certificate keys/worker-0.key_secret
mistake 2 "index=3 needs --role" syncopate keygen other --index 3
echo "not a certificate" >keys/old.key
mistake 5 "keys/old.key: line 1" syncopate-ps --ps-hosts 127.0.0.1:0 --keys keys
rm keys/old.key

answered "about keys"

# --- the programs themselves ----------------------------------------------------------------------
worker=(syncopate-worker --ps-hosts 127.0.0.1:1 --workers 1)
mistake 2 "5 servers are too many: the model has only 4 pieces of 64 bytes" syncopate-worker --workers 1 \
    --ps-hosts "$(printf '127.0.0.1:%d,' 1 2 3 4)127.0.0.1:5" --data synthetic:200 --model "pool 14, flatten, dense 10"
mistake 2 "--ps=2: needs 0, for a worker that trains alone, or colocated; servers are named by --ps-hosts" \
    syncopate-worker --ps 2
mistake 2 "--ps=colocate: needs 0.*did you mean colocated" syncopate-worker --ps colocate
mistake 2 "needs --ps-hosts" syncopate-worker --ps colocated --workers 2
mistake 2 "--ps=colocated: every worker's place has a server, but --ps-hosts names 2 servers and --workers 3 workers" \
    syncopate-worker --ps colocated --ps-hosts alpha:7000,beta:7000 --workers 3
mistake 2 "but --ps-hosts names 1 server and --worker-hosts 2 workers" \
    syncopate-worker --ps colocated --ps-hosts alpha:7000 --worker-hosts alpha:0,beta:0
mistake 2 "--ps=0 needs --out" syncopate-worker --ps 0
mistake 2 "needs --ps-hosts, the servers' host:port in order" syncopate-worker
mistake 2 "needs --worker-hosts or --workers" syncopate-worker --ps-hosts alpha:7000
mistake 2 "--ps-hosts: 'alpha' is not host:port" syncopate-worker --ps-hosts alpha --workers 1
mistake 2 "needs --ps-hosts with --task-index, or --bind" syncopate-ps
mistake 2 "--task-index=3: --ps-hosts names only 1" syncopate-ps --ps-hosts alpha:7000 --task-index 3
mistake 2 "--job-name=ps, but this is syncopate-worker" "${worker[@]}" --job-name ps
mistake 2 "--hosts is not an option of this program .of syncopate launch." syncopate-ps --hosts alpha:7000

mistake 5 "--out: thesis.txt is not a folder" syncopate-worker --ps 0 --out thesis.txt
mistake 3 "finished holds a finished run of another job: model: " syncopate-worker --ps 0 --out finished
mistake 5 "--restore: empty is neither a checkpoint" \
    syncopate-worker --ps 0 --out new --restore empty
mistake 5 "--restore: empty is neither a checkpoint" \
    syncopate-ps --ps-hosts 127.0.0.1:0 --out new --restore empty
server=(syncopate-ps --ps-hosts 127.0.0.1:0)
mistake 5 "--out: .*/thesis.txt is not a folder" "${server[@]}" --out thesis.txt
mistake 5 "--keys=nowhere: No such file" "${server[@]}" --keys nowhere
mistake 5 "--keys=nowhere: No such file" "${worker[@]}" --keys nowhere
mistake 6 "keys/worker-1.key_secret: is the certificate of worker/1, and this is worker/0" \
    "${worker[@]}" --keys keys --certificate keys/worker-1.key_secret
mistake 6 "keys/worker-1.key_secret: is the certificate of worker/1, and this is ps/0" \
    "${server[@]}" --keys keys --certificate keys/worker-1.key_secret

# alike ARGUMENT... - the launcher and the worker itself answer with the same words.
alike()
{
    local ours theirs
    ours=$(syncopate run "$@" 2>&1 | sed 's/^syncopate run: //') || true
    theirs=$("${worker[@]}" "$@" 2>&1 | sed -E 's/^.* error: //') || true
    if [ -z "$ours" ] || [ "$ours" != "$theirs" ]; then
        fail "$(typed "$@"): the launcher answers '$ours', a worker '$theirs'"
    fi
}
alike --data synthetic:0
alike --data mnist
alike --data damaged
alike --data synthetic:100 --global-batch 200
alike --data synthetic:100 --model "linear 10"
alike --data synthetic:100 --chunk-bytes 1
alike --data synthetic:100 --learning-rate 0

cd "$work"
nothing_runs
if [ "$slowest" -gt $((2000 * patience)) ]; then fail "$slowest_row: answered after $slowest ms"; fi
answered "of servers and workers started by hand"
ok "$rows in all, the slowest after $slowest ms: $slowest_row"

# --- what no look beforehand can tell: real runs ------------------------------------------------------
unset SYNCOPATE_BIN_DIR
quick=(--data synthetic:200 --model softmax --steps 5 --quiet)
count=0

# refused CODE PATTERN PROGRAM ARGUMENT... - it must end with this code and say this in one line.
refused()
{
    local code=$1 pattern=$2 name
    count=$((count + 1))
    name=refused-$count
    run "$name" "$code" "${@:3}"
    if ! said "$name" "$pattern"; then fail "${*:3} does not say: $pattern"; fi
    one_line "$name"
    nothing_runs
}
# A path that must not have come into being.
absent() { if [ -e "$1" ]; then fail "$1 was made"; fi; }
# Everything under a folder, to compare.
snapshot() { (cd "$1" && find . -type f -exec sha256sum {} + | sort); }

# One list of options for all four processes of a job: each says what it leaves to the others.
port=$(free_port)
both=(--ps-hosts "tcp://127.0.0.1:$port,127.0.0.1:$(free_port)" --workers 2 "${quick[@]:0:6}"
    --seed 3 --insecure --restore never --out "$work/one-list")
for i in 0 1; do
    start "list-ps$i" syncopate-ps --task-index "$i" "${both[@]}"
    start "list-worker$i" syncopate-worker --task-index "$i" "${both[@]}"
done
for i in 0 1; do
    ends "list-ps$i" 0
    ends "list-worker$i" 0
    says "list-ps$i" "ignored, as options of syncopate-worker: .*--model, .*--seed, .*--workers"
    says "list-worker$i" "ignored, as options of syncopate-ps: --insecure, --out, --restore"
done
run inspected 5 syncopate inspect "tcp://127.0.0.1:$port"
says inspected "no server 0 answers: connection refused by 127.0.0.1:$port: nothing"
ok "one list of options serves servers and workers, and tcp:// is understood"

# --- addresses ------------------------------------------------------------------------------------
port=$(free_port)
start holder syncopate-ps --ps-hosts "127.0.0.1:$port" --out "$work/holder"
says holder listening
refused_while_running()
{
    run "$1" "$2" "${@:4}"
    if ! said "$1" "$3"; then fail "${*:4} does not say: $3"; fi
    one_line "$1"
}
refused_while_running in-use 5 "127.0.0.1:$port.*in use" \
    syncopate-ps --ps-hosts "127.0.0.1:$port" --out "$work/none"
kill -TERM "${pids[holder]}"
ends holder 143
nothing_runs
absent "$work/holder"
absent "$work/none"
ok "a port in use is named, and the server that has it goes on until it is asked to stop"

refused 5 "nowhere.invalid" syncopate-ps --ps-hosts nowhere.invalid:4711 --out "$work/none"
refused 5 "no such address" syncopate-ps --ps-hosts 192.0.2.1:4711 --insecure --out "$work/none"
nothing_runs
absent "$work/none"
ok "addresses that do not resolve or are not of this host are named"

# --- --out ------------------------------------------------------------------------------------------
run finished 0 syncopate run "${quick[@]}" --out "$work/finished"
before=$(snapshot "$work/finished")
# The servers refuse by themselves too, when no launcher has looked first.
start direct-ps syncopate-ps --ps-hosts "127.0.0.1:$port" --out "$work/finished"
start direct-worker syncopate-worker --ps-hosts "127.0.0.1:$port" --workers 1 "${quick[@]}"
for name in direct-ps direct-worker; do
    ends "$name" 5
    one_line "$name"
done
if [ "$(snapshot "$work/finished")" != "$before" ]; then fail "a finished run was changed"; fi
nothing_runs
ok "the servers of a finished run refuse by themselves, and it stays as it is"
