#!/usr/bin/env python3
"""client.py - a worker of a sync job in Python, as PROTOCOL.md says it.

    syncopate-ps --task-index 0 --ps-hosts 127.0.0.1:7000 &
    proto/client.py 0 1 127.0.0.1:7000                       worker 0 of 1, and the servers

It declares a job of two variables, and trains them towards zero: the loss of an example is half the sum
of the squares of all values, so the gradient of n examples is n times the values. With several workers
each computes its leaves of every step. It needs python3-zmq, python3-protobuf and protoc-c, and no file
of ours but syncopate.proto beside it. Exit code: the job's.
"""
import array, hashlib, math, os, subprocess, sys, time
import zmq
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTOCOL, WORKER, ASK_AGAIN, ALIVE = 9, 2, 2.0, 0.5  # The last two in seconds.
SHAPES = {"dense/kernel": (784, 10), "dense/bias": (10,)}


def messages():
    """The classes of syncopate.proto, by their names."""
    compiled = subprocess.run(
        ["protoc-c", "--descriptor_set_out=/dev/stdout", "-I", os.path.dirname(__file__) or ".",
         "syncopate.proto"], check=True, capture_output=True).stdout
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_pb2.FileDescriptorSet.FromString(compiled).file[0])
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("syncopate." + name))
            for name in ("Header", "Job")}


