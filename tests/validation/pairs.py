"""A number of a comparison with its interval (95 %, Student's t, runs of one seed being a pair), worked out from
its points.csv and runs.csv: of an arm, or of an arm beside another.

    pairs.py OUT NUMBER ARM [BESIDE] [below LIMIT | above LIMIT | within LOW HIGH]

    pairs.py OUT table BESIDE NUMBER...          of every arm, where NUMBER has a / before it beside BESIDE
    pairs.py OUT twin OTHER NUMBER ARM           of the arm here and in OTHER, and the error of the latter in per cent,
                                                 parted by tabs

prints "1.18 [1.02, 1.37]", and exits with 1 unless the whole interval is as asked; of fewer than three pairs
nothing is. NUMBER is time, work or pace (seconds, examples, examples a second to the comparison's target), or what
runs.csv has of a run: seconds, images_per_second, updates, train_loss, test_accuracy (in per cent), ..., or
ms_per_update of the whole run. Beside another arm it is a ratio, the geometric mean over the pairs; of
test_accuracy a difference in points.
"""

import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "processes"))
from conclusion import INF, NAN, Comparison, mean_of, ratio_of, read  # noqa: E402


def numbers(folder, arms, name, arm):
    """Of every run of an arm, by its seed."""
    if arm not in arms:
        print(f"pairs.py: {folder} has no arm {arm}, but {', '.join(arms)}", file=sys.stderr)
        sys.exit(2)
    if name == "ms_per_update":
        return {run.seed: 1000 * run.number("seconds") / run.number("updates") for run in arms[arm]}
    if name not in ("time", "work", "pace"):
        scale = 100 if name == "test_accuracy" else 1
        return {run.seed: scale * run.number(name) for run in arms[arm]}
    with open(os.path.join(folder, "compare.json"), encoding="utf-8") as file:
        target = json.load(file)["target"]
    found, whole = {}, Comparison(arms)
    for run in arms[arm]:
        _, _, examples, seconds = whole.way(run, target["kind"], target["value"])
        pace = examples / seconds if math.isfinite(seconds) else NAN
        found[run.seed] = {"time": seconds, "work": examples, "pace": pace}[name]
    return found


def estimate(folder, arms, name, arm, beside):
    ours = numbers(folder, arms, name, arm)
    if beside is None:
        return mean_of(list(ours.values()))
    theirs = numbers(folder, arms, name, beside)
    pairs = [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
    if name == "test_accuracy":
        return mean_of([a - b for a, b in pairs])
    return ratio_of([a for a, _ in pairs], [b for _, b in pairs])


def text(value):
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf"
    decimals = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 4)}f}"


def holds(words, low, high):
    if math.isnan(low) or math.isnan(high):
        return False
    limits = [float(word) for word in words[1:]]
    if words[0] == "below":
        return high < limits[0]
    if words[0] == "above":
        return low > limits[0]
    return limits[0] <= low and high <= limits[1]


def told(found):
    ends = [text(found["low"]), text(found["high"])]
    return f"{text(found['value'])} [{ends[0] if ends[0] == ends[1] == '-' else ', '.join(ends)}]"


def table(folder, beside, names):
    arms = read(folder)
    rows = [["arm", *names]]
    for arm in arms:
        rows.append([arm])
        for name in names:
            other = beside if name[0] == "/" else None
            same = other == arm
            rows[-1].append("1" if same else told(estimate(folder, arms, name.lstrip("/"), arm, other)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0])] + [cell.rjust(wide) for cell, wide in zip(row[1:], widths[1:])]))
    return 0


def twin(folder, other, name, arm):
    found = [estimate(f, read(f), name, arm, None) for f in (folder, other)]
    here, there = (one["value"] for one in found)
    print("\t".join([told(found[0]), told(found[1]), f"{100 * (there / here - 1):+.2f}" if here else "-"]))
    return 2 if math.isnan(here) or math.isnan(there) else 0


def main():
    words = sys.argv[1:]
    if len(words) == 5 and words[1] == "twin":
        return twin(words[0], *words[2:])
    if len(words) > 3 and words[1] == "table":
        return table(words[0], words[2], words[3:])
    asked = []
    for i, word in enumerate(words):
        if word in ("below", "above", "within"):
            words, asked = words[:i], words[i:]
            break
    if len(words) not in (3, 4) or (asked and len(asked) != 2 + (asked[0] == "within")):
        print(__doc__, file=sys.stderr)
        return 2
    arms = read(words[0])
    found = estimate(words[0], arms, words[1], words[2], words[3] if len(words) == 4 else None)
    print(told(found))
    if math.isnan(found["value"]) and found["count"] == 0:
        return 2
    return 0 if not asked or holds(asked, found["low"], found["high"]) else 1


if __name__ == "__main__":
    sys.exit(main())
