"""A convolutional net on Fashion-MNIST, by numbers of examples: python3 cnn.py run --workers 2"""
import fashion_mnist
import torch
import torch.nn.functional as F
from torch import nn

import syncopate.torch

x, y, tx, ty = map(torch.from_numpy, fashion_mnist.load())
torch.manual_seed(1)
net = nn.Sequential(
    nn.Unflatten(1, (1, 28, 28)),
    nn.Conv2d(1, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(800, 10))


def loss(i, test):
    images, labels = (tx[i], ty[i]) if test else (x[i], y[i])
    out = net(images)
    return F.cross_entropy(out, labels, reduction="sum"), (out.argmax(1) == labels).sum()


syncopate.torch.main(net, loss, examples=len(x), test_examples=len(tx), optimizer="adam",
                     learning_rate=1e-3)
