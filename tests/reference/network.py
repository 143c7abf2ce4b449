"""The layer lists of --model, forward and backward, in NumPy and in the precision that the values have.

Arrays of images are [examples, height, width, channels], as in Keras; a kernel of conv is [size, size, channels,
filters], one of dense [inputs, outputs]. model_reference.py holds the gradients against PyTorch's.
"""

import math

import numpy as np

PRESETS = {
    "cnn": "conv 32x3 relu, pool 2, conv 64x3 relu, pool 2, flatten, dense 64 relu, dense 10",
    "mlp": "flatten, dense 128 relu, dense 10",
    "softmax": "flatten, dense 10",
}


def layers(text, height, width, channels):
    """[(kind, size, relu, shape of the kernel or None)] and [(name, shape)] of the variables, in order."""
    shape, found, variables, numbers = (height, width, channels), [], [], {"conv": 0, "dense": 0}
    for item in PRESETS.get(text, text).split(","):
        kind, *words = item.split()
        out, size = (int(n) for n in (words[0] + "x0").split("x")[:2]) if words else (0, 0)
        kernel = None
        if kind == "conv":
            kernel = (size, size, shape[2], out)
            shape = (shape[0] - size + 1, shape[1] - size + 1, out)
        elif kind == "pool":
            size, shape = out, (shape[0] // out, shape[1] // out, shape[2])
        elif kind == "flatten":
            shape = (1, 1, math.prod(shape))
        else:
            kernel, shape = (shape[2], out), (1, 1, out)
        if kernel:
            numbers[kind] += 1
            name = "%s%d" % (kind, numbers[kind])
            variables += [(name + "/kernel", kernel), (name + "/bias", (out,))]
        found.append((kind, size, "relu" in words, kernel))
    return found, variables


def conv(x, kernel, bias):
    size = kernel.shape[:2]
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=(1, 2))
    y = np.tensordot(windows, kernel, axes=((4, 5, 3), (0, 1, 2))) + bias

    def back(dy):
        dx = np.zeros_like(x)
        for i, j in np.ndindex(size):
            dx[:, i : i + dy.shape[1], j : j + dy.shape[2]] += dy @ kernel[i, j].T
        return dx, np.einsum("nhwcij,nhwo->ijco", windows, dy), dy.sum(axis=(0, 1, 2))

    return y, back


def pool(x, size):
    """The largest of each square; of equals the first has the gradient."""
    n, height, width, channels = x.shape[0], x.shape[1] // size, x.shape[2] // size, x.shape[3]
    whole = x[:, : height * size, : width * size]
    squares = whole.reshape(n, height, size, width, size, channels).transpose(0, 1, 3, 5, 2, 4)
    squares = squares.reshape(n, height, width, channels, size * size)
    place = squares.argmax(axis=-1)[..., None]

    def back(dy):
        d = np.zeros_like(squares)
        np.put_along_axis(d, place, dy[..., None], axis=-1)
        d = d.reshape(n, height, width, channels, size, size).transpose(0, 1, 4, 2, 5, 3)
        dx = np.zeros_like(x)
        dx[:, : height * size, : width * size] = d.reshape(whole.shape)
        return (dx,)

    return np.take_along_axis(squares, place, axis=-1)[..., 0], back


def dense(x, kernel, bias):
    return x @ kernel + bias, lambda dy: (dy @ kernel.T, x.T @ dy, dy.sum(axis=0))


def gradient(found, values, images, labels):
    """Cross-entropy and its gradients with respect to `values`, a list of arrays; sums over the examples."""
    x, values, backs = images, list(values), []
    for kind, size, relu, kernel in found:
        if kind == "pool":
            x, back = pool(x, size)
        elif kind == "flatten":
            before = x.shape
            x, back = x.reshape(len(x), -1), lambda dy, before=before: (dy.reshape(before),)
        else:
            x, back = (conv if kind == "conv" else dense)(x, values.pop(0), values.pop(0))
        on = x > 0 if relu else True
        x = np.where(on, x, 0)
        backs.append((on, back))
    x = x - x.max(axis=1, keepdims=True)
    odds = np.exp(x)
    totals = odds.sum(axis=1, keepdims=True)
    own = np.arange(len(x)), labels
    loss = (np.log(totals[:, 0]) - x[own]).sum()
    dy = odds / totals
    dy[own] -= 1
    gradients = []
    for on, back in reversed(backs):
        dy, *of_variables = back(np.where(on, dy, 0))
        gradients = of_variables + gradients
    return loss, gradients
