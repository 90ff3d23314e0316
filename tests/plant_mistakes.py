#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Signs messages with each mistake that `smb3sign explain` knows, and sees it named.

    plant_mistakes.py COMMAND      COMMAND: the built program

Every mistake is planted in each sort of message and under each algorithm where it has an effect, every mistake of a key
together with every mistake of a message once, and some in captures. Exactly the planted mistake must be named, and
nothing where a message is damaged in other ways. MACs, key derivation and hashes are written down here and in
make_pcap.py again, from the specifications. Exits with 1 if anything else comes out.
"""
import dataclasses
import hashlib
import hmac
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import make_pcap
from make_pcap import aes_encrypt, aes_expand

HMAC, CMAC, GMAC = 0, 1, 2
ALGORITHMS = {HMAC: "hmac", CMAC: "cmac", GMAC: "gmac"}
RESPONSE, ASYNC, RELATED, SIGNED = 1, 2, 4, 8
SETUP, CREATE, CLOSE, READ, WRITE, CANCEL, NOTIFY, QUERY_INFO = 1, 5, 6, 8, 9, 12, 15, 16
MORE = 0xC0000016
ZEROS = bytes(16)

# ---- MACs


def gcm_tag(key, nonce, aad=b"", plaintext=b""):
    """The tag of AES-GCM (SP 800-38D 7.1)."""
    rounds = aes_expand(key)
    h = int.from_bytes(aes_encrypt(rounds, ZEROS), "big")

    def multiply(x, y):
        z = 0
        for i in range(127, -1, -1):
            if x >> i & 1:
                z ^= y
            y = y >> 1 ^ (0xE1 << 120 if y & 1 else 0)
        return z

    def ghash(data):
        y = 0
        for i in range(0, len(data), 16):
            y = multiply(y ^ int.from_bytes(data[i : i + 16], "big"), h)
        return y

    fill = lambda data: data + bytes(-len(data) % 16)
    if len(nonce) == 12:
        start = nonce + b"\0\0\0\1"
    else:
        start = ghash(fill(nonce) + struct.pack(">QQ", 0, 8 * len(nonce))).to_bytes(16, "big")
    cipher = b""
    for i in range(0, len(plaintext), 16):
        counter = start[:12] + ((int.from_bytes(start[12:], "big") + 1 + i // 16) % 2**32).to_bytes(4, "big")
        cipher += bytes(a ^ b for a, b in zip(plaintext[i : i + 16], aes_encrypt(rounds, counter)))
    y = ghash(fill(aad) + fill(cipher) + struct.pack(">QQ", 8 * len(aad), 8 * len(cipher)))
    return bytes(a ^ b for a, b in zip(y.to_bytes(16, "big"), aes_encrypt(rounds, start)))


def cbc_mac(key, data):
    rounds, state = aes_expand(key), ZEROS
    data += bytes(-len(data) % 16)
    for i in range(0, len(data), 16):
        state = aes_encrypt(rounds, bytes(a ^ b for a, b in zip(state, data[i : i + 16])))
    return state


def mac(alg, key, data, nonce):
    if alg == HMAC:
        return hmac.new(key, data, hashlib.sha256).digest()[:16]
    return make_pcap.cmac(key, data) if alg == CMAC else gcm_tag(key, nonce, data)


def right_nonce(header):
    bits = header[16] & 1 | (2 if header[12:14] == b"\x0c\0" else 0)
    return header[24:32] + bytes([bits, 0, 0, 0])


def kdf(ki, label, context, counter=b"\0\0\0\1", separator=b"\0", length=b"\0\0\0\x80"):
    return hmac.new(ki, counter + label + separator + context + length, hashlib.sha256).digest()


# ---- Messages


def header(command, flags=0, mid=0, sid=0, status=0, following=0, tree=0x11223344, charge=2, credits=31, async_id=None):
    h = struct.pack("<4sHHIHHII", b"\xfeSMB", 64, charge, status, command, credits, flags | SIGNED, following)
    h += struct.pack("<Q", mid)
    h += struct.pack("<II", 0xFEFF, tree) if async_id is None else struct.pack("<Q", async_id)
    return h + struct.pack("<Q", sid) + ZEROS


@dataclasses.dataclass
class Sort:
    """A frame, of which one element is signed with a mistake."""

    name: str
    elements: list
    planted: int = 0
    request: bytes = None  # for responses


def sorts(rng, small=False):
    """small: the ids of a young session, with which different mistakes may coincide."""
    mid = 5 if small else rng.getrandbits(46) | 0x100000100
    sid = 1 if small else rng.getrandbits(64) | 0x0101010101010101
    number = lambda: rng.getrandbits(62) | 0x0101010101010101
    common = {"mid": mid, "sid": sid}
    payload = lambda n: bytes(rng.randrange(1, 256) for _ in range(n))
    write = struct.pack("<HHI", 49, 112, 37) + payload(40) + payload(37)
    read = struct.pack("<HBBIII", 17, 80, 0, 45, 0, 0) + payload(45)
    request = header(READ, **common)[:48] + payload(16) + payload(49)
    yield Sort("request", [header(WRITE, 0x30, **common) + write])
    yield Sort("response", [header(READ, RESPONSE, status=0x80000005, **common) + read], request=request)
    yield Sort("cancel", [header(CANCEL, **common) + b"\4\0\0\0"])
    yield Sort("async cancel", [header(CANCEL, ASYNC, async_id=number(), **common) + b"\4\0\0\0"])
    yield Sort("async response", [header(NOTIFY, 3, async_id=number(), **common) + b"\x09\0" + payload(7)])
    # Padded at its end, in front of nothing.
    info = b"\x09\0\x48\0\x03\0\0\0" + payload(3) + bytes(5)
    yield Sort("padded response", [header(QUERY_INFO, RESPONSE, **common) + info])
    for planted in range(3):
        bodies = [b"\x39\0" + payload(59) + bytes(3), b"\x29\0" + payload(44) + bytes(2), b"\x18\0" + payload(22)]
        elements = [
            header(command, RELATED if i else 0, mid + i, sid, following=0 if i == 2 else 64 + len(body)) + body
            for i, (command, body) in enumerate(zip((CREATE, QUERY_INFO, CLOSE), bodies))
        ]
        yield Sort(f"compound, element {planted + 1}", elements, planted)


# ---- The exchange that makes the key


def negotiate_context(kind, data):
    return struct.pack("<HHI", kind, len(data), 0) + data


class Exchange:
    """NEGOTIATE and SESSION_SETUP messages; every length needs padding, and what responses have of it is theirs."""

    def __init__(self, rng, sent_padding=False, sid=7, negotiate=None, bind=None, alg=None, mid=1):
        """negotiate: the connection's, of an earlier exchange. alg: what is negotiated. bind: signs a message."""
        pad = lambda m: m + bytes(-len(m) % 8) if sent_padding else m
        salt = lambda n: bytes(rng.randrange(256) for _ in range(n))
        self.salts = (salt(32), salt(32))
        self.sid, self.first_mid, self.bind = sid, mid, bind
        token = lambda n: bytes(rng.randrange(1, 256) for _ in range(n))
        signing = b"" if alg is None else bytes(2) + negotiate_context(8, struct.pack("<HH", 1, alg))
        contexts = [negotiate_context(1, struct.pack("<HHH", 1, len(s), 1) + s) + signing for s in self.salts]
        count = 1 + bool(signing)
        body = struct.pack("<HHHHI16sIHHH", 36, 1, 1, 0, 0, token(16), 104, count, 0, 0x311) + bytes(2) + contexts[0]
        first = changed(header(0), 16, bytes(4)) + body
        body = struct.pack("<HHHH16sIIIIQQHHI", 65, 1, 0x311, count, token(16), 0, 1, 1, 1, 0, 0, 128, 11, 144)
        second = pad(changed(header(0, RESPONSE), 16, b"\1\0\0\0") + body + token(11) + bytes(5) + contexts[1])
        self.negotiate = negotiate or [first, second]
        self.setup = []
        for leg in range(2):
            body = struct.pack("<HBBIIHHQ", 25, int(bind is not None), 1, 0, 0, 88, 13, 0) + token(13)
            self.setup.append(self.leg(leg, 0, sid if leg or bind else 0, 0, body))
            if not leg:
                body = struct.pack("<HHHH", 9, 0, 72, 11) + token(11)
                body += bytes(-len(body) % 8 if sent_padding else 0)
                self.setup.append(self.leg(leg, RESPONSE, sid, MORE, body))
        self.final_body = struct.pack("<HHHH", 9, 0, 72, 5) + token(5)

    def leg(self, leg, flags, sid, status, body):
        m = header(SETUP, flags, self.first_mid + leg, sid, status) + body
        return changed(m, 48, self.bind(m)) if self.bind else changed(m, 16, bytes([flags, 0, 0, 0]))

    def final(self):
        return header(SETUP, RESPONSE, self.first_mid + 1, self.sid) + self.final_body

    def hash(self, start=bytes(64), negotiate=None, setup=None):
        for m in (self.negotiate if negotiate is None else negotiate) + (self.setup if setup is None else setup):
            start = hashlib.sha512(start + m).digest()
        return start


