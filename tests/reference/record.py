"""Reads OUT/record as common/store/RECORD.md has it: what was computed from what, and applied when."""

import json
import sys


def holds(promise, text, *arguments):
    if not promise:
        sys.exit("not ok - " + text % arguments)


class Reader:
    def __init__(self, path, magic):
        self.raw, self.at = path.read_bytes(), len(magic)
        holds(self.raw.startswith(magic), "%s does not begin with %s", path, magic)

    def skip(self, size):
        self.at += size

    def fixed(self, size):
        self.at += size
        return int.from_bytes(self.raw[self.at - size : self.at], "little")

    def n(self):
        value = shift = 0
        while (byte := self.fixed(1)) >= 128:
            value, shift = value | (byte & 127) << shift, shift + 7
        return value | byte << shift

    def d(self):
        return signed(self.n())


def signed(n):
    return -(n + 1) // 2 if n & 1 else n // 2


class Session:
    """A file of the record: its segment, and its blocks."""

    def __init__(self, path):
        self.r = r = Reader(path, b"syncopate-record\4\0\0\0")
        r.skip(4 + 8)
        self.number = r.fixed(8)
        r.skip(32 + 4)
        self.workers, _ = r.fixed(4), r.fixed(4)
        self.batches, self.version, _ = r.fixed(8), r.fixed(8), r.fixed(8)
        self.sizes = [r.n() for _ in range(r.fixed(4))]
        r.skip(4)
        self.end = len(r.raw)

    def blocks(self):
        """(what, its numbers): a generator of all that is told, in order."""
        r = self.r
        while r.at < self.end:
            kind, length = r.fixed(4), r.fixed(4)
            behind = r.at + length
            if kind == 1:
                yield "GENERATION", ()
            elif kind == 2:
                number = base = 0
                while r.at < behind:
                    number += r.n()
                    worker, ticket, batch, clock, _rate = (r.n() for _ in range(5))
                    bases = [base := base + r.d()]
                    for _ in self.sizes[1:]:
                        bases.append(bases[-1] + r.d())
                    yield "COMPUTATION", (number, (worker, ticket), batch, clock, bases)
            elif kind == 3:
                yield "GONE", (r.fixed(8), r.fixed(8))
            elif kind == 4:
                chunk, _, count, number = r.fixed(4), r.fixed(8), r.fixed(4), 0
                for _ in range(count):
                    word = r.n()
                    number += signed(word >> 2)
                    yield "ENTRY", (chunk, number, bool(word & 2), bool(word & 1))
            elif kind == 5:
                yield "CUT", (r.fixed(8), r.fixed(8))
            elif kind == 6:
                while r.at < behind:
                    leaves = []
                    for _ in range(r.n()):
                        begin = (leaves[-1] + 1 if leaves else 0) + r.n()
                        leaves += range(begin, begin + r.n())
                    yield "SET", leaves
            r.at = behind + 4


def sessions(out):
    newest = json.loads(max(out.glob("checkpoints/step-*/manifest.json")).read_text())["record"]
    for path in sorted(out.glob("record/[0-9][0-9][0-9][0-9].log")):
        session = Session(path)
        if session.number == newest["session"]:
            session.end = newest["bytes"]
        yield session


def sets(out):
    """Of each step of sync+backup the leaves that it is made of, and among how many workers they were dealt."""
    found = []
    for session in sessions(out):
        found += [(leaves, session.workers) for what, leaves in session.blocks() if what == "SET"]
    return found
