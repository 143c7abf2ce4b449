#!/usr/bin/python3
"""Writes optimizer_reference.h: what each update rule should give, computed without our code.

    /usr/bin/python3 tests/reference/optimizer_reference.py     (Debian: python3-torch)

The values are PyTorch's, in float64, from the float32 inputs that the C test reads. Where
PyTorch's rule is another one than TensorFlow's, its inputs are chosen so that the two coincide:

  momentum, nesterov  TensorFlow keeps lr * g in the accumulator, PyTorch g: PyTorch gets
                      lr * g as its gradient and a rate of 1.
  adam, adamw         TensorFlow's epsilon is the paper's "epsilon hat": PyTorch gets
                      epsilon / sqrt(1 - beta2^t) in step t.
  rmsprop, momentum   TensorFlow has epsilon under the root, PyTorch beside it, and the rate in
                      the accumulator: written out here, and checked against PyTorch where
                      epsilon does not matter.

Each rule of rules.py, which replay.py trains with, is held against these after every step.
"""

import pathlib

import numpy
import torch

from rules import RULES

STEPS = 12
COUNT = 7
EXAMPLES = 3  # The gradients are sums over so many.

random = numpy.random.Generator(numpy.random.PCG64(20240611))


def single(values):
    """Rounded to float32, as the C test will read it, but held in float64."""
    return numpy.asarray(values, dtype=numpy.float32).astype(numpy.float64)


SCALE = float(single(1.0 / EXAMPLES))
INITIAL = single(random.normal(0, 0.1, COUNT))
GRADIENTS = single(EXAMPLES * random.normal(0, 1, (STEPS, COUNT)))
GRADIENTS[:, 1] = 0  # An input that is always off, and one that is at times.
GRADIENTS[::2, 2] = 0
GRADIENTS[:, 3] *= single(1e-4)
GRADIENTS = single(GRADIENTS)
RATE_FACTORS = 1.0 / (1.0 + 0.25 * numpy.arange(STEPS))  # A schedule is at work.


def run(make_optimizer, before_step):
    """Values after each step of a PyTorch optimizer."""
    parameter = torch.nn.Parameter(torch.tensor(INITIAL, dtype=torch.float64))
    optimizer = make_optimizer([parameter])
    values = []
    for step in range(STEPS):
        gradient = before_step(optimizer.param_groups[0], step, GRADIENTS[step] * SCALE)
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        values.append(parameter.detach().numpy().copy())
    return values


def plain(make, rates):
    def before_step(group, step, gradient):
        group["lr"] = rates[step]
        return gradient

    return run(make, before_step)


def sgd(s, rates):
    return plain(lambda p: torch.optim.SGD(p, lr=1.0), rates)


def momentum(s, rates, nesterov=False):
    def before_step(group, step, gradient):
        return gradient * rates[step]

    return run(
        lambda p: torch.optim.SGD(p, lr=1.0, momentum=s["momentum"], nesterov=nesterov),
        before_step,
    )


def nesterov(s, rates):
    return momentum(s, rates, nesterov=True)


def adagrad(s, rates):
    return plain(
        lambda p: torch.optim.Adagrad(
            p, initial_accumulator_value=s["initial_accumulator"], eps=s["epsilon"]
        ),
        rates,
    )


def rmsprop(s, rates):
    def torch_rule(epsilon):
        return lambda p: torch.optim.RMSprop(
            p, alpha=s["rho"], eps=epsilon, momentum=s["momentum"]
        )

    if s["momentum"] == 0:
        return plain(torch_rule(s["epsilon"]), rates)

    def written_out(epsilon, rates):
        value, square, accumulator = INITIAL.copy(), numpy.zeros(COUNT), numpy.zeros(COUNT)
        values = []
        for step in range(STEPS):
            gradient = GRADIENTS[step] * SCALE
            square = s["rho"] * square + (1 - s["rho"]) * gradient**2
            accumulator = s["momentum"] * accumulator + rates[step] * gradient / numpy.sqrt(
                square + epsilon
            )
            value = value - accumulator
            values.append(value)
        return values

    # With a constant rate and hardly any epsilon PyTorch's rule is the same one.
    constant = numpy.full(STEPS, 0.001)
    theirs = plain(torch_rule(1e-30), constant)
    assert numpy.allclose(theirs, written_out(1e-30, constant), rtol=1e-12, atol=1e-15)
    return written_out(s["epsilon"], rates)


