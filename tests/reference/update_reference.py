#!/usr/bin/python3
"""Writes update_reference.h: what updates by --l2 and --loss-scale should give, computed without our code.

    /usr/bin/python3 tests/reference/update_reference.py     (Debian: python3-numpy)

In float64, from the float32 inputs that the C test reads. The rules are those of rules.py, which are
held against PyTorch's figures in optimizer_reference.h before anything is written; l2's gradient is held
against the slope of F w^2. Each case is trained twice, as a kernel with l2 and as a bias without it, on
batches of which some are ragged: divided by its own examples, and by the job's batch.
"""

import math
import pathlib
import re
import struct

from rules import RULES

HERE = pathlib.Path(__file__).parent
BATCH = 4
EXAMPLES = [4, 4, 2, 4, 4, 3]  # Of each step's batch.


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


# --- PyTorch's figures, which are in C -----------------------------------------------------------

theirs = (HERE / "optimizer_reference.h").read_text()
NUMBER = r"[-+]?(?:0x[0-9a-f.]+p[-+]\d+|[\d.]+(?:e[-+]?\d+)?)f?"


def number(text):
    text = text.rstrip("f") if "0x" not in text else text[:-1]
    return float.fromhex(text) if "0x" in text else float(text)


def numbers(text):
    return [number(n) for n in re.findall(NUMBER, text)]


def rows(values, width):
    return [values[i : i + width] for i in range(0, len(values), width)]


COUNT = 7
INITIAL = numbers(re.search(r"reference_initial\[REFERENCE_COUNT\] =\s*\{(.*?)\}", theirs, re.S).group(1))
SCALE = number(re.search(r"reference_scale = (%s)" % NUMBER, theirs).group(1))
GRADIENTS = rows(
    numbers(re.search(r"reference_gradient\S+ =\s*\{(.*?)\};", theirs, re.S).group(1)), COUNT
)
STEPS = len(GRADIENTS)
assert len(INITIAL) == COUNT and STEPS == 12


def their_cases():
    body = theirs[theirs.index("reference_cases[] = {") :]
    for text in re.findall(r"\{\{\.name.*?\}\},\n", body, re.S):
        head, rest = text.split("},\n", 1)
        settings = {k: number(v) for k, v in re.findall(r"\.(\w+) = (%s)" % NUMBER, head)}
        values = numbers(rest)
        name = re.search(r'"(\w+)"', head).group(1)
        yield name, settings, values[:STEPS], rows(values[STEPS:], COUNT)


def train(name, settings, rates, scales, l2, kernel):
    """Values after each step."""
    values, states, steps = list(INITIAL), [{} for _ in INITIAL], []
    for step in range(len(scales)):
        for i in range(COUNT):
            g = GRADIENTS[step][i] * scales[step]
            if kernel:
                g += 2 * l2 * values[i]
            values[i] = RULES[name](settings, states[i], values[i], g, rates[step], step + 1, kernel)
        steps.append(list(values))
    return steps


def hold_against_pytorch():
    cases = list(their_cases())
    assert {name for name, *_ in cases} == set(RULES) and len(cases) >= 15
    for name, settings, rates, expected in cases:
        ours = train(name, settings, rates, [SCALE] * STEPS, 0, 1)
        for a, b in zip(sum(ours, []), sum(expected, [])):
            assert math.isclose(a, b, rel_tol=1e-11, abs_tol=1e-13), (name, a, b)
    for f in (0.01, 0.5):  # A parabola's slope is that of any of its chords around the place.
        for w in INITIAL:
            chord = (f * (w + 0.25) ** 2 - f * (w - 0.25) ** 2) / 0.5
            assert math.isclose(chord, 2 * f * w, rel_tol=1e-12, abs_tol=1e-15)


# --- what is written ------------------------------------------------------------------------------

FIELDS = ["momentum", "beta1", "beta2", "rho", "epsilon", "initial_accumulator", "weight_decay"]


def doubles(values):
    return "{" + ", ".join("%.17g" % v for v in values) + "}"


def matrix(steps):
    return "{" + ",\n      ".join(doubles(v) for v in steps) + "}"


def case_text(name, settings, rate, l2, whole):
    scales = [1 / (BATCH if whole else examples) for examples in EXAMPLES]
    rates = [rate] * len(EXAMPLES)
    text = '    {{.name = "%s"' % name
    text += "".join(
        ", .%s = %sf" % (f, settings[f].hex()) for f in FIELDS if settings.get(f, 0) != 0
    )
    text += "},\n     %sf, %sf, %s,\n" % (
        rate.hex(),
        l2.hex(),
        "LOSS_SCALE_GLOBAL_BATCH" if whole else "LOSS_SCALE_EXAMPLES",
    )
    text += "     %s,\n" % matrix(train(name, settings, rates, scales, l2, 1))
    return text + "     %s},\n" % matrix(train(name, settings, rates, scales, l2, 0))


def main():
    hold_against_pytorch()
    text = "/* Written by update_reference.py; do not edit. */\n\n/* clang-format off */\n"
    text += "enum { UPDATE_STEPS = %d, UPDATE_COUNT = %d, UPDATE_BATCH = %d };\n\n" % (
        len(EXAMPLES),
        COUNT,
        BATCH,
    )
    text += "static const uint32_t update_examples[UPDATE_STEPS] = {%s};\n" % ", ".join(
        map(str, EXAMPLES)
    )
    text += "static const struct {\n    struct optimizer_settings settings;\n"
    text += "    float learning_rate, l2;\n    enum loss_scale scale;\n"
    text += "    double kernel[UPDATE_STEPS][UPDATE_COUNT], bias[UPDATE_STEPS][UPDATE_COUNT]; "
    text += "/* After each step. */\n} update_cases[] = {\n"
    for i, (name, settings, rates, _) in enumerate(their_cases()):
        for whole in (False, True):
            text += case_text(name, settings, rates[0], single([0.01, 0.3][(i + whole) % 2]), whole)
    text += "};\n/* clang-format on */\n"
    (HERE / "update_reference.h").write_text(text)


if __name__ == "__main__":
    main()
