#!/usr/bin/python3
"""Makes a recorded run again in NumPy's float64, from common/job/ARITHMETIC.md alone, and says how far the run is from it.

    tests/reference/replay.py OUT --data FOLDER [--plant RULE]

No code is shared with the programs: a rule that is wrong there, and so in `syncopate replay` as well, shows here.
OUT is a run's folder, FOLDER has its IDX files. Printed is the distance: for each variable the largest |difference|
of an element in OUT/model.safetensors and here, divided by the largest |value| that the variable has here; of all
variables the largest. The run is float32, each operation rounded, this is float64: after some 100 updates, none of
them chaotic, they are some 1e-7 apart. Exit code 0: at most 1e-6, and what the mode promises of the values that
gradients are made from holds; 1: not so, with a line.
"""

import argparse
import gzip
import itertools
import json
import math
import pathlib
import struct
import sys

import numpy as np

import record
from network import gradient, layers
from record import holds
from rules import RULES

PLANTS = {
    "staleness-less-one": "the rate is divided by a staleness that is one too small",
    "newer-base": "what compensates takes the version after the base for the base",
    "l2-on-biases": "l2 is added to biases, too",
    "last-of-the-group": "a group's rate is by its last gradient's staleness, not by the greatest",
    "schedule-one-late": "the schedule's number of updates is one too small",
    "bound-less-one": "ssp: what values must have had is as if the bound were one smaller",
    "dropped-leaves-too": "backup workers: a step is of all its leaves",
}


def single(x):
    return float(np.float32(x))


# --- section 8: what the declaration decides ------------------------------------------------------


