"""Reads event files as TensorBoard does, and says what is wrong with them: an independent reader, with Debian's
python3-protobuf, a description of the messages that is made here, and a checksum of its own. Exits with 1
when something is, with 3 when there is no protobuf.

    tensorboard.py run RUN FOLDER [--since T] [--killed]
                                                the files in FOLDER tell what RUN/events.jsonl and RUN/run.json do;
                                                but for what a killed process told last, or had torn
    tensorboard.py mean FOLDER RUN...           they tell the mean of these runs, where all have a point
    tensorboard.py files FOLDER                 what is in them: "FILE EVENTS START", a line each, and "torn"
    tensorboard.py log FOLDER                   all that they tell in words, and how many workers were there
"""

import json
import math
import os
import struct
import sys
import time

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    sys.exit(3)

# --- the messages: tensorflow's event.proto, summary.proto and tensor.proto ------------------------

FIELD = descriptor_pb2.FieldDescriptorProto
KINDS = {"double": FIELD.TYPE_DOUBLE, "float": FIELD.TYPE_FLOAT, "int64": FIELD.TYPE_INT64,
         "int32": FIELD.TYPE_INT32, "string": FIELD.TYPE_STRING, "bytes": FIELD.TYPE_BYTES}
MESSAGES = {  # Name, number, kind, and * for many, ? for one of several.
    "Event": "wall_time 1 double; step 2 int64; file_version 3 string?; graph_def 4 bytes?; summary 5 Summary?; "
             "log_message 6 bytes?; session_log 7 SessionLog?; tagged_run_metadata 8 bytes?; meta_graph_def 9 bytes?",
    "Summary": "value 1 Value*",
    "Value": "tag 1 string; node_name 7 string; metadata 9 SummaryMetadata; simple_value 2 float?; image 4 bytes?; "
             "histo 5 HistogramProto?; audio 6 bytes?; tensor 8 TensorProto?",
    "HistogramProto": "min 1 double; max 2 double; num 3 double; sum 4 double; sum_squares 5 double; "
                      "bucket_limit 6 double*; bucket 7 double*",
    "SummaryMetadata": "plugin_data 1 PluginData; display_name 2 string; summary_description 3 string; data_class 4 int32",
    "PluginData": "plugin_name 1 string; content 2 bytes",
    "TensorProto": "dtype 1 int32; tensor_shape 2 TensorShapeProto; version_number 3 int32; string_val 8 bytes*",
    "TensorShapeProto": "dim 2 bytes*; unknown_rank 3 int32",
    "SessionLog": "status 1 int32; checkpoint_path 2 string; msg 3 string",
}
TEXTS, START, STOP = 7, 1, 2


def make_event():
    """The class of an Event."""
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", package="tb", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split("; "):
            field, number, kind = text.split()
            row = message.field.add(name=field, number=int(number), label=FIELD.LABEL_OPTIONAL)
            if kind.endswith("*"):
                row.label = FIELD.LABEL_REPEATED
            if kind.endswith("?"):
                if not message.oneof_decl:
                    message.oneof_decl.add(name="what")
                row.oneof_index = 0
            kind = kind.rstrip("*?")
            row.type = KINDS.get(kind, FIELD.TYPE_MESSAGE)
            if kind not in KINDS:
                row.type_name = ".tb." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    described = pool.FindMessageTypeByName("tb.Event")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(described)
    return message_factory.MessageFactory(pool).GetPrototype(described)


# --- records --------------------------------------------------------------------------------------

CASTAGNOLI = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CASTAGNOLI.append(byte)


