"""`python -m syncopate check net.py`: the asker's end of the protocol, in small."""
from __future__ import annotations

import json
import mmap
import os
import runpy
import shlex
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import protocol
from .protocol import Channel, Variable

PAGE = 4096


class Answer(NamedTuple):
    loss: float
    correct: int
    gradient: np.ndarray
    parts: List[int]


class Asker:
    """Asks a program. `ends` are the descriptors that it gets."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        self.channel, self.memory_fd, self.serial = Channel(ours), os.memfd_create("syncopate"), 0
        self.ends = self.theirs.fileno(), os.dup(self.memory_fd)

    def start(self, command: str, **options: Any) -> subprocess.Popen:
        """As a job does it: by the shell."""
        environment = {**os.environ, "SYNCOPATE_PROGRAM": "1,%d,%d" % self.ends}
        child = subprocess.Popen(command, shell=True, pass_fds=self.ends, env=environment,
                                 **options)
        self.given()
        return child

    def given(self) -> None:
        """The program has its ends."""
        self.theirs.close()
        os.close(self.ends[1])

    def look(self) -> Dict[str, Any]:
        """What the program declares; it is given its memory."""
        kind, _, _, body = self.channel.receive()
        if kind != protocol.DECLARE:
            raise ValueError(f"a message of kind {kind} where the declaration belongs")
        declared = json.loads(body)
        self.variables = [Variable(v["name"], tuple(v["shape"])) for v in declared["variables"]]
        size = -(-4 * protocol.offsets(self.variables)[-1] // PAGE) * PAGE
        whole = 2 * size + 4 * PAGE
        os.ftruncate(self.memory_fd, whole)
        memory = mmap.mmap(self.memory_fd, whole)
        self.parameters = protocol.region(memory, 0, self.variables)
        self.whole = np.frombuffer(memory, np.float32, size // 4, size)
        self.numbers = np.frombuffer(memory, np.uint32, PAGE, 2 * size)
        self.channel.send(protocol.LAYOUT, struct.pack("=5Q", whole, 0, size, 2 * size, PAGE))
        return declared

    def ask(self, kind: int, body: bytes, flags: int = 0) -> Answer:
        """RuntimeError with the program's words when it cannot go on."""
        self.serial += 1
        self.channel.send(kind, body, flags, self.serial)
        parts = []
        while True:
            answer, _, serial, body = self.channel.receive()
            if answer == protocol.FAIL:
                raise RuntimeError(body.decode())
            if serial != self.serial or answer not in (protocol.PART, protocol.DONE):
                raise ValueError(f"kind {answer} and serial {serial} where an answer belongs")
            if answer == protocol.DONE:
                return Answer(*struct.unpack("=dQ", body), self.whole.copy(), parts)
            parts.append(*struct.unpack("=Q", body))

    def initial(self) -> None:
        self.ask(protocol.INITIAL, struct.pack("=Q", 1))

    def gradient(self, examples: Sequence[int], seed: int = 1, flags: int = protocol.FRESH) -> Answer:
        self.whole[:] = 0
        self.numbers[:len(examples)] = examples
        body = struct.pack("=QQQII", 0, 0, seed, 0, len(examples))
        return self.ask(protocol.COMPUTE, body, flags)

    def score(self, first: int, count: int) -> Answer:
        return self.ask(protocol.SCORE, struct.pack("=QQ", first, count), protocol.FRESH)

    def end(self) -> None:
        self.channel.send(protocol.END, struct.pack("=I", 0) + b"done")


def differs(asker: Asker, one: Answer, other: Answer) -> Optional[str]:
    """Where two answers to the same question differ."""
    for variable, at in zip(asker.variables, protocol.offsets(asker.variables)):
        size = int(np.prod(variable.shape))
        a, b = (answer.gradient[at:at + size].view(np.uint32) for answer in (one, other))
        if (a != b).any():
            return f"{variable.name}, {(a != b).sum():,} of {size:,} values"
    return None if one[:2] == other[:2] else f"loss and right: {one[:2]} and {other[:2]}"


def _examine(asker: Asker, path: str) -> List[str]:
    """Lines of what was found; ValueError for what is wrong."""
    declared = asker.look()
    if not declared["examples"]:
        raise ValueError("its examples are a stream: no leaf can be computed twice")
    asker.initial()
    leaf = range(min(declared["examples"], int(declared["options"].get("micro-batch", 32))))
    sizes, half = [int(np.prod(v.shape)) for v in asker.variables], len(leaf) // 2
    first = asker.gradient(leaf)
    began = time.process_time()
    halves = [asker.gradient(leaf[:half]), asker.gradient(leaf[half:])] if half else []
    took = time.process_time() - began
    if declared["test_examples"]:
        asker.score(0, min(declared["test_examples"], declared["score_piece"]))
    again = asker.gradient(leaf)
    where = differs(asker, first, again)
    if where:
        raise ValueError(f"a leaf came out differently the second time ({where}): "
                         "the program is not deterministic")
    asker.end()
    second = Asker()
    child = second.start(shlex.join([sys.executable, path]))
    second.look()
    second.initial()
    for name, value in asker.parameters.items():
        second.parameters[name][...] = value
    where = differs(asker, first, second.gradient(leaf))
    second.end()
    child.wait()
    if where:
        raise ValueError(f"a leaf came out differently in a second process ({where}): "
                         "is something unseeded, or read from elsewhere?")
    if halves and abs(first.loss) < 0.75 * abs(sum(half.loss for half in halves)):
        raise ValueError("the loss of a leaf is not that of its halves together: a mean, where the "
                         'sum over the examples belongs (reduction="sum")')
    lines = [f"{declared['name']}: {len(sizes)} variables, {sum(sizes):,} values; "
             f"{declared['examples']:,} examples, {declared['test_examples']:,} test examples",
             f"a leaf of {len(leaf)} examples: loss {first.loss / len(leaf):.6g} each, "
             f"{first.correct} right, {took * 1000:.1f} ms of processor time"]
    zero = [v.name for v, at in zip(asker.variables, protocol.offsets(asker.variables))
            if not first.gradient[at:at + int(np.prod(v.shape))].any()]
    return lines + ([f"no gradient: {', '.join(zero)}"] if zero else []) + \
        ["the same bits again, after others, and in a second process"]


def check(path: str) -> int:
    """0: the leaves of this program can be trusted. It runs in this process: pdb works."""
    asker, found = Asker(), []

    def examine() -> None:
        try:
            found.extend(_examine(asker, path))
        except (ValueError, RuntimeError) as error:
            found.append(f"syncopate check: {path}: {error}")
        except EOFError:
            found.append(f"syncopate check: {path} has ended before it answered")
        finally:
            asker.channel.socket.close()

    os.environ["SYNCOPATE_PROGRAM"] = "1,%d,%d" % asker.ends
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    thread = threading.Thread(target=examine, daemon=True)
    thread.start()
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit:
        pass
    thread.join()
    bad = found[-1].startswith("syncopate check: ")
    print("\n".join(found), file=sys.stderr if bad else sys.stdout)
    return int(bad)