def philox(seed, numbers, sub_stream, stream):
    """Philox4x32-10: four numbers of 32 bits for each of `numbers`."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    n = np.arange(numbers, dtype=np.uint64)
    x = [n & low, n >> high, np.full_like(n, sub_stream), np.full_like(n, stream)]
    for _ in range(10):
        p, q = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [(q >> high) ^ x[1] ^ np.uint64(k0), q & low, (p >> high) ^ x[3] ^ np.uint64(k1), p & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(x, axis=-1).reshape(-1)


def initial(seed, number, variable):
    count = math.prod(variable["shape"])
    if variable["initializer"] == "zeros":
        return np.zeros(count)
    limit = np.float32(math.sqrt(6 / (variable["fan_in"] + variable["fan_out"])))
    u = (philox(seed, -(-count // 4), number, 1)[:count] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
    return ((np.float32(2) * u - np.float32(1)) * limit).astype(float)


def order(seed, epoch, examples):
    numbers, places = iter(philox(seed, examples, epoch, 2).tolist()), list(range(examples))
    for i in range(examples - 1, 0, -1):
        r = next(r for r in numbers if r >= 2**32 % (i + 1)) % (i + 1)
        places[i], places[r] = places[r], places[i]
    return places


class Job:
    """The declaration as run.json has it, and what follows from it."""

    def __init__(self, out, data, plant):
        run = json.loads((out / "run.json").read_text())
        self.declared, self.out, self.plant, self.steps = run["job"], out, plant, run["step"]
        self.seed, self.mode, self.batch = (run["job"][name] for name in ("seed", "mode", "batch"))
        self.settings = {name: single(v) for name, v in run["job"]["optimizer"].items() if name != "name"}
        self.settings.setdefault("weight_decay", 0.0)
        self.rule = RULES[run["job"]["optimizer"]["name"]]
        self.images, self.labels = (read_idx(data, kind) for kind in ("images-idx3", "labels-idx1"))
        self.images = self.images[..., None] / 255
        self.layers, _ = layers(run["job"]["model"], *self.images.shape[1:])
        self.variables, self.begins, end = run["job"]["variables"], [], 0
        for v in self.variables:  # On granules of 16 elements.
            self.begins.append(end)
            end += -(-math.prod(v["shape"]) // 16) * 16
        self.values, self.kernel, self.slots = np.zeros(end), np.zeros(end), {}  # The parameter space.
        for i, (v, values, kernel) in enumerate(zip(self.variables, self.views(self.values), self.views(self.kernel))):
            values[:] = initial(self.seed, i, v).reshape(v["shape"])
            kernel[:] = len(v["shape"]) > 1
        self.workers = run["job"]["worker_count"]  # Of the last session.
        self.epoch_batches, self.orders = -(-run["job"]["examples"] // self.batch), {}

    def get(self, name, default=0):
        return self.declared.get(name, default)

    def views(self, space):
        """Each variable's part of an array of the parameter space, in the variable's shape."""
        return [space[a : a + math.prod(v["shape"])].reshape(v["shape"]) for a, v in zip(self.begins, self.variables)]

    def examples_of(self, step):
        epoch, k = divmod(step, self.epoch_batches)
        if epoch not in self.orders:
            self.orders[epoch] = order(self.seed, epoch, self.get("examples"))
        return self.orders[epoch][k * self.batch : (k + 1) * self.batch]

    def gradient(self, space, examples):
        """Summed over the examples; where the parameter space has gaps 0."""
        total = np.zeros_like(space)
        _, gradients = gradient(self.layers, self.views(space), self.images[examples], self.labels[examples])
        for view, g in zip(self.views(total), gradients):
            view[:] = g
        return total

    def rate(self, v):
        """For an update at v, before what staleness makes of it."""
        s, v = self.get("schedule"), max(0, v - (self.plant == "schedule-one-late"))
        decay, warmup, first = 1, 1, s.get("warmup_from", 0)
        if s["kind"] == "step":
            decay = s["decay_factor"] ** (v // s["decay_steps"])
        elif s["kind"] == "cosine":
            part = min(v, s["decay_steps"]) / s["decay_steps"]
            decay = (1 - s["decay_factor"]) * (0.5 * (1 + math.cos(math.pi * part))) + s["decay_factor"]
        if v < s["warmup_steps"]:
            warmup = first + (1 - first) * (v + 1) / s["warmup_steps"]
        return s["learning_rate"] * decay * warmup


def read_idx(folder, kind):
    for path in folder.glob("train-%s-ubyte*" % kind):
        raw = (gzip.open if path.suffix == ".gz" else open)(path, "rb").read()
        sizes = struct.unpack(">%dI" % raw[3], raw[4 : 4 + 4 * raw[3]])
        return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes)
    sys.exit("%s has no train-%s-ubyte" % (folder, kind))


# --- sections 8 and 9: a chunk, and what is done to it --------------------------------------------


class Computation:
    """The gradient of a batch, made from version bases[i] of chunk i: its sum over the examples, once computed."""

    def __init__(self, bases, examples, number, batch):
        self.bases, self.examples, self.number, self.batch = bases, examples, number, batch

    def compute(self, job, chunks):
        space = np.concatenate([chunk.history[base] for chunk, base in zip(chunks, self.bases)])
        self.total = job.gradient(space, self.examples)


class Chunk:
    """Chunk i, elements [first, first + count) of the parameter space; values are updated in place."""

    def __init__(self, job, i, first, count, batches=0, version=0):
        self.job, self.i, self.part = job, i, slice(first, first + count)
        self.values, self.kernel = job.values[self.part], job.kernel[self.part]
        self.slots = {name: slot[self.part] for name, slot in job.slots.items()}
        self.batches, self.version, self.cut = batches, version, None
        self.history = {version: self.values.copy()}
        self.entries, self.places = [], {}  # Those to come; the version at which each batch was had.
        self.group, self.held = [], 0  # What is held: (sum, divisor, staleness) each; of how many batches.

    def advance(self, version):
        while self.version < version and self.entries:
            self.take(*self.entries.pop(0))
        holds(self.version >= version, "version %d is a base, and chunk %d has had %d", version, self.i, self.version)

    def take(self, computation, closes, left_out):
        job, base, limit = self.job, computation.bases[self.i], self.job.get("max_staleness")
        tau = self.version - base
        holds(tau >= 0, "computation %d is made from a version to come", computation.number)
        holds(not limit or left_out == (tau > limit), "staleness %d, and left out: %s", tau, left_out)
        if not left_out:
            divisor = job.batch if job.get("loss_scale") == "global-batch" else len(computation.examples)
            total = self.compensated(computation.total[self.part], divisor, tau, base)
            self.group.append((total, divisor, tau))
        self.places[computation.batch] = self.version
        self.batches, self.held = self.batches + 1, self.held + 1
        full = self.held == job.get("accumulate", 1) or self.batches % job.epoch_batches == 0
        full = full or self.batches in (job.steps, self.cut)
        holds(closes == full, "chunk %d: a group of %d is applied at batch %d: %s", self.i, self.held, self.batches, closes)
        if closes:
            if self.group:
                self.update(job.rate(self.batches - 1), *zip(*self.group))
            self.group, self.held, self.version = [], 0, self.version + 1
            self.history[self.version] = self.values.copy()

    def compensated(self, total, divisor, tau, base):
        job, strength, g = self.job, single(self.job.get("delay_compensation")), total / divisor
        if not strength:
            return total
        if job.get("compensation_adapts"):
            squares = self.slots["squares"] = 0.95 * self.slots.get("squares", 0) + 0.05 * g * g
            strength = np.minimum(1, strength / np.sqrt(squares + 1e-7))
        then = self.history[base + (job.plant == "newer-base" and tau > 0)]
        return total + strength * g * total * (self.values - then)

    def update(self, rate, totals, divisors, taus):
        job = self.job
        tau = taus[-1] if job.plant == "last-of-the-group" else max(taus)
        by = {"inverse": tau - (job.plant == "staleness-less-one"), "constant": job.workers - 1}
        rate /= max(1, by.get(job.get("staleness_rate"), 1))
        g = sum(totals) / sum(divisors)
        g = g + 2 * single(job.get("l2")) * self.values * (1 if job.plant == "l2-on-biases" else self.kernel)
        self.values[:] = job.rule(job.settings, self.slots, self.values, g, rate, self.version + 1, self.kernel)


# --- section 9: the modes -------------------------------------------------------------------------


def replay_record(job):
    """Async and ssp: each gradient from its values, and each chunk's in their order."""
    for session in record.sessions(job.out):
        job.workers = session.workers
        begins = itertools.accumulate(session.sizes, initial=0)
        chunks = [
            Chunk(job, i, begin, size, session.batches, session.version)
            for i, (begin, size) in enumerate(zip(begins, session.sizes))
        ]
        replay_session(job, chunks, session)
        job.slots = {name: np.concatenate([c.slots[name] for c in chunks]) for name in chunks[0].slots}
    return chunks[0].batches


