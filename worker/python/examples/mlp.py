"""A perceptron on Fashion-MNIST in PyTorch: python3 mlp.py run --workers 2"""
import fashion_mnist
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import TensorDataset

import syncopate.torch

x, y, tx, ty = map(torch.from_numpy, fashion_mnist.load())
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))


def loss(net, batch):
    images, labels = batch
    out = net(images)
    return F.cross_entropy(out, labels, reduction="sum"), (out.argmax(1) == labels).sum()


syncopate.torch.main(net, loss, data=TensorDataset(x, y), test=TensorDataset(tx, ty),
                     optimizer="adam", learning_rate=1e-3)