def is_response(m):
    return m[16] & 1


def key_mistakes(dialect, secret, exchange, final):
    """Id and signing key. final: the last response, as it was sent."""
    first = secret[:16].ljust(16, b"\0")
    is_311 = dialect == "3.1.1"
    hash_ = exchange.hash()
    if dialect.startswith("2"):
        yield "kdf-as-300", kdf(first, b"SMB2AESCMAC\0", b"SmbSign\0")[:16]
        if len(secret) > 16:
            yield "session-key-whole", secret
        yield from secret_mistakes(secret, lambda ki: ki)
        return
    label, context = (b"SMBSigningKey\0", hash_) if is_311 else (b"SMB2AESCMAC\0", b"SmbSign\0")
    k = lambda **other: kdf(first, label, context, **other)
    yield "key-not-derived", first
    if len(secret) > 16:
        yield "session-key-whole", kdf(secret, label, context)[:16]
    yield from secret_mistakes(secret, lambda ki: kdf(ki, label, context)[:16])
    yield "kdf-l-256", k(length=b"\0\0\1\0")[:16]
    yield "kdf-l-256-whole", k(length=b"\0\0\1\0")
    yield "kdf-l-in-bytes", k(length=b"\0\0\0\x10")[:16]
    yield "kdf-l-32-bytes", k(length=b"\0\0\0\x20")[:16]
    yield "kdf-little-endian", k(counter=b"\1\0\0\0", length=b"\x80\0\0\0")[:16]
    yield "kdf-little-endian-bytes", k(counter=b"\1\0\0\0", length=b"\x10\0\0\0")[:16]
    yield "kdf-counter-little-endian", k(counter=b"\1\0\0\0")[:16]
    yield "kdf-l-little-endian", k(length=b"\x80\0\0\0")[:16]
    yield "kdf-counter-zero", k(counter=bytes(4))[:16]
    yield "kdf-counter-byte", k(counter=b"\1")[:16]
    yield "kdf-no-counter", k(counter=b"")[:16]
    yield "kdf-no-l", k(length=b"")[:16]
    yield "kdf-one-zero", k(separator=b"")[:16]
    if not is_311:
        yield "kdf-one-zero", kdf(first, label[:-1], context)[:16]
        yield "kdf-context-no-nul", kdf(first, label, context[:-1])[:16]
        yield "kdf-no-nuls", kdf(first, label[:-1], context[:-1])[:16]
        yield "kdf-label-311", kdf(first, b"SMBSigningKey\0", context)[:16]
        yield "kdf-cipher-c2s", kdf(first, b"SMB2AESCCM\0", b"ServerIn \0")[:16]
        yield "kdf-cipher-s2c", kdf(first, b"SMB2AESCCM\0", b"ServerOut\0")[:16]
        yield "kdf-application", kdf(first, b"SMB2APP\0", b"SmbRpc\0")[:16]
        return
    yield "kdf-one-zero", kdf(first, label[:-1], context)[:16]
    yield "kdf-as-300", kdf(first, b"SMB2AESCMAC\0", b"SmbSign\0")[:16]
    yield "kdf-label-300", kdf(first, b"SMB2AESCMAC\0", hash_)[:16]
    yield "kdf-context-300", kdf(first, label, b"SmbSign\0")[:16]
    yield "kdf-cipher-c2s", kdf(first, b"SMBC2SCipherKey\0", hash_)[:16]
    yield "kdf-cipher-s2c", kdf(first, b"SMBS2CCipherKey\0", hash_)[:16]
    yield "kdf-application", kdf(first, b"SMBAppKey\0", hash_)[:16]
    for name, value in context_mistakes(exchange, final):
        yield name, kdf(first, label, value)[:16]


