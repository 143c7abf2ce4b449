#!/usr/bin/env bash
# instructions.sh - what --instructions promises, with real processes: AVX2 and AVX-512 give the same
# bits, also in one job; plain gives others and is refused beside them, by name.
# promises: bits instructions
# shellcheck source=tests/processes/lib.sh
. "$(dirname "$0")/lib.sh"

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
has() { grep -qw "$1" /proc/cpuinfo; }

# What decides bits is computed without the C library's functions, which differ from version to version.
for program in syncopate-ps syncopate-worker; do
    asked=$(nm -D --undefined-only "$build/$program" |
        grep -oiE ' (exp|exp2|expm1|log|log2|log10|log1p|pow|cos|sin|tan|tanh|atan|cbrt|hypot|erf)[fl]?(@|$)' || true)
    if [ -n "$asked" ]; then fail "$program asks the C library for $(tr -d ' @\n' <<<"$asked")"; fi
done
ok "servers and workers ask the C library for no power, cosine, exponential or logarithm"

if has avx2 && has fma; then
    widest=avx2
    if has avx512f; then widest=avx512; fi
    for model in cnn mlp; do
        options=("${cnn[@]}")
        if [ "$model" = mlp ]; then options=("${mlp[@]}"); fi
        trained "$model-plain" "${options[@]}" --instructions plain >"$work/plain"
        trained "$model-avx2" "${options[@]}" --instructions avx2 >"$work/avx2"
        trained "$model-alone" "${options[@]}" --instructions avx2 --ps 0 --workers 1 >"$work/alone"
        trained "$model-widest" "${options[@]}" >"$work/widest"
        cmp -s "$work/avx2" "$work/alone" || fail "$model: with servers and without, other bits"
        cmp -s "$work/avx2" "$work/widest" || fail "$model: avx2 and $widest give other bits"
        if cmp -s "$work/avx2" "$work/plain"; then fail "$model: plain gives the bits of avx2"; fi
    done
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
    trained mixed-whole "${cnn[@]}" >"$work/both"
    if [ "$(model_hash "$work/mixed")" != "$(cat "$work/both")" ]; then fail "the job has other bits"; fi
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
else
    skip "avx2 and avx512 give the same bits: this processor has neither"
fi
if ! has avx512f; then
    run lacks 2 syncopate run "${job[@]}" --instructions avx512
    says lacks "--instructions=avx512: this processor has .* at most"
    one_line lacks
fi
run unknown 2 syncopate run "${job[@]}" --instructions avx1024
says unknown "--instructions=avx1024: needs plain, avx2 or avx512"
one_line unknown
ok "instructions that there are not are refused"
