#!/usr/bin/env python3
"""mutants.py BUILD SAMPLE SEED FILE... - small changes of the code that no test finds (`make mutants`).

A mutant is one change in a function: a comparison or a condition turned round, && for ||, + for -, 1
for 0, true for false, a statement or a ++ left out. Assertions, invariants (*_check) and texts stay.
Mutants are made in a copy of the tree. One that does not compile, or compiles to the same code, does
not count. It is killed when a test fails, crashes, leaks or takes too long; the cheapest come first.
SAMPLE of all mutants are drawn (0: all); V=1 prints those killed as well. mutants.txt lists known
survivors with the reason: they count, but are neither run nor printed. With others the exit code is 1."""
import collections, glob, os, random, re, resource, subprocess, sys, tempfile  # noqa: E401

BUILD, SAMPLE, SEED, FILES = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
for absent in [path for path in FILES if not os.path.isfile(path)]:
    sys.exit(f"mutants.py: there is no {absent}")
STAGES = {"unit": "tests/together/unit", "talks": "tests/talks/talk",
          "memory": "tests/unit/owner/test_owner_memory", "simulator": "tests/simulated/test_simulator",
          "verify": "syncopate", "histories": "tests/simulated/test_histories"}
LEAKS = {"unit", "memory", "verify"}  # Programs that free what they have, linked with LeakSanitizer.
ROOMS = ["mode", "shard", "owner", "work", "client", "router", "ps"]
ALONE = {"test_client", "test_owner_memory"}  # Unit tests that are programs of their own.
MODES = {"sync": ["sync", "sync+backup", "allreduce"], "async": ["async", "ssp"], "ssp": ["ssp"],
         "backup": ["sync+backup"], "allreduce": ["allreduce"], "aggregator": ["sync", "allreduce"]}
SWAPS = {r" < ": " <= ", r" <= ": " < ", r" > ": " >= ", r" >= ": " > ", r" == ": " != ", r" != ": " == ",
         r" && ": " || ", r" \|\| ": " && ", r" \+ ": " - ", r" - ": " + ", r" \+= ": " -= ",
         r" -= ": " += ", r"(?<![\w.{])0(?![\w.])": "1", r"(?<![\w.{])1(?![\w.])": "0",
         r"\btrue\b": "false", r"\bfalse\b": "true", r"\+\+": ""}
UNTOUCHED = r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]+'|^#(?:[^\n]*\\\n)*[^\n]*|" \
            r"\b(?:assert|INVARIANT|RULE|_Static_assert)\([^;]*;"
FUNCTION = r"^\w[^;{}]*?\b(?!\w*(?:check|explain))(\w+)\([^;{}]*\)\n\{\n.*?^\}"
NO_STATEMENT = r"(?:const|static|struct|enum|bool|float|double|int|unsigned|size_t|u?int\d+_t|char|" \
               r"for|if|while|do|else|return|break|continue|case|default|goto|switch|log_\w+)\b"
STATEMENT = r"(?<=[;{}):~])\s*\n\s*(?!" + NO_STATEMENT + r")((?:\w|\*\w|--)[^;{}]*(?:=|\(|\+\+|--)[^;{}]*;)"

def changes(source):
    """The function, start, end and new text of each mutant."""
    text = re.sub(UNTOUCHED, lambda match: re.sub(r"[^\n]", "~", match[0]), source, flags=re.S | re.M)
    for body in re.finditer(FUNCTION, text, re.S | re.M):
        where, name = (text, body.end(1), body.end()), body[1]
        for pattern, other in SWAPS.items():
            for match in re.compile(pattern).finditer(*where):
                if other or "for (" not in text[text.rindex("\n", 0, match.start()):match.start()]:
                    yield name, *match.span(), other
        for match in re.compile(r"\bif (?=\()").finditer(*where):
            start, end = match.end(), match.end() + 1
            while text.count("(", start, end) > text.count(")", start, end):
                end += 1
            yield name, start, end, "(!" + source[start:end] + ")"
        for match in re.compile(STATEMENT).finditer(*where):
            yield name, *match.span(1), "{" + "\n" * match[1].count("\n") + "}"

