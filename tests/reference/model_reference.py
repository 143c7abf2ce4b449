#!/usr/bin/python3
"""Writes model_reference.h: losses and gradients of a few networks as PyTorch computes them.

    tests/reference/model_reference.py > tests/reference/model_reference.h

Needs Debian's python3-torch; the header is committed, so that nobody else does. Everything is
computed in double precision from inputs that tests/unit/model/test_model.c makes by the same formulas.
Of every variable's gradient the header keeps the sum, the norm and some elements.
"""

import numpy as np
import torch

SAMPLES = 24

# Layer list, height, width, channels, classes, examples.
NETWORKS = [
    ("cnn", 28, 28, 1, 10, 16),
    ("cnn", 28, 28, 1, 10, 3),
    ("mlp", 28, 28, 1, 10, 16),
    ("softmax", 28, 28, 1, 10, 7),
    ("conv 4x3 relu, flatten, dense 5", 7, 9, 3, 5, 6),
    ("conv 5x1 relu, pool 2, flatten, dense 4", 5, 7, 2, 4, 5),
    ("conv 6x5, pool 3, conv 7x3 relu, flatten, dense 6 relu, dense 3", 19, 20, 2, 3, 9),
    ("pool 2, conv 16x3 relu, pool 2, pool 2, flatten, dense 10", 25, 23, 3, 10, 8),
    ("conv 64x3 relu, conv 48x3 relu, pool 2, conv 8x1, flatten, dense 10", 13, 12, 4, 10, 4),
]

PRESETS = {
    "cnn": "conv 32x3 relu, pool 2, conv 64x3 relu, pool 2, flatten, dense 64 relu, dense 10",
    "mlp": "flatten, dense 128 relu, dense 10",
    "softmax": "flatten, dense 10",
}


def scramble(index, salt):
    """32 well-mixed bits of (index, salt); test_model.c has the same function."""
    h = (index.astype(np.uint64) * 2654435761 + salt * 40503 + 12345) & 0xFFFFFFFF
    h ^= h >> 15
    h = (h * 2246822519) & 0xFFFFFFFF
    h ^= h >> 13
    h = (h * 3266489917) & 0xFFFFFFFF
    h ^= h >> 16
    return h


def values(shape, salt, limit):
    count = int(np.prod(shape))
    unit = (scramble(np.arange(count), salt) >> 8).astype(np.float32) * np.float32(2.0**-24)
    x = (np.float32(2) * unit - np.float32(1)) * np.float32(limit)
    return torch.tensor(x.astype(np.float64).reshape(shape), requires_grad=True)


class Network:
    def __init__(self, text, height, width, channels):
        self.steps, self.variables = [], []
        self.shape = (height, width, channels)
        self.numbers = {}
        for item in PRESETS.get(text, text).split(","):
            words = item.split()
            getattr(self, words[0])(words[1:])

    def variable(self, name, shape, limit):
        variable = values(shape, len(self.variables) + 1, limit)
        self.variables.append((name, variable))
        return variable

    def number(self, kind):
        self.numbers[kind] = self.numbers.get(kind, 0) + 1
        return "%s%d" % (kind, self.numbers[kind])

    def conv(self, words):
        out, size = [int(n) for n in words[0].split("x")]
        height, width, channels = self.shape
        name = self.number("conv")
        # Powers of two, so that single precision holds them exactly on both sides.
        kernel = self.variable(name + "/kernel", (size, size, channels, out), 0.25)
        bias = self.variable(name + "/bias", (out,), 0.125)
        relu = "relu" in words

        def step(x):  # x: [N, C, H, W]
            x = torch.nn.functional.conv2d(x, kernel.permute(3, 2, 0, 1), bias)
            return torch.relu(x) if relu else x

        self.steps.append(step)
        self.shape = (height - size + 1, width - size + 1, out)

    def pool(self, words):
        size = int(words[0])
        self.steps.append(lambda x: torch.nn.functional.max_pool2d(x, size))
        height, width, channels = self.shape
        self.shape = (height // size, width // size, channels)

    def flatten(self, words):
        # Height, width, channel order, as Keras has it.
        self.steps.append(lambda x: x.permute(0, 2, 3, 1).reshape(x.shape[0], -1))
        self.shape = (1, 1, int(np.prod(self.shape)))

    def dense(self, words):
        out = int(words[0])
        name = self.number("dense")
        kernel = self.variable(name + "/kernel", (self.shape[2], out), 0.125)
        bias = self.variable(name + "/bias", (out,), 0.125)
        relu = "relu" in words

        def step(x):
            x = x @ kernel + bias
            return torch.relu(x) if relu else x

        self.steps.append(step)
        self.shape = (1, 1, out)

    def loss(self, images, labels):
        x = images.permute(0, 3, 1, 2)
        for step in self.steps:
            x = step(x)
        loss = torch.nn.functional.cross_entropy(x, labels, reduction="sum")
        return loss, int((x.argmax(1) == labels).sum())


def number(x):
    return "%.9g" % x


def reference(index, text, height, width, channels, classes, count):
    pixels = scramble(np.arange(count * height * width * channels), 777) >> 24
    images = torch.tensor(pixels.astype(np.float64).reshape(count, height, width, channels)) / 255
    labels = torch.tensor([(7 * i + 3) % classes for i in range(count)])
    network = Network(text, height, width, channels)
    loss, correct = network.loss(images, labels)
    loss.backward()
    lines = ["static const struct reference_variable reference_variables_%d[] = {" % index]
    for name, variable in network.variables:
        gradient = variable.grad.numpy().reshape(-1)
        picks = [k * len(gradient) // SAMPLES for k in range(SAMPLES)]
        lines.append('    {"%s",' % name)
        lines.append("     %d, %s, %s," % (len(gradient), number(gradient.sum()),
                                           number(np.sqrt((gradient**2).sum()))))
        samples = [number(gradient[p]) for p in picks]
        for k in range(0, SAMPLES, 6):
            opening = "     {" if k == 0 else "      "
            ending = "}}," if k + 6 >= SAMPLES else ","
            lines.append(opening + ", ".join(samples[k:k + 6]) + ending)
    lines.append("};")
    row = '    {"%s",\n     %d, %d, %d, %d, %d, %.17g, %d, %d, reference_variables_%d},' % (
        text, height, width, channels, classes, count, loss.item(), correct,
        len(network.variables), index)
    return "\n".join(lines), row


def main():
    blocks, rows = [], []
    for index, network in enumerate(NETWORKS):
        block, row = reference(index, *network)
        blocks.append(block)
        rows.append(row)
    print("""/* model_reference.h - what PyTorch %s computes in double precision.
 *
 * Written by model_reference.py; do not edit. */

/* clang-format off */
#ifndef TESTS_REFERENCE_MODEL_REFERENCE_H
#define TESTS_REFERENCE_MODEL_REFERENCE_H

#include <stdint.h>

#define REFERENCE_SAMPLES %d

struct reference_variable {
    const char *name;
    uint64_t elements;
    double sum, norm; /* Of the gradient, itself summed over the examples. */
    double samples[REFERENCE_SAMPLES]; /* Elements k * elements / REFERENCE_SAMPLES. */
};

struct reference_network {
    const char *text;
    uint32_t height, width, channels, classes, examples;
    double loss; /* Summed over the examples. */
    uint64_t correct;
    uint32_t variable_count;
    const struct reference_variable *variables;
};
""" % (torch.__version__.split("+")[0], SAMPLES))
    print("\n\n".join(blocks))
    print("\nstatic const struct reference_network reference_networks[] = {")
    print("\n".join(rows))
    print("};\n\n#endif")


main()
