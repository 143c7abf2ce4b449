"""Train a PyTorch net by syncopate: on many workers, in every mode, to the same bits.

main(net, loss, data=train_set, test=test_set) is the whole of it; leaves() is for a loop of your
own; Optimizer and part() are for a loop that exists; simulate() and solo() are for notebooks; load()
reads what was trained.
"""
from __future__ import annotations

import hashlib
import os
import struct
from typing import (Any, Callable, Dict, Iterable, Iterator, List, NoReturn, Optional, Sequence, Set,
                    Tuple)

import numpy as np
import torch
from torch.nn.modules.batchnorm import _NormBase
from torch.utils.data import Dataset, TensorDataset, default_collate

from . import notebook, protocol
from .notebook import Run
from .protocol import PART, Program, Variable, Work

__all__ = ["Optimizer", "Run", "Work", "leaves", "load", "main", "part", "simulate", "solo"]

Loss = Callable[[Any, Any], Any]


def _seed(seed: int) -> None:
    # torch.manual_seed formats a stack where CUDA is not in use, which takes 0.2 ms.
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


class _Average:
    """A running statistic of BatchNorm. With a momentum of 1 it becomes that of the leaf."""

    def __init__(self, name: str, module: Any, buffer: str) -> None:
        if module.momentum is None:
            raise ValueError(f'variable "{name}" is the mean of all batches (momentum=None): '
                             "give its module a momentum")
        self.name, self.module, self.buffer, self.rate = name, module, buffer, module.momentum

    def tensor(self) -> torch.Tensor:
        return getattr(self.module, self.buffer)


