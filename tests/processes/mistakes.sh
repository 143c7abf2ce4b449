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

# --- numbers --------------------------------------------------------------------------------------
for number in 1e3 1,000 1_000 "1000 " 1000.0; do
    mistake 2 "--epochs='?$number'?: needs a whole number from 1 to 1000000 .did you mean 1000\?" \
        "${run[@]}" --epochs "$number"
done
for number in 0 -1 many 1.5; do
    mistake 2 "--epochs=$number: needs a whole number from 1 to 1000000$" "${run[@]}" --epochs "$number"
done
for number in nan inf -0.1 1e999 0x1p-3; do
    mistake 2 "--learning-rate=$number: needs a number from 0 to 1000000$" \
        "${run[@]}" --learning-rate "$number"
done
mistake 2 "--learning-rate=0,001: needs a number .* .did you mean 0.001\?" \
    "${run[@]}" --learning-rate 0,001
mistake 2 "learning rate must be a finite number above 0, not 0" "${run[@]}" --learning-rate 0
mistake 2 "momentum must be at least 0 and below 1, not 1" \
    "${run[@]}" --optimizer momentum --momentum 1
mistake 2 "--steps=99999999999999999999: needs a whole number from 1 to 1000000000000000" \
    "${run[@]}" --steps 99999999999999999999
mistake 2 "--start-timeout=10s: needs a number of seconds, .* .did you mean 10\?" \
    "${run[@]}" --start-timeout 10s
mistake 2 "--chunk-bytes=64X: needs a size such as 64KiB" "${run[@]}" --chunk-bytes 64X
mistake 2 "--quiet=maybe: needs true or false" "${run[@]}" --quiet=maybe
mistake 2 "--workers=0: needs a whole number from 1 to 1024" "${run[@]}" --workers 0
mistake 2 "--workers=3: without servers .--ps 0. there is one worker" "${run[@]}" --ps 0 --workers 3
mistake 2 "--histories=0: needs a whole number, at least 1" syncopate simulate --histories 0

# --- words ----------------------------------------------------------------------------------------
mistake 2 "--mode=ssync: needs one of sync, async .did you mean sync\?" "${run[@]}" --mode ssync
mistake 2 "--mode=synchronous: .*did you mean sync\?" "${run[@]}" --mode synchronous
mistake 2 "--optimizer=adamw: needs one of sgd, .*, adam .did you mean adam\?" \
    "${run[@]}" --optimizer adamw
mistake 2 "--schedule=linear: needs one of constant, step, cosine" "${run[@]}" --schedule linear
mistake 2 "--transport=udp: needs one of auto, tcp, shm" "${run[@]}" --transport udp
mistake 2 "--on-worker-loss=retry: needs one of continue, wait, fail" "${run[@]}" --on-worker-loss retry
mistake 2 "--role=boss: needs one of ps, worker, observer" syncopate keygen k --role boss
mistake 2 "--use-locking.*: only used with --mode=async, but the mode is sync" "${run[@]}" --use-locking
mistake 2 "--decay-steps=3: only used with --schedule=step" "${run[@]}" --decay-steps 3
mistake 2 "--quiet and --verbose exclude each other" "${run[@]}" --quiet --verbose
for word in Adam SGD; do understood syncopate run --data synthetic:200 --optimizer "$word"; done
understood syncopate run --data synthetic:200 --mode ASYNC --transport Auto

