"""The Python package with PyTorch: memory, copies, tied and unused variables, BatchNorm, seeds, parts, streams."""
import json
import os
import struct
import subprocess
import sys
import unittest

import numpy as np
from programs import Programs

try:
    import torch
    from torch import nn

    import syncopate.torch
except ImportError:
    raise unittest.SkipTest("no python3-torch") from None

# Nets of tests are called `net`, with 6 values an example; `x` and `y` are 40 examples.
NET = """
import os, sys, torch, torch.nn.functional as F, syncopate.torch
from torch import nn
torch.manual_seed(3)
x, y = torch.randn(40, 6), torch.randint(0, 4, (40,))
net = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 4))
"""
LOSS = """
def loss(i, test):
    out = net(x[i].to(next(net.parameters()).dtype))
    return F.cross_entropy(out, y[i], reduction="none"), (out.argmax(1) == y[i]).sum()
"""
MAIN = "syncopate.torch.main(net, loss, examples=40, test_examples=40)\n"


class Torch(Programs):
    forked = True

    def here(self, text):
        """What a program's text defines, in this process."""
        names = {}
        exec(text, names)
        return names

    def named(self, asker, answer):
        """A gradient by the names of the variables."""
        places = dict(zip([v.name for v in asker.variables], syncopate.protocol.offsets(asker.variables)))
        return {v.name: answer.gradient[places[v.name]:][:int(np.prod(v.shape))].reshape(v.shape) for v in asker.variables}

    def same(self, one, other):
        self.assertEqual(one.gradient.tobytes(), other.gradient.tobytes())
        self.assertEqual(one[:2], other[:2])


class Gradients(Torch):
    def test_they_are_those_of_plain_pytorch(self):
        asker, plain = self.start(NET + LOSS + MAIN), self.here(NET + LOSS)
        for name, p in plain["net"].named_parameters():
            self.assertEqual(asker.parameters[name].tobytes(), p.detach().numpy().tobytes())
        answer = asker.gradient(range(8))
        losses, correct = plain["loss"](torch.arange(8), False)
        losses.sum().backward()
        for name, p in plain["net"].named_parameters():
            self.assertEqual(self.named(asker, answer)[name].tobytes(), p.grad.numpy().tobytes(), name)
        self.assertEqual((answer.loss, answer.correct), (losses.sum().item(), correct))
        score = asker.score(8, 20)
        self.assertEqual(score.loss, plain["loss"](torch.arange(8, 28), True)[0].sum().item())

    def test_what_leaves_the_memory_is_copied(self):
        answer = self.start(NET + LOSS + MAIN).gradient(range(8))
        for hook in ("if 15 in i: net.half().float()", "net.zero_grad(set_to_none=True)",
                     "net[0].weight.grad = None", "net[0].weight.data = net[0].weight.data.clone()"):
            with self.subTest(hook):
                text = LOSS.replace("):\n", f"):\n    {hook}\n", 1)
                asker = self.start(NET + text + MAIN)
                asker.gradient(range(8, 16))
                asker.score(0, 8)
                again = asker.gradient(range(8))
                self.same(answer, again)

    def test_other_types_are_copied(self):
        answer = self.start(NET + LOSS + MAIN).gradient(range(8))
        for change, bound in (("net.double()", 1e-6), ("net.bfloat16()", 0.1),
                              ("net[0].weight.data = net[0].weight.data.t().contiguous().t()", 1e-6)):
            with self.subTest(change):
                asker = self.start(NET + change + LOSS + MAIN)
                asker.gradient(range(8, 16))
                np.testing.assert_allclose(asker.gradient(range(8)).gradient, answer.gradient, rtol=0, atol=bound)

    def test_tied_weights_are_one_variable_and_unused_ones_have_no_gradient(self):
        text = NET + """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.unused, self.kept = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(2, 2), nn.Linear(6, 4)
        self.b.weight, self.scale = self.a.weight, nn.Parameter(torch.tensor(2.0))
        self.kept.requires_grad_(False)
    def forward(self, a):
        return self.kept(self.b(torch.tanh(self.a(a)))) * self.scale
net = Tied()
"""
        asker, plain = self.start(text + LOSS + MAIN), self.here(text + LOSS)
        self.assertEqual([v.name for v in asker.variables],
                         ["scale", "a.weight", "a.bias", "b.bias", "unused.weight", "unused.bias"])
        self.assertRegex(asker.declared["fingerprint"], "frozen kept.weight kept.bias")
        named = self.named(asker, asker.gradient(range(8)))
        plain["loss"](torch.arange(8), False)[0].sum().backward()
        self.assertEqual(named["a.weight"].tobytes(), plain["net"].a.weight.grad.numpy().tobytes())
        self.assertEqual(named["scale"].item(), plain["net"].scale.grad.item())
        self.assertFalse(named["unused.weight"].any())

    def test_integers_that_are_no_parameters_are_left_alone_and_complex_ones_refused(self):
        text = NET + "net[0].weight = nn.Parameter(torch.zeros(6, 6, dtype=torch.complex64))\n" + LOSS + MAIN
        code, said = self.run_here(self.file(text), "run")
        self.assertEqual(code, 1)
        self.assertIn('variable "0.weight" is complex64: programs train floats (kept as float32;', said)

    def test_losses_of_other_examples_are_refused(self):
        asker = self.start(NET + LOSS.replace("y[i]", "y[:5]").replace("x[i]", "x[:5]") + MAIN)
        with self.assertRaisesRegex(RuntimeError, "^ValueError: loss.. gives 5 losses for 8 examples$"):
            asker.gradient(range(8))
        asker = self.start(NET + "def loss(i, test): return net(x[i]).sum()\n" + MAIN)
        with self.assertRaisesRegex(RuntimeError, "gives no number of right answers"):
            asker.gradient(range(8))


