#!/usr/bin/env bash
# figures.sh [BUILD] [SEEDS] [NAME...] - figures of eight papers, as they were drawn: each a page and a CSV in OUT, or else in
# build/figures, with what the paper showed, what ours shows and why they differ. All numbers in titles and notes come from
# the runs. Four come from the scripts that judge their shapes (shapes.sh), four are made here. What is in OUT is kept, and
# SEEDS (3 if nothing is said) is how many runs a dot here is of; those scripts have seeds of their own unless it is said.
OUT=${OUT:-build/figures}
mkdir -p "$OUT"
OUT=$(realpath "$OUT")
export OUT
default_seeds=3
asked=("${@:3}")
given=${2:+"$2"}
# shellcheck source=tests/validation/shape.sh
. "$(dirname "$0")/shape.sh"

# --- what several of them do --------------------------------------------------------------------------
# judged SCRIPT - the script's verdicts, a line each.
judged()
{
    # shellcheck disable=SC2086 # Seeds may be missing.
    "$here/$1.sh" "$build" $given >"$out/$1.txt"
    grep -E ': (yes|no), ' "$out/$1.txt"
}
# said VERDICT - what is behind yes or no, as a sentence begins.
said() { sed -E 's/^[^:]*: (yes|no), //; s/^./\U&/' <<<"$1"; }
# draw NAME OPTION...
draw() { "$build/syncopate" figure --quiet --out "$out/$1.html" "${@:2}"; }
# at NAME LINE X - the median there, "1.23", or inf.
at()
{
    python3 -c 'import csv, statistics, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if (r["line"], r["x"]) == (sys.argv[2], sys.argv[3])]
print(("%#.3g" % statistics.median(float(r["y"]) / float(r["beside"] or 1) for r in rows)).rstrip("."))' "$out/$1.csv" "$2" "$3"
}
# least NAME LINE [greatest] - the x of the least median of a line.
least()
{
    python3 -c 'import csv, statistics, sys
points = {}
for r in csv.DictReader(open(sys.argv[1])):
    if r["line"] == sys.argv[2]:
        points.setdefault(r["x"], []).append(float(r["y"]) / float(r["beside"] or 1))
print(min(points, key=lambda x: statistics.median(points[x]) * (-1 if sys.argv[3:] else 1)))' "$out/$1.csv" "${@:2}"
}
# is A below|above B - "yes" or "no".
is() { awk -v a="$1" -v b="$3" -v above="$([ "$2" = above ] && echo 1 || echo 0)" 'BEGIN { print (above ? a > b : a < b) ? "yes" : "no" }'; }