class _Net:
    """A net in the memory: .data and .grad are there, or are copied where they cannot be."""

    def __init__(self, net: torch.nn.Module, threads: int = 1) -> None:
        self.net, self.threads = net, torch.get_num_threads()
        if threads:
            torch.set_num_threads(threads)
        if not net.training:
            net.train()
        self.in_eval = [m for m in net.modules() if not m.training]  # Frozen BatchNorm stays so.
        self.trained = [(name, p) for name, p in net.named_parameters() if p.requires_grad]
        for name, p in self.trained:
            if not p.is_floating_point():
                raise TypeError(protocol.NO_FLOATS.format(name, str(p.dtype)[6:]))
        self.averages = [_Average(f"{name}.{buffer}" if name else buffer, module, buffer)
                         for name, module in net.named_modules()
                         if isinstance(module, _NormBase) and module.training
                         and module.running_mean is not None
                         for buffer in ("running_mean", "running_var")]
        # Averages are first: gradients become final from the end on.
        self.variables = [Variable(a.name, tuple(a.tensor().shape), a.rate) for a in self.averages]
        self.variables += [Variable(name, tuple(p.shape) or (1,)) for name, p in self.trained]
        self.nodes: List[Any] = []  # Of autograd, with a hook each.
        self.final: Set[int] = set()  # Trained variables whose gradient of this leaf is.
        self.first = 0  # From this one on all are.

    def declaration(self, **options: Any) -> Dict[str, Any]:
        frozen = [name for name, p in self.net.named_parameters() if not p.requires_grad]
        versions = [f"numpy {np.__version__}", f"torch {torch.__version__}",
                    f"threads {torch.get_num_threads()}", f"frozen {' '.join(frozen)}"]
        return protocol.declare("torch", self.variables, ", ".join(versions), **options)

    def works(self, program: Program) -> Iterator[Work]:
        """Questions, with the net prepared for each of them."""
        self.program = program

        def place(name: str, tensor: torch.Tensor) -> List[torch.Tensor]:
            return [torch.from_numpy(region[name]).view(tensor.shape)
                    for region in (program.parameters, program.gradient)]

        self.places = [(p, *place(name, p)) for name, p in self.trained]
        self.statistics = [(a, *place(a.name, a.tensor())) for a in self.averages]
        first = [(value, average.tensor().clone()) for average, value, _ in self.statistics]
        for p, value, _ in self.places:
            ours = p.dtype == torch.float32 and p.device.type == "cpu" and p.is_contiguous()
            first.append((value, p.data if ours else p.data.clone()))
            if ours:
                p.data = value
        for average in self.averages:
            average.module.momentum = 1.0

        def initial() -> None:
            for value, tensor in first:
                value.copy_(tensor)

        program.finish = self.finish
        try:
            for work in program.works(initial):
                self.begin(work)
                yield work
        finally:
            torch.set_grad_enabled(True)
            torch.set_num_threads(self.threads)
            self.let_go()

    def begin(self, work: Work) -> None:
        """The parameters are the asker's, and all that is drawn is drawn from the leaf's seed."""
        self.work = work
        _seed(work.seed)
        torch.set_grad_enabled(not work.test)
        if self.net.training == work.test:
            self.net.train(not work.test)
            for module in self.in_eval:
                module.training = False
        for p, value, grad in self.places:
            ours = p.data_ptr() == value.data_ptr()
            if not ours:
                p.data.copy_(value)
            if not work.test:
                p.grad = grad.detach() if ours else None  # Its own tensor: .data may be set.
        for average, value, _ in self.statistics:
            average.tensor().copy_(value)
        self.final.clear()
        self.first = len(self.places)
        work.examples = torch.from_numpy(work.examples)

    def finish(self, work: Work) -> None:
        """What did not come to be in the memory is copied there."""
        if not work.test:
            for index in range(len(self.places)):
                if index not in self.final:
                    self.keep(index)
            for average, _, grad in self.statistics:
                grad.copy_(average.tensor() * work.count)

    def keep(self, index: int) -> None:
        p, _, grad = self.places[index]
        if p.grad is None:
            grad.zero_()
        elif p.grad.is_sparse:
            grad.copy_(p.grad.to_dense())
        elif p.grad.data_ptr() != grad.data_ptr():
            grad.copy_(p.grad)

    def tell_parts(self) -> None:
        """From now on backward() says with PART what is final, where the asker wants it."""
        starts = protocol.offsets(self.variables)[len(self.averages):]

        def accumulated(index: int) -> None:
            if not self.work.parts:
                return
            if index in self.final:
                raise RuntimeError(f"the gradient of {self.trained[index][0]} came in two parts: "
                                   "run without --overlap")
            self.keep(index)
            self.final.add(index)
            before = self.first
            while self.first - 1 in self.final:
                self.first -= 1
            if self.first < before:
                self.program.send(PART, struct.pack("=Q", starts[self.first]), self.work.serial)

        with torch.enable_grad():
            for index, (p, _, _) in enumerate(self.places):
                node = p.expand_as(p).grad_fn.next_functions[0][0]
                node.register_hook(lambda *_, index=index: accumulated(index))
                self.nodes.append(node)

    def let_go(self) -> None:
        """The net has memory of its own again."""
        for p, value, _ in self.places:
            if p.data_ptr() == value.data_ptr():
                p.data = value.clone()
            p.grad = None
        for average, value, _ in self.statistics:
            average.tensor().copy_(value)
            average.module.momentum = average.rate