# --- lists ----------------------------------------------------------------------------------------
compare=(syncopate compare)
mistake 2 "--modes=sync,asnyc: 'asnyc' is no mode; .*did you mean async\?" "${compare[@]}" --modes sync,asnyc
mistake 2 "--modes=sync,sync: sync is there twice" "${compare[@]}" --modes sync,sync
mistake 2 "--modes=sync,: item 2 of the list is empty" "${compare[@]}" --modes sync,
mistake 2 "--workers=1,x,4: 'x' is not a whole number from 1 to 1024" "${compare[@]}" --workers 1,x,4
mistake 2 "--workers=1,2,1: 1 is there twice" "${compare[@]}" --workers 1,2,1
mistake 2 "--workers=2000: '2000' is not a whole number from 1 to 1024" "${compare[@]}" --workers 2000
mistake 2 "--slow=1:2.0,3: '3' is not WORKER:FACTOR such as 1:2.0" "${run[@]}" --slow 1:2.0,3
mistake 2 "--slow=1:0.5: '1:0.5' is not .* with a factor from 1 to 1000" "${run[@]}" --slow 1:0.5
mistake 2 "--slow=5:2: there is no worker 5; there are 2, from 0 on" "${run[@]}" --slow 5:2
mistake 2 "--slow=3:2: there is no worker 3; there are 2" "${compare[@]}" --workers 1,2 --slow 3:2
mistake 2 "--seeds=0: needs a whole number from 1 to 1000" "${compare[@]}" --seeds 0
mistake 2 "--ps=0: there is nothing to compare without servers" "${compare[@]}" --ps 0
for list in "sync;async" "sync, async" "async sync"; do
    understood syncopate compare --data synthetic:200 --modes "$list"
done
understood syncopate run --data synthetic:200 --slow "0:2;1:3"

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

mistake 2 "--model: layer 1 'softmx': .*did you mean softmax\?" "${model[@]}" softmx
mistake 2 "--model: layer 1 'dense 10 tanh': 'tanh' is not understood; only 'relu' may follow" \
    "${model[@]}" "dense 10 tanh"
mistake 2 "--model: the model has 4347133968 parameters; at most 2147483648" \
    "${model[@]}" "flatten, dense 65536, dense 65536, dense 10"
mistake 2 "unexpected argument '32x3' .a value with blanks, such as that of --model, goes between" \
    "${model[@]}" conv 32x3 relu
for list in CNN "Conv 8x3 ReLU; Flatten; DENSE 10" "flatten;dense 10"; do
    understood syncopate run --data synthetic:200 --model "$list"
done

# --- options --------------------------------------------------------------------------------------
mistake 2 "unknown option --wrokers .did you mean --workers\?" "${run[@]}" --wrokers 3
mistake 2 "unknown option -mode .did you mean --mode\?" "${run[@]}" -mode sync
mistake 2 "unknown option --frobnicate .--help lists them" "${run[@]}" --frobnicate
mistake 2 "--mode is not an option of this program .of syncopate-worker, syncopate run" \
    "${compare[@]}" --mode sync
mistake 2 "--modes is not an option of this program .of syncopate compare" "${run[@]}" --modes sync
mistake 2 "--out needs a value" "${run[@]}" --out
mistake 2 "--out needs a value" "${run[@]}" --out --quiet
mistake 2 "--steps needs a value" "${run[@]}" --steps ""
mistake 2 "unexpected argument 'fast'; options begin with --" "${run[@]}" fast
mistake 2 "unexpected argument 'mode=sync' .did you mean --mode=sync\?" "${run[@]}" mode=sync
mistake 2 "unexpected argument 'true' .--quiet stands alone" "${run[@]}" --quiet true
mistake 2 "the variable SYNCOPATE_LR is no option's .did you mean SYNCOPATE_LEARNING_RATE" \
    env SYNCOPATE_LR=0.1 syncopate run
# called WORD RIGHT - what other programs call it.
called() { mistake 2 "unknown option $1: (here it is $2|.*$2)" "${run[@]}" "$1" 3; }
called --lr --learning-rate
called --batch-size --global-batch
called --batch --global-batch
called --num-workers --workers
called -np --workers
called -n --workers
called --hosts --ps-hosts
called --hostfile --ps-hosts
called --num-epochs --epochs
called --iterations --steps
called --dataset --data
called --output --out
called -o --out
called --resume --out
called --optimiser --optimizer
called --threads --workers
called --gpu "there is no GPU support"
called --device "there is no GPU support"
called --cuda "there is no GPU support"
called -v --verbose
called -q --quiet
mistake 2 "unknown option --lr: it is --learning-rate, which is not an option of this program" \
    syncopate evaluate model.safetensors --lr 0.1

