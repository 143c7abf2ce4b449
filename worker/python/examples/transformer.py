"""A transformer learns a licence by heart, in a loop of its own: python3 transformer.py run"""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import syncopate.torch

TOKENS, WIDTH = 32, 48
text = torch.from_numpy(np.fromfile("/usr/share/common-licenses/GPL-3", np.uint8).astype(np.int64))
examples = len(text) - TOKENS - 2000  # The last 2,000 bytes are the test set.


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bytes, self.places = nn.Embedding(128, WIDTH), nn.Embedding(TOKENS, WIDTH)
        block = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, 2)
        self.out = nn.Linear(WIDTH, 128, bias=False)
        self.out.weight = self.bytes.weight  # One variable with two names.
        nn.init.normal_(self.out.weight, std=0.1)
        self.mask = torch.full((TOKENS, TOKENS), -torch.inf).triu(1)

    def forward(self, a):
        return self.out(self.blocks(self.bytes(a) + self.places.weight, self.mask))


torch.manual_seed(1)
net = Net()
# A loss is the mean over an example's tokens, and summed over examples.
for work in syncopate.torch.leaves(net, examples=examples, test_examples=1900, scores="loss",
                                   optimizer="adam", learning_rate=1e-3):
    first = work.examples + (examples if work.test else 0)
    window = text[first[:, None] + torch.arange(TOKENS + 1)]
    out = net(window[:, :-1]).flatten(0, 1)
    loss = F.cross_entropy(out, window[:, 1:].flatten(), reduction="sum") / TOKENS
    if not work.test:
        loss.backward()
    work.done(loss)
