"""Works out again, from points.csv and runs.csv, what compare.json says: an independent reader with a Student's t of
its own (by the incomplete beta function, where the program has a finite sum). Exits with 1, and says what
differs, unless everything agrees to one part in 10^9.

    conclusion.py OUT             compares them with OUT/compare.json
    conclusion.py OUT --between   prints a loss that about half of all runs come to
"""

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


def estimate(value, count, deviation=NAN, low=NAN, high=NAN, level=NAN, p=NAN):
    return {"value": value, "deviation": deviation, "low": low, "high": high, "level": level, "p": p,
            "count": count}


def mean_of(values):
    values = known(values)
    n = len(values)
    if n == 0:
        return estimate(NAN, 0)
    mean = math.fsum(values) / n if all(map(math.isfinite, values)) else INF
    if n < 3 or math.isinf(mean):
        return estimate(mean, n)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    error = deviation / math.sqrt(n)
    half = t_quantile(0.975, n - 1) * error
    p = 2 * t_above(abs(mean) / error, n - 1) if error > 0 else float(mean == 0)
    return estimate(mean, n, deviation, mean - half, mean + half, 0.95, p)


def median_of(values):
    values = sorted(known(values))
    n = len(values)
    return NAN if n == 0 else (values[(n - 1) // 2] + values[n // 2]) / 2


def olympic_of(values):
    values = sorted(known(values))
    return NAN if len(values) < 5 else sum(values[1:-1]) / (len(values) - 2)


def tail(n, k):
    """The chance of at most k heads of n tosses."""
    return sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n


def ratio_of(ours, theirs):
    """Of a pair of which neither got there nothing is known, and it is none."""
    ratios = sorted(a / b for a, b in zip(ours, theirs)
                    if not (math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b))))
    if all(0 < ratio < INF for ratio in ratios):
        logs = mean_of([math.log(ratio) for ratio in ratios])
        return dict(logs, value=math.exp(logs["value"]), low=math.exp(logs["low"]), high=math.exp(logs["high"]))
    # Someone did not get there: the median, between the k-th from either end; signs of those that are not 1.
    n = len(ratios)
    if n < 3:
        return estimate(median_of(ratios), n)
    k = max([k for k in range(1, n // 2 + 1) if 2 * tail(n, k - 1) <= 0.05], default=1)
    below, above = sum(ratio < 1 for ratio in ratios), sum(ratio > 1 for ratio in ratios)
    return estimate(median_of(ratios), n, NAN, ratios[k - 1], ratios[n - k], 1 - 2 * tail(n, k - 1),
                    min(1.0, 2 * tail(below + above, min(below, above))))


def holm(tests):
    """Adjusted, under the same names."""
    held, least = {}, 0.0
    for rank, name in enumerate(sorted(tests, key=tests.get)):
        least = min(1.0, max(least, (len(tests) - rank) * tests[name]))
        held[name] = least
    return held


def visible_with(ratio):
    if not math.isfinite(ratio["deviation"]):
        return NAN
    n = ratio["count"]
    return math.expm1((t_quantile(0.975, n - 1) + t_quantile(0.8, n - 1)) * ratio["deviation"] / math.sqrt(n))


# --- runs ----------------------------------------------------------------------------------------

DONE, DIVERGED, UNKNOWN = range(3)
ENDS = ["done", "diverged", "failed"]


class Run:
    def __init__(self, seed):
        self.seed, self.summary, self.losses, self.scores, self.moved = seed, {}, [], [], {}

    def number(self, name):
        return self.summary.get(name, NAN)

    def trailing_means(self, window):
        for last, (place, _) in enumerate(self.losses):
            total = weight = 0.0
            for at in range(last, -1, -1):
                before = self.losses[at - 1][0][1] if at > 0 else 0.0
                here = self.losses[at][0][1] - before
                total += here * self.losses[at][1]
                weight += here
                if weight >= window:
                    yield place, total / weight
                    break


class Comparison:
    """What all runs decide: the window, the start, how each run ended, and who learned."""

    def __init__(self, arms):
        runs = [run for of_arm in arms.values() for run in of_arm]
        done = [run for run in runs if "planned_examples" in run.summary]
        shortest = min((run.number("planned_examples") for run in done), default=0)
        self.window = min(max(shortest / 20, 2000), shortest / 4)
        classes = {run.number("classes") for run in done}
        self.classes = classes.pop() if len(classes) == 1 else 0
        self.start = math.log(self.classes) if self.classes > 1 else median_of(
            [run.losses[0][1] for run in done if run.losses])
        self.ends = {run: self.end_of(run) for run in runs}
        self.arms = arms

    def end_of(self, run):
        if run.number("end") != DONE:
            return INF if run.number("end") == DIVERGED else NAN
        means = [mean for _, mean in run.trailing_means(self.window)]
        return means[-1] if means else NAN

    def ladder(self):
        medians = {arm: median_of([self.ends[run] for run in runs]) for arm, runs in self.arms.items()}
        best = min(known(medians.values()), default=INF)
        if not best < 0.99 * self.start:
            return []
        limit = self.start - (self.start - best) / 2
        worst = {}
        for arm, runs in self.arms.items():
            ends = known(self.ends[run] for run in runs)
            learned = [end for end in ends if end <= limit]
            if len(learned) > len(ends) / 2:
                worst[arm] = max(learned)
        if not worst:
            return []
        common, deep = max(worst.values()), worst[min(worst, key=medians.get)]
        if common - deep < 0.02 * (self.start - best):
            return [round_up(common)]
        return [round_up(common), round_up((common + deep) / 2), round_up(deep)]

    def way(self, run, kind, value):
        """What became of it, and batches, examples and seconds until then; infinite: never, NaN: not known."""
        end = run.number("end")
        if end != DONE:
            return ("diverged", *[INF] * 3) if end == DIVERGED else ("unknown", *[NAN] * 3)
        if kind == "accuracy":
            places = [place for place, accuracy in run.scores if accuracy >= value]
            back = run.scores and run.scores[-1][1] < value - (value - 1 / self.classes) / 10
            known_ = bool(run.scores)
        else:
            means = list(run.trailing_means(self.window))
            places = [place for place, mean in means if mean <= value]
            back = self.ends[run] > value + (self.start - value) / 10
            known_ = bool(means)
        if places and not back:
            return ("reached", *places[0])
        return ("came_back" if places else "ended_short", *[INF] * 3) if known_ else ("unknown", *[NAN] * 3)


def round_up(value):
    """To four digits, and as it is printed."""
    unit = 10 ** (math.floor(math.log10(value)) - 3)
    return float(f"{math.ceil(value / unit * (1 - 1e-13)) * unit:.4g}")


def read(out):
    arms = {}
    with open(out + "/runs.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            run = arms.setdefault(row["arm"], {})[int(row["seed"])] = Run(int(row["seed"]))
            for name, text in row.items():
                try:
                    run.summary[name] = float(text)
                except ValueError:
                    pass
            run.summary["end"] = ENDS.index(row["end"])
    with open(out + "/points.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            run = arms[row["arm"]][int(row["seed"])]
            value = float(row["value"])
            place = (float(row["step"]), float(row["examples"]),
                     float(row["seconds"]) if row["seconds"] else NAN)
            if row["metric"] == "loss":
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
    for name in ("deviation", "low", "high", "level", "count"):
        same(f"{what}.{name}", said[name], found[name])
    same(f"{what}.{value}", said[value], found["value"])


NEVER = ("reached", "came_back", "ended_short", "diverged", "unknown")
WAYS = {"batches": lambda run, way: way[1],
        "examples": lambda run, way: way[2],
        "seconds": lambda run, way: way[3],
        "updates": lambda run, way: way[1] // run.number("accumulate") if math.isfinite(way[1]) else way[1],
        "worker_seconds": lambda run, way: way[3] * run.number("workers") if math.isfinite(way[3]) else way[3]}


def check_arm(group, runs, whole, target):
    name = group["arm"]
    said = group["to_target"]
    ways = [whole.way(run, *target) for run in runs] if target[0] else []
    same(f"{name}.runs", said["runs"], len(known(w[3] for w in ways)))
    same(f"{name}.reached", said["reached"], sum(math.isfinite(w[3]) for w in ways))
    numbers = {what: [number(run, way) for run, way in zip(runs, ways)] for what, number in WAYS.items()}
    # Who did not get there has no such place, and is as infinite in bytes as in all else.
    numbers["exchanged_bytes"] = [run.moved.get((target[0], way[1:]), way[3]) for run, way in zip(runs, ways)]
    for what, values in numbers.items():
        same_estimate(f"{name}.{what}", said[what], mean_of(values), "mean")
        same(f"{name}.{what}.median", said[what]["median"], median_of(values))
        same(f"{name}.{what}.olympic", said[what]["olympic"], olympic_of(values))
    done = [run for run in runs if "workers" in run.summary]
    for what in ("seconds", "train_loss", "test_accuracy", "images_per_second", "worker_seconds",
                 "wait_seconds", "staleness_mean", "updates", "exchanged_bytes"):
        found = mean_of([run.number(what) for run in done])
        same(f"{name}.{what} of the run", group[what]["mean"], found["value"])
        same(f"{name}.{what} of the run, deviation", group[what]["deviation"], found["deviation"])
    check_update(group, done)


def check_update(group, done):
    """Sync deals a step's leaves over the workers, and waits for all but the spare ones."""
    if not done:
        return
    batch, workers = done[0].number("batch"), done[0].number("workers")
    dealt, spare = 1, 0
    if group["mode"].startswith(("sync", "allreduce")):
        dealt = min(workers, math.ceil(batch / done[0].number("leaf")))
        spare = int(group["mode"].partition("+backup:")[2] or 0)
    computations = min(dealt, workers - spare) * done[0].number("accumulate")
    same(f"{group['arm']}.update", group["update"]["computations"], float(computations))
    same(f"{group['arm']}.update examples", group["update"]["examples"], batch / dealt)


def parity_of(points, margin):
    if not math.isfinite(points["low"]):
        return None
    if -margin <= points["low"] and points["high"] <= margin:
        return "equal"
    if points["high"] < 0:
        return "below"
    return "above" if points["low"] > 0 else "open"


def pairs_of(runs, others):
    """Known ones of one seed."""
    theirs = {run.seed: run for run in others if run.number("end") != UNKNOWN}
    return [(run, theirs[run.seed]) for run in runs if run.seed in theirs and run.number("end") != UNKNOWN]


def check_ladder(group, whole, first, target, ladder):
    """Returns how the times of the first rung are beside the reference's."""
    name, runs = group["arm"], whole.arms[group["arm"]]
    pairs = pairs_of(runs, whole.arms[first])
    times = []
    for said, value in zip(group["to_target"]["ladder"], ladder):
        ways = [whole.way(run, target[0], value) for run in runs]
        for outcome in NEVER:
            same(f"{name} {outcome} at {value}", said[outcome], sum(way[0] == outcome for way in ways))
        same(f"{name} median at {value}", said["median"], median_of([way[3] for way in ways]))
        times.append(ratio_of(*[[whole.way(pair[i], target[0], value)[3] for pair in pairs] for i in (0, 1)]))
        if name != first:
            same_estimate(f"{name}.time at {value}", said["time"], times[-1])
    same(f"{name}.ladder", len(group["to_target"]["ladder"]), len(ladder))
    return times[0] if times else estimate(NAN, 0)


def check_beside(group, whole, first, target, margin):
    name, said = group["arm"], group["beside_reference"]
    runs, others = whole.arms[name], whole.arms[first["arm"]]
    pairs = pairs_of(runs, others)
    nothing = ("unknown", NAN, NAN, NAN)
    ours, of = [[whole.way(pair[i], *target) if target[0] else nothing for pair in pairs] for i in (0, 1)]
    workers, other_workers = float(group["workers"]), float(first["workers"])

    def pace(way):
        return way[2] / way[3] if math.isfinite(way[3]) else NAN

    def accuracy(run):
        return 100 / whole.classes if run.number("end") == DIVERGED else 100 * run.number("test_accuracy")

    def loss(run):
        return INF if run.number("end") == DIVERGED else run.number("train_loss")

    time = ratio_of([w[3] for w in ours], [w[3] for w in of])
    work = ratio_of([w[2] for w in ours], [w[2] for w in of])
    speed = ratio_of([pace(w) for w in ours], [pace(w) for w in of])
    cost = ratio_of([w[3] * workers for w in ours], [w[3] * other_workers for w in of])
    for what, found in (("time", time), ("work", work), ("pace", speed), ("cost", cost)):
        same_estimate(f"{name}.{what}", said[what], found)
    plain = 0 < time["value"] < INF
    same(f"{name}.speed_up", said["speed_up"], 1 / time["value"] if plain else NAN)
    same(f"{name}.statistical_efficiency", said["statistical_efficiency"],
         1 / work["value"] if 0 < work["value"] < INF else NAN)
    same(f"{name}.hardware_efficiency", said["hardware_efficiency"],
         speed["value"] * other_workers / workers if speed["count"] == len(pairs) else NAN)
    points = mean_of([accuracy(a) - accuracy(b) for a, b in pairs])
    same_estimate(f"{name}.accuracy_points", said["accuracy_points"], points)
    same(f"{name}.accuracy_parity", said["accuracy_parity"], parity_of(points, margin))
    same_estimate(f"{name}.train_loss", said["train_loss"], mean_of([loss(a) - loss(b) for a, b in pairs]))
    same(f"{name}.visible", said["visible"], visible_with(time))
    same(f"{name}.unequal_work", said["unequal_work"], first["mode"] == "sync" and work["high"] < 1)


def word_of(time, runs, reached, p):
    if runs > 0 and reached == 0:
        return "never"
    if time["low"] >= 0.98 and time["high"] <= 1.02:
        return "alike"
    if math.isnan(p):
        return None
    if p <= 0.05:
        return "sooner" if time["value"] < 1 else "later"
    return "not told apart"


def check_words(groups, times):
    tests = {group["arm"]: times[group["arm"]]["p"] for group in groups[1:]
             if group["to_target"]["reached"] > 0 and not math.isnan(times[group["arm"]]["p"])}
    held = holm(tests)
    for group in groups[1:]:
        name, way = group["arm"], group["to_target"]
        p = held.get(name, NAN)
        same(f"{name}.p", group["beside_reference"]["p"], p)
        same(f"{name}.word", group["beside_reference"]["word"],
             word_of(times[name], way["runs"], way["reached"], p))


def check(out):
    arms = read(out)
    with open(out + "/compare.json", encoding="utf-8") as file:
        said = json.load(file)
    names, groups, whole = list(arms), said["groups"], Comparison(arms)
    same("arms", [group["arm"] for group in groups], names)
    same("reference", said["reference"], names[0])
    same("window", said["target"]["window"], whole.window)
    same("start", said["target"]["start"], whole.start)
    ladder = said["target"]["ladder"]
    if not said["target"]["asked_for"]:
        ladder = whole.ladder()
        same("ladder", said["target"]["ladder"], ladder)
        same("kind", said["target"]["kind"], "loss" if ladder else None)
    target = (said["target"]["kind"], ladder[0] if ladder else NAN)
    times = {}
    for group in groups:
        same("seeds", sorted(group["seeds"]),
             sorted(run.seed for run in arms[group["arm"]] if "workers" in run.summary))
        check_arm(group, arms[group["arm"]], whole, target)
        times[group["arm"]] = check_ladder(group, whole, names[0], target, ladder)
        if group["arm"] == names[0]:
            same("reference beside itself", group["beside_reference"], None)
        else:
            check_beside(group, whole, groups[0], target, said["margin"])
    check_words(groups, times)


def main():
    out = sys.argv[1]
    if sys.argv[2:] == ["--between"]:
        whole = Comparison(read(out))
        least = sorted(whole.ends.values())
        print(f"{(least[len(least) // 2 - 1] + least[len(least) // 2]) / 2:.12g}")
        return 0
    check(out)
    for fault in faults:
        print(fault)
    print(f"{compared} numbers compared, {len(faults)} differ")
    return 1 if faults or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
