"""The program's end of proto/PROGRAM.md, version 1: a socket, and memory that both have mapped."""
from __future__ import annotations

import hashlib
import json
import mmap
import os
import random
import shlex
import shutil
import socket
import struct
import sys
import traceback
from typing import (Any, Callable, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Sequence,
                    Tuple)

import numpy as np

DECLARE, LAYOUT, INITIAL, COMPUTE, SCORE, PART, DONE, FAIL, END = range(1, 10)
FRESH, PARTS = 1, 2  # Flags of COMPUTE and SCORE.
HEADER = struct.Struct("=IHHQ")  # Bytes of the body, kind, flags, serial.
TEXT_MAX, BODY_MAX = 4096, 16 << 20
NO_FLOATS = ('variable "{}" is {}: programs train floats (kept as float32; float16 and bfloat16 are '
             "copied)")


class Variable(NamedTuple):
    """A variable: its rate if it is a running average, else it is trained."""

    name: str
    shape: Tuple[int, ...]
    average: Optional[float] = None


class Channel:
    """Whole messages over a Unix stream socket."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    def send(self, kind: int, body: bytes = b"", flags: int = 0, serial: int = 0) -> None:
        self.socket.sendall(HEADER.pack(len(body), kind, flags, serial) + body)

    def receive(self) -> Tuple[int, int, int, bytes]:
        """Kind, flags, serial and body; EOFError when the other end is closed."""
        size, kind, flags, serial = HEADER.unpack(self._bytes(HEADER.size))
        if size > BODY_MAX:
            raise ValueError(f"a message of {size} bytes")
        return kind, flags, serial, self._bytes(size)

    def _bytes(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)


def offsets(variables: Sequence[Variable]) -> List[int]:
    """The first element of each variable, at a multiple of 64 bytes; last, the end of all."""
    places = [0]
    for variable in variables:
        places.append(places[-1] + -(-int(np.prod(variable.shape)) // 16) * 16)
    return places


def region(memory: mmap.mmap, start: int, variables: Sequence[Variable]) -> Dict[str, np.ndarray]:
    """The variables of a region that starts at this byte, by name."""
    arrays = {}
    for v, at in zip(variables, offsets(variables)):
        values = np.frombuffer(memory, np.float32, int(np.prod(v.shape)), start + 4 * at)
        arrays[v.name] = values.reshape(v.shape)
    return arrays


class Work:
    """One question: the gradient of a leaf, or (`test`) the score of a piece of the test set.

    `examples` are their numbers, int64; of a stream they mean nothing. `parameters` and `gradient`
    are arrays by name; `gradient` is 0 at first, and None for a score. Answer with done().
    """

    def __init__(self, program: Program, kind: int, flags: int, serial: int, body: bytes) -> None:
        self.kind, self.serial, self.test = kind, serial, kind == SCORE
        self.fresh, self.parts = bool(flags & FRESH), bool(flags & PARTS)
        self.batch = self.epoch = self.seed = self.leaf = self.count = 0
        self.examples: Any = np.arange(0)
        self.parameters, self.gradient = program.parameters, None if self.test else program.gradient
        if kind == COMPUTE:
            self.batch, self.epoch, self.seed, self.leaf, self.count = struct.unpack("=QQQII", body)
            self.examples = program.numbers[:self.count].astype(np.int64)
        elif kind == SCORE:
            first, self.count = struct.unpack("=QQ", body)
            self.examples, self.seed = np.arange(first, first + self.count), first
        elif kind == INITIAL:
            self.seed, = struct.unpack("=Q", body)
        else:
            raise ValueError(f"a message of kind {kind} is no question")
        self._program, self.answered = program, False

    def done(self, loss: Any = 0.0, correct: Any = 0) -> None:
        """The answer: sums over the examples, of their losses and of how many are right."""
        if self.answered:
            raise RuntimeError("done() was called before, for the same leaf")
        self._program.finish(self)
        self.answered = True
        self._program.send(DONE, struct.pack("=dQ", float(loss), int(correct)), self.serial)


class Program:
    """Declares, then answers: `for work in program.works(initial)`. A forked child has no work."""

    def __init__(self, declaration: Dict[str, Any], variables: Sequence[Variable],
                 fds: Tuple[int, int]) -> None:
        for fd in fds:
            os.set_inheritable(fd, False)
        self.variables, self._owner = variables, os.getpid()
        self.parameters: Dict[str, np.ndarray] = {}
        self.gradient: Dict[str, np.ndarray] = {}
        self.numbers = np.zeros(0, np.uint32)
        self.finish: Callable[[Work], None] = lambda work: None  # Called before an answer is sent.
        self.ended = False
        self._memory_fd, self._channel = fds[1], Channel(socket.socket(fileno=fds[0]))
        self.send(DECLARE, json.dumps(declaration).encode())
        kind, _, _, body = self._receive()
        if kind == LAYOUT:
            size, parameters, gradient, examples, most = struct.unpack("=5Q", body)
            memory = mmap.mmap(self._memory_fd, size)
            self.parameters = region(memory, parameters, variables)
            self.gradient = region(memory, gradient, variables)
            self.numbers = np.frombuffer(memory, np.uint32, most, examples)
        elif kind == END:
            raise SystemExit(0)  # It was only looked at.
        else:
            raise ValueError(f"a message of kind {kind} where the layout belongs")

    def send(self, kind: int, body: bytes = b"", serial: int = 0) -> None:
        if os.getpid() != self._owner:
            return
        try:
            self._channel.send(kind, body, 0, serial)
        except (BrokenPipeError, ConnectionResetError):
            raise SystemExit(1) from None

    def _receive(self) -> Tuple[int, int, int, bytes]:
        try:
            message = self._channel.receive()
        except (EOFError, ConnectionResetError):
            raise SystemExit(1) from None  # The asker is gone, and has nothing to say about it.
        if message[0] == END:
            self.ended = True
        return message

    def works(self, initial: Callable[[], None]) -> Iterator[Work]:
        """Questions until the job ends. initial() writes the initial values into `parameters`.

        A process that has computed no leaf exits then: behind the loop is for those that trained."""
        trained = False
        while not self.ended and os.getpid() == self._owner:
            kind, flags, serial, body = self._receive()
            if kind == END:
                if not trained:
                    raise SystemExit(0)
                return
            work = Work(self, kind, flags, serial, body)
            random.seed(work.seed)
            np.random.seed(work.seed & 0xFFFFFFFF)
            if kind == INITIAL:
                initial()
                self.send(DONE, bytes(16), serial)
                continue
            yield work
            trained = trained or not work.test
            if not work.answered:
                raise RuntimeError("the leaf was not answered: done() or step() is missing")

    def close(self) -> None:
        """No more questions. What holds arrays of the memory keeps it."""
        self._channel.socket.close()
        os.close(self._memory_fd)

    def fail(self, error: BaseException) -> None:
        """The job ends with the error in its own words."""
        if not self.ended:
            text = traceback.format_exception_only(type(error), error)[-1].strip()
            self.ended = True
            self.send(FAIL, text.encode()[:TEXT_MAX])


def source_digest(path: str) -> str:
    """Of the file that was started: another one may give other bits."""
    if not os.path.isfile(path):
        return "none"
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def declare(kind: str, variables: Sequence[Variable], fingerprint: str, *, examples: int = 0,
            test_examples: int = 0, name: Optional[str] = None, score_piece: int = 500,
            scores: str = "accuracy", data_digest: Optional[str] = None,
            **options: Any) -> Dict[str, Any]:
    """The body of DECLARE. options: of syncopate, with _ for -, for what no command line says."""
    path = getattr(sys.modules["__main__"], "__file__", None) or "notebook"
    declared = [{"name": v.name, "shape": v.shape, **({"average": v.average} if v.average else {})}
                for v in variables]
    python = sys.version.split()[0]
    return {"name": name or f"{os.path.splitext(os.path.basename(path))[0]}: {kind}",
            "variables": declared, "examples": examples, "test_examples": test_examples,
            "score_piece": score_piece, "scores": scores,
            **({"data_digest": data_digest} if data_digest else {}),
            "fingerprint": f"python {python}, {fingerprint}, source {source_digest(path)}",
            "options": {key.replace("_", "-"): value for key, value in options.items()}}


def binary(name: str = "syncopate") -> str:
    """Where a command is."""
    found = shutil.which(name, path=os.environ.get("SYNCOPATE_BIN_DIR") or None)
    if not found:
        raise SystemExit(f"{name} is not here: install it (make install), or give its folder in "
                         "SYNCOPATE_BIN_DIR")
    return found


def own_command() -> str:
    """The shell command that starts this program once more."""
    program = sys.modules["__main__"]
    if getattr(program, "__spec__", None):
        return shlex.join([sys.executable, "-m", program.__spec__.name])  # type: ignore[union-attr]
    if not getattr(program, "__file__", None):
        raise SystemExit("syncopate: nothing can start this program again; call simulate() or solo()")
    return shlex.join([sys.executable, os.path.abspath(str(program.__file__))])


def execute(arguments: Sequence[str]) -> NoReturn:
    """Become `syncopate ARGUMENTS`."""
    sys.stdout.flush()
    path = binary()
    os.execv(path, [path, *arguments])


def answer(declaration: Dict[str, Any], variables: Sequence[Variable]) -> Program:
    """The program's end, if this process was started to answer; else it becomes `syncopate ARGS`."""
    asked = os.environ.pop("SYNCOPATE_PROGRAM", None)
    if asked is None:
        command = own_command()
        if len(sys.argv) < 2 or sys.argv[1].startswith("-"):  # A command stands first.
            raise SystemExit(f"{sys.argv[0]} computes gradients for syncopate: "
                             f"python3 {sys.argv[0]} run --workers 2")
        execute([*sys.argv[1:], "--program", command])
    version, end, memory = asked.split(",")
    if version != "1":
        raise SystemExit(f"syncopate: this package speaks version 1 of the protocol, not {version}")
    program = Program(declaration, variables, (int(end), int(memory)))
    shown = sys.excepthook

    def failed(kind: Any, error: BaseException, trace: Any) -> None:
        if issubclass(kind, KeyboardInterrupt):
            os._exit(130)
        shown(kind, error, trace)
        program.fail(error)

    sys.excepthook = failed
    return program


def read_model(path: str) -> Dict[str, np.ndarray]:
    """The values of a run's folder, or of a .safetensors file, by name."""
    if os.path.isdir(path):
        path = os.path.join(path, "model.safetensors")
    data = np.memmap(path, np.uint8, "r")
    start = 8 + int(data[:8].view("<u8")[0])
    values = {}
    for name, entry in json.loads(bytes(data[8:start])).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, end = entry["data_offsets"]
            values[name] = data[start + first:start + end].view("<f4").reshape(entry["shape"])
    return values