def lines(source, start, end, other):
    """The lines of a mutant, before and after."""
    first, last = source.rindex("\n", 0, start) + 1, source.index("\n", end)
    both = source[first:last], source[first:start] + other + source[end:last]
    return " -> ".join(" ".join(text.split()).replace("{ }", "{}") for text in both)

def run(command, seconds=60, **options):
    """Whether it ended well, within so many seconds of the processor."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 100}
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # noqa: E731
    try:
        return subprocess.run(command, preexec_fn=limit, **quiet, **options).returncode == 0
    except subprocess.TimeoutExpired:
        return False

def compiled(commands, path, text):
    """The path of the object and its bytes, or None."""
    with open(path, "w") as file:
        file.write(text)
    if run(commands[path] + " -w -O2 -g0", shell=True):
        name = re.search(r" -o (\S+)", commands[path])[1]
        with open(name, "rb") as file:
            return name, file.read()

def tests(path, stage):
    """The arguments of each run of the stage's program."""
    if stage == "verify":
        modes = MODES.get(os.path.basename(path)[:-2], MODES["sync"] + MODES["async"])
        return [f"syncopate verify --seed 1000001 --histories 200 --mode {mode}".split() for mode in modes]
    rooms = sorted(ROOMS, key=lambda room: room != path.split("/")[1])
    found = {"unit": [f"tests/unit/{room}/test_*.c" for room in rooms], "talks": ["tests/talks/*.talk"]}
    files = [test for pattern in found.get(stage, ["tests"]) for test in sorted(glob.glob(pattern))]
    return [[name] for name in (os.path.basename(file).split(".")[0] for file in files) if name not in ALONE]

def killer(commands, path):
    """The stage whose tests fail with the objects as they are, and the test; or None."""
    for stage, target in STAGES.items():
        if not run(commands[target] + (" -fsanitize=leak" if stage in LEAKS else ""), shell=True):
            sys.exit(f"does not link: {target}")
        seconds, fork = (10, "no") if stage == "unit" else (60, "yes")
        for test in tests(path, stage):
            if not run(test, seconds, executable=f"{BUILD}/{target}", env={**os.environ, "CK_FORK": fork}):
                return stage, test[0]

def main():
    with open("tests/mutants.txt") as file:
        known = {line.strip() for line in file}
    with tempfile.TemporaryDirectory(prefix="mutants-") as copy:
        subprocess.run(["cp", "-a", "--parents", *"Makefile common ps worker deploy proto tests".split(),
                        BUILD, copy])
        os.chdir(copy)
        os.environ["CCACHE_DISABLE"] = "1"
        made = subprocess.run(["make", "-n", "COUNTING=1", *(f"-W{path}" for path in FILES), *(
            f"{BUILD}/{target}" for target in STAGES.values())], capture_output=True, text=True).stdout
        commands = dict(re.findall(r"^deploy/build_step.sh \d+ \d+ (\S+) (.*)$", made, re.M))
        sources = {path: open(path).read() for path in FILES}
        same = {path: compiled(commands, path, sources[path]) for path in FILES}
        if (failed := killer(commands, FILES[0])):
            sys.exit(f"{failed}: fails without any change")
        drawn = [(path, *change) for path in FILES for change in changes(sources[path])]
        random.Random(SEED).shuffle(drawn)
        counts = {path: collections.Counter() for path in FILES}
        for path, name, start, end, other in drawn:
            source, count = sources[path], counts[path]
            new = compiled(commands, path, source[:start] + other + source[end:])
            if new and new != same[path]:
                what = f"{name}: " + lines(source, start, end, other)
                fate = ["known"] if f"{path}: {what}" in known else killer(commands, path) or ["new"]
                count.update(["mutants", fate[0]])
                if fate[0] == "new" or os.environ.get("V"):
                    print(path + ":%d" % (source.count("\n", 0, start) + 1), what, *fate, flush=True)
            with open(same[path][0], "wb") as file:
                file.write(same[path][1])
            if SAMPLE and sum(count["mutants"] for count in counts.values()) >= SAMPLE:
                break
    columns, counts["all"] = ["mutants", *STAGES, "known", "new"], sum(counts.values(), collections.Counter())
    for path, count in [("", {column: column for column in columns}), *counts.items()]:
        print(f"{path:24}", *(f"{count[column]:>9}" for column in columns))
    return count["new"] > 0

if __name__ == "__main__":
    sys.exit(main())