# --- commands -------------------------------------------------------------------------------------
mistake 2 "there is no command 'rnu'; .*did you mean run\?" syncopate rnu
mistake 2 "there is no command 'compair'; .*did you mean compare\?" syncopate compair
mistake 2 "there is no command 'frobnicate'; syncopate --help lists them$" syncopate frobnicate
mistake 2 "there is no command 'ps'; the program syncopate-ps" syncopate ps
mistake 2 "there is no command 'worker'; the program syncopate-worker" syncopate worker
mistake 2 "there is no command 'train'; write 'syncopate run'" syncopate train
mistake 2 "there is no command 'version'; write 'syncopate --version'" syncopate version
mistake 2 "there is no command 'rnu'; .*did you mean run\?" syncopate help rnu
mistake 2 "unknown option --mode: a command comes before its options" syncopate --mode sync run
mistake 2 "unknown option -v .did you mean --version\?" syncopate -v
mistake 2 "needs the path of a run's folder, a checkpoint or a model" syncopate evaluate
mistake 2 "needs the path of a run's folder or a checkpoint" syncopate export
mistake 2 "needs the path of a run's folder, .*, or a server's host:port" syncopate inspect
mistake 2 "needs the path of the new key" syncopate keygen
mistake 2 "takes one path, but 'a' and 'b' were given" syncopate evaluate a b
mistake 5 "nowhere: No such file or directory" syncopate evaluate nowhere
mistake 5 "nowhere: No such file or directory" syncopate export nowhere
mistake 5 "nowhere: No such file or directory" syncopate inspect nowhere
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

# --- the programs themselves ----------------------------------------------------------------------
worker=(syncopate-worker --ps-hosts 127.0.0.1:1 --workers 1)
mistake 2 "--ps=2: needs 0, for a worker that trains alone; servers are named by --ps-hosts" \
    syncopate-worker --ps 2
mistake 2 "--ps=0 needs --out" syncopate-worker --ps 0
mistake 2 "needs --ps-hosts, the servers' host:port in order" syncopate-worker
mistake 2 "needs --worker-hosts or --workers" syncopate-worker --ps-hosts alpha:7000
mistake 2 "--ps-hosts: 'alpha' is not host:port" syncopate-worker --ps-hosts alpha --workers 1
mistake 2 "--ps-hosts: 'alpha:70000' is not host:port" syncopate-ps --ps-hosts alpha:70000
mistake 2 "needs --ps-hosts with --task-index, or --bind" syncopate-ps
mistake 2 "--task-index=3: --ps-hosts names only 1" syncopate-ps --ps-hosts alpha:7000 --task-index 3
mistake 2 "--job-name=ps, but this is syncopate-worker" "${worker[@]}" --job-name ps
mistake 2 "unknown option --hosts: here it is --ps-hosts" syncopate-ps --hosts alpha:7000
mistake 2 "--data=synthetic:0: write synthetic:N" "${worker[@]}" --data synthetic:0
mistake 2 "--data=mnist: there is no data set" "${worker[@]}" --data mnist
mistake 5 "no data in /nowhere/mnist: No such file" "${worker[@]}" --data /nowhere/mnist
mistake 2 "--global-batch=200: " "${worker[@]}" --data synthetic:100 --global-batch 200
mistake 2 "--model: layer 1 'linear 10': not a layer" "${worker[@]}" --model "linear 10"

cd "$work"
nothing_runs
if [ "$slowest" -gt $((2000 * patience)) ]; then fail "$slowest_row: answered after $slowest ms"; fi
ok "$rows mistakes are answered before anything is started, the slowest after $slowest ms: $slowest_row"
