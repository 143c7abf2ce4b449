"""Softmax on Fashion-MNIST in NumPy: python3 softmax.py run --workers 2"""
import fashion_mnist
import numpy as np

import syncopate

x, y, tx, ty = fashion_mnist.load()


def gradient(p, g, i, test):
    """Sums over examples i: of gradients into g (None: a score), of losses, and of right answers."""
    a, b = (tx[i], ty[i]) if test else (x[i], y[i])
    q = a @ p["w"] + p["b"]
    q = np.exp(q - q.max(1, keepdims=True))
    q /= q.sum(1, keepdims=True)
    rows = np.arange(len(i))
    loss, correct = -np.log(q[rows, b]).sum(), (q.argmax(1) == b).sum()
    if g is not None:
        q[rows, b] -= 1
        g["w"][:] = a.T @ q
        g["b"][:] = q.sum(0)
    return loss, correct


syncopate.main(gradient, {"w": np.zeros((784, 10), "f4"), "b": np.zeros(10, "f4")}, examples=len(x),
               test_examples=len(tx), optimizer="sgd", learning_rate=0.1)