class BatchNorm(Torch):
    TEXT = NET + "net = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6, momentum=0.25), nn.Linear(6, 4))\n" + LOSS

    def test_a_gradient_of_averages_is_the_leafs_statistic(self):
        asker, plain = self.start(self.TEXT + MAIN), self.here(self.TEXT)
        rates = {v["name"]: v.get("average") for v in asker.declared["variables"]}
        self.assertEqual({name for name, rate in rates.items() if rate == 0.25}, {"1.running_mean", "1.running_var"})
        self.assertEqual(asker.parameters["1.running_var"].tolist(), [1] * 6)
        for examples in (range(8), range(8, 20), range(8)):
            named = self.named(asker, asker.gradient(examples))
            inner = plain["net"][0](plain["x"][list(examples)]).detach()
            count = len(examples)
            np.testing.assert_allclose(named["1.running_mean"], count * inner.mean(0).numpy(), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(named["1.running_var"], count * inner.var(0).numpy(), rtol=1e-5)

    def test_scores_use_the_averages_as_they_stand(self):
        asker, plain = self.start(self.TEXT + MAIN), self.here(self.TEXT)
        asker.gradient(range(8))
        asker.parameters["1.running_mean"][:], asker.parameters["1.running_var"][:] = 0.5, 4
        plain["net"][1].running_mean[:], plain["net"][1].running_var[:] = 0.5, 4
        plain["net"].eval()
        self.assertEqual(asker.score(0, 10).loss, plain["loss"](torch.arange(10), True)[0].sum().item())

    def test_frozen_ones_stay_in_eval_mode(self):
        text = self.TEXT + "net.train(); net[1].eval()\n"
        asker, plain = self.start(text + MAIN), self.here(text)
        self.assertNotIn("1.running_mean", [v.name for v in asker.variables])
        asker.score(0, 10)
        answer = asker.gradient(range(8))
        self.assertEqual(answer.loss, plain["loss"](torch.arange(8), False)[0].sum().item())

    def test_a_mean_of_all_batches_is_refused(self):
        code, said = self.run_here(self.file(self.TEXT.replace("0.25", "None") + MAIN), "run")
        self.assertEqual(code, 1)
        self.assertIn('variable "1.running_mean" is the mean of all batches (momentum=None)', said)


class Seeds(Torch):
    def test_dropout_depends_on_the_leafs_seed_alone(self):
        text = NET + "net = nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 4))\n" + LOSS + MAIN
        asker = self.start(text)
        one, other = asker.gradient(range(8), seed=7), asker.gradient(range(8), seed=(1 << 64) - 1)
        self.assertNotEqual(one.loss, other.loss)
        asker.score(0, 40)
        self.same(one, asker.gradient(range(8), seed=7))
        self.same(one, self.start(text).gradient(range(8), seed=7))

    def test_one_thread_unless_told(self):
        for options, threads in (("", 1), (", threads=2", 2)):
            text = NET + LOSS.replace("):\n", f"):\n    assert torch.get_num_threads() == {threads}\n", 1)
            asker = self.start(text + MAIN.replace(", examples", options + ", examples"))
            self.assertIn(f"threads {threads}", asker.declared["fingerprint"])
            asker.gradient([0])


class Parts(Torch):
    def test_the_end_of_the_gradient_is_told_first(self):
        asker = self.start(NET + LOSS + MAIN)
        whole = asker.gradient(range(8))
        told = asker.gradient(range(8), flags=3)
        starts = syncopate.protocol.offsets(asker.variables)
        self.assertEqual(sorted(told.parts, reverse=True), told.parts)
        self.assertEqual((len(set(told.parts)), told.parts[-1]), (len(told.parts), 0))
        self.assertLessEqual(set(told.parts), set(starts))
        self.same(whole, told)
        self.assertEqual(asker.gradient(range(8)).parts, [])

    def test_what_is_told_is_final(self):
        """The program stands still at the end of backward(): what was told by then is there."""
        hook = "\n    if not test: net[0].weight.register_hook(lambda g: (os.write(1, b'.'), sys.stdin.read(1)) and None)\n"
        text = NET + LOSS.replace("):\n", f"):{hook}", 1) + MAIN
        asker = syncopate.check.Asker()
        child = asker.start(f"exec {sys.executable} {self.file(text)}", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        asker.look()
        asker.initial()
        asker.whole[:] = 0
        asker.numbers[:8] = range(8)
        asker.channel.send(syncopate.protocol.COMPUTE, struct.pack("=QQQII", 0, 0, 1, 0, 8), 3, 99)
        child.stdout.read(1)
        at = asker.whole.size
        early = asker.whole.copy()
        child.stdin.close()
        while True:
            kind, _, serial, body = asker.channel.receive()
            if kind == syncopate.protocol.DONE:
                break
            first, = struct.unpack("=Q", body)
            if first > 48:  # Of the second layer, whose gradients are there before the first one's.
                at = first
        self.assertLess(at, asker.whole.size)
        self.assertEqual(early[at:].tobytes(), asker.whole[at:].tobytes())
        self.assertFalse(early[:36].any())
        asker.end()
        child.stdout.close()
        self.assertEqual(child.wait(), 0)

    def test_a_gradient_in_two_parts_is_refused(self):
        text = NET + LOSS.replace("):\n", "):\n    net(x[i]).sum().backward()\n", 1) + MAIN
        with self.assertRaisesRegex(RuntimeError, "came in two parts: run without --overlap"):
            self.start(text).gradient(range(8), flags=3)


class Sets(Torch):
    TEXT = NET + """
from torch.utils.data import Dataset, TensorDataset
class Rows(Dataset):
    def __init__(self, x): self.x = x
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return {"a": self.x[i], "b": int(y[i])}
def loss(net, batch):
    a, b = (batch["a"], batch["b"]) if isinstance(batch, dict) else batch
    out = net(a)
    return F.cross_entropy(out, b, reduction="sum"), (out.argmax(1) == b).sum()
"""

    def test_data_sets_are_collated_as_by_a_loader(self):
        plain = self.start(NET + LOSS + MAIN).gradient([5, 1, 7])
        for sets in ("data=Rows(x), test=Rows(x[:9])", "data=TensorDataset(x, y), test=TensorDataset(x[:9], y[:9])"):
            asker = self.start(self.TEXT + f"syncopate.torch.main(net, loss, {sets})\n")
            self.assertEqual((asker.declared["examples"], asker.declared["test_examples"]), (40, 9))
            self.assertRegex(asker.declared["data_digest"], "^[0-9a-f]{64}$")
            self.same(plain, asker.gradient([5, 1, 7]))
            asker.score(0, 9)

    def test_other_data_have_another_digest(self):
        digests = {self.start(self.TEXT + f"syncopate.torch.main(net, loss, data=Rows({rows}))\n").declared["data_digest"]
                   for rows in ("x", "x + 1", "x[:39]")}
        self.assertEqual(len(digests), 3)


class Streams(Torch):
    TEXT = NET + """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.arange(40)), 10, shuffle=True, num_workers={workers})
opt = syncopate.torch.Optimizer(net, "adam", lr=1e-3, batch=10)
{before}
for epoch in range(2):
    for i, in syncopate.torch.part(loader):
        opt.zero_grad()
        loss = F.cross_entropy(net(x[i]), y[i])
        loss.backward()
        print(*i.tolist())
        opt.step(loss)
print("trained to", net[0].bias.tolist()[0])
"""

    def asked(self, seeds, workers=0, before=""):
        asker = self.start(self.TEXT.format(workers=workers, before=before))
        answers = [asker.gradient(range(10), seed=seed) for seed in seeds]
        asker.parameters["0.bias"][0] = 12.5
        asker.end()
        lines = self.ends(asker).splitlines()
        self.assertEqual(lines.pop(), "trained to 12.5")
        return asker, answers, [[int(word) for word in line.split()] for line in lines]

    def test_a_loop_that_exists_answers_until_the_end(self):
        asker, answers, batches = self.asked([1, 2, 3, 4, 5])
        self.assertEqual(asker.declared["examples"], 0)
        self.assertEqual(asker.declared["options"], {"optimizer": "adam", "learning-rate": 0.001, "micro-batch": 10})
        self.assertEqual(sorted(sum(batches[:4], [])), list(range(40)))
        plain = self.here(NET + LOSS)
        losses = plain["loss"](torch.tensor(batches[0]), False)[0]
        losses.mean().backward()
        self.assertAlmostEqual(answers[0].loss, losses.sum().item(), 5)
        np.testing.assert_array_equal(self.named(asker, answers[0])["2.bias"], 10 * plain["net"][2].bias.grad.numpy())

    def test_each_worker_has_a_shuffle_of_its_own(self):
        one, other = self.asked([1, 2])[2], self.asked([9, 8])[2]
        self.assertNotEqual(one, other)
        self.assertEqual(one, self.asked([1, 2])[2])

    def test_loaders_with_processes_do_not_answer(self):
        self.assertEqual(self.asked([1, 2, 3, 4, 5], workers=2)[2], self.asked([1, 2, 3, 4, 5])[2])

    def test_a_scheduler_is_refused(self):
        asker = syncopate.check.Asker()
        text = self.TEXT.format(workers=0, before="torch.optim.lr_scheduler.StepLR(opt, 1)")
        child = asker.start(f"exec {sys.executable} {self.file(text)}", stderr=subprocess.PIPE, text=True)
        asker.look()
        with self.assertRaisesRegex(RuntimeError, "the update is syncopate's. For a scheduler give --schedule"):
            asker.initial()
        child.communicate()


class Loads(Torch):
    def write(self, values):
        header, data = {}, b""
        for name, value in values.items():
            header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
            data += value.tobytes()
        text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
        path = os.path.join(self.folder, "model.safetensors")
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data)
        return path

    def test_values_come_by_name(self):
        net = self.here(BatchNorm.TEXT)["net"]
        values = {name: np.full(p.shape, 3, "f4") for name, p in net.state_dict().items() if p.dtype == torch.float32}
        path = self.write(values)
        for place in (path, self.folder):
            fresh = self.here(BatchNorm.TEXT)["net"]
            syncopate.torch.load(fresh, place)
            self.assertTrue((fresh[1].running_var == 3).all() and (fresh[0].weight == 3).all())
        del values["0.bias"]
        with self.assertRaisesRegex(KeyError, "is of another net: no 0.bias"):
            syncopate.torch.load(net, self.write(values))
        values.update({"0.bias": np.zeros(7, "f4"), "z": np.zeros(1, "f4")})
        with self.assertRaisesRegex(KeyError, "is of another net: z, 0.bias|is of another net: 0.bias, z"):
            syncopate.torch.load(net, self.write(values))


if __name__ == "__main__":
    unittest.main()