def secret_mistakes(secret, derive):
    if len(secret) > 16:
        yield "session-key-last-16", derive(secret[-16:])
    if len(secret) > 8:
        yield "session-key-8-bytes", derive(secret[:8] + bytes(8))
    else:
        yield "session-key-padded-left", derive(bytes(8) + secret)
        yield "session-key-repeated", derive(secret + secret)
    yield "session-key-zero", derive(ZEROS)


def context_mistakes(exchange, final):
    e, every = exchange, exchange.negotiate + exchange.setup
    pad = lambda m: m + bytes(-len(m) % 8) if is_response(m) else m
    yield "preauth-final-response", e.hash(setup=e.setup + [final])
    yield "preauth-padded", e.hash(bytes(64), [pad(m) for m in e.negotiate], [pad(m) for m in e.setup])
    prefixed = [struct.pack(">I", len(m)) + m for m in every]
    yield "preauth-prefix", e.hash(negotiate=[], setup=prefixed)
    yield "preauth-negotiate-only", e.hash(setup=[])
    yield "preauth-no-last-request", e.hash(setup=e.setup[:-1])
    yield "preauth-no-responses", e.hash(setup=[m for m in e.setup if not is_response(m)])
    yield "preauth-no-negotiate", e.hash(negotiate=[])
    yield "preauth-no-negotiate-request", e.hash(negotiate=e.negotiate[1:])
    yield "preauth-no-negotiate-response", e.hash(negotiate=e.negotiate[:1])
    first = hashlib.sha512(every[0]).digest()
    yield "preauth-no-zero-start", e.hash(first, e.negotiate[1:])
    yield "preauth-not-chained", hashlib.sha512(b"".join(every)).digest()
    yield "preauth-zero", bytes(64)
    yield "preauth-client-salt", e.salts[0]
    yield "preauth-server-salt", e.salts[1]


# ---- Mistakes of a message: given the frame without signature there, they say what is signed, and with which nonce


@dataclasses.dataclass
class Plan:
    frame: bytes  # all other elements are signed already
    off: int
    len: int
    sort: Sort
    alg: int
    key: bytes

    def message(self):
        return self.frame[self.off : self.off + self.len]

    def signature(self, key=None):
        """The right one, with the plan's key or another."""
        m = self.message()
        return mac(self.alg, self.key if key is None else key, m, right_nonce(m))


