"""What programs.sh trains: dropout, one weight with two names, BatchNorm with averages, a frozen and an unused layer."""
import torch
import torch.nn.functional as F
from torch import nn

import syncopate.torch

torch.manual_seed(1)
x = torch.randn(700, 12)
y = (x[:, :6] * x[:, 6:]).sum(1).gt(0).long() + 2 * x[:, 0].gt(0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.last = nn.Linear(12, 24), nn.Linear(12, 24), nn.Linear(24, 4)
        self.b.weight = self.a.weight
        self.norm, self.drop = nn.BatchNorm1d(24, momentum=0.2), nn.Dropout(0.2)
        self.unused, self.frozen = nn.Linear(3, 3), nn.Linear(4, 4)
        self.frozen.requires_grad_(False)

    def forward(self, a):
        return self.frozen(self.last(self.drop(F.relu(self.norm(self.a(a) + self.b(a.flip(1)))))))


net = Net()


def loss(i, test):
    i = i + 600 * test
    out = net(x[i])
    return F.cross_entropy(out, y[i], reduction="sum"), (out.argmax(1) == y[i]).sum()


if __name__ == "__main__":
    syncopate.torch.main(net, loss, examples=600, test_examples=100, score_piece=30, optimizer="adam",
                         learning_rate=0.01)