class Job:
    """The declaration, and what both sides derive from it (ARITHMETIC.md)."""

    def __init__(self, make, workers, servers):
        job = self.job = make(mode=1, seed=1, model="two variables", data="none", data_digest=bytes(32), optimizer="sgd",
                              learning_rate=0.1, examples=256, batch=32, micro_batch=8, steps=20,
                              worker_count=workers, servers=servers)
        for name, shape in SHAPES.items():
            fans = dict(initializer=1, fan_in=shape[0], fan_out=shape[1]) if len(shape) > 1 else {}
            job.variables.add(name=name, shape=shape, **fans)
        self.bytes = job.SerializeToString(deterministic=True)
        unsaid = make.FromString(self.bytes)
        unsaid.data = ""
        self.digest = hashlib.blake2b(unsaid.SerializeToString(deterministic=True),
                                      digest_size=32).digest()
        granules = sum(-(-math.prod(shape) // 16) for shape in SHAPES.values())
        count, many = -(-granules // 4096), len(servers)
        count = min(-(-count // many) * many, granules // many * many)
        self.chunks = []  # Of each its elements; chunk i is of server i mod `many`.
        for i in range(count):
            self.chunks.append(16 * (granules // count + (i < granules % count)))

    def nodes(self, first, end, at=0, leaves=None):
        """The fewest nodes of a step's tree that are the leaves [first, end): (first leaf, leaves)."""
        leaves = leaves or -(-self.job.batch // self.job.micro_batch)
        if end <= at or at + leaves <= first:
            return []
        if first <= at and at + leaves <= end:
            return [(at, leaves)]
        left = 1 << (leaves - 1).bit_length() - 1
        return self.nodes(first, end, at, left) + self.nodes(first, end, at + left, leaves - left)


class Anew(Exception):
    """Leaves are dealt anew, or a version is gone: pull, and go on from there."""


class Worker:
    def __init__(self, index, workers, servers):
        types = messages()
        self.header, self.job = types["Header"], Job(types["Job"], workers, servers)
        self.index, self.incarnation = index, int.from_bytes(os.urandom(8), "little") | 1
        self.run_id = self.generation = self.ticket = self.proof = self.request = 0
        self.assignment, self.start, self.held = 0, None, 0
        self.poller, self.sockets, context = zmq.Poller(), [], zmq.Context()
        for server in servers:
            socket = context.socket(zmq.DEALER)
            socket.linger = 1000
            socket.connect("tcp://" + server)
            self.poller.register(socket, zmq.POLLIN)
            self.sockets.append(socket)

    def say(self, kind, server=0, payload=None, **fields):
        """Send one message; its request number."""
        self.request += 1
        header = self.header(version=PROTOCOL, role=WORKER, index=self.index, run_id=self.run_id,
                             incarnation=self.incarnation, generation=self.generation,
                             ticket=self.ticket, proof=self.proof, request=self.request)
        body = getattr(header, kind)
        body.SetInParent()
        for name, value in fields.items():
            part = getattr(body, name)
            part.MergeFrom(type(part)(**value)) if isinstance(value, dict) else \
                setattr(body, name, value)
        frames = [header.SerializeToString()] + ([payload] if payload is not None else [])
        self.sockets[server].send_multipart(frames)
        return self.request

    def hear(self, seconds):
        """What comes within this time, one message after the other: (header, kind, payload)."""
        for socket, _ in self.poller.poll(1000 * seconds):
            frames = socket.recv_multipart()
            header = self.header.FromString(frames[0])
            kind, body = header.WhichOneof("body"), None
            body = getattr(header, kind)
            if kind == "welcome":
                self.run_id, self.generation = header.run_id, header.generation
                self.ticket, self.proof = body.ticket, body.proof
            elif kind == "start" and (header.generation, body.assignment) > \
                    (self.generation if self.assignment else 0, self.assignment):
                self.generation, self.assignment, self.start = \
                    header.generation, body.assignment, body
                raise Anew
            elif kind == "moved_on":
                raise Anew
            elif kind == "refused":
                sys.exit("refused: " + body.text)
            elif kind == "finished":
                self.say("bye")
                print(f"worker {self.index}: ended with {body.exit_code} {body.reason}".rstrip())
                sys.exit(body.exit_code)
            yield header, kind, frames[1] if len(frames) > 1 else b""

    def join(self):
        probe = hashlib.blake2b(b"client.py", digest_size=32).digest()
        while True:
            if not self.ticket:
                self.say("join", version_min=PROTOCOL, version_max=PROTOCOL, probe_digest=probe,
                         job_digest=self.job.digest, host="python", arithmetic="Python")
            for _, kind, _ in self.hear(0.2):
                if kind == "want_job":
                    for at in range(0, len(self.job.bytes), 1024):
                        self.say("job_page", offset=at, total=len(self.job.bytes),
                                 page=self.job.bytes[at:at + 1024])

    def exchange(self, asked):
        """Ask about chunks, {chunk: [(payload, fields), ...]}, until each is answered with values."""
        values, numbers, sent, alive = {}, {}, 0.0, 0.0
        while len(values) < len(asked):
            now = time.monotonic()
            if now - alive > ALIVE:
                alive = now
                self.say("ping", step=self.held, assignment=self.assignment, computing=False)
            if now - sent > ASK_AGAIN:  # Each gradient once; after that "do you have it?".
                for chunk in asked.keys() - values.keys():
                    for payload, fields in asked[chunk]:
                        again = payload is not None and sent > 0
                        number = self.say("exchange", chunk % len(self.sockets),
                                          None if again else payload, chunk=chunk, retry=again, **fields)
                        numbers[number] = chunk
                sent = now
            for header, kind, payload in self.hear(ALIVE):
                if kind == "result" and header.request in numbers and header.result.parameters:
                    values[numbers[header.request]] = header.result.version, array.array("f", payload)
        return values

    def pull(self):
        """All values as of one version, the lowest that a chunk has."""
        values = self.exchange({chunk: [(None, dict(want=True, newest=True))]
                                for chunk in range(len(self.job.chunks))})
        lowest = min(version for version, _ in values.values())
        return lowest, self.exchange({chunk: [(None, dict(want=True, want_version=lowest))]
                                      for chunk in range(len(self.job.chunks))})

    def push(self, step, values):
        """One step: the gradients of this worker's leaves go out, the next version's values come back."""
        size, start, asked = self.job.job.micro_batch, self.start, {}
        leaves = self.job.job.batch // size
        mine = self.job.nodes(start.position * leaves // start.members,
                              (start.position + 1) * leaves // start.members)
        loss = sum(w * w for _, part in values.values() for w in part) / 2
        for chunk, (_, part) in values.items():
            asked[chunk] = [] if mine else [(None, dict(want=True, want_version=step + 1))]
            for first, count in mine:
                examples = size * count
                fields = dict(step=step, base_version=step, gradient=True, first_leaf=first,
                              leaf_count=count, examples=examples, want_version=step + 1,
                              want=(first, count) == mine[-1])
                if chunk == 0:
                    fields["report"] = dict(step=step, first_leaf=first, leaf_count=count, correct=0,
                                            examples=examples, loss=round(loss * examples * 2 ** 24))
                asked[chunk].append((array.array("f", [w * examples for w in part]).tobytes(), fields))
        if self.index == 0:
            print(f"step {step}: loss {loss:.6f}")
        return self.exchange(asked)

    def train(self):
        act = self.join
        while True:
            try:
                act()
            except Anew:
                act = self.follow

    def follow(self):
        """What START asks for: steps from the version that there is, then DONE until FINISHED."""
        self.held, values = self.pull()
        while self.held < self.start.stop_step:
            values = self.push(self.held, values)
            self.held += 1
        while True:
            self.say("done", step=self.held)
            for _ in self.hear(ALIVE):
                pass


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Worker(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")).train()
