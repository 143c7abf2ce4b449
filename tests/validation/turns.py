#!/usr/bin/env python3
"""How two connections of one host share its card: how much of the one goes before any of the other.

Two messages of 400 KB are written to two connections at once, from one network namespace whose card tbf holds to
100 Mbit/s; what comes out of it is seen on the bridge. Nothing of Syncopate takes part. It is what
NICS_TURN_BYTES (deploy/simulate/nics.h) and the two pieces of deploy/cluster/nic_queue.h are. Then messages of
200 KB one at a time, and one at a time with as much going the other way: what these take beyond the shortest, for
acknowledgements share the card with it and wait behind it, is the jitter with which validate.sh predicts its jobs.
Needs root.

    tests/validation/turns.py [ROUNDS [RATE]]        a rate of tc's, 100mbit
"""

import os
import socket
import struct
import subprocess
import sys
import threading
import time

MESSAGE, ALONE = 400_000, 200_000
PORT = 4720
TAG = f"st{os.getpid() % 100000}"
ETH_P_ALL, RECEIVE_BUFFER_FORCED, TIMESTAMPS = 3, 33, 35


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def control(name):
    """As validate.sh: cubic, or reno where a namespace may not have it. bbr sends smaller pieces, by a clock."""
    for which in ("cubic", "reno"):
        if subprocess.run(["ip", "netns", "exec", name, "sysctl", "-q", f"net.ipv4.tcp_congestion_control={which}"],
                          stderr=subprocess.DEVNULL).returncode == 0:
            return


def receive(rounds):
    """Reads all of one connection, and ends with it; answers each of the last messages as soon as it begins."""
    quiet, there = rounds * (MESSAGE + ALONE), 0
    with socket.create_server(("0.0.0.0", PORT)) as server:
        connection, _ = server.accept()
        while piece := connection.recv(1 << 16):
            there += len(piece)
            if there > quiet:
                quiet += ALONE
                connection.sendall(bytes(ALONE))


def swallow(connection):
    while connection.recv(1 << 20):
        pass


def send(rounds, pause):
    """A message to each of both at once, then smaller ones alone, then answered; and a pause as long as they take."""
    connections = [socket.create_connection((f"10.213.79.{host}", PORT)) for host in (11, 12)]
    for connection in connections:
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    for _ in range(rounds):
        for connection in connections:
            assert connection.send(bytes(MESSAGE)) == MESSAGE, "the send buffer is too small"
        time.sleep(pause)
    connections[0].setblocking(True)
    threading.Thread(target=swallow, args=(connections[0],), daemon=True).start()
    for _ in range(2 * rounds):
        connections[0].sendall(bytes(ALONE))
        time.sleep(pause)


def capture(interface, until):
    """(receiver, bytes, nanoseconds) of each segment that has left the sender's card, in order."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as raw:
        raw.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCED, 64 << 20)
        raw.setsockopt(socket.SOL_SOCKET, TIMESTAMPS, 1)
        raw.bind((interface, 0))
        raw.settimeout(0.3)
        segments = []
        while True:
            try:
                frame, ancillary, _, _ = raw.recvmsg(80, 64)
            except socket.timeout:
                if until():
                    return segments
                continue
            if frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_TCP or frame[29] != 10:
                continue  # Not from the sender.
            total = struct.unpack("!H", frame[16:18])[0]
            payload = total - 20 - (frame[46] >> 4) * 4
            if payload > 0:
                seconds, ns = struct.unpack("qq", ancillary[0][2][:16])
                segments.append((frame[33], payload, seconds * 10**9 + ns))


def runs(segments):
    """Bytes of one connection before the other has one."""
    lengths, before = [], None
    for receiver, payload, _ in segments:
        if receiver != before:
            lengths.append(0)
        lengths[-1] += payload
        before = receiver
    return lengths


def durations(segments):
    """Microseconds of each message from its first segment to its last."""
    times, there, begun = [], 0, 0
    for _, payload, ns in segments:
        begun = ns if there == 0 else begun
        there += payload
        if there >= ALONE:
            times.append((ns - begun) / 1000)
            there = 0
    return times


def main(rounds, rate):
    names = [f"{TAG}-{i}" for i in range(3)]
    children = []
    try:
        ip("link", "add", TAG, "type", "bridge")
        ip("link", "set", TAG, "up")
        for i, name in enumerate(names):
            ip("netns", "add", name)
            ip("link", "add", f"{TAG}.{i}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{TAG}.{i}", "master", TAG, "up")
            ip("-n", name, "address", "add", f"10.213.79.{10 + i}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            control(name)
        for name in names:
            burst = "3100" if rate == "100mbit" else "71428"
            subprocess.run(["tc", "-n", name, "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate,
                            "burst", burst, "limit", "8000000"], check=True)
        for name, *words in [(names[1], "receive", str(rounds)), (names[2], "receive", str(rounds)), (names[0], "send", str(rounds), "0.12")]:
            if words[0] == "send":
                time.sleep(0.5)
            children.append(subprocess.Popen(["ip", "netns", "exec", name, sys.executable, __file__, *words]))
        segments = capture(f"{TAG}.0", lambda: children[-1].poll() is not None)
        assert children[-1].returncode == 0, "the sender has failed"
    finally:
        for child in children:
            child.kill()
            child.wait()
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False)
        subprocess.run(["ip", "link", "delete", TAG], check=False)
    # The first messages are slow starts: windows, not turns.
    total, first = 0, 0
    while total < 2 * MESSAGE * min(5, rounds // 2):
        total += segments[first][1]
        first += 1
    last = first
    while total < 2 * MESSAGE * rounds:
        total += segments[last][1]
        last += 1
    lengths = sorted(runs(segments[first:last]))
    assert lengths, "nothing was seen"
    print(f"{len(lengths)} runs of one connection, in bytes: quartiles",
          *(lengths[len(lengths) * q // 4] for q in (1, 2, 3)), f"(45 segments of 1448: {45 * 1448})")
    for what, low, high in (("less than a piece", 0, 65160 * 3 // 4), ("a piece", 65160 * 3 // 4, 65160 * 5 // 4),
                            ("two", 65160 * 5 // 4, 65160 * 9 // 4), ("more", 65160 * 9 // 4, 1 << 60)):
        those = [length for length in lengths if low <= length < high]
        print(f"{what:>18}: {len(those):4} runs, {100 * sum(those) / sum(lengths):3.0f} % of all bytes")
    times = durations(segments[last:])
    for what, those in (("alone", times[:rounds]), ("answered meanwhile", times[rounds:])):
        late = sorted(time - min(times) for time in those)
        print(f"{what:>18}: {len(late):4} messages, beyond the shortest in us: quartiles",
              *(round(late[len(late) * q // 4]) for q in (1, 2, 3)), f"mean {sum(late) / len(late):.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["receive"]:
        receive(int(sys.argv[2]))
    elif sys.argv[1:2] == ["send"]:
        send(int(sys.argv[2]), float(sys.argv[3]))
    else:
        main(int((sys.argv[1:] or ["50"])[0]), (sys.argv[2:] or ["100mbit"])[0])
