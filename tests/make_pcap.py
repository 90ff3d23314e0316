#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures for the tests of `smb3sign verify-pcap`.

    make_pcap.py rewrite FORM[,FORM...] IN OUT   the TCP segments of a capture (Ethernet, IPv4) in other forms
    make_pcap.py blog VECTORS_H OUT              the published exchange of two SMB 3.1.1 channels, from tests/vectors.h
    make_pcap.py scenario OUT                    a made-up conversation that has every case of key choice and verdict;
                                                 prints the keys to give and the verdicts to expect

Forms, applied in this order whatever their order in the list:
    split:N     segments of at most N bytes            overlap     segments begin with bytes already sent
    wrap        sequence numbers pass 2^32             retransmit  some segments come again
    shuffle     eight packets each in random order     gap         some segments are missing
    midstream:N connections lose their first N packets fragment    one packet is an IP fragment
    aeons       all packets but the first claim the last time that pcapng can state (with pcapng only)
    then one link layer and network layer of: ethernet (default), vlan, qinq, sll, sll2, raw, ipv4, null, loop,
    options (IPv4 options), pcapng (the file's format), ipv6, ipv6ext (with extension headers), rawipv6
    then damage to the file: snaplen:N (bytes captured of each packet), cut:N (per cent of the file that remain)

Nothing here is shared with the library: MACs and key derivation are written down again.
"""
import dataclasses
import hashlib
import hmac
import random
import re
import struct
import sys

FIN, SYN, PSH, ACK = 0x01, 0x02, 0x08, 0x10


@dataclasses.dataclass
class Segment:
    time: int  # microseconds
    src: bytes
    dst: bytes
    sport: int
    dport: int
    seq: int
    ack: int
    flags: int
    data: bytes
    fragment: bool = False

    def stream(self):
        return self.src, self.sport, self.dst, self.dport

    def reverse(self):
        return self.dst, self.dport, self.src, self.sport

    def moved(self, start, data, last=True):
        """The same segment with other data, that starts `start` bytes further on."""
        flags = self.flags if last else self.flags & ~FIN
        return dataclasses.replace(self, seq=(self.seq + start) % 2**32, data=data, flags=flags)


# ---- Files


def read_capture(path):
    raw = open(path, "rb").read()
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", raw)
    if magic != 0xA1B2C3D4 or link != 1:
        sys.exit(f"{path}: not a little-endian pcap file of Ethernet packets")
    segments, at = [], 24
    while at < len(raw):
        sec, usec, captured, wire = struct.unpack_from("<IIII", raw, at)
        packet = raw[at + 16 : at + 16 + captured]
        at += 16 + captured
        header = (packet[14] & 15) * 4
        if captured != wire or packet[12:14] != b"\x08\x00" or packet[23] != 6:
            sys.exit(f"{path}: packet {len(segments) + 1} is not a whole IPv4 packet with TCP")
        ip = packet[14 : 14 + struct.unpack_from(">H", packet, 16)[0]]
        tcp = ip[header:]
        sport, dport, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", tcp)
        segments.append(
            Segment(sec * 10**6 + usec, ip[12:16], ip[16:20], sport, dport, seq, ack, flags, tcp[(offset >> 4) * 4 :])
        )
    return segments


def tcp_header(s):
    return struct.pack(">HHIIBBHHH", s.sport, s.dport, s.seq, s.ack, 0x50, s.flags, 65535, 0, 0)


def ipv4(s, options=b""):
    header = 20 + len(options)
    payload = tcp_header(s) + s.data
    return (
        struct.pack(">BBHHHBBH", 0x40 | header // 4, 0, header + len(payload), 0, 0x2000 * s.fragment, 64, 6, 0)
        + s.src
        + s.dst
        + options
        + payload
    )


def ipv6(s, extensions=False):
    payload = tcp_header(s) + s.data
    next_header = 6
    if extensions:
        # hop-by-hop (8 bytes, PadN), then destination options (16 bytes), then an atomic fragment (RFC 6946)
        payload = (
            bytes([60, 0, 1, 4, 0, 0, 0, 0])
            + bytes([44, 1, 1, 12]) + bytes(12)
            + bytes([6, 0, 0, 0, 0, 0, 0, 1])
            + payload
        )
        next_header = 0
    address = lambda a: b"\xfd" + bytes(11) + a
    return struct.pack(">IHBB", 6 << 28, len(payload), next_header, 64) + address(s.src) + address(s.dst) + payload


def ethernet(packet, tags=b""):
    kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
    return bytes(12) + tags + kind + packet + bytes(max(0, 46 - len(packet)))  # padded to 60 bytes as on a wire


LINKS = {  # name: the number in the file, and the packet's bytes
    "ethernet": (1, lambda s: ethernet(ipv4(s))),
    "vlan": (1, lambda s: ethernet(ipv4(s), b"\x81\x00\x20\x05")),
    "qinq": (1, lambda s: ethernet(ipv4(s), b"\x88\xa8\x00\x07\x81\x00\x20\x05")),
    "sll": (113, lambda s: struct.pack(">HHHQH", 0, 772, 6, 0, 0x0800) + ipv4(s)),
    "sll2": (276, lambda s: struct.pack(">HHIHBBQ", 0x0800, 0, 1, 772, 0, 6, 0) + ipv4(s)),
    "raw": (101, ipv4),
    "ipv4": (228, ipv4),
    "null": (0, lambda s: struct.pack("<I", 2) + ipv4(s)),
    "loop": (108, lambda s: struct.pack(">I", 2) + ipv4(s)),
    "options": (1, lambda s: ethernet(ipv4(s, b"\x94\x04\x00\x00\x01\x01\x01\x00"))),  # router alert, padding
    "pcapng": (1, lambda s: ethernet(ipv4(s))),
    "ipv6": (1, lambda s: ethernet(ipv6(s))),
    "ipv6ext": (1, lambda s: ethernet(ipv6(s, True))),
    "rawipv6": (229, ipv6),
}


def pcap_file(packets, link, snaplen):
    """packets: time in microseconds, captured bytes, length on the wire."""
    yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)
    for time, captured, wire in packets:
        yield struct.pack("<IIII", *divmod(time, 10**6), len(captured), wire) + captured


def pcapng_file(packets, link, snaplen):
    """Section header, interface description, enhanced packets (draft-ietf-opsawg-pcapng)."""

    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    yield block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    yield block(1, struct.pack("<HHI", link, 0, snaplen))
    for time, captured, wire in packets:
        yield block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(captured), wire) + captured)


def write_capture(path, segments, link="ethernet", snaplen=None, cut=None):
    number, encode = LINKS[link]
    packets = ((s.time, encode(s)) for s in segments)
    file = pcapng_file if link == "pcapng" else pcap_file
    raw = b"".join(file(((time, p[:snaplen], len(p)) for time, p in packets), number, snaplen or 262144))
    open(path, "wb").write(raw[: len(raw) * cut // 100] if cut else raw)


# ---- Other forms of the same segments


def split(segments, size):
    for s in segments:
        for start in range(0, max(len(s.data), 1), size):
            yield s.moved(start, s.data[start : start + size], start + size >= len(s.data))


def overlap(segments, rng):
    sent = {}
    for s in segments:
        old = sent.get(s.stream(), b"")
        back = rng.randint(0, len(old)) if s.data else 0
        yield s.moved(-back, old[len(old) - back :] + s.data)
        sent[s.stream()] = (old + s.data)[-60:]


def wrap(segments):
    shift = {}
    for s in segments:
        if s.flags & SYN or s.stream() not in shift:
            shift[s.stream()] = 2**32 - 700 - s.seq
        back = shift.get(s.reverse(), 0)
        yield dataclasses.replace(s, seq=(s.seq + shift[s.stream()]) % 2**32, ack=(s.ack + back) % 2**32)


def retransmit(segments, rng):
    later = []
    for s in segments:
        yield s
        if s.data and rng.random() < 0.4:
            later.append(s)
        if later and rng.random() < 0.4:
            yield later.pop(rng.randrange(len(later)))
    yield from later


def shuffle(segments, rng):
    """Not across a SYN: what comes before it is another connection's, or an older one's."""
    window = []
    for s in segments:
        if s.flags & SYN or len(window) == 8:
            rng.shuffle(window)
            yield from window
            window = []
        if s.flags & SYN:
            yield s
        else:
            window.append(s)
    rng.shuffle(window)
    yield from window


def gap(segments):
    with_data = 0
    for s in segments:
        with_data += bool(s.data)
        if not s.data or with_data % 70:
            yield s


def midstream(segments, count):
    seen = {}
    for s in segments:
        key = frozenset([s.stream(), s.reverse()])
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > count:
            yield s


def fragment(segments):
    for i, s in enumerate(segments):
        yield dataclasses.replace(s, fragment=i == 20)


def aeons(segments):
    for i, s in enumerate(segments):
        yield dataclasses.replace(s, time=2**64 - 1) if i else s


def rewrite(forms, source, target):
    rng = random.Random(1)
    options = dict(form.partition(":")[::2] for form in forms.split(","))
    segments = read_capture(source)
    steps = {
        "split": lambda x: split(x, int(options["split"])),
        "overlap": lambda x: overlap(x, rng),
        "wrap": wrap,
        "retransmit": lambda x: retransmit(x, rng),
        "shuffle": lambda x: shuffle(x, rng),
        "gap": gap,
        "midstream": lambda x: midstream(x, int(options["midstream"])),
        "fragment": fragment,
        "aeons": aeons,
    }
    number = lambda name: int(options.pop(name)) if name in options else None
    snaplen, cut = number("snaplen"), number("cut")
    for name, step in steps.items():
        if name in options:
            segments = list(step(segments))
            options.pop(name)
    link = [name for name in options if name in LINKS] or ["ethernet"]
    if len(link) > 1 or set(options) - set(LINKS):
        sys.exit(f"{forms}: unknown form, or two link layers")
    write_capture(target, segments, link[0], snaplen, cut)


# ---- Connections made up


class Connection:
    def __init__(self, capture, port):
        self.capture = capture
        self.ends = [(b"\x0a\x00\x00\x02", port), (b"\x0a\x00\x00\x01", 445)]  # client, server
        self.seq = [1000, 2000]
        self._send(0, SYN, b"")
        self._send(1, SYN | ACK, b"")
        self._send(0, ACK, b"")

    def _send(self, side, flags, data):
        (src, sport), (dst, dport) = self.ends[side], self.ends[1 - side]
        time = 1700000000 * 10**6 + 1000 * len(self.capture)
        ack = self.seq[1 - side] if flags & ACK else 0
        self.capture.append(Segment(time, src, dst, sport, dport, self.seq[side], ack, flags, data))
        self.seq[side] += len(data) + bool(flags & (SYN | FIN))

    def raw(self, side, data):
        self._send(side, PSH | ACK, data)

    def frame(self, side, data):
        self.raw(side, struct.pack(">I", len(data)) + data)

    def close(self):
        self._send(0, FIN | ACK, b"")
        self._send(1, FIN | ACK, b"")


# ---- The published exchange


def vector_messages(path):
    """name: message, of the entries `"name", "hex"..., ...` whose hex is an SMB2 message."""
    text = open(path).read()
    found = {}
    for name, body in re.findall(r'\{\s*"([a-z0-9-]+)",(.*?)\},', text, re.S):
        for value in re.findall(r'(?:"[0-9a-f]*"\s*)+', body):
            data = "".join(re.findall(r"[0-9a-f]+", value))
            if data.startswith("fe534d42"):
                found[name] = bytes.fromhex(data)
    return found


def blog(vectors, target):
    messages = vector_messages(vectors)
    legs = [
        (0, "negotiate-request"), (1, "negotiate-response"), (0, "{}-request-1"), (1, "{}-response-1"),
        (0, "{}-request-2"), (1, "final"),
    ]  # fmt: skip
    capture = []
    for channel, setup, final in (
        ("c1", "session-setup", "final-session-setup-response"),
        ("c2", "bind", "bind-final-response"),
    ):
        connection = Connection(capture, 50000 + int(channel[1]))
        for side, name in legs:
            name = final if name == "final" else name.format(setup)
            connection.frame(side, messages[f"ms-blog-311-{channel}-{name}"])
        connection.close()
    write_capture(target, capture)


# ---- AES (FIPS 197), AES-CMAC (RFC 4493), HMAC-SHA256, SP 800-108 once more


def xtime(a):
    return a << 1 ^ (0x11B if a & 0x80 else 0)


def gf_mul(a, b):
    result = 0
    for _ in range(8):
        result ^= a if b & 1 else 0
        a, b = xtime(a), b >> 1
    return result


def make_sbox():
    box = [0x63]
    for x in range(1, 256):
        y = next(y for y in range(1, 256) if gf_mul(x, y) == 1)
        turned = [y << n | y >> 8 - n for n in range(5)]
        box.append((turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4]) & 0xFF ^ 0x63)
    return box


SBOX = make_sbox()


def aes_expand(key):
    nk, rcon = len(key) // 4, 1
    words = [list(key[i : i + 4]) for i in range(0, len(key), 4)]
    for i in range(nk, 4 * nk + 28):
        w = words[i - 1]
        if i % nk == 0:
            w = [SBOX[b] for b in w[1:] + w[:1]]
            w[0] ^= rcon
            rcon = xtime(rcon)
        elif nk == 8 and i % 8 == 4:
            w = [SBOX[b] for b in w]
        words.append([a ^ b for a, b in zip(words[i - nk], w)])
    return [sum(words[i : i + 4], []) for i in range(0, len(words), 4)]


def aes_encrypt(rounds, block):
    state = [a ^ b for a, b in zip(block, rounds[0])]
    for n, key in enumerate(rounds[1:], 1):
        state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if n < len(rounds) - 1:
            mixed = []
            for c in range(0, 16, 4):
                a, x = state[c : c + 4], state[c] ^ state[c + 1] ^ state[c + 2] ^ state[c + 3]
                mixed += [a[i] ^ x ^ xtime(a[i] ^ a[(i + 1) % 4]) for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, key)]
    return bytes(state)


def cmac(key, message):
    rounds = aes_expand(key)

    def double(b):
        n = int.from_bytes(b, "big") << 1
        return (n & (1 << 128) - 1 ^ 0x87 * (n >> 128)).to_bytes(16, "big")

    subkey = double(aes_encrypt(rounds, bytes(16)))
    blocks = [message[i : i + 16] for i in range(0, len(message), 16)] or [b""]
    if len(blocks[-1]) < 16:
        subkey = double(subkey)
        blocks[-1] = (blocks[-1] + b"\x80").ljust(16, b"\0")
    blocks[-1] = bytes(a ^ b for a, b in zip(blocks[-1], subkey))
    state = bytes(16)
    for block in blocks:
        state = aes_encrypt(rounds, bytes(a ^ b for a, b in zip(state, block)))
    return state


HMAC, CMAC = 0, 1


@dataclasses.dataclass
class Key:
    alg: int
    key: bytes

    def mac(self, message):
        if self.alg == CMAC:
            return cmac(self.key, message)
        return hmac.new(self.key, message, hashlib.sha256).digest()[:16]


def derive_311(alg, session_key, preauth):
    fixed = struct.pack(">I", 1) + b"SMBSigningKey\0" + b"\0" + preauth + struct.pack(">I", 128)
    return Key(alg, hmac.new(session_key, fixed, hashlib.sha256).digest()[:16])


# ---- The scenario

NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT, CREATE, CLOSE, WRITE, CANCEL, ECHO, NOTIFY, QUERY_INFO, BREAK = (
    0, 1, 2, 3, 5, 6, 9, 12, 13, 15, 16, 18,
)  # fmt: skip
RESPONSE, ASYNC, RELATED, SIGNED = 1, 2, 4, 8
PENDING, MORE, DENIED, DELETED, NOT_ACCEPTED = 0x103, 0xC0000016, 0xC0000022, 0xC0000203, 0xC00000D0
ALL_ONES = 2**64 - 1
CLIENT, SERVER = 0, 1


def message(command, mid, sid, flags=0, status=0, body=b"\x04\0\0\0", next_command=0, key=None):
    """A whole message, signed if there is a key."""
    flags |= SIGNED if key else 0
    header = struct.pack("<4sHHIHHII", b"\xfeSMB", 64, 1, status, command, 1, flags, next_command)
    header += struct.pack("<QIIQ", mid, 0xFEFF, 1, sid)
    signature = key.mac(header + bytes(16) + body) if key else bytes(16)
    return header + signature + body


class Scenario:
    def __init__(self):
        self.capture = []
        self.expected = dict.fromkeys(["OK", "BAD", "UNSIGNED", "EXEMPT", "ECHO", "NO-KEY"], 0)
        self.port = 50000

    def connect(self):
        self.port += 1
        return Connection(self.capture, self.port)

    def send(self, connection, side, verdict, *args, **kwargs):
        data = message(*args, flags=kwargs.pop("flags", 0) | (RESPONSE if side else 0), **kwargs)
        return self.send_raw(connection, side, verdict, data)

    def send_raw(self, connection, side, verdict, data):
        connection.frame(side, data)
        self.expected[verdict] += 1
        return data

    def negotiate(self, connection, dialect, mid, offered=(2, 1, 0), selected=None):
        """Returns the preauthentication hash. selected: the id of the server's context, None for no context."""
        contexts = lambda ids: struct.pack(f"<HHIH{len(ids)}H", 8, 2 + 2 * len(ids), 0, len(ids), *ids)
        dialects = struct.pack("<3H", 0x0210, 0x0300, dialect)
        fixed = struct.pack("<HHHHI16s", 36, 3, 1, 0, 0, bytes(16))
        count = int(dialect == 0x0311)
        request = fixed + struct.pack("<IHH", 64 + 48 if count else 0, count, 0) + dialects + bytes(6)
        request += contexts(offered) if count else b""
        first = self.send(connection, CLIENT, "EXEMPT", NEGOTIATE, mid, 0, body=request)
        count = int(selected is not None)
        response = struct.pack("<HHHH16sIIIIQQ", 65, 1, dialect, count, bytes(16), 0, 65536, 65536, 65536, 0, 0)
        response += struct.pack("<HHI", 128, 0, 128 if count else 0) + (contexts([selected]) if count else b"")
        second = self.send(connection, SERVER, "EXEMPT", NEGOTIATE, mid, 0, body=response)
        return self.hash(bytes(64), first, second)

    @staticmethod
    def hash(preauth, *messages):
        for m in messages:
            preauth = hashlib.sha512(preauth + m).digest()
        return preauth

    def setup(self, connection, preauth, mid, make_key, sids, verdicts, binding=False, leg_key=None, flags=0):
        """Two legs. sids: of the first request and response, the second request, and the final response."""
        body = struct.pack("<HBBIIHHQ", 25, int(binding), 1, 0, 0, 88, 4, 0) + b"ntlm"
        answer = struct.pack("<HHHH", 9, flags, 72, 4) + b"ntlm"

        def leg(n, side, **kwargs):
            return self.send(connection, side, verdicts[n], SESSION_SETUP, mid + n // 2, sids[n], **kwargs)

        legs = [
            leg(0, CLIENT, body=body, key=leg_key),
            leg(1, SERVER, body=answer, key=leg_key, status=MORE),
            leg(2, CLIENT, body=body + b"2", key=leg_key),
        ]
        key = make_key(self.hash(preauth, *legs))
        leg(3, SERVER, body=answer, key=key)
        return key


def ordinary_traffic(s, c, sid, key, mid):
    s.send(c, CLIENT, "OK", TREE_CONNECT, mid, sid, key=key)
    s.send(c, SERVER, "OK", TREE_CONNECT, mid, sid, key=key)
    # An asynchronous request: interim response, CANCEL by AsyncId with MessageId 0, final response.
    s.send(c, CLIENT, "OK", NOTIFY, mid + 1, sid, key=key)
    s.send(c, SERVER, "EXEMPT", NOTIFY, mid + 1, sid, flags=ASYNC, status=PENDING)
    s.send(c, CLIENT, "OK", CANCEL, 0, sid, flags=ASYNC, key=key)
    s.send(c, SERVER, "OK", NOTIFY, mid + 1, sid, flags=ASYNC, status=0xC0000120, key=key)


def compounds(s, c, sid, key, mid):
    """RELATED elements with SessionId -1; their responses in one frame, and the last one on its own."""

    def element(side, command, number, last):
        flags = (RESPONSE if side else 0) | (RELATED if number else 0)
        body = b"\x39\0" + bytes(5 if last else 22)  # any padding is covered
        own = sid if not number else ALL_ONES
        length = 0 if last else 64 + len(body)
        s.expected["OK"] += 1
        return message(command, mid + number, own, flags=flags, body=body, next_command=length, key=key)

    c.frame(CLIENT, element(0, CREATE, 0, False) + element(0, QUERY_INFO, 1, False) + element(0, CLOSE, 2, True))
    c.frame(SERVER, element(1, CREATE, 0, False) + element(1, QUERY_INFO, 1, True))
    c.frame(SERVER, element(1, CLOSE, 2, True))


def odd_messages(s, c, sid, key, mid):
    s.send(c, SERVER, "EXEMPT", BREAK, ALL_ONES, 0)
    s.send(c, SERVER, "EXEMPT", BREAK, ALL_ONES, sid)
    # No session any more: the request's signature comes back; or none.
    for signature in (None, bytes(16)):
        request = s.send(c, CLIENT, "OK", ECHO, mid, sid, key=key)
        answer = bytearray(message(ECHO, mid, sid, flags=RESPONSE | SIGNED, status=DELETED))
        answer[48:64] = request[48:64] if signature is None else signature
        s.send_raw(c, SERVER, "ECHO", bytes(answer))
        mid += 1
    # The same with success instead of an error is forged.
    request = s.send(c, CLIENT, "OK", ECHO, mid, sid, key=key)
    answer = bytearray(message(ECHO, mid, sid, flags=RESPONSE | SIGNED))
    answer[48:64] = request[48:64]
    s.send_raw(c, SERVER, "BAD", bytes(answer))
    # One bit of the body; a flag taken away; a clear flag over a right signature; nothing at all.
    good = message(WRITE, mid + 1, sid, body=bytes(100), key=key)
    s.send_raw(c, CLIENT, "BAD", good[:-1] + b"\x01")
    good = message(WRITE, mid + 2, sid, body=bytes(100), key=key)
    s.send_raw(c, CLIENT, "UNSIGNED", good[:16] + b"\0" + good[17:])
    plain = message(WRITE, mid + 3, sid, body=bytes(100))
    s.send_raw(c, CLIENT, "OK", plain[:48] + key.mac(plain) + plain[64:])
    s.send(c, CLIENT, "UNSIGNED", WRITE, mid + 4, sid)
    # Reflected: a right signature in the wrong direction.
    response = s.send(c, SERVER, "OK", ECHO, mid + 5, sid, key=key)
    s.send_raw(c, CLIENT, "BAD", response)
    # SessionId -1 outside a chain, and a session nobody knows.
    s.send(c, CLIENT, "NO-KEY", ECHO, mid + 6, ALL_ONES, key=key)
    s.send(c, CLIENT, "NO-KEY", ECHO, mid + 7, 0x99, key=key)
    c.raw(CLIENT, b"\x85\0\0\0" + bytes(4))
    c.frame(CLIENT, b"\xfdSMB" + bytes(100))
    c.frame(SERVER, b"\xfcSMB" + bytes(60))


def scenario(target):
    s = Scenario()
    sid, other_sid, guest = 0x1100000000000042, 0x43, 0x77
    keys = {name: hashlib.md5(name.encode()).digest() for name in ("first", "second", "other", "unknown", "again")}
    derive = lambda alg, name: lambda preauth: derive_311(alg, keys[name], preauth)
    opening = ["EXEMPT", "UNSIGNED", "UNSIGNED", "OK"]

    # A CMAC session, after an SMB1 opening, with a server that leaves SessionId 0 until the end.
    first = s.connect()
    first.frame(CLIENT, b"\xffSMB" + bytes(60))
    s.send(first, SERVER, "EXEMPT", NEGOTIATE, 0, 0, body=struct.pack("<HHH", 65, 1, 0x02FF) + bytes(58))
    preauth_first = s.negotiate(first, 0x0311, 1, selected=CMAC)
    session = s.setup(first, preauth_first, 2, derive(CMAC, "first"), (0, 0, 0, sid), ["EXEMPT"] * 3 + ["OK"])
    ordinary_traffic(s, first, sid, session, 4)
    compounds(s, first, sid, session, 10)
    odd_messages(s, first, sid, session, 20)
    # Re-authentication: signed, keys kept.
    s.setup(first, preauth_first, 40, lambda _: session, (sid,) * 4, ["OK"] * 4, leg_key=session)
    ordinary_traffic(s, first, sid, session, 44)

    # A second connection, of HMAC, is bound: the session's key and algorithm up to the final response.
    second = s.connect()
    preauth = s.negotiate(second, 0x0311, 0, offered=(1, 0), selected=HMAC)
    channel = s.setup(second, preauth, 1, derive(HMAC, "second"), (sid,) * 4, ["OK"] * 4, True, session)
    ordinary_traffic(s, second, sid, channel, 4)
    compounds(s, second, sid, channel, 10)
    s.setup(second, preauth, 20, lambda _: channel, (sid,) * 4, ["OK"] * 4, leg_key=channel)

    # Another session on the first connection. A third connection is bound to it with a key that is not given, after a
    # try that was rejected. No context there: CMAC.
    other = s.setup(first, preauth_first, 70, derive(CMAC, "other"), (0, other_sid, other_sid, other_sid), opening)
    s.send(first, CLIENT, "OK", TREE_CONNECT, 72, other_sid, key=other)
    third = s.connect()
    preauth = s.negotiate(third, 0x0311, 0)
    body = struct.pack("<HBBIIHHQ", 25, 1, 1, 0, 0, 88, 0, 0)
    s.send(third, CLIENT, "OK", SESSION_SETUP, 1, other_sid, body=body, key=other)
    s.send(third, SERVER, "OK", SESSION_SETUP, 1, other_sid, status=NOT_ACCEPTED, key=other)
    verdicts = ["OK", "OK", "OK", "NO-KEY"]
    channel = s.setup(third, preauth, 2, derive(CMAC, "unknown"), (other_sid,) * 4, verdicts, True, other)
    s.send(third, CLIENT, "NO-KEY", TREE_CONNECT, 4, other_sid, key=channel)

    # The session ends, and a server of SMB 2.1 gives out its SessionId again.
    s.send(first, CLIENT, "OK", LOGOFF, 60, sid, key=session)
    s.send(first, SERVER, "OK", LOGOFF, 60, sid, key=session)
    first.close()
    fourth = s.connect()
    s.negotiate(fourth, 0x0210, 0)
    session = s.setup(fourth, b"", 1, lambda _: Key(HMAC, keys["again"]), (0, sid, sid, sid), opening)
    ordinary_traffic(s, fourth, sid, session, 4)

    # A guest's session has no signatures; and this is not SMB at all.
    fifth = s.connect()
    s.negotiate(fifth, 0x0311, 0, selected=HMAC)
    s.setup(fifth, b"", 1, lambda _: None, (0, guest, guest, guest), opening[:3] + ["UNSIGNED"], flags=1)
    s.send(fifth, CLIENT, "UNSIGNED", TREE_CONNECT, 3, guest)
    stranger = s.connect()
    stranger.raw(CLIENT, b"GET / HTTP/1.1\r\n\r\n\0\0\0\x50\xfeSMB")
    stranger.raw(SERVER, b"\0\0\0\x50\xfeSMB" + bytes(0x50))

    write_capture(target, s.capture)
    for name in ("first", "second", "other", "again"):
        print(f"key {other_sid if name == 'other' else sid:x}={keys[name].hex()}")
    print("expect", *(str(n) for n in s.expected.values()))


def main():
    commands = {"rewrite": (rewrite, 3), "blog": (blog, 2), "scenario": (scenario, 1)}
    run, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if not run or len(sys.argv) != 2 + count:
        sys.exit(__doc__)
    run(*sys.argv[2:])


if __name__ == "__main__":
    main()
