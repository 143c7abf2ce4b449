"""Train what you have written in NumPy: in every mode, on many workers, to the same bits.

main() answers `syncopate run`, `simulate`, `replay` and others: `python3 net.py run --workers 2`
becomes `syncopate run --workers 2 --program "python3 net.py"`. For PyTorch: syncopate.torch.
"""
from __future__ import annotations

import os
from typing import (Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Sequence,
                    Tuple, Union)

import numpy as np

from . import notebook, protocol
from .notebook import Run
from .protocol import Program, Variable, Work

__all__ = ["Run", "Work", "leaves", "main", "simulate", "solo"]

Values = Mapping[str, np.ndarray]
# (parameters, gradient or None for a score, numbers of examples, of the test set?)
# -> loss (a sum), correct
Gradient = Callable[[Values, Optional[Values], np.ndarray, bool], Union[float, Tuple[float, int]]]


def _declare(values: Values, averages: Mapping[str, float],
             options: Dict[str, Any]) -> Tuple[Dict[str, Any], List[Variable]]:
    for name, value in values.items():
        if value.dtype not in (np.float16, np.float32, np.float64):
            raise TypeError(protocol.NO_FLOATS.format(name, value.dtype))
    variables = [Variable(name, value.shape or (1,), averages.get(name))
                 for name, value in values.items()]
    versions = f"numpy {np.__version__}, threads {os.environ.get('OMP_NUM_THREADS', 'any')}"
    return protocol.declare("numpy", variables, versions, **options), variables


def _works(program: Program, values: Values) -> Iterator[Work]:
    first = {name: value.copy() for name, value in values.items()}

    def initial() -> None:
        for name, array in program.parameters.items():
            array.flags.writeable = True
            array[...] = first[name]
            array.flags.writeable = False

    for array in program.parameters.values():
        array.flags.writeable = False  # The owner's alone.
    yield from program.works(initial)


def leaves(values: Values, *, averages: Mapping[str, float] = {}, **options: Any) -> Iterator[Work]:
    """Questions, for a loop of your own: read work.parameters, write work.gradient, call work.done().

    values: float arrays by name, the initial values; averages: rates of running averages among them.
    options: examples, test_examples, name, score_piece, scores ("accuracy" or "loss"), data_digest,
    and defaults for options of syncopate (optimizer="adam", learning_rate=1e-3, micro_batch=32).
    """
    declaration, variables = _declare(values, averages, options)
    yield from _works(protocol.answer(declaration, variables), values)


def _compute(work: Work, gradient: Gradient) -> None:
    result = gradient(work.parameters, work.gradient, work.examples, work.test)
    work.done(*result) if isinstance(result, tuple) else work.done(result)


def main(gradient: Gradient, values: Values, **options: Any) -> NoReturn:
    """Answer until the job ends, then exit; unasked, become the command of the arguments.

    gradient(p, g, i, test) writes the sum of the gradients of the examples i into the arrays of g
    (which are 0), and returns the sum of their losses and how many are right. For a score g is None.
    values and options: as leaves() has them.
    """
    for work in leaves(values, **options):
        _compute(work, gradient)
    raise SystemExit(0)


def _job(command: Sequence[str], gradient: Gradient, values: Values,
         options: Dict[str, Any]) -> Run:
    declared, asked = notebook.split(options)
    declaration, variables = _declare(values, declared.pop("averages", {}), declared)

    def answer(program: Program) -> None:
        for work in _works(program, values):
            _compute(work, gradient)

    run = notebook.ask(command, asked, declaration, variables, answer)
    for name, value in protocol.read_model(run.path).items():
        values[name][...] = value.reshape(values[name].shape)
    return run


def simulate(gradient: Gradient, values: Values, **options: Any) -> Run:
    """`syncopate simulate` on this process, for notebooks: the values are trained in place.

    options: those of leaves() and of `syncopate simulate` (workers=16, mode="async", steps=400).
    """
    return _job(("syncopate", "simulate"), gradient, values, options)


def solo(gradient: Gradient, values: Values, **options: Any) -> Run:
    """One process without servers (--ps 0) on this one; as simulate()."""
    return _job(("syncopate-worker",), gradient, values, {"ps": 0, "workers": 1, **options})
