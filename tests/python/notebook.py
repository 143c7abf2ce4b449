"""What a notebook does: jobs that ask this process. programs.sh compares their bits with those of a run of net.py."""
import copy
import json
import os
import signal

import net
import torch

import syncopate.torch

JOB = dict(examples=600, test_examples=100, score_piece=30, optimizer="adam", learning_rate=0.01, quiet=True, seed=5,
           global_batch=56, micro_batch=16, epochs=2)


def trained(ask, out, loss=net.loss, **options):
    """A fresh net that ask() has trained scores as the run says."""
    kept, net.net = net.net, copy.deepcopy(net.net)
    run = ask(net.net, loss, out=out, **{**JOB, **options})
    with torch.no_grad():
        right = net.loss(torch.arange(100), True)[1].item() if not net.net.eval().training else None
    with open(os.path.join(run.path, "run.json")) as file:
        assert round(100 * json.load(file)["test_accuracy"]) == right
    assert [event["step"] for event in run.history] == [11, 22]
    net.net = kept


def interrupted(i, test):
    asked.append(i)
    if len(asked) == 9:
        os.kill(os.getpid(), signal.SIGINT)
    return net.loss(i, test)


trained(syncopate.torch.simulate, "notebook-virtual", workers=16, ps=2)
trained(syncopate.torch.solo, "notebook-solo")
asked = []
try:
    syncopate.torch.solo(net.net, interrupted, out="notebook-stopped", **{**JOB, "epochs": 2000})
    raise SystemExit("Ctrl-C is not raised")
except KeyboardInterrupt:
    with open(os.path.join("notebook-stopped", "run.json")) as file:
        assert json.load(file)["state"] == "stopped"
