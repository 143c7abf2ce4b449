#!/usr/bin/python3
"""Writes model_reference.h: losses and gradients of a few networks as PyTorch computes them.

    tests/reference/model_reference.py > tests/reference/model_reference.h

Needs Debian's python3-torch; the header is committed, so that nobody else does. Everything is
computed in double precision from inputs that tests/unit/model/test_model.c makes by the same formulas.
Of every variable's gradient the header keeps the sum, the norm and some elements.
"""

import numpy as np
import torch

from network import gradient, layers

SAMPLES = 6

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


def loss_of(found, variables, images, labels):
    """The same with PyTorch's functions: [N, C, H, W] up to where it is flattened."""
    x, variables = images.permute(0, 3, 1, 2), list(variables)
    for kind, size, relu, kernel in found:
        if kind == "conv":
            x = torch.nn.functional.conv2d(x, variables.pop(0).permute(3, 2, 0, 1), variables.pop(0))
        elif kind == "pool":
            x = torch.nn.functional.max_pool2d(x, size)
        elif kind == "flatten":  # Height, width, channel order, as Keras has it.
            x = x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)
        else:
            x = x @ variables.pop(0) + variables.pop(0)
        x = torch.relu(x) if relu else x
    loss = torch.nn.functional.cross_entropy(x, labels, reduction="sum")
    return loss, int((x.argmax(1) == labels).sum())


def number(x):
    return "%.9g" % x


def reference(index, text, height, width, channels, classes, count):
    pixels = scramble(np.arange(count * height * width * channels), 777) >> 24
    images = torch.tensor(pixels.astype(np.float64).reshape(count, height, width, channels)) / 255
    labels = torch.tensor([(7 * i + 3) % classes for i in range(count)])
    found, shapes = layers(text, height, width, channels)
    # Powers of two, so that single precision holds them exactly on both sides.
    variables = [
        values(shape, k + 1, 0.125 if len(shape) < 4 else 0.25) for k, (_, shape) in enumerate(shapes)
    ]
    loss, correct = loss_of(found, variables, images, labels)
    loss.backward()
    ours, gradients = gradient(found, [v.detach().numpy() for v in variables], images.numpy(), labels.numpy())
    for theirs, ours in [(loss.item(), ours), *zip((v.grad.numpy() for v in variables), gradients)]:
        assert np.allclose(theirs, ours, rtol=1e-11, atol=1e-11), text
    lines = ["static const struct reference_variable reference_variables_%d[] = {" % index]
    for (name, _), variable in zip(shapes, variables):
        flat = variable.grad.numpy().reshape(-1)
        picks = [k * len(flat) // SAMPLES for k in range(SAMPLES)]
        lines.append('    {"%s",' % name)
        lines.append("     %d, %s, %s," % (len(flat), number(flat.sum()),
                                           number(np.sqrt((flat**2).sum()))))
        samples = [number(flat[p]) for p in picks]
        for k in range(0, SAMPLES, 6):
            opening = "     {" if k == 0 else "      "
            ending = "}}," if k + 6 >= SAMPLES else ","
            lines.append(opening + ", ".join(samples[k:k + 6]) + ending)
    lines.append("};")
    row = '    {"%s",\n     %d, %d, %d, %d, %d, %.17g, %d, %d, reference_variables_%d},' % (
        text, height, width, channels, classes, count, loss.item(), correct,
        len(variables), index)
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
