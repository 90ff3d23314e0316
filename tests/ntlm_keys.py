#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Session keys of the SMB2 sessions in captures, from their NTLMv2 exchanges and the password (MS-NLMP 3.1.5, 3.3.2,
# 3.4.5): tests/data/keys.txt is its output. It also counts the messages of each capture, by flags, states and the rules
# of MS-SMB2 alone: no signature is computed here, so the counts are an expectation that whoever verifies the signatures
# can be held against.
#
#     ntlm_keys.py [--log FILE] PASSWORD FILE.pcap ...
#
# --log is log.smbd written with "debug encryption = yes". smbd prints the keys of dialects 3.0 and above there, but of
# first channels only: each must be the same as the one found here, else the program fails. It also fails at anything in
# a capture that it does not understand, and at packets that are missing, repeated or out of order.

import argparse
import collections
import hashlib
import hmac
import os
import re
import struct
import sys

NEGOTIATE, SESSION_SETUP, CANCEL, OPLOCK_BREAK = 0, 1, 12, 18
RESPONSE, RELATED, SIGNED = 0x1, 0x4, 0x8
BINDING = 0x01
SUCCESS, PENDING, MORE_PROCESSING, ACCESS_DENIED = 0, 0x103, 0xC0000016, 0xC0000022
ALL_ONES = 0xFFFFFFFFFFFFFFFF
# What smbd answers with a copy of the request's header, signature included, when it has no key to sign with.
ECHO_STATUS = (0xC000000D, 0xC00000C9, 0xC0000128, 0xC0000203)  # parameter, name deleted, closed, session deleted
NTLM_UNICODE, NTLM_KEY_EXCH = 0x00000001, 0x40000000


class Malformed(Exception):
    pass


# ---- the algorithms that hashlib lacks or that OpenSSL 3 hides ----