def replay_session(job, chunks, session):
    known, announced, clocks = {}, [], {}  # Of this generation; since the last cut; process -> clock -> batch.
    for what, told in session.blocks():
        if what == "GENERATION":
            known, clocks = {}, {}
        elif what == "COMPUTATION":
            number, worker, batch, clock, bases = told
            c = known[number] = Computation(bases, job.examples_of(batch), number, batch)
            c.seen = batches_seen(job, clocks, worker, clock)
            clocks.setdefault(worker, {})[clock] = batch
            announced.append(c)
        elif what == "ENTRY":
            chunk, number, closes, left_out = told
            chunks[chunk].entries.append((known[number], closes, left_out))
        elif what == "CUT":
            replay_to_cut(job, chunks, announced, *told)
            announced = []


def replay_to_cut(job, chunks, announced, batches, version):
    for chunk in chunks:
        chunk.cut = batches
    for c in announced:  # By their numbers: what a base has had comes before.
        for chunk, base in zip(chunks, c.bases):
            chunk.advance(base)
        c.compute(job, chunks)
    for chunk in chunks:
        chunk.advance(version)
        holds((chunk.batches, chunk.entries) == (batches, []), "a cut at %d, not %d", batches, chunk.batches)
        for c in announced:
            late = [batch for batch in c.seen if chunk.places[batch] >= c.bases[chunk.i]]
            holds(not late, "computation %d lacks batches %s in chunk %d", c.number, late, chunk.i)


