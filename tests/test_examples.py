#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of docs/examples against signatures that others made: Samba's in the captures, and those of vectors.h.

    test_examples.py c EXAMPLES_FOLDER                     the C programs
    test_examples.py python LIBRARY_FOLDER                 the sketch in Python
    test_examples.py go LIBRARY_FOLDER C_COMPILER          the sketch in Go; exit status 77 (skipped) if there is no Go

Signing keys are derived here once more, from the session keys in data/keys.txt: nothing of the library is used for that.
"""
import collections
import hashlib
import hmac
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import ntlm_keys  # the reader of captures

TESTS = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(TESTS), "docs", "examples")
CAPTURES = {"smb21-hmac": "hmac", "smb30-cmac": "cmac", "smb311-hmac": "hmac", "smb311-cmac": "cmac", "smb311-gmac": "gmac"}
NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_DISCONNECT, LOCK = 0, 1, 2, 4, 10
RESPONSE, SIGNED = 1, 8
SUCCESS, MORE_PROCESSING, ACCESS_DENIED = 0, 0xC0000016, 0xC0000022
WRONG = "the signature is wrong"
UNSIGNED = "the message is not signed"


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


# ---- Captures: what each session signed on the connection that it was made on


class Session:
    def __init__(self, name, alg, key):
        self.name, self.alg, self.key = name, alg, key
        self.requests, self.responses = [], []

    def add(self, from_server, frame):
        # After LOGOFF Samba has no key and answers with the request's signature, copied, or none.
        if not from_server:
            self.requests.append(frame)
        elif frame[48:64] not in {bytes(16), *(r[48:64] for r in self.requests)}:
            self.responses.append(frame)

    def single(self, frames):
        return [f for f in frames if len(elements(f)) == 1]

    def compounds(self):
        return [f for f in self.responses if len(elements(f)) > 1]


def elements(frame):
    parts = []
    while frame:
        end = struct.unpack_from("<I", frame, 20)[0] or len(frame)
        parts.append(frame[:end])
        frame = frame[end:]
    return parts


def field(layout, msg, at):
    return struct.unpack_from(layout, msg, at)[0]


def message_id(msg):
    return field("<Q", msg, 24)


def frames_of(path):
    """(client's port, from the server, frame); 4455 is the server's port in all captures."""
    streams = {}
    for source, destination, sequence, flags, payload in ntlm_keys.packets(path):
        if flags & 2:
            streams[source, destination] = ntlm_keys.Stream(sequence)
        elif payload:
            for frame in streams[source, destination].frames(sequence, payload):
                yield (destination, True, frame) if source == 4455 else (source, False, frame)


def signing_key(dialect, session_key, preauth):
    if dialect < 0x300:
        return session_key
    if dialect == 0x311:
        label, context = b"SMBSigningKey\0", preauth
    else:
        label, context = b"SMB2AESCMAC\0", b"SmbSign\0"
    fixed = b"\0\0\0\1" + label + b"\0" + context + b"\0\0\0\x80"
    return hmac.new(session_key, fixed, hashlib.sha256).digest()[:16]


class Connection:
    def __init__(self):
        self.dialect, self.hash, self.setup_hash = 0, bytes(64), None
        self.sessions = {}


def add_hash(before, msg):
    return hashlib.sha512(before + msg).digest()


def session_keys(capture):
    """Those of first channels."""
    keys = {}
    for line in open(os.path.join(TESTS, "data", "keys.txt")):
        words = line.split()
        if len(words) == 3 and words[0] == f"{capture}.pcap":
            keys[int(words[1], 16)] = bytes.fromhex(words[2])
    return keys


def follow_setup(connection, capture, keys, from_server, msg):
    """NEGOTIATE and SESSION_SETUP: the hashes, and the key when a session is there."""
    command, status, session_id = field("<H", msg, 12), field("<I", msg, 8), field("<Q", msg, 40)
    if command == NEGOTIATE:
        connection.hash = add_hash(connection.hash, msg)
        if from_server:
            connection.dialect = field("<H", msg, 68)
    elif session_id in connection.sessions:
        pass  # a re-authentication, which keeps its key
    elif not from_server:
        connection.setup_hash = add_hash(connection.hash if session_id == 0 else connection.setup_hash, msg)
    elif status == MORE_PROCESSING:
        connection.setup_hash = add_hash(connection.setup_hash, msg)
    elif status == SUCCESS and session_id in keys:
        key = signing_key(connection.dialect, keys[session_id], connection.setup_hash)
        connection.sessions[session_id] = Session(f"{capture} {session_id:x}", CAPTURES[capture], key.hex())


def sessions_of(capture):
    connections = collections.defaultdict(Connection)
    keys = session_keys(capture)
    for port, from_server, frame in frames_of(os.path.join(TESTS, "data", f"{capture}.pcap")):
        if frame[:4] != b"\xfeSMB":
            continue
        parts, connection = elements(frame), connections[port]
        if field("<H", frame, 12) in (NEGOTIATE, SESSION_SETUP):
            follow_setup(connection, capture, keys, from_server, frame)
            continue
        session = connection.sessions.get(field("<Q", frame, 40))
        if session and all(field("<I", p, 16) & SIGNED for p in parts):
            session.add(from_server, frame)
    return [s for c in connections.values() for s in c.sessions.values() if s.requests and s.responses]


# ---- Vectors


def sign_vectors():
    text = open(os.path.join(TESTS, "vectors.h")).read()
    table = re.search(r"sign_vectors\[\] = \{(.*?)\n\};", text, re.S).group(1)
    entries = re.findall(r'"([a-z0-9-]+)",\s*SMB3SIGN_(?:AES_)?(\w+),\s*"([0-9a-f]{32})",((?:\s*"[0-9a-f]+")+)', table)
    for name, alg, key, msg in entries:
        yield name, alg.lower()[:4], key, bytes.fromhex("".join(re.findall("[0-9a-f]+", msg)))


def generated_vectors():
    """The large ones, with their signatures in place."""
    text = open(os.path.join(TESTS, "vectors.h")).read()
    table = re.search(r"generated_vectors\[\] = \{(.*?)\n\};", text, re.S).group(1)
    tail = bytes((7 * i + 3) % 256 for i in range(65536))
    for entry in re.findall(r"\{(.*?)\n\t\},", table, re.S):
        alg = re.search(r"SMB3SIGN_(?:AES_)?(\w+)", entry).group(1).lower()[:4]
        values = re.findall(r'"[0-9a-f]{20,}"(?:\s*"[0-9a-f]+")*', entry)
        key, header, prefix, signature = (bytes.fromhex("".join(re.findall("[0-9a-f]+", v))) for v in values)
        header = header[:16] + bytes([header[16] | SIGNED]) + header[17:48] + signature
        yield alg, key.hex(), header + prefix + tail


# ---- Running them


def wire(frames):
    return b"".join(len(f).to_bytes(4, "big") + f for f in frames)


def run(program, alg, key, frames, status=0):
    done = subprocess.run(program + [alg, key], input=wire(frames), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(
        done.returncode == status,
        f"{program[-1]} {alg}: exit status {done.returncode}, expected {status}: {done.stderr.decode()}",
    )
    return done.stdout


def flipped(msg, bit):
    bit %= 8 * len(msg)
    changed = bytearray(msg)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def spoilt(frames):
    """Every third one with a bit of its signature or of its body flipped, and which these are."""
    bad = set(range(1, len(frames), 3))
    return [flipped(f, 8 * 48 + 7919 * i % (8 * (len(f) - 48))) if i in bad else f for i, f in enumerate(frames)], bad


def unsigned(msg):
    """As before signing."""
    return msg[:16] + bytes([msg[16] & ~SIGNED]) + msg[17:48] + bytes(16) + msg[64:]


def check_lines(what, out, messages, bad, right, wrong):
    lines = [f"{message_id(m)}: {wrong if i in bad else right}" for i, m in enumerate(messages)]
    expect(out.decode().splitlines() == lines, f"{what}: {out.decode()} instead of {lines}")


def check_verifier(program, sessions, side, right="success", wrong=WRONG):
    """A program that prints a line for each message: Samba's messages are right, changed ones are not."""
    count = 0
    for s in sessions:
        frames = s.single(getattr(s, side))
        check_lines(s.name, run(program, s.alg, s.key, frames), frames, set(), right, wrong)
        changed, bad = spoilt(frames)
        check_lines(s.name, run(program, s.alg, s.key, changed, 1 if bad else 0), changed, bad, right, wrong)
        count += len(frames)
    for name, alg, key, msg in sign_vectors():
        if bool(msg[16] & RESPONSE) == (side == "responses") and len(elements(msg)) == 1 and not field("<I", msg, 20):
            check_lines(name, run(program, alg, key, [msg]), [msg], set(), right, wrong)
            count += 1
    return count


# ---- The programs


def client_verify(program, sessions):
    count = check_verifier(program, sessions, "responses", "use (success)", f"nothing ({WRONG})")
    for s in sessions:
        for frame in s.compounds():
            parts = elements(frame)
            check_lines(s.name, run(program, s.alg, s.key, [frame]), parts, set(), "use (success)", "")
            changed = frame[:-1] + bytes([frame[-1] ^ 1])
            bad = {len(parts) - 1}
            out = run(program, s.alg, s.key, [changed], 1)
            check_lines(s.name, out, parts, bad, "use (success)", f"nothing ({WRONG})")
        stripped = [unsigned(f) for f in s.single(s.responses)]
        out = run(program, s.alg, s.key, stripped, 1).decode()
        expect("use" not in out and out.count("nothing (") == len(stripped), f"{s.name}: signatures stripped: {out}")
    return count


def server_reply(program, sessions):
    count = 0
    for s in sessions:
        by_id = {message_id(f): f for f in s.single(s.responses)}
        pairs = []
        for request in s.single(s.requests):
            response = by_id.get(message_id(request), b"")
            if field("<H", request, 12) in (LOGOFF, TREE_DISCONNECT, LOCK) and response[64:] == b"\4\0\0\0":
                pairs.append((request, response))
        out = run(program, s.alg, s.key, [q for q, _ in pairs])
        expect(out == wire([r for _, r in pairs]), f"{s.name}: not what Samba answered")
        out = run(program, s.alg, s.key, [flipped(q, 8 * 48) for q, _ in pairs])
        for q, _ in pairs:
            answer, out = out[4:77], out[77:]
            expect(field("<I", answer, 8) == ACCESS_DENIED, f"{s.name}: a changed request is not refused")
            expect(answer[64:] == b"\x09" + bytes(8) and message_id(answer) == message_id(q), f"{s.name}: no error response")
            expect(answer[16] == (q[16] & 0xF0 | RESPONSE | SIGNED), f"{s.name}: flags of the error response")
            if s.alg == "hmac":
                tag = hmac.new(bytes.fromhex(s.key), answer[:48] + bytes(16) + answer[64:], hashlib.sha256).digest()
                expect(answer[48:64] == tag[:16], f"{s.name}: the error response's signature")
        expect(out == b"", f"{s.name}: more answers than requests")
        count += len(pairs)
    return count


def compound_server(program, sessions):
    count = 0
    for s in sessions:
        for frame in s.compounds():
            ready = []
            for part in elements(frame):
                body = part.rstrip(b"\0") if field("<I", part, 20) else part
                # As before it was put into the chain: padding is up to 7 zeros.
                part = part[: max(len(body), len(part) - 7)]
                ready.append(unsigned(part[:20] + bytes(4) + part[24:]))
            out = run(program, s.alg, s.key, ready)
            expect(out == wire([frame]), f"{s.name}: not the compound that Samba sent")
            count += 1
    run(program, "cmac", "00" * 16, [], 2)
    return count


def batch_queue(program, sessions):
    return check_verifier(program, sessions, "requests")


def stream_verify(program, sessions):
    count = 0
    for s in sessions:
        frames = s.single(s.responses)
        bodies = [f[64:] for f in frames]
        expect(run(program, s.alg, s.key, frames) == b"".join(bodies), f"{s.name}: not the bodies")
        bad = len(frames) // 2
        changed = frames[:bad] + [flipped(frames[bad], 8 * len(frames[bad]) - 1)] + frames[bad + 1 :]
        out = run(program, s.alg, s.key, changed, 1)
        expect(out == b"".join(bodies[:bad]), f"{s.name}: used more than what was verified")
        for compound in s.compounds():
            expect(run(program, s.alg, s.key, [compound], 1) == b"", f"{s.name}: bodies of a compound")
        count += len(frames)
    for alg, key, msg in generated_vectors():
        expect(run(program, alg, key, [msg]) == msg[64:], "the body of a large message")
        for bit in (8 * 64, 8 * 40000 + 3, 8 * len(msg) - 8):
            expect(run(program, alg, key, [flipped(msg, bit)], 1) == b"", "used before it was verified")
        whole = wire([msg])
        for cut in (2, 40, 68, 69, 30000, len(whole) - 1):
            done = subprocess.run(program + [alg, key], input=whole[:cut], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            expect(done.returncode == 1 and done.stdout == b"", f"{alg}: a connection that broke off after {cut} bytes")
        count += 1
    return count


def sketch(program, sessions):
    """Those in other languages, with two sessions of each capture: sign, then verify."""
    of_capture = collections.defaultdict(list)
    for s in sessions:
        of_capture[s.name.split()[0]].append(s)
    sessions = [s for some in of_capture.values() for s in some[:2]]
    count = 0
    for s in sessions:
        frames = s.single(s.responses)
        out = run(program + ["sign"], s.alg, s.key, [unsigned(f) for f in frames])
        expect(out == wire(frames), f"{s.name}: not Samba's signatures")
        count += len(frames)
    return count + check_verifier(program + ["verify"], sessions, "responses")


def main():
    what, folder = sys.argv[1:3]
    sessions = [s for capture in CAPTURES for s in sessions_of(capture)]
    expect({s.alg for s in sessions} == {"hmac", "cmac", "gmac"}, "captures of all algorithms")
    programs = {}
    with tempfile.TemporaryDirectory() as work:
        if what == "c":
            # At least so many captured messages, compounds and vectors each.
            for example, least in (
                (client_verify, 700), (server_reply, 50), (compound_server, 15), (batch_queue, 700), (stream_verify, 700),
            ):  # fmt: skip
                programs[example.__name__] = (example, [os.path.join(folder, f"example_{example.__name__}")], least)
        else:
            os.environ["LD_LIBRARY_PATH"] = folder
            if what == "python":
                program = [sys.executable, os.path.join(EXAMPLES, "smb3sign_ctypes.py")]
            else:
                program = [build_go(work, folder, sys.argv[3])]
            programs[what] = (sketch, program, 200)
        for name, (example, program, least) in programs.items():
            count = example(program, sessions)
            expect(count >= least, f"{name}: only {count} checked")
            print(f"{name}: {count} that others signed")


def build_go(work, library, compiler):
    if not shutil.which("go"):
        print("SKIPPED: there is no go here")
        sys.exit(77)
    include = os.path.join(os.path.dirname(TESTS), "include")
    environment = dict(
        os.environ, CGO_ENABLED="1", CC=compiler, CGO_CFLAGS=f"-I{include}", CGO_LDFLAGS=f"-L{library}", GO111MODULE="off",
        GOCACHE=os.path.join(work, "cache"), GOPATH=os.path.join(work, "path"), GOFLAGS="",
    )  # fmt: skip
    for step in (["vet"], ["build", "-o", os.path.join(work, "sign")]):
        subprocess.run(["go", *step, os.path.join(EXAMPLES, "go", "sign.go")], env=environment, check=True)
    return os.path.join(work, "sign")


if __name__ == "__main__":
    main()