def masked(data):
    c = 0xFFFFFFFF
    for byte in data:
        c = CASTAGNOLI[(c ^ byte) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


assert masked(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


class Wrong(Exception):
    pass


def records(path):
    """The data of each record; the last is None when the file ends within one."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            yield None
            return
        length, sum_of_length = struct.unpack_from("<QI", data, at)
        if masked(data[at:at + 8]) != sum_of_length:
            raise Wrong(f"{path}: the checksum of the length at {at} is wrong")
        if len(data) - at < 16 + length:
            yield None
            return
        body = data[at + 12:at + 12 + length]
        if masked(body) != struct.unpack_from("<I", data, at + 12 + length)[0]:
            raise Wrong(f"{path}: the checksum of the record at {at} is wrong")
        yield body
        at += 16 + length


def names(folder):
    return sorted(name for name in os.listdir(folder) if "tfevents" in name)


def events(folder, event_class, live):
    """File, event: of all files, in TensorBoard's order. An event that is None: the file is torn. What was written
    live is there in the order of its times; a mean is told number by number."""
    for name in names(folder):
        path = os.path.join(folder, name)
        first, tag_steps, before = True, {}, -math.inf
        for body in records(path):
            if body is None:
                yield name, None
                break
            event = event_class.FromString(body)
            if first != (event.WhichOneof("what") == "file_version") or \
                    first and event.file_version != "brain.Event:2":
                raise Wrong(f"{path}: does not begin with its version alone")
            if live and event.wall_time < before:
                raise Wrong(f"{path}: its time goes back by {before - event.wall_time}")
            first, before = False, event.wall_time
            for value in event.summary.value:
                if event.step < tag_steps.get(value.tag, 0):
                    raise Wrong(f"{path}: {value.tag} goes back to step {event.step} without a new file")
                tag_steps[value.tag] = event.step
            yield name, event
        if first:
            raise Wrong(f"{path}: is empty")


# --- as TensorBoard has them ----------------------------------------------------------------------

class Board:
    """Points by tag, as plugin_event_accumulator.py keeps them: (step, value, wall time)."""

    def __init__(self, folder, event_class, live=True):
        self.points, self.starts, self.files, self.torn = {}, {}, names(folder), []
        self.stops, self.checkpoints, self.count, started = [], [], {}, False
        for name, event in events(folder, event_class, live):
            if event is None:
                self.torn.append(name)
                continue
            self.count[name] = self.count.get(name, 0) + 1
            if event.WhichOneof("what") == "session_log":
                status = event.session_log.status
                if status == START:
                    self.starts.setdefault(name, []).append(event.step)
                    if started:
                        for tag, points in self.points.items():
                            self.points[tag] = [p for p in points if p[0] < event.step]
                    started = True
                else:
                    (self.stops if status == STOP else self.checkpoints).append(event.step)
            for value in event.summary.value:
                self.points.setdefault(value.tag, []).append((event.step, read(value), event.wall_time))
        for name in self.files:
            if len(self.starts.get(name, [])) != 1:
                raise Wrong(f"{name}: has {len(self.starts.get(name, []))} beginnings of a session")

    def pairs(self, tag):
        return [(step, value) for step, value, _ in self.points.get(tag, [])]


def read(value):
    kind = value.WhichOneof("what")
    if kind == "simple_value":
        return value.simple_value
    if kind == "histo":
        return value.histo
    if kind == "tensor" and value.metadata.plugin_data.plugin_name == "text":
        if value.tensor.dtype != TEXTS or len(value.tensor.string_val) != 1:
            raise Wrong(f"{value.tag}: is said to be a text and is none")
        return value.tensor.string_val[0].decode("utf-8")
    raise Wrong(f"{value.tag}: a value of another kind: {kind}")


# --- as the run tells it --------------------------------------------------------------------------

def single(number):
    """As a float has it."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


TOLD = {
    "progress": {"loss": "loss/train", "accuracy": "accuracy/train", "images_per_second": "speed/images_per_second",
                 "staleness_mean": "staleness/mean", "staleness_max": "staleness/max"},
    "epoch": {"loss": "loss/epoch", "accuracy": "accuracy/epoch"},
    "window": {"loss": "loss/window", "accuracy": "accuracy/window", "seconds": "speed/window_seconds"},
    "evaluation": {"test_loss": "loss/test", "test_accuracy": "accuracy/test", "regularisation_loss": "loss/regularisation"},
}


def rate(run, step):
    """The learning rate of the update that makes this step: constant, or in steps down."""
    schedule = run["job"]["schedule"]
    of_step = schedule["learning_rate"]
    if schedule["kind"] == "step":
        of_step *= schedule["decay_factor"] ** ((step - 1) // schedule["decay_steps"])
    elif schedule["kind"] != "constant":
        raise Wrong("this reader does not know such a schedule")
    return of_step * min(1, step / schedule["warmup_steps"]) if schedule["warmup_steps"] else of_step


def lines_of(path):
    with open(os.path.join(path, "events.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def told(path, run):
    """Points by tag: (step, value, session, seconds of the event)."""
    points, at, session = {}, 0, 0

    def put(tag, step, value, seconds):
        if value is not None:
            points.setdefault(tag, []).append((step, single(value), session, seconds))

    for event in lines_of(path):
        name, step = event["event"], event.get("step", 0)
        if name in ("start", "generation"):
            session, at = session + 1, step
            for tag, earlier in points.items():
                points[tag] = [p for p in earlier if step > 0 and p[0] <= step]
        if name == "progress":
            at = step
            put("learning_rate", step, rate(run, step), event["time"])
        if name == "assignment" and session > 0:
            put("cluster/workers", at, event["members"], event["time"])
        for member, tag in TOLD.get(name, {}).items():
            if member != "staleness_max" or event.get("staleness_mean") is not None:
                put(tag, step, event.get(member), event["time"])
    for tag in points:  # Batches overtake each other, and so does what is told of them.
        if tag.endswith(("/window", "/epoch", "/window_seconds")):
            points[tag].sort(key=lambda point: (point[2], point[0]))
    return points


# --- comparing ------------------------------------------------------------------------------------

def same(tag, expected, found, killed):
    if killed:
        kept, lost = [], []
        for point in expected: # Whoever goes on may tell the very same again.
            (kept if found[len(kept):len(kept) + 1] == [point] else lost).append(point)
        if len(lost) > 2:
            raise Wrong(f"{tag}: {len(lost)} points are lost: {lost[:3]}")
        expected = kept
    if expected != found:
        differ = [(a, b) for a, b in zip(expected, found) if a != b][:2]
        raise Wrong(f"{tag}: {len(expected)} points in the run, {len(found)} here; {differ or (expected, found)}")
    return len(expected)


def check_histogram(run, board):
    """The last is of the run's staleness; all have buckets that fit."""
    staleness = run["staleness"]
    found = board.pairs("staleness/gradients")
    if (staleness["count"] > 0) != (len(found) > 0):
        raise Wrong(f"{len(found)} histograms of {staleness['count']} gradients")
    for step, histo in found:
        limits, counts = list(histo.bucket_limit), list(histo.bucket)
        if len(limits) != len(counts) or limits != sorted(set(limits)) or sum(counts) != histo.num or \
                counts[0] == 0 or counts[-1] == 0 or not limits[0] - 1 < histo.min < limits[0] or \
                not histo.min <= histo.max <= limits[-1]:
            raise Wrong(f"the histogram at step {step} does not fit itself: {histo}")
    if found:
        histo = found[-1][1]
        shape = {limit - 0.5: count for limit, count in zip(histo.bucket_limit, histo.bucket) if count > 0}
        expected = {i: n for i, n in enumerate(staleness["histogram"]) if n > 0}
        if found[-1][0] != run["step"] or histo.num != staleness["count"] or histo.sum != staleness["sum"] or \
                histo.max != staleness["max"] or shape != expected:
            raise Wrong(f"the last histogram is not that of run.json: {histo}")
        deviation = math.sqrt(max(0, histo.sum_squares / histo.num - (histo.sum / histo.num) ** 2))
        if abs(deviation - staleness["deviation"]) > 1e-6:
            raise Wrong(f"its sum of squares gives a deviation of {deviation}")


def check_times(board, expected, virtual, since):
    """Within a session virtual times are those of the events; real ones are between beginning and now."""
    for tag in ("loss/train", "loss/test"):
        offsets = {}
        for (_, _, wall), (_, _, session, seconds) in zip(board.points.get(tag, []), expected.get(tag, [])):
            offsets.setdefault(session, []).append(wall - seconds)
            if since is not None and not since <= wall <= time.time() + 1:
                raise Wrong(f"{tag}: a point at {wall}, which is not since {since}")
        for offset in offsets.values():
            if virtual and max(offset) - min(offset) > 2e-6:
                raise Wrong(f"{tag}: times are not the run's, by {max(offset) - min(offset)} s")


def check_run(path, folder, since, killed, event_class):
    with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
        run = json.load(file)
    board, expected = Board(folder, event_class), told(path, run)
    count = 0
    scalars = {tag for tag, points in board.points.items() if points and isinstance(points[0][1], float)}
    for tag in sorted(scalars | set(expected)):
        count += same(tag, [p[:2] for p in expected.get(tag, [])], board.pairs(tag), killed)
    check_histogram(run, board)
    if not killed: # Or they are not one for one.
        check_times(board, expected, run["virtual"] is not None, since)
    last = board.pairs("loss/test")
    if run["test_loss"] is not None and (not last or last[-1] != (run["test_step"], single(run["test_loss"]))):
        raise Wrong(f"the last test loss is {last[-1:]}, and not {run['test_step'], run['test_loss']}")
    if run["state"] in ("done", "stopped") and board.stops[-1:] != [run["step"]]:
        raise Wrong(f"the end is at {board.stops[-1:]}, not at {run['step']}")
    saved = [event["step"] for event in lines_of(path) if event["event"] == "checkpoint"]
    if board.checkpoints != saved and not (killed and len(set(saved) - set(board.checkpoints)) <= 1):
        raise Wrong(f"checkpoints at {board.checkpoints}, in the run at {saved}")
    if f"| model | {run['model']} |" not in board.pairs("run")[-1][1]:
        raise Wrong("what runs is not told")
    print(f"{count} points of {len(scalars)} kinds in {len(board.files)} files, all as in the run")


# --- means ----------------------------------------------------------------------------------------

MEANT = {"progress": ("loss/train", "accuracy/train", "speed/images_per_second"),
         "evaluation": ("loss/test", "accuracy/test", "loss/regularisation"),
         "window": ("loss/window", "accuracy/window")}


def check_mean_times(board, paths):
    """Those of runs of one session are seconds of training, after one and the same date."""
    seconds = [{event["step"]: event["training_seconds"] for event in lines_of(path) if event["event"] == "progress"}
               for path in paths]
    offsets = [wall - sum(run[step] for run in seconds) / len(seconds)
               for step, _, wall in board.points.get("loss/train", [])]
    if not offsets or max(offsets) - min(offsets) > 2e-6:
        raise Wrong(f"{len(offsets)} times are not the mean seconds of training")


def check_mean(folder, paths, event_class):
    board, count = Board(folder, event_class, live=False), 0
    runs = []
    for path in paths:
        with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
            run = json.load(file)
        exact = {}
        for event in lines_of(path):
            if event["event"] in ("start", "generation"):
                for points in exact.values():
                    for step in [s for s in points if s > event["step"]]:
                        del points[step]
            for member, tag in TOLD.get(event["event"], {}).items():
                if tag in MEANT.get(event["event"], ()) and event.get(member) is not None:
                    exact.setdefault(tag, {})[event["step"]] = event[member]
        runs.append(exact)
    tags = {tag for group in MEANT.values() for tag in group}
    check_mean_times(board, paths)
    for tag in sorted(tags):
        steps = sorted(set.intersection(*(set(run.get(tag, {})) for run in runs)))
        found = board.pairs(tag)
        if [step for step, _ in found] != steps:
            raise Wrong(f"{tag}: the mean has the steps {[s for s, _ in found][:5]}, common are {steps[:5]}")
        for step, value in found:
            mean = sum(run[tag][step] for run in runs) / len(runs)
            if abs(value - mean) > 1e-6 * abs(mean):
                raise Wrong(f"{tag}: {value} at step {step}, and the mean is {mean}")
            count += 1
    if count == 0 or set(board.points) - tags:
        raise Wrong(f"{count} points, and also {set(board.points) - tags}")
    print(f"{count} points, each the mean of {len(runs)} runs")


def main():
    event_class = make_event()
    what, arguments = sys.argv[1], sys.argv[2:]
    since = None
    if "--since" in arguments:
        at = arguments.index("--since")
        since = float(arguments[at + 1])
        del arguments[at:at + 2]
    killed = "--killed" in arguments
    try:
        if what == "run":
            check_run(arguments[0], arguments[1], since, killed, event_class)
        elif what == "mean":
            check_mean(arguments[0], arguments[1:], event_class)
        elif what == "log":
            board = Board(arguments[0], event_class)
            print("".join(text for _, text in board.pairs("log")))
            print("\n".join(str(number) for _, number in board.pairs("cluster/workers")))
        else:
            board = Board(arguments[0], event_class)
            for name in board.files:
                print(name, board.count[name], *board.starts[name], *(["torn"] if name in board.torn else []))
    except Wrong as wrong:
        print(wrong)
        sys.exit(1)


main()