def changed(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def message_mistakes(p):
    """Id, the bytes covered, the nonce."""
    m, nonce = p.message(), right_nonce(p.message())
    yield from range_mistakes(p, m, nonce)
    yield from header_mistakes(p, m, nonce)
    if p.alg == GMAC:
        for name, wrong in nonce_mistakes(p, m):
            if wrong != nonce:
                yield name, m, wrong


def range_mistakes(p, m, nonce):
    frame_len = len(p.frame)
    in_compound = p.len != frame_len
    padded = p.sort.name == "padded response" or (in_compound and p.off + p.len < frame_len)
    payload = len(m) - 64 - (struct.unpack_from("<H", m, 64)[0] & ~1)
    for n in range(1, min(8, len(m) - 64)):
        zeros = not any(m[-n:])
        name = "padding-left-out" if padded and (in_compound or zeros) else "tail-left-out"
        if name == "tail-left-out" and n == payload:
            name = "payload-left-out"
        yield name, m[:-n], nonce
    if payload >= 8:
        yield "payload-left-out", m[:-payload], nonce
    if len(m) - 64 >= 8:
        yield "body-left-out", m[:64], nonce
    if len(m) > 136:
        yield "length-without-header", m[:-64], nonce
    for unit in (4, 8, 16):
        if len(m) % unit:
            yield "padding-not-sent", m + bytes(-len(m) % unit), nonce
    yield "transport-prefix", struct.pack(">I", frame_len) + m, nonce
    if in_compound:
        yield "transport-prefix-element", struct.pack(">I", len(m)) + m, nonce
    yield "transport-prefix-zero", bytes(4) + m, nonce
    yield "header-left-out", m[64:], nonce
    yield "signature-field-left-out", m[:48] + m[64:], nonce
    if in_compound:
        zeroed = p.frame
        at = 0
        for element in p.sort.elements:
            zeroed = changed(zeroed, at + 48, ZEROS)
            at += len(element)
        if p.off + p.len < frame_len:
            yield "element-to-frame-end", p.frame[p.off :], nonce
            yield "element-to-frame-end-zero", zeroed[p.off :], nonce
        if p.off:
            yield "compound-as-one", p.frame, nonce
            yield "compound-as-one-zero", zeroed, nonce


def header_mistakes(p, m, nonce):
    flags = struct.unpack_from("<I", m, 16)[0]
    without = lambda bit: changed(m, 16, struct.pack("<I", flags & ~bit))
    yield "signed-flag-after-mac", without(SIGNED), nonce
    late = {
        "next-command-after-mac": (20, 4), "credit-charge-after-mac": (6, 2), "credits-after-mac": (14, 2),
        "status-after-mac": (8, 4), "message-id-after-mac": (24, 8), "session-id-after-mac": (40, 8),
    }  # fmt: skip
    if not flags & ASYNC:
        late["tree-id-after-mac"] = (36, 4)
        late["reserved-after-mac"] = (32, 4)
    for name, (at, size) in late.items():
        if any(m[at : at + size]):
            yield name, changed(m, at, bytes(size)), nonce
    yield "message-id-after-mac", changed(m, 24, bytes(8)), bytes(8) + nonce[8:]
    yield "tree-id-after-mac", changed(m, 32, bytes(8)), nonce
    for bit, name in ((RESPONSE, "response-flag"), (ASYNC, "async-flag"), (RELATED, "related-flag")):
        if flags & bit:
            yield f"{name}-after-mac", without(bit), nonce
            if bit == RESPONSE:
                yield f"{name}-after-mac", without(bit), right_nonce(without(bit))
    if flags & 0x70:
        yield "priority-after-mac", without(0x70), nonce
    if flags & ~SIGNED:
        yield "flags-after-mac", changed(m, 16, bytes(4)), nonce
    if p.sort.request:
        yield "signature-not-zeroed-request", changed(m, 48, p.sort.request[48:64]), nonce
    if p.off:
        before = p.off - len(p.sort.elements[p.sort.planted - 1])
        yield "signature-not-zeroed-before", changed(m, 48, p.frame[before + 48 : before + 64]), nonce
    yield "signature-not-zeroed-twice", changed(m, 48, mac(p.alg, p.key, m, nonce)), nonce


def nonce_mistakes(p, m):
    mid, rest = m[24:32], right_nonce(m)[8:]
    role, cancel = m[16] & 1, m[12] == CANCEL
    at = lambda i, value: bytes(value if j == i else 0 for j in range(4))
    if role:
        yield "nonce-no-role-bit", mid + bytes(4)
    else:
        yield "nonce-role-bit-in-request", mid + at(0, rest[0] | 1)
    if cancel:
        yield "nonce-no-cancel-bit", mid + bytes(4)
        yield "nonce-cancel-byte-10", mid + at(2, 1)
    if m[16] & ASYNC or not cancel:
        yield "nonce-async-for-cancel", mid + at(0, role | m[16] & ASYNC)
    for i in (1, 2, 3):
        yield f"nonce-bits-byte-{8 + i}", mid + at(i, rest[0])
    yield "nonce-bits-swapped", mid + at(0, 2 * role + cancel)
    yield "nonce-bits-from-top", mid + at(0, 128 * role + 64 * cancel)
    yield "nonce-bits-from-top-11", mid + at(3, 128 * role + 64 * cancel)
    yield "nonce-flags", mid + m[16:20]
    yield "nonce-session-id", mid + m[40:44]
    yield "nonce-session-id-high", mid + m[44:48]
    yield "nonce-tree-id", mid + m[36:40]
    yield "nonce-message-id-offset-28", m[28:36] + rest
    yield "nonce-message-id-offset-20", m[20:28] + rest
    yield "nonce-message-id-offset-16", m[16:24] + rest
    yield "nonce-async-id", m[32:40] + rest
    yield "nonce-begins-with-session-id", m[40:48] + rest
    yield "nonce-message-id-big-endian", mid[::-1] + rest
    if any(rest):
        yield "nonce-message-id-offset-28-no-bits", m[28:36] + bytes(4)
        yield "nonce-message-id-big-endian-no-bits", mid[::-1] + bytes(4)
    if p.off:
        yield "nonce-first-message-id", p.frame[24:32] + rest
    yield "nonce-last-message-id", struct.pack("<Q", struct.unpack("<Q", mid)[0] + 1) + rest
    if any(rest):
        yield "nonce-bits-first", rest + mid
    yield "nonce-zeros-first", bytes(4) + mid
    if not cancel:
        yield "nonce-direction-byte-10", mid + at(2, 2 if role else 1)
    yield "nonce-zero", bytes(12)
    yield "nonce-length-8", mid
    yield "nonce-length-11", mid + rest[:3]
    yield "nonce-length-16", mid + rest + bytes(4)


def algorithm_mistakes(p):
    m, nonce = p.message(), right_nonce(p.message())
    for alg, name in ALGORITHMS.items():
        if alg != p.alg:
            yield f"algorithm-{name}", mac(alg, p.key, m, nonce)
    if p.alg == HMAC:
        yield "hmac-last-half", hmac.new(p.key, m, hashlib.sha256).digest()[16:]
    elif p.alg == CMAC:
        yield "cmac-without-subkeys", cbc_mac(p.key, m)
    else:
        yield "gmac-as-plaintext", gcm_tag(p.key, nonce, b"", m)
    yield "algorithm-hmac-sha512", hmac.new(p.key, m, hashlib.sha512).digest()[:16]
    yield "algorithm-hmac-md5", hmac.new(p.key, m, hashlib.md5).digest()
    yield "algorithm-sha256", hashlib.sha256(p.key + m).digest()[:16]


# ---- Running


class Checks:
    def __init__(self, command, scratch):
        self.command, self.scratch = command, scratch
        self.planted = self.named = self.beside = self.failures = self.files = 0
        self.ids = set()
        self.waiting = {}  # by options: what explain() has to check

    def file(self, name, data):
        path = os.path.join(self.scratch, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def run(self, *arguments):
        done = subprocess.run([self.command, *arguments], capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, lines, done.stderr

    def fail(self, what, why):
        self.failures += 1
        print(f"FAILED: {what}: {why}")

    def named_as(self, what, expected, found, coincide=False):
        """found: a line of output. coincide: another mistake may stand in front that gives the same here."""
        self.planted += 1
        matches = found["matches"]
        verdict = "UNSIGNED" if expected == "signed-flag-lost" else "BAD"
        if found["verdict"] != verdict or len(matches) != 1 or not matches[0]["fix"]:
            return self.fail(f"{what}: {expected}", found)
        if matches[0]["id"] == expected and (coincide or not matches[0]["same_here"]):
            self.named += 1
        elif coincide and expected in matches[0]["same_here"]:
            self.beside += 1
        else:
            return self.fail(f"{what}: {expected}", matches)
        self.ids.update(expected.split("+"))
        return None

    def explain(self, what, expected, p, tag, options, coincide=False):
        """expected: an id; "": the signature is right; None: nothing is to be found. Done at the next flush()."""
        waiting = self.waiting.setdefault(tuple(options), [])
        self.files += 1
        path = self.file(f"message-{self.files}", changed(p.frame, p.off + 48, tag))
        waiting.append((what, expected, p.off, path, coincide))

    def flush(self):
        for options, waiting in self.waiting.items():
            status, lines, stderr = self.run("explain", "--json", *options, *(path for _, _, _, path, _ in waiting))
            if stderr or status != any(expected != "" for _, expected, _, _, _ in waiting):
                self.fail(options, f"exit status {status}, {stderr}")
            for what, expected, off, path, coincide in waiting:
                self.judge(what, expected, off, [line for line in lines if line["file"] == path], coincide)
        self.waiting = {}

    def judge(self, what, expected, off, lines, coincide):
        here = [line for line in lines if line["offset"] == off]
        others = [line for line in lines if line["offset"] != off]
        if len(here) != 1 or any(line["verdict"] != "OK" for line in others):
            self.fail(what, lines)
        elif expected:
            self.named_as(what, expected, here[0], coincide)
        elif here[0]["verdict"] != ("BAD" if expected is None else "OK") or here[0]["matches"]:
            self.fail(what, here)


def make_plan(sort, alg, key):
    """All but the planted element are signed, from the last to the first."""
    frame, offsets = b"".join(sort.elements), []
    for element in sort.elements:
        offsets.append(sum(len(e) for e in sort.elements[: len(offsets)]))
    for i, element in enumerate(sort.elements):
        if i != sort.planted:
            frame = changed(frame, offsets[i] + 48, mac(alg, key, element, right_nonce(element)))
    return Plan(frame, offsets[sort.planted], len(sort.elements[sort.planted]), sort, alg, key)


def request_option(checks, sort):
    name = f"request-{hashlib.md5(sort.request).hexdigest()}" if sort.request else None
    return ["--request", checks.file(name, sort.request)] if name else []


def check_messages(checks, rng):
    """The signing key is given."""
    key = bytes(rng.randrange(256) for _ in range(16))
    for alg, name in ALGORITHMS.items():
        for small in (False, True):
            for sort in sorts(rng, small):
                p = make_plan(sort, alg, key)
                options = ["--alg", name, "--key", key.hex(), *request_option(checks, sort)]
                what = f"{name}, {sort.name}{', small ids' if small else ''}"
                m, nonce = p.message(), right_nonce(p.message())
                checks.explain(what, "", p, mac(alg, key, m, nonce), options)
                for expected, covered, wrong in message_mistakes(p):
                    checks.explain(what, expected, p, mac(alg, key, covered, wrong), options, small)
                for expected, tag in algorithm_mistakes(p):
                    checks.explain(what, expected, p, tag, options, small)
                lost = dataclasses.replace(p, frame=changed(p.frame, p.off + 16, bytes([m[16] & ~SIGNED])))
                checks.explain(what, "signed-flag-lost", lost, mac(alg, key, m, nonce), options)
                checks.explain(what, "signature-zero", p, ZEROS, options)
                if sort.request:
                    checks.explain(what, "signature-of-request", p, sort.request[48:64], options)
                for i in range(4):
                    checks.explain(f"{what}, noise {i}", None, p, bytes(rng.randrange(256) for _ in range(16)), options)
                tag = bytearray(mac(alg, key, m, nonce))
                tag[rng.randrange(16)] ^= 1 << rng.randrange(8)
                checks.explain(f"{what}, one bit", None, p, bytes(tag), options)


CASES = (
    ("2.1", HMAC), ("2.0.2", HMAC), ("3.0", CMAC), ("3.0.2", CMAC), ("3.1.1", HMAC), ("3.1.1", CMAC), ("3.1.1", GMAC),
)  # fmt: skip


def derived(dialect, secret, exchange):
    first = secret[:16].ljust(16, b"\0")
    if dialect.startswith("2"):
        return first
    if dialect == "3.1.1":
        return kdf(first, b"SMBSigningKey\0", exchange.hash())[:16]
    return kdf(first, b"SMB2AESCMAC\0", b"SmbSign\0")[:16]


def exchange_files(checks, option, exchange, final):
    options = []
    for m in [*exchange.negotiate, *exchange.setup, final]:
        options += [option, checks.file(f"hashed-{hashlib.md5(m).hexdigest()}", m)]
    return options


def check_keys(checks, rng):
    """The session key and the exchange are given."""
    for dialect, alg in CASES:
        for size in (16, 32, 8):
            secret = bytes(rng.randrange(1, 256) for _ in range(size))
            exchange = Exchange(rng)
            final = exchange.final()
            options = ["--dialect", dialect, "--alg", ALGORITHMS[alg], "--session-key", secret.hex()]
            if dialect == "3.1.1":
                options += exchange_files(checks, "--message", exchange, final)
            all_sorts = list(sorts(rng))
            right = derived(dialect, secret, exchange)
            for n, (expected, key) in enumerate(key_mistakes(dialect, secret, exchange, final)):
                sort = all_sorts[n % 2]
                p = make_plan(sort, alg, key)
                m, nonce = p.message(), right_nonce(p.message())
                what = f"{dialect}, {ALGORITHMS[alg]}, session key of {size}, {sort.name}"
                checks.explain(what, expected, p, mac(alg, key, m, nonce), options)
            p = make_plan(all_sorts[0], alg, right)
            checks.explain(f"{dialect}, right", "", p, p.signature(), options)
            wrong = bytes(rng.randrange(256) for _ in range(16))
            checks.explain(f"{dialect}, other key", None, p, p.signature(wrong), options)


def check_sent_padding(checks, rng):
    """Responses that were sent with padding, hashed without."""
    exchange = Exchange(rng, sent_padding=True)
    secret = bytes(range(16))
    # A context of 38 bytes begins at 144; a token of 11 at 72.
    negotiate = [exchange.negotiate[0], exchange.negotiate[1][: 144 + 8 + 38]]
    setup = [exchange.setup[0], exchange.setup[1][: 72 + 11], exchange.setup[2]]
    key = kdf(secret, b"SMBSigningKey\0", exchange.hash(bytes(64), negotiate, setup))[:16]
    options = ["--dialect", "3.1.1", "--alg", "cmac", "--session-key", secret.hex()]
    options += exchange_files(checks, "--message", exchange, exchange.final())
    p = make_plan(next(sorts(rng)), CMAC, key)
    checks.explain("responses with padding", "preauth-unpadded", p, mac(CMAC, key, p.message(), b""), options)


def check_pairs(checks, rng):
    """Each mistake of a key with one of a message, and each of a message with one of a key."""
    secret = bytes(rng.randrange(1, 256) for _ in range(32))
    exchange = Exchange(rng)
    final = exchange.final()
    for dialect, alg in (("3.0", CMAC), ("3.1.1", GMAC), ("3.1.1", HMAC)):
        options = ["--dialect", dialect, "--alg", ALGORITHMS[alg], "--session-key", secret.hex()]
        if dialect == "3.1.1":
            options += exchange_files(checks, "--message", exchange, final)
        keys = list(key_mistakes(dialect, secret, exchange, final))
        plans = [make_plan(sort, alg, b"") for sort in list(sorts(rng))[:2]]
        plans = [dataclasses.replace(p, key=ZEROS) for p in plans]
        messages = [(p, *mistake) for p in plans for mistake in message_mistakes(p)]
        # The mistake that depends on the key is made below.
        messages = [x for x in messages if x[1] != "signature-not-zeroed-twice"]
        for i in range(max(len(keys), len(messages))):
            (key_id, key), (p, message_id, covered, nonce) = keys[i % len(keys)], messages[i % len(messages)]
            extra = request_option(checks, p.sort)
            expected = f"{key_id}+{message_id}"
            checks.explain(f"{dialect}, pair", expected, p, mac(alg, key, covered, nonce), options + extra)
        for p in plans:
            m, nonce = p.message(), right_nonce(p.message())
            session = mac(HMAC, secret[:16], m, nonce)
            if alg != HMAC:
                checks.explain(f"{dialect}, as 2.x", "algorithm-hmac+key-not-derived", p, session, options)


def check_channels(checks, rng):
    """A session and a bound channel."""
    secrets = [bytes(rng.randrange(1, 256) for _ in range(16)) for _ in range(2)]
    session = Exchange(rng)
    bind = Exchange(rng, bind=lambda m: bytes(range(16)))
    for alg in (CMAC, GMAC, HMAC):
        options = ["--dialect", "3.1.1", "--alg", ALGORITHMS[alg]]
        options += ["--session-key", secrets[0].hex(), "--channel-key", secrets[1].hex()]
        options += exchange_files(checks, "--message", session, session.final())
        options += exchange_files(checks, "--channel-message", bind, bind.final())
        sign = lambda ki, value: kdf(ki, b"SMBSigningKey\0", value)[:16]
        zeroed = [changed(m, 48, ZEROS) for m in bind.setup]
        session_key = sign(secrets[0], session.hash())
        channel_key = sign(secrets[1], bind.hash())
        other = bind.hash(session.hash(setup=[]), negotiate=[])
        ordinary = list(sorts(rng))[1]
        request = Sort("bind request", [header(SETUP, 0, 2, 7) + bytes(24) + b"token"])
        final = Sort("bind response", [bind.final()])
        for sort in (ordinary, final):
            for expected, key in (
                ("", channel_key), ("key-session-for-channel", session_key),
                ("preauth-session-exchange", sign(secrets[1], session.hash())),
                ("preauth-other-connection", sign(secrets[1], other)),
                ("preauth-signatures-zero", sign(secrets[1], bind.hash(setup=zeroed))),
            ):  # fmt: skip
                p = make_plan(sort, alg, key)
                checks.explain(f"channel, {sort.name}", expected, p, p.signature(), options)
        for expected, key in (("", session_key), ("key-channel-for-session", channel_key)):
            p = make_plan(request, alg, key)
            checks.explain("channel, bind request", expected, p, p.signature(), options)


class Conversation:
    """A capture with keys, and what is to be said of its messages, in their order."""

    def __init__(self):
        self.packets, self.keys, self.expected, self.port = [], [], [], 50000

    def connect(self, exchange):
        self.port += 1
        connection = make_pcap.Connection(self.packets, self.port)
        for m in exchange.negotiate:
            connection.frame(is_response(m), m)
        return connection

    def set_up(self, connection, exchange, secret, alg, key, expected):
        """The final response is signed with the key. Returns how to sign like that."""
        self.keys.append(f"{exchange.sid:x}={secret.hex()}")
        for m in exchange.setup:
            connection.frame(is_response(m), m)
        sign = lambda m: mac(alg, key, m, right_nonce(m))
        self.send(connection, exchange.final(), sign, expected)
        return sign

    def send(self, connection, m, sign, expected=None):
        """expected: an id; None: the signature is right."""
        m = changed(m, 48, sign(m) if callable(sign) else sign)
        connection.frame(is_response(m), m)
        if expected:
            self.expected.append((len(self.packets), expected))
        return m

    def check(self, checks, what):
        path = os.path.join(checks.scratch, "capture")
        make_pcap.write_capture(path, self.packets)
        options = [word for key in self.keys for word in ("--session-key", key)]
        status, lines, stderr = checks.run("verify-pcap", "--json", path, *options)
        if status != 1 or stderr or [line["packet"] for line in lines] != [packet for packet, _ in self.expected]:
            checks.fail(what, (status, stderr, self.expected, lines))
            return
        for line, (_, expected) in zip(lines, self.expected):
            checks.named_as(f"{what}, packet {line['packet']}", expected, line)
        arguments = [checks.command, "verify-pcap", "--explain", path, *options]
        text = subprocess.run(arguments, capture_output=True, text=True, check=False)
        explained = [line for line in text.stdout.splitlines() if line.startswith("    matches if ")]
        if text.returncode != 1 or len(explained) != len(lines) or "what was done wrong:" not in text.stdout:
            checks.fail(what, text.stdout)


def check_captures(checks, rng):
    for alg in (CMAC, GMAC, HMAC):
        check_capture(checks, rng, alg)


def check_capture(checks, rng, alg):
    c = Conversation()
    secrets = [bytes(rng.randrange(1, 256) for _ in range(16)) for _ in range(6)]
    sign_with = lambda secret, value: kdf(secret, b"SMBSigningKey\0", value)[:16]
    what = f"capture, {ALGORITHMS[alg]}"
    echo = lambda mid, sid, flags=0: header(13, flags, mid, sid) + b"\4\0\0\0"

    # A session without fault, and messages with one.
    one = Exchange(rng, sid=0x1001, alg=alg)
    first = c.connect(one)
    key = sign_with(secrets[0], one.hash())
    sign = c.set_up(first, one, secrets[0], alg, key, None)
    request = c.send(first, echo(9, one.sid), sign)
    c.send(first, echo(9, one.sid, RESPONSE), sign)
    request = c.send(first, echo(10, one.sid), sign)
    c.send(first, echo(10, one.sid, RESPONSE), request[48:64], "signature-of-request")
    request = c.send(first, echo(11, one.sid), sign)
    held = lambda m: mac(alg, key, changed(m, 48, request[48:64]), right_nonce(m))
    before = c.send(first, echo(11, one.sid, RESPONSE), held, "signature-not-zeroed-request")
    held = lambda m: mac(alg, key, changed(m, 48, before[48:64]), right_nonce(m))
    c.send(first, echo(12, one.sid), sign)
    before = c.send(first, echo(12, one.sid, RESPONSE), held, "signature-not-zeroed-before")
    c.send(first, echo(13, one.sid), sign)
    c.send(first, echo(13, one.sid, RESPONSE), before[48:64], "signature-of-message-before")
    flagless = lambda m: mac(alg, key, changed(m, 16, bytes([m[16] & ~SIGNED])), right_nonce(m))
    for mid in (14, 15, 16):
        c.send(first, echo(mid, one.sid), flagless, "signed-flag-after-mac")
        c.send(first, echo(mid, one.sid, RESPONSE), sign)
    for mid in (17, 18):
        c.send(first, echo(mid, one.sid), lambda m: mac((alg + 1) % 3, key, m, right_nonce(m)),
               f"algorithm-{ALGORITHMS[(alg + 1) % 3]}")  # fmt: skip
        prefixed = lambda m: mac(alg, key, b"\0\0\0\x44" + m, right_nonce(m))
        c.send(first, echo(mid, one.sid), prefixed, "transport-prefix")

    # Further sessions on this connection, with a hash that goes on.
    two = Exchange(rng, sid=0x1002, negotiate=one.negotiate, mid=30)
    key = sign_with(secrets[1], one.hash(setup=one.setup + two.setup))
    sign_two = c.set_up(first, two, secrets[1], alg, key, "preauth-continued")
    c.send(first, echo(33, two.sid), sign_two, "preauth-continued")
    finals = [changed(e.final(), 48, s(e.final())) for e, s in ((one, sign), (two, sign_two))]
    three = Exchange(rng, sid=0x1003, negotiate=one.negotiate, mid=40)
    all_before = one.setup + finals[:1] + two.setup + finals[1:]
    key = sign_with(secrets[2], one.hash(setup=all_before + three.setup))
    c.set_up(first, three, secrets[2], alg, key, "preauth-continued-final")
    # The hash, then the key, of another session.
    four = Exchange(rng, sid=0x1004, negotiate=one.negotiate, mid=50)
    sign_four = c.set_up(first, four, secrets[3], alg, sign_with(secrets[3], four.hash()), None)
    c.send(first, echo(53, four.sid), sign, "key-other-session")
    c.send(first, echo(54, four.sid), lambda m: mac(alg, sign_with(secrets[3], one.hash()), m, right_nonce(m)),
           "preauth-other-exchange")  # fmt: skip
    c.send(first, echo(55, four.sid), sign_four)

    # A second connection, whose new session starts from the first one's hash; then a bind there.
    five = Exchange(rng, sid=0x1005, alg=alg)
    second = c.connect(five)
    wrong = one.hash(setup=five.setup)
    c.set_up(second, five, secrets[4], alg, sign_with(secrets[4], wrong), "preauth-other-connection")
    bind = Exchange(rng, sid=one.sid, alg=alg, negotiate=five.negotiate, mid=10, bind=sign)
    channel = sign_with(secrets[5], bind.hash())
    sign_channel = c.set_up(second, bind, secrets[5], alg, channel, None)
    c.send(second, echo(13, one.sid), sign_channel)
    c.send(second, echo(14, one.sid), sign, "key-session-for-channel")
    c.send(first, echo(60, one.sid), sign_channel, "key-other-channel")
    c.send(second, echo(15, one.sid), lambda m: mac(alg, sign_with(secrets[5], one.hash()), m, right_nonce(m)),
           "preauth-session-exchange")  # fmt: skip
    c.check(checks, what)


def check_unused(checks):
    """Every id that the command's source has was planted, and is in the manual."""
    here = os.path.dirname(os.path.abspath(__file__))
    text = "".join(open(os.path.join(here, "../tools", name)).read() for name in ("mistakes.c", "explain.c"))
    ids = set(re.findall(r'\{\w+, \d+,\s+"([a-z0-9-]+)",', text)) | set(re.findall(r'"([a-z-]+-after-mac)"', text))
    ids |= set(re.findall(r'\{"(signature-[a-z-]+)",', text))
    if len(ids) < 100:
        checks.fail("ids", "not found in the source")
    for name in sorted(ids - checks.ids):
        checks.fail(name, "never planted")
    described = open(os.path.join(here, "../docs/explain.md")).read()
    for name in sorted(ids):
        if f"`{name}`" not in described:
            checks.fail(name, "not in docs/explain.md")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        checks = Checks(sys.argv[1], scratch)
        for check in (check_messages, check_keys, check_sent_padding, check_pairs, check_channels):
            check(checks, rng)
            checks.flush()
        check_captures(checks, rng)
        check_unused(checks)
    wrong = checks.planted - checks.named - checks.beside
    print(
        f"{checks.planted} mistakes planted, of {len(checks.ids)} sorts: {checks.named} named, "
        f"{checks.beside} named beside what is the same there, {wrong} not or wrongly named; {checks.failures} failures"
    )
    sys.exit(checks.failures != 0)


if __name__ == "__main__":
    main()
