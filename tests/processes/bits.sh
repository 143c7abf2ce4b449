#!/usr/bin/env bash
# bits.sh - nine jobs end with the bits that are written here: a change to the sources that changes
# what is computed is seen, and has to be meant. Every optimizer, a network with convolutions, one
# with ragged batches, schedules. And --instructions: AVX2 and AVX-512 give the same bits, also in one job;
# plain gives others and is refused beside them, by name.
#
#     tests/processes/bits.sh --print     the table as this build computes it
# promises: bits instructions
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

# parameters_sha256 and the job. (4,100 examples by 48: the last batch of an epoch has 20.)
table=$(
    cat <<'END'
dc93c2a485ff52eff43afe29f34827cabca0199582387665157d206cac77bc4e --model cnn --global-batch 64 --steps 20 --data synthetic:2000
13bc5f5c758716fa453354f76c5767b980c10f1f525f1f72b454905860c02a8d --model mlp --global-batch 48 --epochs 2 --data synthetic:4100 --optimizer momentum --schedule step
a31d9e00b67bc9b2cbeb8572c830f58ac20998828cc48860b7274ca1f4c4e370 --model softmax --optimizer sgd --data synthetic:3000 --epochs 2
0fa280f9d2bffc23051c161a2e020d99cc25d4b8e4ece7163f8ff5e864fa272b --model softmax --optimizer momentum --schedule cosine --warmup-steps 10 --data synthetic:3000 --epochs 2
8a89f63995db3489a9a9c0d555a2dc34208726ff3f1e7a4a1dd87819c5cf3942 --model softmax --optimizer nesterov --data synthetic:3000 --epochs 2
d303557862b807b1e014aad7fb0cb3e847b4f290bba7c5777ddae32654a903c9 --model softmax --optimizer adagrad --data synthetic:3000 --epochs 2
5537aeff3ce61b8fdac566420b8635662c9d7c749352914694ec0b3c271430e7 --model softmax --optimizer rmsprop --data synthetic:3000 --epochs 2
d5701ce75986097f17edcfae06695d0ee03517a0aa554800e0b6dd4b3da0cdfa --model softmax --optimizer adam --schedule cosine --decay-steps 60 --decay-factor 0.1 --data synthetic:3000 --epochs 2
ea283717937a61584abe60ce153efbc5037423db4eabee23e1c134ce609b6cee --model mlp --optimizer adamw --weight-decay 0.1 --chunk-bytes 4K --data synthetic:3000 --epochs 2
END
)

has() { grep -qw "$1" /proc/cpuinfo; }
if ! { has avx2 && has fma; }; then
    skip "bits: this processor cannot fuse products, and has others"
    exit 0
fi
number=0
while read -r expected arguments; do
    number=$((number + 1))
    read -ra arguments <<<"$arguments"
    run "job$number" 0 syncopate run "${arguments[@]}" --seed 7 --ps 2 --workers 3 --out "$work/out$number"
    bits=$(member "$work/out$number" parameters_sha256)
    if [ "${1:-}" = --print ]; then
        echo "$bits ${arguments[*]}"
    elif [ "$bits" != "$expected" ]; then
        fail "${arguments[*]}: ends with $bits, not with $expected"
    fi
done <<<"$table"
if [ "${1:-}" = --print ]; then exit; fi
ok "nine jobs end with the bits that they always had"

# --- instructions ----------------------------------------------------------------------------------
cnn=(--model "conv 6x3 relu, pool 2, conv 8x3 relu, flatten, dense 16 relu, dense 10" --optimizer adam
    --schedule cosine --warmup-steps 3)
mlp=(--model mlp --optimizer momentum --micro-batch 8)
job=(--data synthetic:1000 --global-batch 48 --steps 24 --seed 3)

# trained NAME ARGUMENT... - the hash of what `run` trains.
trained()
{
    run "$1" 0 syncopate run "${job[@]}" "${@:2}" --out "$work/$1"
    model_hash "$work/$1"
}

# What decides bits is computed without the C library's functions, which differ from version to version.
for program in syncopate-ps syncopate-worker; do
    asked=$(nm -D --undefined-only "$build/$program" |
        grep -oiE ' (exp|exp2|expm1|log|log2|log10|log1p|pow|cos|sin|tan|tanh|atan|cbrt|hypot|erf)[fl]?(@|$)' || true)
    if [ -n "$asked" ]; then fail "$program asks the C library for $(tr -d ' @\n' <<<"$asked")"; fi
done
ok "servers and workers ask the C library for no power, cosine, exponential or logarithm"

widest=avx2
if has avx512f; then widest=avx512; fi
trained plain "${cnn[@]}" --instructions plain >"$work/plain.hash"
trained avx2 "${cnn[@]}" --instructions avx2 >"$work/avx2.hash"
trained widest "${cnn[@]}" >"$work/widest.hash"
cmp -s "$work/avx2.hash" "$work/widest.hash" || fail "avx2 and $widest give other bits"
if cmp -s "$work/avx2.hash" "$work/plain.hash"; then fail "plain gives the bits of avx2"; fi
ok "avx2 gives the bits of the widest instructions here, $widest; plain gives others"

address=127.0.0.1:$(free_port)
# worker INDEX SET - of two, for the server at $address.
worker()
{
    start "worker$1" syncopate-worker --ps-hosts "$address" --workers 2 --task-index "$1" \
        "${job[@]}" "${cnn[@]}" --instructions "$2"
}
start server syncopate-ps --ps-hosts "$address" --out "$work/mixed"
worker 0 avx2
says server "worker/0 joined"
worker 1 plain
ends worker1 3
says worker1 "\(no vector instructions\) does not give the same bits as on .* \(AVX2\)"
one_line worker1
worker 1 "$widest"
for name in worker0 worker1 server; do ends "$name" 0 60; done
says worker0 "kernels=AVX2"
if [ "$(model_hash "$work/mixed")" != "$(cat "$work/avx2.hash")" ]; then fail "the job has other bits"; fi
ok "beside avx2 a worker with plain is refused by name, one with $widest makes the same bits"
if [ "$widest" != avx512 ]; then skip "workers with AVX2 and AVX-512 in one job: no avx512"; fi

# Servers compute the same with all of them, workers do not: the record says what workers had.
for sets in "plain avx2" "avx2 plain"; do
    read -r servers workers <<<"$sets"
    address=127.0.0.1:$(free_port)
    start "$servers" syncopate-ps --ps-hosts "$address" --out "$work/record-$servers" --instructions "$servers"
    for index in 0 1; do
        start "worker$index" syncopate-worker --ps-hosts "$address" --workers 2 --task-index "$index" \
            "${job[@]}" "${mlp[@]}" --mode async --instructions "$workers"
    done
    for name in worker0 worker1 "$servers"; do ends "$name" 0 60; done
    run replayed 0 syncopate replay "$work/record-$servers"
    said replayed "parameters_sha256 .*: as recorded" || fail "servers with $servers, workers with $workers: not made again"
done
ok "a run of servers and workers with different instructions is made again to the bit"
if ! has avx512f; then
    run lacks 2 syncopate run "${job[@]}" --instructions avx512
    says lacks "--instructions=avx512: this processor has .* at most"
    one_line lacks
fi
run unknown 2 syncopate run "${job[@]}" --instructions avx1024
says unknown "--instructions=avx1024: needs plain, avx2 or avx512"
one_line unknown
ok "instructions that there are not are refused"
