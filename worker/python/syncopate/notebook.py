"""Jobs that ask this process: the child gets a socket and memory, and starts no program."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from . import protocol

DECLARED = {"examples", "test_examples", "name", "score_piece", "scores", "data_digest", "averages",
            "data", "test", "collate", "threads"}


class Run(NamedTuple):
    """What a job has left."""

    path: str

    @property
    def history(self) -> List[Dict[str, Any]]:
        """The evaluations, oldest first: epoch, step, test_loss, test_accuracy and more."""
        with open(os.path.join(self.path, "events.jsonl")) as file:
            return [event for event in map(json.loads, file) if event["event"] == "evaluation"]


def split(options: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Those that declare the program, and those of the command line."""
    declared = {key: value for key, value in options.items() if key in DECLARED}
    return declared, {key: value for key, value in options.items() if key not in DECLARED}


def words(options: Dict[str, Any]) -> List[str]:
    """workers=2, overlap=True as --workers 2 --overlap."""
    line = []
    for key, value in options.items():
        if value is not False and value is not None:
            line.append("--" + key.replace("_", "-"))
            line += [] if value is True else [str(value)]
    return line


def ask(command: Sequence[str], options: Dict[str, Any], declaration: Dict[str, Any],
        variables: Sequence[protocol.Variable], answer: Callable[[protocol.Program], None]) -> Run:
    """Run a command on what answer() computes. Ctrl-C stops the job in its order, then raises."""
    out = str(options.pop("out", None) or tempfile.mkdtemp(prefix="syncopate-") + "/run")
    ours, theirs = socket.socketpair()
    memory = os.memfd_create("syncopate", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    child = subprocess.Popen(
        [protocol.binary(command[0]), *command[1:], *words(options), "--out", out,
         "--program-fd", f"{theirs.fileno()},{memory}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        pass_fds=(theirs.fileno(), memory), start_new_session=True)
    theirs.close()
    lines = [""]

    def show() -> None:
        assert child.stdout
        for line in child.stdout:
            sys.stdout.write(line)
            lines.append(line)

    shown = threading.Thread(target=show, daemon=True)
    shown.start()
    interrupts: List[int] = []

    def interrupt(number: int, frame: Any) -> None:
        interrupts.append(number)
        child.send_signal(signal.SIGINT)

    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, interrupt) if in_main else None
    program = None
    try:
        program = protocol.Program(declaration, variables, (ours.detach(), memory))
        answer(program)
    except SystemExit:
        pass  # The child ended without a word to the program; its own words are shown.
    except BaseException as error:
        if program:
            program.fail(error)
        raise
    finally:
        if program:
            program.close()
        code = child.wait()
        shown.join()
        if in_main:
            signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt
    if code:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {code}: {lines[-1].strip()}")
    return Run(out)
