#!/usr/bin/env bash
# bits.sh - nine jobs end with the bits that are written here: a change to the sources that changes
# what is computed is seen, and has to be meant. Every optimizer, a network with convolutions, one
# with ragged batches, schedules; with servers and, where it is quick, without.
#
#     tests/processes/bits.sh --print     the table as this build computes it
# promises: bits
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

if ! { grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; }; then
    skip "the bits of nine jobs: this processor cannot fuse products, and has others"
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