def batches_seen(job, clocks, worker, clock):
    """P4 of CONTRACT.md: the batches that all values must have had of which this worker computes at this clock."""
    seen, bound = [], job.get("staleness_bound") - (job.plant == "bound-less-one")
    for other, batches in clocks.items() if job.mode == "ssp" else ():
        reached = clock - (0 if other == worker else bound)
        holds(max(batches) >= reached - 1, "worker %s is %d batches ahead of %s", worker, clock - max(batches), other)
        seen += [batch for k, batch in batches.items() if k < reached]
    return seen


def replay_steps(job):
    """Sync, all-reduce and backup workers: a step is one update, of all its leaves or of those of its set."""
    whole, sets = Chunk(job, 0, 0, len(job.values)), record.sets(job.out)
    for step, leaves in steps_of(job, sets):
        c = Computation([step], sum(leaves, []), step, step)
        c.compute(job, [whole])
        whole.take(c, True, False)
    return whole.batches


def steps_of(job, sets):
    """Each step's number, and its leaves, each a list of examples."""
    size = job.get("micro_batch")
    for step in range(job.steps):
        examples = job.examples_of(step)
        leaves = [examples[i : i + size] for i in range(0, len(examples), size)]
        chosen = range(len(leaves))
        if sets and job.plant != "dropped-leaves-too":
            chosen, workers = sets[step]
            holds_whole_runs(len(leaves), chosen, workers, workers - job.get("backup_workers"))
        yield step, [leaves[i] for i in chosen]


def holds_whole_runs(n, chosen, workers, awaited):
    """A set is what those workers were dealt that the step waited for; all leaves, where some had none."""
    runs = [set(range(p * n // workers, (p + 1) * n // workers)) for p in range(workers)]
    of = [run for run in runs if run and run <= set(chosen)]
    wanted = awaited if n >= workers else n
    holds(len(of) == wanted and set().union(*of) == set(chosen), "the set %s is not of %d workers", chosen, wanted)


# --- the comparison -------------------------------------------------------------------------------


def distance(job):
    raw = (job.out / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header, worst = json.loads(raw[8 : 8 + length]), (0, "")
    for v, ours in zip(job.variables, job.views(job.values)):
        begin, end = (8 + length + at for at in header[v["name"]]["data_offsets"])
        theirs = np.frombuffer(raw[begin:end], "<f4").reshape(v["shape"])
        holds(np.isfinite(theirs).all() and np.isfinite(ours).all(), "%s is not finite", v["name"])
        worst = max(worst, (np.abs(theirs - ours).max() / np.abs(ours).max(), v["name"]))
    return worst


def main():
    rules = "; ".join("%s: %s" % rule for rule in PLANTS.items())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=rules)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--plant", choices=PLANTS, help="compute by this wrong rule")
    options = parser.parse_args()
    job = Job(options.out, options.data, options.plant)
    done = (replay_record if job.mode in ("async", "ssp") else replay_steps)(job)
    holds(done == job.steps, "%d batches are recorded, the run made %d", done, job.steps)
    worst, name = distance(job)
    print("%.1e %s, %d batches of %s" % (worst, name, done, job.mode))
    return int(worst > 1e-6)


# The page's own examples.
assert order(1, 0, 10) == [9, 8, 2, 1, 7, 0, 4, 5, 6, 3]
assert ["%08x" % x for x in philox(1, 1, 0, 1)] == ["127bee41", "1e047488", "48842b20", "0a393496"]

if __name__ == "__main__":
    sys.exit(main())