# --- the figures, in the order of their papers' years -------------------------------------------------
ho()
{
    local verdicts
    verdicts=$(judged ho)
    draw ho "$out/calm" "$out/edge" --x mode --by comparison --ratio --title "$(said "$(sed -n 1p <<<"$verdicts")" | sed "s/At /At a learning rate of /")" \
        --note "Paper: Ho 2013. With 32 workers of which some are slow for a while, a bound on staleness is sooner at the target than a barrier, and sooner than no bound." \
        --note "Ours: 32 workers, one in twenty computations four times as long. Between a barrier and no bound: $(sed -nE '1s/.*: (yes|no), .*/\1/p' <<<"$verdicts"). Sooner than either, near what training bears (edge): $(sed -nE '2s/.*: (yes|no), (.*)/\1, \2/p' <<<"$verdicts")." \
        --note "Why: a worker of ours has the newest values with every answer. Theirs reads a cache, which without a bound is never renewed; so no bound costs theirs more."
}
chen()
{
    local verdict best
    verdict=$(judged chen)
    local options=("$out/few" "$out/lognormal" "$out/heavy" --x backup-workers --by comparison)
    draw chen "${options[@]}"
    best=$(least chen few)
    draw chen "${options[@]}" --title "Where few are slow, it is soonest not to wait for $best of fifty: $(at chen few "$best") s, $(at chen few 0) s for all" \
        --note "Paper: Chen 2016. Of about fifty workers it pays to wait for all but the last few: step time falls steeply with the first spare ones and hardly after, and dropped examples cost updates." \
        --note "Ours: between none and eight, as theirs, by whole intervals: $(sed -E 's/^[^:]*: //' <<<"$verdict")." \
        --note "Why: theirs adds workers to fifty, which load the servers; here so many of fifty are not waited for, so a step only gets shorter. In heavy, one in twenty is very slow: more spare workers pay there."
}
zhang()
{
    local verdicts
    verdicts=$(judged zhang)
    draw zhang "$out/learners" "$out/softsync" --x staleness_mean --y test_accuracy --by comparison,staleness-rate \
        --title "$(said "$(sed -n 1p <<<"$verdicts")")" \
        --note "Paper: Zhang 2016. After so many epochs accuracy falls with staleness, which n of n-softsync sets; a rate divided by the staleness brings it back." \
        --note "Ours: $(sed -n 1p <<<"$verdicts" | sed -E 's/^[^:]*: //'). Does inverse do more than an equally lower rate for all (the control): $(sed -n 2p <<<"$verdicts" | sed -E 's/^[^:]*: //')." \
        --note "Why: theirs has no such control. Two dots have no staleness: one worker with batches of 128, and with those of 4 that each of 30 has. With workers alike, a rate over each gradient's staleness and one over its mean are nearly the same rate. Ours fails at less staleness, because its rate is nearer to what one learner bears."
}
mitliagkas()
{
    local options=("$out/momentum" --x momentum --y train_loss --by workers --map --log y) one four sixteen
    compared momentum --model softmax --modes async --workers 1,4,16 --vary momentum=-0.9,-0.6,-0.3,0,0.3,0.6,0.9,0.95 \
        --optimizer momentum --learning-rate 0.01 --worker-batch 16 --micro-batch 16 --steps 400 --compute lognormal:30ms,0.2
    draw mitliagkas "${options[@]}"
    one=$(least mitliagkas "workers 1") four=$(least mitliagkas "workers 4") sixteen=$(least mitliagkas "workers 16")
    draw mitliagkas "${options[@]}" --title "The best momentum is $one for 1 worker, $four for 4, $sixteen for 16" \
        --note "Paper: Mitliagkas 2016, Asynchrony begets momentum. W asynchronous workers act like a momentum of 1 - 1/W. So the best explicit momentum falls with the workers, to 0 and below." \
        --note "Ours: falls from 1 to 4 workers: $(is "$four" below "$one"); from 4 to 16: $(is "$sixteen" below "$four"); below 0 at 16: $(is "$sixteen" below 0). At 16 its loss is $(at mitliagkas "workers 16" "$sixteen"), without momentum it is $(at mitliagkas "workers 16" 0), with 0.9 it is $(at mitliagkas "workers 16" 0.9)." \
        --note "Why: theirs is the mean over random schedules of equal workers, and a network; here times are drawn (sigma 0.2), the model is softmax and the grid is coarse. The rate is the same for all momenta, which moves the whole row."
}
goyal()
{
    local rule batches=64,256,1024,4096 workers=1,4,16,64 rates small many lost first
    for rule in rate-times-k rate-kept; do
        rates=0.01,0.04,0.16,0.64
        if [ $rule = rate-kept ]; then rates=0.01,0.01,0.01,0.01; fi
        compared "$rule" --model "flatten, dense 64 relu, dense 10" --modes sync --optimizer momentum --momentum 0.9 --epochs 5 --warmup-epochs 1 \
            --micro-batch 64 --vary "workers=$workers+global-batch=$batches+learning-rate=$rates" --compute lognormal:30ms,0.1
    done
    local options=("$out/rate-times-k" "$out/rate-kept" --x global-batch --y test_accuracy --by comparison --log x)
    draw goyal "${options[@]}"
    difference() { awk -v a="$first" -v b="$1" 'BEGIN { d = a - b; print d < 0 ? -d : d }'; }
    first=$(at goyal rate-times-k 64) small=$(at goyal rate-times-k 256) many=$(at goyal rate-times-k 4096) lost=$(at goyal rate-kept 4096)
    draw goyal "${options[@]}" --title "With a rate that rises with the batch accuracy is $first % at 64 examples, $small % at 256, $many % at 4,096" \
        --note "Paper: Goyal 2017. A batch k times as large with k times the rate and a warm-up of some epochs ends at the same accuracy, up to a batch where it breaks; with the rate as it was it falls at once." \
        --note "Ours: within a point at 4 times the batch: $(is "$(difference "$small")" below 1); at 16 times ($(at goyal rate-times-k 1024) %): $(is "$(difference "$(at goyal rate-times-k 1024)")" below 1); at 64 times: $(is "$(difference "$many")" below 1). With the rate as it was: $(at goyal rate-kept 256), $(at goyal rate-kept 1024) and $lost %." \
        --note "Why: theirs holds from 256 to 8,192 of 1.3 million examples and ninety epochs. 4,096 are a fifteenth of ours, and five epochs of them are few updates: a break comes sooner."
}
incast()
{
    local bytes=$(((784 * 256 + 256 + 256 * 10 + 10) * 4)) n k ideal=() worst line
    compared incast --model "flatten, dense 256 relu, dense 10" --modes sync --optimizer sgd --learning-rate 0.01 --steps 10 --micro-batch 1 \
        --vary ps=1,2,4 --vary workers=1,2,4,8,16+global-batch=1,2,4,8,16 --chunk-bytes 16K --compute lognormal:1ms,0.1 --network 100Mbit,50us
    for k in 1 2 4; do
        line=
        for n in 1 2 4 8 16; do
            line+=${line:+,}$n:$(awk -v m=$bytes -v n=$n -v k=$k 'BEGIN { t = 8 * m / 1e8 * 1000; print 1 + t * (n > k ? n / k : 1) }')
        done
        ideal+=(--ideal "$line")
    done
    local options=("$out/incast" --x workers --y ms_per_update --by ps --log xy "${ideal[@]}")
    draw incast "${options[@]}"
    worst=$(for k in 1 2 4; do for n in 1 2 4 8 16; do
        awk -v t="$(at incast "ps $k" $n)" -v m=$bytes -v n=$n -v k=$k 'BEGIN { print t / (1 + 8 * m / 1e5 * (n > k ? n / k : 1)) }'
    done; done | sort -g | sed -n '1p;$p' | paste -sd ' ')
    draw incast "${options[@]}" --title "A step takes $(awk '{ printf "%.2f to %.2f", $1, $2 }' <<<"$worst") times what max(M/B, nM/kB) says, with 1 to 16 workers and 1 to 4 servers" \
        --note "Paper: Jiang 2020, BytePS. n workers that send M bytes to k servers over cards of B take max(M/B, nM/kB): flat up to n = k, then in proportion." \
        --note "Ours: M is $bytes bytes, B 100 Mbit/s, and a computation of 1 ms is added. 4 servers take $(awk -v a="$(at incast "ps 1" 16)" -v b="$(at incast "ps 4" 16)" 'BEGIN { printf "%.2g", a / b }') times less than 1 with 16 workers, 4 workers $(awk -v a="$(at incast "ps 4" 4)" -v b="$(at incast "ps 4" 1)" 'BEGIN { printf "%.2g", a / b }') times as long as 1 with 4 servers." \
        --note "Why: headers of segments are no part of M, and what comes back begins only when a chunk of all workers is there. Chunks are 16 KB, so that sending and answering overlap; larger ones do so less."
}
in_seconds() { awk -v ms="$(at tails "$1" 100)" 'BEGIN { printf "%.1f", ms / 1000 }'; } # Of 100 workers.
tails()
{
    # shellcheck disable=SC2054 # One word.
    local options=("$out/all" "$out/spare" --x workers --y step_p50,step_p99 --by comparison --log xy) name modes one many
    for name in all spare; do
        modes=sync,sync,sync,sync,sync
        if [ $name = spare ]; then modes=sync,sync+backup:1,sync+backup:1,sync+backup:3,sync+backup:10; fi
        compared $name --model softmax --optimizer sgd --learning-rate 0.01 --steps 300 --micro-batch 1 --report-every 1 \
            --vary "workers=1,3,10,30,100+global-batch=1,3,10,30,100+mode=$modes" --compute lognormal:1s,0.1 --straggle 0.01:constant:10
    done
    draw tails "${options[@]}"
    one=$(at tails "all, step_p50" 1) many=$(at tails "all, step_p50" 100)
    draw tails "${options[@]}" --title "With 100 workers half of all steps take $(awk -v a="$many" -v b="$one" 'BEGIN { printf "%.2g", a / b }') times as long as one's; without the ten last $(awk -v a="$(at tails "spare, step_p50" 100)" -v b="$one" 'BEGIN { printf "%.2g", a / b }') times" \
        --note "Paper: Dean and Barroso 2013, The tail at scale. Where one request in a hundred is slow, one that fans out to a hundred is slow in 63 of 100 cases: the p99 of one is the p50 of many." \
        --note "Ours: one computation in a hundred takes ten times as long. Is the p50 of 100 workers above five times that of one: $(is "$many" above "$(awk -v a="$one" 'BEGIN { print 5 * a }')"). The p99 is $(in_seconds "all, step_p99") s, without the ten last (spare) $(in_seconds "spare, step_p99") s." \
        --note "Why: theirs are requests, sent twice, and the slower is given up. Here a step is the request and backup workers are the hedge. A slow worker ends its computation first, so it misses the next steps, and few spare workers are used up. With one worker runs differ: one in a hundred is the edge of a p99."
}
networks()
{
    local verdicts
    verdicts=$(judged networks)
    draw networks "$out/10Gbit" "$out/1Gbit" "$out/100Mbit" --x workers --y images_per_second --by mode,comparison --ratio --log xy --ideal 1:1,30:30 \
        --title "$(said "$(sed -n 1p <<<"$verdicts" | sed 's/;.*//')")" \
        --note "Paper: Zhang 2016 (and Li 2014). Up to 30 learners are 22 to 28 times as fast as one on a fast network, asynchronous half as fast again as synchronous; a server's card bounds both." \
        --note "Ours: $(sed -n 1p <<<"$verdicts" | sed -E 's/^[^:]*: //'). Is async sooner at the target, too, on 10 Gbit/s: $(sed -n 2p <<<"$verdicts" | sed -E 's/^[^:]*: //')." \
        --note "Why: here workers differ by chance alone (sigma 0.1), so a barrier costs less than theirs; on slow networks the two servers' cards set the pace of both modes."
}

# --- all of them, or those that are asked for ---------------------------------------------------------
begun=$SECONDS
if [ ${#asked[@]} -eq 0 ]; then asked=(ho chen zhang mitliagkas goyal incast tails networks); fi
for name in "${asked[@]}"; do
    from=$SECONDS
    "$name"
    printf '%4d s  %-10s  %s\n' $((SECONDS - from)) "$name" "$(grep -o '"title":"[^"]*"' "$out/$name.html" | cut -d '"' -f 4)"
done
{
    echo '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Figures of papers</title><h1>Figures of papers</h1><ul>'
    for name in ho chen zhang mitliagkas goyal incast tails networks; do
        if [ -e "$out/$name.html" ]; then
            echo "<li><a href=\"$name.html\">$name</a>, <a href=\"$name.csv\">CSV</a>: $(grep -o '"title":"[^"]*"' "$out/$name.html" | cut -d '"' -f 4)"
        fi
    done
    echo '</ul></html>'
} >"$out/index.html"
printf '%4d s  all; %s\n' $((SECONDS - begun)) "$out/index.html"
