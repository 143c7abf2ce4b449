#!/usr/bin/python3
"""Times PyTorch's gradient of the reference model on one thread, when bench_gradient.c asks.

Says "ready VERSION" or "missing WHY". Then for every line "BATCH CALLS" on stdin, answers the
seconds that one of CALLS forward and backward passes over BATCH images took. Debian's python3-torch;
channels_last, its best layout for this model.
"""

import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"


def answer(text):
    print(text, flush=True)


def make_model(torch):
    nn = torch.nn
    layers = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(1600, 64), nn.ReLU(), nn.Linear(64, 10))
    return layers.to(memory_format=torch.channels_last)


def make_batch(torch, count):
    images = torch.rand(count, 1, 28, 28).contiguous(memory_format=torch.channels_last)
    return images, torch.randint(0, 10, (count,))


def gradient(torch, model, batch):
    for parameter in model.parameters():
        parameter.grad = None
    torch.nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum").backward()


def main():
    try:
        import torch
    except ImportError as error:
        answer("missing %s" % error)
        return
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model, batches = make_model(torch), {}
    answer("ready %s" % torch.__version__)
    for line in sys.stdin:
        count, calls = [int(word) for word in line.split()]
        if count not in batches:
            batches[count] = make_batch(torch, count)
        began = time.perf_counter()
        for _ in range(calls):
            gradient(torch, model, batches[count])
        answer("%.9f" % ((time.perf_counter() - began) / calls))


main()
