"""Works out again, from points.csv alone, what compare.json says: an independent reader with a Student's t of
its own (by the incomplete beta function, where the program has a finite sum). Exits with 1, and says what
differs, unless everything agrees to one part in 10^9.

    answer.py OUT             compares OUT/points.csv with OUT/compare.json
    answer.py OUT --between   prints a loss that about half of all runs come to
"""

import bisect
import csv
import json
import math
import sys

NAN, INF = math.nan, math.inf


# --- Student's t: Numerical Recipes 6.4, by a continued fraction ---------------------------------

def beta_fraction(a, b, x):
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 5000):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + numerator / c
            c = c if abs(c) > tiny else tiny
            h *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return h


def beta_part(a, b, x):
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
                     + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1.0 - front * beta_fraction(b, a, 1 - x) / b


def t_above(t, freedom):
    return 0.5 * beta_part(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_quantile(part, freedom):
    low, high = 0.0, 1.0
    while t_above(high, freedom) > 1 - part:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        if t_above(middle, freedom) > 1 - part:
            low = middle
        else:
            high = middle
    return middle


# --- what may be said of few numbers -------------------------------------------------------------

def known(values):
    return [v for v in values if not math.isnan(v)]


def estimate(value, count, deviation=NAN, low=NAN, high=NAN):
    return {"value": value, "deviation": deviation, "low": low, "high": high, "count": count}


def mean_of(values):
    values = known(values)
    n = len(values)
    if n == 0:
        return estimate(NAN, 0)
    mean = math.fsum(values) / n if all(map(math.isfinite, values)) else INF
    if n < 3 or math.isinf(mean):
        return estimate(mean, n)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    half = t_quantile(0.975, n - 1) * deviation / math.sqrt(n)
    return estimate(mean, n, deviation, mean - half, mean + half)


def median_of(values):
    values = sorted(known(values))
    n = len(values)
    return NAN if n == 0 else (values[(n - 1) // 2] + values[n // 2]) / 2


def olympic_of(values):
    values = sorted(known(values))
    return NAN if len(values) < 5 else sum(values[1:-1]) / (len(values) - 2)


def ratio_of(ours, theirs):
    low, high = [], []
    for a, b in zip(ours, theirs):
        if math.isnan(a) or math.isnan(b):
            continue
        if math.isinf(a) and math.isinf(b):
            low.append(0.0)
            high.append(INF)
        else:
            low.append(a / b)
            high.append(a / b)
    if all(0 < v < INF for v in low + high):
        logs = mean_of([math.log(v) for v in low])
        return estimate(math.exp(logs["value"]), logs["count"], logs["deviation"],
                        math.exp(logs["low"]), math.exp(logs["high"]))
    # Someone did not get there: the median, and a limit by rank where nobody is missing.
    n = len(low)
    low.sort()
    high.sort()
    rank = 0
    while sum(math.comb(n, k) for k in range(rank + 1)) / 2 ** n <= 0.05:
        rank += 1
    value = median_of(low) if median_of(low) == median_of(high) else NAN
    if n < 3:
        return estimate(value, n)
    return estimate(value, n, NAN,
                    0.0 if rank == 0 or low[0] == 0 else low[rank - 1],
                    INF if rank == 0 or math.isinf(high[-1]) else high[n - rank])


def seeds_needed(deviation):
    def suffice(pairs):
        both = t_quantile(0.975, pairs - 1) + t_quantile(0.8, pairs - 1)
        return (both * deviation / math.log(1.02)) ** 2 <= pairs

    if not math.isfinite(deviation) or not suffice(1001):
        return None  # If far off, the program goes on with a t that stands still.
    # More pairs suffice where fewer do: t falls with them.
    return bisect.bisect_left(range(3, 1001), True, key=suffice) + 3


# --- runs ----------------------------------------------------------------------------------------

class Run:
    def __init__(self, seed):
        self.seed, self.summary, self.losses, self.scores, self.moved = seed, {}, [], [], {}

    def number(self, name):
        return self.summary.get("run_" + name, NAN)

    def way(self, kind, value):
        """Batches, examples and seconds to the target; infinite: not reached."""
        told = False
        if kind == "accuracy":
            for place, accuracy in self.scores:
                told = True
                if accuracy >= value:
                    return place
        else:
            for place, mean in self.trailing_means():
                told = True
                if mean <= value:
                    return place
        return (INF,) * 3 if told else (NAN,) * 3

    def trailing_means(self):
        wanted = self.number("planned_examples") / 20
        for last, (place, _) in enumerate(self.losses):
            total = weight = 0.0
            for at in range(last, -1, -1):
                before = self.losses[at - 1][0][1] if at > 0 else 0.0
                here = self.losses[at][0][1] - before
                total += here * self.losses[at][1]
                weight += here
                if weight >= wanted:
                    yield place, total / weight
                    break


def read(path):
    arms = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            runs = arms.setdefault(row["arm"], {})
            run = runs.setdefault(int(row["seed"]), Run(int(row["seed"])))
            value = float(row["value"])
            place = (float(row["step"]), float(row["examples"]),
                     float(row["seconds"]) if row["seconds"] else NAN)
            if row["metric"].startswith("run_"):
                run.summary[row["metric"]] = value
            elif row["metric"] == "loss":
                run.losses.append((place, value))
            elif row["metric"] == "exchanged_bytes":
                run.moved["loss", place] = value
            elif row["metric"] == "exchanged_bytes_scored":
                run.moved["accuracy", place] = value
            elif row["metric"] == "test_accuracy":
                run.scores.append((place, value))
    return {name: list(runs.values()) for name, runs in arms.items()}


# --- comparing -----------------------------------------------------------------------------------

faults = []
compared = 0


def same(what, said, found):
    """said: null for what is not known, "inf" for what is infinite."""
    global compared
    compared += 1
    if isinstance(found, float) and math.isnan(found):
        found = None
    if isinstance(found, float) and math.isinf(found):
        found = "inf"
    if isinstance(said, (int, float)) and isinstance(found, (int, float)) and not isinstance(said, bool):
        if abs(said - found) <= 1e-9 * max(1.0, abs(said), abs(found)) or \
                abs(said - found) <= 1e-9 * abs(said):
            return
    elif said == found and type(said) is type(found):
        return
    faults.append(f"{what}: {said} in compare.json, {found} from the points")


def same_estimate(what, said, found, value="value"):
    for name in ("deviation", "low", "high", "count"):
        same(f"{what}.{name}", said[name], found[name])
    same(f"{what}.{value}", said[value], found["value"])


WAYS = {"batches": lambda run, way: way[0],
        "examples": lambda run, way: way[1],
        "seconds": lambda run, way: way[2],
        "updates": lambda run, way: way[0] // run.number("accumulate") if math.isfinite(way[0]) else way[0],
        "worker_seconds": lambda run, way: way[2] * run.number("workers")}


def check_arm(group, runs, target):
    name = group["arm"]
    ways = [run.way(*target) for run in runs]
    said = group["to_target"]
    same(f"{name}.runs", said["runs"], len(known(w[2] for w in ways)))
    same(f"{name}.reached", said["reached"], sum(math.isfinite(w[2]) for w in ways))
    numbers = {what: [number(run, way) for run, way in zip(runs, ways)] for what, number in WAYS.items()}
    # Who did not get there has no such place, and is as infinite in bytes as in all else.
    numbers["exchanged_bytes"] = [run.moved.get((target[0], way), way[2]) for run, way in zip(runs, ways)]
    for what, values in numbers.items():
        same_estimate(f"{name}.{what}", said[what], mean_of(values), "mean")
        same(f"{name}.{what}.median", said[what]["median"], median_of(values))
        same(f"{name}.{what}.olympic", said[what]["olympic"], olympic_of(values))
    for what in ("seconds", "train_loss", "test_accuracy", "images_per_second", "worker_seconds",
                 "wait_seconds", "staleness_mean", "updates", "exchanged_bytes"):
        found = mean_of([run.number(what) for run in runs])
        same(f"{name}.{what} of the run", group[what]["mean"], found["value"])
        same(f"{name}.{what} of the run, deviation", group[what]["deviation"], found["deviation"])


def parity_of(points, margin):
    if not math.isfinite(points["low"]):
        return None
    if -margin <= points["low"] and points["high"] <= margin:
        return "equal"
    if points["high"] < 0:
        return "below"
    return "above" if points["low"] > 0 else "open"


def check_beside(group, reference, runs, others, target, margin):
    name, said = group["arm"], group["beside_reference"]
    theirs = {run.seed: run for run in others}
    pairs = [(run, theirs[run.seed]) for run in runs if run.seed in theirs]
    ours, of = zip(*[(a.way(*target), b.way(*target)) for a, b in pairs])
    workers = [run.number("workers") for run, _ in pairs]
    other_workers = [run.number("workers") for _, run in pairs]

    def pace(way):
        return way[1] / way[2] if math.isfinite(way[2]) else NAN

    time = ratio_of([w[2] for w in ours], [w[2] for w in of])
    work = ratio_of([w[1] for w in ours], [w[1] for w in of])
    speed = ratio_of([pace(w) for w in ours], [pace(w) for w in of])
    cost = ratio_of([w[2] * n for w, n in zip(ours, workers)],
                    [w[2] * n for w, n in zip(of, other_workers)])
    for what, found in (("time", time), ("work", work), ("pace", speed), ("cost", cost)):
        same_estimate(f"{name}.{what}", said[what], found)
    plain = 0 < time["value"] < INF
    same(f"{name}.speed_up", said["speed_up"], 1 / time["value"] if plain else NAN)
    same(f"{name}.statistical_efficiency", said["statistical_efficiency"],
         1 / work["value"] if 0 < work["value"] < INF else NAN)
    same(f"{name}.hardware_efficiency", said["hardware_efficiency"],
         speed["value"] * other_workers[0] / workers[0] if speed["count"] == len(pairs) else NAN)
    points = mean_of([100 * a.number("test_accuracy") - 100 * b.number("test_accuracy") for a, b in pairs])
    same_estimate(f"{name}.accuracy_points", said["accuracy_points"], points)
    same(f"{name}.accuracy_parity", said["accuracy_parity"], parity_of(points, margin))
    same_estimate(f"{name}.train_loss", said["train_loss"],
                  mean_of([a.number("train_loss") - b.number("train_loss") for a, b in pairs]))
    needed = seeds_needed(time["deviation"])
    if needed is not None or said["seeds_needed"] is None or said["seeds_needed"] < 1000:
        same(f"{name}.seeds_needed", said["seeds_needed"], needed)
    same(f"{name}.unequal_work", said["unequal_work"], reference["mode"] == "sync" and work["high"] < 1)


def check(out):
    arms = read(out + "/points.csv")
    with open(out + "/compare.json") as file:
        said = json.load(file)
    names = list(arms)
    same("arms", [group["arm"] for group in said["groups"]], names)
    same("reference", said["reference"], names[0])
    target = (said["target"]["kind"], said["target"]["value"])
    if not said["target"]["asked_for"]:
        same("target", target[1], median_of([run.number("train_loss") for run in arms[names[0]]]))
    for group in said["groups"]:
        same("seeds", sorted(group["seeds"]), sorted(run.seed for run in arms[group["arm"]]))
        check_arm(group, arms[group["arm"]], target)
        if group["arm"] == names[0]:
            same("reference beside itself", group["beside_reference"], None)
        else:
            check_beside(group, said["groups"][0], arms[group["arm"]], arms[names[0]], target, said["margin"])


def main():
    out = sys.argv[1]
    if sys.argv[2:] == ["--between"]:
        least = sorted(min(mean for _, mean in run.trailing_means())
                       for runs in read(out + "/points.csv").values() for run in runs)
        print(f"{(least[len(least) // 2 - 1] + least[len(least) // 2]) / 2:.12g}")
        return 0
    check(out)
    for fault in faults:
        print(fault)
    print(f"{compared} numbers compared, {len(faults)} differ")
    return 1 if faults or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