def adam(s, rates):
    def before_step(group, step, gradient):
        group["lr"] = rates[step]
        group["eps"] = s["epsilon"] / (1 - s["beta2"] ** (step + 1)) ** 0.5
        return gradient

    return run(lambda p: torch.optim.Adam(p, betas=(s["beta1"], s["beta2"])), before_step)


def adamw(s, rates):
    def before_step(group, step, gradient):
        group["lr"] = rates[step]
        group["eps"] = s["epsilon"] / (1 - s["beta2"] ** (step + 1)) ** 0.5
        return gradient

    return run(
        lambda p: torch.optim.AdamW(
            p, betas=(s["beta1"], s["beta2"]), weight_decay=s["weight_decay"]
        ),
        before_step,
    )


# Keras's defaults, then something else.
CASES = [
    (sgd, 0.01, {}),
    (momentum, 0.01, {"momentum": 0.9}),
    (momentum, 0.5, {"momentum": 0.5}),
    (nesterov, 0.01, {"momentum": 0.9}),
    (nesterov, 0.5, {"momentum": 0.5}),
    (adagrad, 0.001, {"epsilon": 1e-7, "initial_accumulator": 0.1}),
    (adagrad, 0.1, {"epsilon": 1e-2, "initial_accumulator": 0.0}),
    (rmsprop, 0.001, {"rho": 0.9, "epsilon": 1e-7}),
    (rmsprop, 0.1, {"rho": 0.5, "epsilon": 1e-2}),
    (rmsprop, 0.001, {"rho": 0.9, "epsilon": 1e-7, "momentum": 0.9}),
    (rmsprop, 0.1, {"rho": 0.5, "epsilon": 1e-2, "momentum": 0.5}),
    (adam, 0.001, {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}),
    (adam, 0.1, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-2}),
    (adamw, 0.001, {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7, "weight_decay": 0.004}),
    (adamw, 0.1, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-2, "weight_decay": 0.5}),
]

FIELDS = ["momentum", "beta1", "beta2", "rho", "epsilon", "initial_accumulator", "weight_decay"]


def floats(values):
    return "{" + ", ".join("%.9gf" % v if "." in "%.9g" % v or "e" in "%.9g" % v else "%.1ff" % v for v in values) + "}"


def doubles(values):
    return "{" + ", ".join("%.10g" % v for v in values) + "}"


def rows(matrix, row):
    return "{" + ",\n     ".join(row(r) for r in matrix) + "}"


def case_text(rule, rate, given):
    settings = {f: float(single(given.get(f, 0.0))) for f in FIELDS}
    rates = single(rate * RATE_FACTORS)
    values = rule(settings, rates)
    state, ours = {}, INITIAL
    for step in range(STEPS):
        ours = RULES[rule.__name__](settings, state, ours, GRADIENTS[step] * SCALE, rates[step], step + 1, 1)
        assert numpy.allclose(ours, values[step], rtol=1e-11, atol=1e-13), (rule.__name__, step)
    text = '    {{.name = "%s"' % rule.__name__
    text += "".join(", .%s = %.9gf" % (f, v) for f, v in settings.items() if v != 0)
    text += "},\n     %.9g,\n     %s},\n" % (rate, doubles(values[-1]))
    return text


def main():
    text = "/* Written by optimizer_reference.py (PyTorch %s); do not edit. */\n\n" % (
        torch.__version__.split("a")[0]
    )
    text += "/* clang-format off */\n"
    text += "enum { REFERENCE_STEPS = %d, REFERENCE_COUNT = %d };\n\n" % (STEPS, COUNT)
    text += "static const float reference_scale = %.9gf;\n" % SCALE
    text += "static const float reference_initial[REFERENCE_COUNT] =\n    %s;\n" % floats(INITIAL)
    text += "static const float reference_gradient[REFERENCE_STEPS][REFERENCE_COUNT] =\n"
    text += "    %s;\n\n" % rows(GRADIENTS, floats)
    text += "static const struct {\n    struct optimizer_settings settings;\n"
    text += "    double rate; /* Of step s by 1 + s / 4. */\n"
    text += "    double values[REFERENCE_COUNT]; /* After the last step. */\n"
    text += "} reference_cases[] = {\n"
    text += "".join(case_text(*case) for case in CASES)
    text += "};\n/* clang-format on */\n"
    pathlib.Path(__file__).with_name("optimizer_reference.h").write_text(text)


if __name__ == "__main__":
    main()