class _Sets:
    """Map-style data sets: the examples of a leaf, collated as a DataLoader does it."""

    def __init__(self, data: Dataset, test: Optional[Dataset],
                 collate: Callable[[List[Any]], Any]) -> None:
        self.data, self.test, self.collate = data, test, collate

    def options(self) -> Dict[str, Any]:
        """Counts, and a digest of 64 examples of each set."""
        digest, counts = hashlib.sha256(), [0, 0]
        for at, part in enumerate((self.data, self.test)):
            counts[at] = len(part) if part is not None else 0  # type: ignore[arg-type]
            if counts[at]:
                _seed(0)
                self._add(digest, self.batch(range(0, counts[at], -(-counts[at] // 64)), at == 1))
        return {"examples": counts[0], "test_examples": counts[1],
                "data_digest": digest.hexdigest()}

    def _add(self, digest: Any, batch: Any) -> None:
        if isinstance(batch, torch.Tensor):
            digest.update(str((batch.dtype, batch.shape)).encode() + batch.numpy().tobytes())
        elif isinstance(batch, dict):
            self._add(digest, list(batch.items()))
        elif isinstance(batch, (list, tuple)):
            for part in batch:
                self._add(digest, part)
        else:
            digest.update(repr(batch).encode())

    def batch(self, examples: Any, test: bool) -> Any:
        part: Any = self.test if test else self.data
        if isinstance(part, TensorDataset) and self.collate is default_collate:
            return list(part[torch.as_tensor(examples)])
        return self.collate([part[int(i)] for i in examples])


def _prepare(net: torch.nn.Module, loss: Loss, *, data: Optional[Dataset] = None,
             test: Optional[Dataset] = None, collate: Callable[[List[Any]], Any] = default_collate,
             threads: int = 1, scores: str = "accuracy",
             **options: Any) -> Tuple[_Net, Dict[str, Any], Callable[[Work], None]]:
    """The net, its declaration, and the function that computes and answers."""
    placed, sets = _Net(net, threads), _Sets(data, test, collate) if data is not None else None
    if sets:
        options = {**sets.options(), **options}

    def compute(work: Work) -> None:
        if work.parts and not placed.nodes:
            placed.tell_parts()
        asked = work.examples, work.test
        result = loss(net, sets.batch(*asked)) if sets else loss(*asked)
        value, correct = result if isinstance(result, tuple) else (result, None)
        if correct is None and scores == "accuracy":
            raise TypeError("loss() gives no number of right answers: return (loss, correct), "
                            "or give scores='loss'")
        value = torch.as_tensor(value)
        if value.dim():
            if len(value) != work.count:
                raise ValueError(f"loss() gives {len(value)} losses for {work.count} examples")
            value = value.sum()
        if not work.test:
            value.backward()
        work.done(value, 0 if correct is None else correct)

    return placed, placed.declaration(scores=scores, **options), compute


def leaves(net: torch.nn.Module, *, threads: int = 1, **options: Any) -> Iterator[Work]:
    """Questions, for a loop of your own: loss.backward() but for a test, work.done(loss, correct).

    The loss is the sum over work.examples (a LongTensor). Gradients are 0, and modules in train() or
    eval() mode. After the last question the net has memory of its own again.
    threads: of torch, 0 for as many as it has. options: examples, test_examples, name, score_piece,
    scores ("accuracy" or "loss"), data_digest, and defaults for options of syncopate
    (optimizer="adam", learning_rate=1e-3).
    """
    placed = _Net(net, threads)
    yield from placed.works(protocol.answer(placed.declaration(**options), placed.variables))


def main(net: torch.nn.Module, loss: Loss, **options: Any) -> NoReturn:
    """Answer until the job ends, then exit; unasked, become the command of the arguments.

    With data=train_set (and test=test_set), map-style Datasets: loss(net, batch), of examples that
    collate() put together. Otherwise loss(i, test), of the numbers of examples. It returns the sum of
    the losses (or all of them) and how many are right. options: as leaves() has them.
    """
    placed, declaration, compute = _prepare(net, loss, **options)
    for work in placed.works(protocol.answer(declaration, placed.variables)):
        compute(work)
    raise SystemExit(0)


def _job(command: Sequence[str], net: torch.nn.Module, loss: Loss, options: Dict[str, Any]) -> Run:
    declared, asked = notebook.split(options)
    placed, declaration, compute = _prepare(net, loss, **declared)

    def answer(program: Program) -> None:
        for work in placed.works(program):
            compute(work)

    run = notebook.ask(command, asked, declaration, placed.variables, answer)
    load(net, run.path)
    return run


def simulate(net: torch.nn.Module, loss: Loss, **options: Any) -> Run:
    """`syncopate simulate` on this process, as a notebook needs it; afterwards the net is trained.

    options: those of main(), and all of `syncopate simulate` (workers=16, mode="async", steps=400).
    """
    return _job(("syncopate", "simulate"), net, loss, options)


def solo(net: torch.nn.Module, loss: Loss, **options: Any) -> Run:
    """One process without servers (--ps 0) on this one; as simulate()."""
    return _job(("syncopate-worker",), net, loss, {"ps": 0, "workers": 1, **options})


def load(net: torch.nn.Module, path: str) -> torch.nn.Module:
    """Take the values of a run's folder, or of a .safetensors file, by name.

    Others stay as they are: frozen parameters, num_batches_tracked."""
    values = protocol.read_model(os.fspath(path))
    own = net.state_dict(keep_vars=True)
    absent = [name for name, p in net.named_parameters() if p.requires_grad and name not in values]
    odd = [name for name in values if name not in own or own[name].numel() != values[name].size]
    if absent or odd:
        differ = ", ".join([f"no {name}" for name in absent] + odd)
        raise KeyError(f"{path} is of another net: {differ}")
    with torch.no_grad():
        for name, value in values.items():
            own[name].copy_(torch.from_numpy(np.array(value)).view(own[name].shape))
    return net


class Optimizer(torch.optim.Optimizer):
    """In the place of torch.optim's, for a loop that exists; the examples stay its own (a stream).

        opt = syncopate.torch.Optimizer(net, "adam", lr=1e-3, batch=64)
        for a, b in syncopate.torch.part(loader):
            opt.zero_grad(); loss = F.cross_entropy(net(a), b); loss.backward(); opt.step(loss)

    Each step() is a leaf of `batch` examples, and the loss is their mean. The job needs --steps.
    Of a stream nothing can be made again: no replay, and the bits depend on who computes what.
    """

    def __init__(self, net: torch.nn.Module, optimizer: str = "sgd", *, lr: float, batch: int,
                 threads: int = 1, **options: Any) -> None:
        global _asked
        placed = _Net(net, threads)
        declaration = placed.declaration(scores="loss", optimizer=optimizer, learning_rate=lr,
                                         micro_batch=batch, **options)
        self.net, self.work = placed, None
        self.works = placed.works(protocol.answer(declaration, placed.variables))
        _asked = self

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Gradients are 0 already; nothing is taken out of the memory."""
        for p, _, _ in self.net.places:
            if p.grad is not None:
                p.grad.zero_()

    def step(self, loss: Any = None) -> None:  # type: ignore[override]
        """The leaf's answer: the gradient of the mean, as a sum."""
        if self.work is None:
            raise RuntimeError("step() belongs in a loop over syncopate.torch.part(loader)")
        for p, _, _ in self.net.places:
            if p.grad is not None:
                p.grad *= self.work.count
        self.work.done(0.0 if loss is None else float(loss) * self.work.count)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this Optimizer has no {name}: the update is syncopate's. For a "
                             "scheduler give --schedule; a GradScaler is not needed; in the place of a "
                             "Trainer are main() and leaves()")


_asked: Optional[Optimizer] = None


def part(loader: Iterable[Any]) -> Iterator[Any]:
    """Batches of this worker's own shuffle, again and again, until the job ends."""
    if _asked is None:
        raise RuntimeError("part(loader) needs a syncopate.torch.Optimizer, made before it")
    batches: Iterator[Any] = iter(())
    nothing = object()
    for work in _asked.works:
        batch = next(batches, nothing)
        if batch is nothing:  # The seed is this leaf's, so the shuffle is no other worker's.
            if isinstance(getattr(loader, "generator", None), torch.Generator):
                loader.generator.manual_seed(work.seed)  # type: ignore[attr-defined]
            batches = iter(loader)
            batch = next(batches, nothing)
            if batch is nothing:
                raise ValueError("the loader gives no batch")
            _seed(work.seed)
        _asked.work = work
        yield batch