def md4(data):
    """RFC 1320: three rounds of sixteen steps; each step changes one of four words, in the order a, d, c, b."""

    def rotate(x, n):
        x &= 0xFFFFFFFF
        return (x << n | x >> (32 - n)) & 0xFFFFFFFF

    rounds = (
        (lambda x, y, z: x & y | ~x & z, 0, range(16), (3, 7, 11, 19)),
        (lambda x, y, z: x & y | x & z | y & z, 0x5A827999, [i % 4 * 4 + i // 4 for i in range(16)], (3, 5, 9, 13)),
        # The last round takes the words in bit-reversed order.
        (lambda x, y, z: x ^ y ^ z, 0x6ED9EBA1, [int(f"{i:04b}"[::-1], 2) for i in range(16)], (3, 9, 11, 15)),
    )
    padded = data + b"\x80" + bytes(-(len(data) + 9) % 64) + struct.pack("<Q", 8 * len(data))
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    for block in range(0, len(padded), 64):
        words = struct.unpack_from("<16I", padded, block)
        v = list(state)
        for function, constant, order, shifts in rounds:
            for step, k in enumerate(order):
                a, b, c, d = ((i - step) % 4 for i in range(4))
                v[a] = rotate(v[a] + function(v[b], v[c], v[d]) + words[k] + constant, shifts[step % 4])
        state = [(s + x) & 0xFFFFFFFF for s, x in zip(state, v)]
    return struct.pack("<4I", *state)


def rc4(key, data):
    s = list(range(256))
    j = 0
    for i in range(256):
        j = (j + s[i] + key[i % len(key)]) % 256
        s[i], s[j] = s[j], s[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + s[i]) % 256
        s[i], s[j] = s[j], s[i]
        out.append(byte ^ s[(s[i] + s[j]) % 256])
    return bytes(out)


def hmac_md5(key, data):
    return hmac.new(key, data, hashlib.md5).digest()


# ---- NTLM ----


def ntlm_message(buf, message_type):
    """The NTLM message inside a security buffer: SPNEGO only wraps it, so its signature is enough to find it."""
    at = buf.find(b"NTLMSSP\0" + struct.pack("<I", message_type))
    return buf[at:] if at >= 0 else None


def ntlm_field(message, at):
    length, _, offset = struct.unpack_from("<HHI", message, at)
    if offset + length > len(message):
        raise Malformed("an NTLM field outside its message")
    return message[offset : offset + length]


def ntlm_session_key(password, challenge, authenticate):
    """ExportedSessionKey of an NTLMv2 exchange; the proof in the AUTHENTICATE message is checked on the way."""
    nt_response, domain, user, encrypted = (ntlm_field(authenticate, at) for at in (20, 28, 36, 52))
    (flags,) = struct.unpack_from("<I", authenticate, 60)
    if len(nt_response) <= 24 or not flags & NTLM_UNICODE:
        raise Malformed("not an NTLMv2 response in Unicode")
    identity = user.decode("utf-16le").upper().encode("utf-16le") + domain
    response_key = hmac_md5(md4(password.encode("utf-16le")), identity)
    proof = nt_response[:16]
    if hmac_md5(response_key, challenge[24:32] + nt_response[16:]) != proof:
        raise Malformed("the NTLM proof does not fit the password")
    base_key = hmac_md5(response_key, proof)
    return rc4(base_key, encrypted) if flags & NTLM_KEY_EXCH else base_key


# ---- captures ----


def packets(path):
    """(source port, destination port, sequence number, TCP flags, payload) of each TCP packet over IPv4."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        raise Malformed("not a little-endian pcap file")
    if struct.unpack_from("<I", data, 20)[0] != 1:
        raise Malformed("the link type is not Ethernet")
    at = 24
    while at < len(data):
        captured, length = struct.unpack_from("<II", data, at + 8)
        packet = data[at + 16 : at + 16 + captured]
        at += 16 + captured
        if captured != length or len(packet) != captured:
            raise Malformed("a truncated packet")
        ip = packet[14:]
        if packet[12:14] != b"\x08\x00" or ip[9] != 6:
            raise Malformed("not TCP over IPv4")
        tcp = ip[(ip[0] & 15) * 4 : struct.unpack_from(">H", ip, 2)[0]]
        source, destination, sequence = struct.unpack_from(">HHI", tcp)
        yield source, destination, sequence, tcp[13], tcp[(tcp[12] >> 4) * 4 :]


class Stream:
    """One direction of a TCP connection: gives the direct-TCP frames (MS-SMB2 2.1) that a packet completes."""

    def __init__(self, sequence):
        self.next = (sequence + 1) & 0xFFFFFFFF
        self.buffer = b""

    def frames(self, sequence, payload):
        if sequence != self.next:
            raise Malformed("packets are missing or not in order")
        self.next = (self.next + len(payload)) & 0xFFFFFFFF
        self.buffer += payload
        while len(self.buffer) >= 4:
            length = int.from_bytes(self.buffer[:4], "big")
            if length >> 24:
                raise Malformed("not a session message")
            if len(self.buffer) < 4 + length:
                break
            frame, self.buffer = self.buffer[4 : 4 + length], self.buffer[4 + length :]
            yield frame


Message = collections.namedtuple("Message", "command status flags mid session_id signature body")


def elements(frame):
    """The SMB2 messages of a frame: one, or the elements of a compound."""
    at = 0
    while True:
        header = frame[at : at + 64]
        if len(header) < 64 or header[:4] != b"\xfeSMB":
            raise Malformed("not an SMB2 message")
        status, command, _, flags, following, mid = struct.unpack_from("<IHHIIQ", header, 8)
        (session_id,) = struct.unpack_from("<Q", header, 40)
        end = at + following if following else len(frame)
        yield Message(command, status, flags, mid, session_id, header[48:], frame[at + 64 : end])
        if not following:
            return
        at = end


class Connection:
    def __init__(self):
        self.dialect = None
        self.challenge = None
        self.requests = {}  # by MessageId
        self.exchanges = {}  # CHALLENGE and AUTHENTICATE, by the MessageId of the latter
        self.bound = {}  # sessions that have a key here: whether a bind gave it


class Capture:
    """Walks one capture. keys: (session id, client port if bound, dialect, key); counts: see COLUMNS."""

    def __init__(self, path, password):
        self.password = password
        self.keys = []
        self.counts = collections.Counter()
        connections, streams = {}, {}
        for source, destination, sequence, flags, payload in packets(path):
            if flags & 2:  # SYN: the client's has no ACK
                streams[source, destination] = Stream(sequence)
                if not flags & 16:
                    connections[source, destination] = connections[destination, source] = Connection()
                    self.counts["conns"] += 1
            elif payload:
                stream, connection = streams[source, destination], connections[source, destination]
                for frame in stream.frames(sequence, payload):
                    self.frame(connection, frame, source, destination)
        if any(stream.buffer for stream in streams.values()):
            raise Malformed("the capture ends inside a frame")

    def frame(self, connection, frame, source, destination):
        if frame[:4] == b"\xfdSMB":
            self.counts["encr"] += 1
            return
        chain = list(elements(frame))
        if len(chain) > 1:
            self.counts["c-resp" if chain[0].flags & RESPONSE else "c-req"] += 1
            self.counts["c-elem"] += len(chain)
        session_id = 0
        for message in chain:
            if not (message.flags & RELATED and message.session_id in (0, ALL_ONES)):
                session_id = message.session_id
            self.count(connection, message, session_id)
            if message.flags & RESPONSE:
                self.response(connection, message, destination)
            else:
                self.request(connection, message)

    def request(self, connection, message):
        if message.command != CANCEL:
            connection.requests[message.mid] = message
        if message.command != SESSION_SETUP:
            return
        authenticate = ntlm_message(message.body, 3)
        if authenticate:
            connection.exchanges[message.mid] = connection.challenge, authenticate

    def response(self, connection, message, client_port):
        if message.command == NEGOTIATE:
            (connection.dialect,) = struct.unpack_from("<H", message.body, 4)
        if message.command != SESSION_SETUP:
            return
        if message.status == MORE_PROCESSING:
            connection.challenge = ntlm_message(message.body, 2)
        elif message.status == SUCCESS:
            # A re-authentication leaves the keys as they are (MS-SMB2 3.3.5.5.2).
            if message.session_id in connection.bound:
                return
            bind = bool(connection.requests[message.mid].body[2] & BINDING)
            key = ntlm_session_key(self.password, *connection.exchanges[message.mid])
            connection.bound[message.session_id] = bind
            self.keys.append((message.session_id, client_port if bind else None, connection.dialect, key))
        elif message.status == ACCESS_DENIED and connection.bound.get(message.session_id):
            # The request was counted as signed. It is, but not with the key that the server expects here.
            if connection.requests[message.mid].flags & SIGNED:
                self.counts["signed"] -= 1
                self.counts["rebind"] += 1

    def count(self, connection, message, session_id):
        self.counts["all"] += 1
        self.counts[self.kind(connection, message, session_id)] += 1
        if message.command == CANCEL:
            self.counts["cancel"] += 1

    def kind(self, connection, message, session_id):
        response = message.flags & RESPONSE
        if message.flags & SIGNED:
            if self.is_echo(connection, message):
                return "echo"
            if session_id == ALL_ONES:
                return "no-sid"
            return "signed"
        if response and message.status == PENDING:
            return "interim"
        if response and message.command == OPLOCK_BREAK and message.mid == ALL_ONES:
            return "break"
        if message.command in (NEGOTIATE, SESSION_SETUP):
            return "negot" if message.command == NEGOTIATE else "setup"
        raise Malformed(f"command {message.command}, MessageId {message.mid}: unsigned against the rules")

    @staticmethod
    def is_echo(connection, message):
        if not message.flags & RESPONSE or not message.flags & SIGNED or message.status not in ECHO_STATUS:
            return False
        request = connection.requests[message.mid]
        return message.signature in (request.signature, bytes(16))


# ---- the log of smbd ----


def log_keys(path):
    """Session ids and session keys that smbd's dump_data printed under "debug encryption"."""
    with open(path, encoding="latin-1") as f:
        text = f.read()
    eight = r"((?:[0-9A-F]{2} ){8})"
    pattern = rf"Session Id    \[0000\] {eight}.*\n *Session Key   \[0000\] {eight}  {eight}"
    return {
        int.from_bytes(bytes.fromhex(session_id), "little"): bytes.fromhex(low + high)
        for session_id, low, high in re.findall(pattern, text)
    }


# ---- the report ----


COLUMNS = (
    ("conns", "TCP connections"),
    ("all", "SMB2 messages, each element of a compound counted: the sum of the next eight columns"),
    ("signed", "signed with the key of the channel, or of the session where the channel has none yet"),
    ("no-sid", "signed with the key of the session that was logged off, SessionId all ones"),
    ("rebind", "SESSION_SETUP requests on a channel, signed with the session's key instead of the channel's: refused"),
    ("echo", "SIGNED is set, but the signature is a copy of the request's, or zero: error responses without session"),
    ("negot", "unsigned: NEGOTIATE"),
    ("setup", "unsigned: SESSION_SETUP before there is a key, and what is refused for having none"),
    ("interim", "unsigned: STATUS_PENDING responses"),
    ("break", "unsigned: oplock break notifications"),
    ("cancel", "CANCEL requests, all signed and counted there"),
    ("c-req", "compound requests"),
    ("c-resp", "compound responses"),
    ("c-elem", "messages in these compounds"),
    ("encr", "frames with an encrypted message: not counted among the messages"),
)

HEAD = """\
# Session keys of the captures in this folder, written by captures.sh. The password is {password}.
#
#     FILE SESSIONID SESSIONKEY [bind:PORT]
#
# SESSIONID is the 64-bit number in hexadecimal, SESSIONKEY the session key that GSS gave, before any derivation.
# bind:PORT: the key of the exchange that bound the session to the connection from that client port; otherwise the
# session's own. The captures hold every packet once and in order.
#"""


def table(captures):
    """The counts as comment lines."""
    for name, meaning in COLUMNS:
        print(f"# {name:8}{meaning}")
    print("#")
    print("# " + " " * 22 + "".join(f" {name}" for name, _ in COLUMNS))
    for path, capture in captures:
        numbers = (f" {capture.counts[name]:{len(name)}}" for name, _ in COLUMNS)
        print(f"# {os.path.basename(path):22}" + "".join(numbers))


def compare(captures, logged):
    for path, capture in captures:
        for session_id, port, dialect, key in capture.keys:
            if port is None and dialect >= 0x300 and logged.get(session_id) != key:
                sys.exit(f"{path}: session {session_id:016x}: the key in smbd's log is another one, or missing")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--log")
    arguments.add_argument("password")
    arguments.add_argument("capture", nargs="+")
    options = arguments.parse_args()
    captures = []
    for path in options.capture:
        try:
            captures.append((path, Capture(path, options.password)))
        except (Malformed, KeyError, IndexError, struct.error) as error:
            sys.exit(f"{path}: {error!r}")
    if options.log:
        compare(captures, log_keys(options.log))
    print(HEAD.format(password=options.password))
    table(captures)
    for path, capture in captures:
        print("#")
        for session_id, port, _, key in capture.keys:
            print(os.path.basename(path), f"{session_id:016x}", key.hex(), *([f"bind:{port}"] if port else []))


if __name__ == "__main__":
    main()
