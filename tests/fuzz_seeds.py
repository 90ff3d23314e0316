#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds for the fuzz targets, from the captures in tests/data and made up.

    fuzz_seeds.py DATA OUT    writes OUT/TARGET/*

Each target reads choices from the first bytes of its input, see its source; here they are zeros or random ones.
"""
import pathlib
import random
import struct
import sys

import make_pcap

HEADER = struct.Struct("<4sHHIHHIIQIIQ16s")
FEW = 60  # seeds of one sort


def streams(segments):
    """Each direction of each connection as bytes: the captures hold every segment once and in order."""
    found = {}
    for s in segments:
        found.setdefault(s.stream(), bytearray()).extend(s.data)
    return found.values()


def frames(stream):
    at = 0
    while at + 4 <= len(stream):
        length = int.from_bytes(stream[at + 1 : at + 4], "big")
        yield bytes(stream[at + 4 : at + 4 + length])
        at += 4 + length


def header(command, flags=0, next_command=0, mid=5, status=0):
    return HEADER.pack(b"\xfeSMB", 64, 1, status, command, 1, flags, next_command, mid, 0, 1, 0x1234, bytes(16))


def made_up_frames(rng):
    """Chains of two to forty elements, and chains that are broken at their last element."""
    for count in 2, 3, 16, 17, 40:
        sizes = [rng.choice((64, 72, 73, 200)) for _ in range(count)]
        chain = b"".join(
            header(rng.choice((1, 3, 8, 9, 16)), next_command=n if i + 1 < count else 0, mid=i + 1) + bytes(n - 64)
            for i, n in enumerate(sizes)
        )
        yield chain
        yield chain[:-1] if sizes[-1] > 64 else chain + header(5)[:63]
        yield chain[: -sizes[-1]] + header(5, next_command=65) + bytes(64)


def made_up_negotiates():
    def contexts(*list_of):
        raw = b""
        for kind, data in list_of:
            raw += bytes(-len(raw) % 8) + struct.pack("<HHI", kind, len(data), 0) + data
        return raw

    signing = (8, struct.pack("<HHHH", 3, 2, 1, 0))
    hashes = (1, struct.pack("<HHH", 1, 0, 1))
    for chosen in (hashes, signing), (signing,), (signing, hashes, signing), (hashes,), ():
        body = contexts(*chosen)
        for dialects in (0x0311,), (0x0202, 0x0210, 0x0300, 0x0302, 0x0311), (0x0302,):
            end = 100 + 2 * len(dialects)
            start = (end + 7) // 8 * 8
            fixed = struct.pack("<HHHHI16sIHH", 36, len(dialects), 1, 0, 0x7F, bytes(16), start, len(chosen), 0)
            yield header(0) + fixed + struct.pack(f"<{len(dialects)}H", *dialects) + bytes(start - end) + body
        for buffer in b"", b"token":
            start = (128 + len(buffer) + 7) // 8 * 8
            fixed = struct.pack(
                "<HHHH16sIIIIQQHHI", 65, 1, 0x0311, len(chosen), bytes(16), 0, 0, 0, 0, 0, 0, 128, len(buffer), start
            )
            yield header(0, flags=1) + fixed + buffer + bytes(start - 128 - len(buffer)) + body


def connections(segments):
    found = {}
    for s in segments:
        found.setdefault(frozenset((s.stream(), s.reverse())), []).append(s)
    return list(found.values())


def captures(number, n_captures, segments, rng, scratch):
    """A capture's connections one by one, the first packets of each, in one link layer or file format after another."""
    links = list(make_pcap.LINKS)
    for i, connection in enumerate(connections(segments)[:6]):
        part = connection[: rng.choice((12, 24, 40))]
        change = (make_pcap.wrap, lambda x: make_pcap.split(x, 100), lambda x: make_pcap.shuffle(x, rng), list)[i % 4]
        make_pcap.write_capture(scratch, list(change(part)), links[(number * 6 + i) % len(links)])
        yield bytes([number + i % 4 * n_captures]) + scratch.read_bytes()


def made_up_captures(frames, scratch):
    """What no capture in tests/data has: five frames to a connection."""
    for i in range(0, len(frames), 5):
        segments = []
        connection = make_pcap.Connection(segments, 50000)
        for frame in frames[i : i + 5]:
            connection.frame(frame[16] & 1, frame)
        make_pcap.write_capture(scratch, segments)
        yield bytes([0]) + scratch.read_bytes()


def write_seeds(folder, seeds):
    folder.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(seeds):
        (folder / f"seed-{i:03}").write_bytes(seed)


def main(data, out):
    rng = random.Random(1)
    out.mkdir(parents=True, exist_ok=True)
    scratch = out / "scratch"
    chains, singles, negotiates, setups, files = [], [], [], [], []
    paths = sorted(data.glob("*.pcap"))
    for number, path in enumerate(paths):
        segments = make_pcap.read_capture(path)
        files += captures(number, len(paths), segments, rng, scratch)
        for frame in (f for s in streams(segments) for f in frames(s)):
            if frame[:4] != b"\xfeSMB" or len(frame) < 64 or len(frame) > 2000:
                continue
            fields = HEADER.unpack_from(frame)
            kinds = {0: negotiates, 1: setups}
            kind = chains if fields[7] else kinds.get(fields[4], singles)
            kind.append(frame)
    files += made_up_captures(list(made_up_negotiates()) + list(made_up_frames(rng)), scratch)
    scratch.unlink()
    few = lambda seeds: rng.sample(seeds, min(FEW, len(seeds)))
    choices = lambda n: bytes(rng.randrange(256) for _ in range(n))
    whole = few(chains) + few(singles)[:20] + list(made_up_frames(rng))
    write_seeds(out / "frame", (choices(4) + b"\0\0\0" + f for f in whole))
    write_seeds(out / "caps", (b"\x20\3\0\1\2" + f for f in few(negotiates) + list(made_up_negotiates())))
    write_seeds(out / "preauth", (b"\5" + choices(6) + f for f in few(negotiates)[:30] + few(setups)))
    write_seeds(out / "stream", (choices(10 * n) for n in range(1, 25)))
    write_seeds(out / "guard", (choices(10 * n) for n in range(1, 25)))
    write_seeds(out / "message", (choices(20 * n) for n in range(1, 25)))
    write_seeds(out / "pcap", files)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
