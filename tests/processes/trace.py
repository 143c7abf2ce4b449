#!/usr/bin/env python3
"""trace.py - reads a trace as other programs do, and knows nothing of how ours write it.

    trace.py TRACE.json [--steps N] [--processes N] [--paths N] [--hosts N] [--sums RUN.json] [--waits-for WORKER]
             [--computes WORKER:STEPS]

Of the Trace Event Format: every complete event lies in a lane with a name, lanes nest strictly, arrows
are whole, in order of time, each bound to an event, and show the critical path and nothing else.
--computes: so many steps' gradients of a worker are there, the first of them too.
--sums: what workers computed, exchanged and waited adds up to what run.json says, to a microsecond for
each event. One line says what is wrong; the exit code is 1 then.
"""
import argparse
import bisect
import collections
import json
import sys


def wrong(text):
    print("trace.py: " + text)
    sys.exit(1)


def ns(microseconds):
    return round(microseconds * 1000)


def read(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    names = {"process_name": {}, "thread_name": {}}
    lanes, arrows = collections.defaultdict(list), collections.defaultdict(list)
    for event in trace["traceEvents"]:
        where = (event["pid"], event["tid"])
        phase = event["ph"]
        if phase == "M" and event["name"] in names:
            key = event["pid"] if event["name"] == "process_name" else where
            names[event["name"]][key] = event["args"]["name"]
        elif phase == "X":
            if event["ts"] < 0 or event["dur"] < 0:
                wrong("an event before the beginning, or with less than no time: %r" % event)
            lanes[where].append((ns(event["ts"]), ns(event["dur"]), event))
        elif phase in "stf":
            if event["name"] != "critical path" or (phase == "f" and event.get("bp") != "e"):
                wrong("an arrow that is not of the critical path, or is bound to what comes next: %r" % event)
            arrows[event["id"]].append((ns(event["ts"]), phase, where))
        elif phase != "M":
            wrong("an event of kind %r" % phase)
    return trace, names, lanes, arrows


def check_lanes(names, lanes):
    for where, events in lanes.items():
        if where not in names["thread_name"] or where[0] not in names["process_name"]:
            wrong("lane %r has no name" % (where,))
        events.sort(key=lambda event: (event[0], -event[1]))
        ends = []
        for begin, took, event in events:
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and begin + took > ends[-1]:
                wrong("%r overlaps what it does not lie in, in %s" % (event, names["thread_name"][where]))
            ends.append(begin + took)


def check_arrows(lanes, arrows):
    begins = {where: [event[0] for event in events] for where, events in lanes.items()}
    for number, path in arrows.items():
        phases = "".join(phase for _, phase, _ in path)
        if phases[0] != "s" or phases[-1] != "f" or phases[1:-1].strip("t"):
            wrong("arrow %r is %s" % (number, phases))
        if [at for at, _, _ in path] != sorted(at for at, _, _ in path):
            wrong("arrow %r runs back in time" % number)
        for at, _, where in path:
            i = bisect.bisect_right(begins.get(where, []), at)
            if not any(begin <= at <= begin + took for begin, took, _ in lanes[where][max(0, i - 50):i]):
                wrong("arrow %r leads to nothing at %d ns" % (number, at))


def check_sums(names, lanes, path):
    with open(path, encoding="utf-8") as file:
        details = json.load(file)["worker_details"]
    sums, counts = collections.defaultdict(float), collections.Counter()
    for where, events in lanes.items():
        for _, took, event in events:
            wait = event["name"].split("(")[1].split(")")[0] if event["cat"] == "wait" else ""
            key = (names["process_name"][where[0]], event["cat"], wait)
            sums[key] += took * 1e-9
            counts[key] += 1
    for number, worker in enumerate(details):
        said = {("compute", ""): worker["compute_seconds"], ("exchange", ""): worker["exchange_seconds"],
                ("score", ""): worker["evaluate_seconds"]}
        said.update({("wait", what): seconds for what, seconds in worker["waits"].items()})
        for (kind, what), seconds in said.items():
            key = ("worker/%d" % number, kind, what)
            if abs(sums[key] - seconds) > 1e-6 * (counts[key] + 1):
                wrong("worker/%d: %s %s is %.6f s in %s, and %.6f s in the trace"
                      % (number, kind, what, seconds, path, sums[key]))


def check_computed(names, lanes, wish):
    worker, least = wish.split(":")
    steps = {event["args"]["step"] for where, events in lanes.items() for _, _, event in events
             if event["cat"] == "compute" and names["process_name"][where[0]] == worker}
    if 0 not in steps or len(steps) < int(least):
        wrong("%s computes steps %s" % (worker, sorted(steps)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    for option in ("steps", "processes", "paths", "hosts"):
        parser.add_argument("--" + option, type=int)
    parser.add_argument("--sums")
    parser.add_argument("--waits-for")
    parser.add_argument("--computes")
    wish = parser.parse_args()
    trace, names, lanes, arrows = read(wish.trace)
    check_lanes(names, lanes)
    check_arrows(lanes, arrows)
    about = trace["otherData"]
    steps = [event for _, _, event in lanes[(1, 1)]]
    found = {"steps": about["steps_shown"], "processes": len(names["process_name"]) - 1,
             "paths": len(arrows), "hosts": len(about["hosts"])}
    for what, count in found.items():
        wanted = getattr(wish, what)
        if wanted is not None and wanted != count:
            wrong("%d %s, not %d" % (count, what, wanted))
    if not steps or len(arrows) > found["steps"]:
        wrong("%d steps in their lane, and %d paths" % (len(steps), len(arrows)))
    if any(host["clock_error_us"] is None or host["clock_error_us"] < 0 for host in about["hosts"]):
        wrong("a clock of which nothing is known: %r" % about["hosts"])
    waits = [event for events in lanes.values() for _, _, event in events if event["cat"] == "wait"]
    if wish.waits_for and not any(event["args"].get("for") == wish.waits_for for event in waits):
        wrong("nobody waits for " + wish.waits_for)
    if wish.computes:
        check_computed(names, lanes, wish.computes)
    if wish.sums:
        check_sums(names, lanes, wish.sums)
    kinds = collections.Counter(event["cat"] for events in lanes.values() for _, _, event in events)
    print("%d steps, %d processes, %d lanes, %d paths; %s" % (found["steps"], found["processes"], len(lanes), found["paths"],
          ", ".join("%d %s" % (count, kind) for kind, count in sorted(kinds.items()))))


main()
