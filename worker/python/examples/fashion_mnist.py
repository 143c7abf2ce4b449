"""Fashion-MNIST as Debian's dataset-fashion-mnist has it."""
import gzip

import numpy as np


def _idx(name, header):
    with gzip.open(f"/usr/share/datasets/fashion-mnist/{name}.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def load():
    """Images float32 [n, 784] in [0, 1] and labels int64 [n], for training; the same, for tests."""
    sets = []
    for part in ("train", "t10k"):
        sets.append(_idx(f"{part}-images-idx3-ubyte", 16).reshape(-1, 784) / np.float32(255))
        sets.append(_idx(f"{part}-labels-idx1-ubyte", 8).astype(np.int64))
    return sets
