#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A capture of one NTLMv2 logon that Samba's clients do not make, for the tests of `smb3sign verify-pcap --user`.

    make_logon.py OUT VARIANT

Jörg of the domain W, whose password is Gr€€n😀, under SMB 2.1, whose signing key is the session key. VARIANT:

    spnego            wrapped as in RFC 4178; the session key is sent encrypted
    bare              NTLM without SPNEGO around it
    no-key-exchange   the session key is SessionBaseKey
    ntlmv1            a response of 24 bytes
    outside           the user's name lies behind the message's end
    kerberos          no NTLM in the security buffers
    control           the name has an escape character in it
"""
import struct
import sys

from make_pcap import CLIENT, HMAC, MORE, SERVER, SESSION_SETUP, TREE_CONNECT, Key, Scenario, write_capture
from ntlm_keys import NTLM_KEY_EXCH, NTLM_UNICODE, hmac_md5, md4, rc4

USER, DOMAIN, PASSWORD = "Jörg", "W", "Gr€€n😀"
CHALLENGE, RANDOM_KEY = bytes(range(8)), bytes(range(100, 116))


def utf16(text):
    return text.encode("utf-16le")


def ntlmv2(user):
    """NtChallengeResponse and SessionBaseKey (MS-NLMP 3.3.2)."""
    response_key = hmac_md5(md4(utf16(PASSWORD)), utf16(user.upper()) + utf16(DOMAIN))
    blob = struct.pack("<BB6xQ8s4xHHI", 1, 1, 0, b"clientch", 0, 0, 0)
    proof = hmac_md5(response_key, CHALLENGE + blob)
    return proof + blob, hmac_md5(response_key, proof)


def challenge_message():
    return b"NTLMSSP\0" + struct.pack("<IHHII8s8xHHI", 2, 0, 0, 56, NTLM_UNICODE, CHALLENGE, 0, 0, 56) + bytes(8)


def authenticate_message(variant):
    """The AUTHENTICATE message and the session key."""
    user = "J\x1brg" if variant == "control" else USER
    response, key = ntlmv2(user)
    encrypted, flags = b"", NTLM_UNICODE
    if variant != "no-key-exchange":
        encrypted, key = rc4(key, RANDOM_KEY), RANDOM_KEY
        flags |= NTLM_KEY_EXCH
    if variant == "ntlmv1":
        response = bytes(24)
    fields, payload = b"", b""
    for value in (bytes(24), response, utf16(DOMAIN), utf16(user), utf16("PC"), encrypted):
        at = 72 + len(payload)
        if variant == "outside" and value == utf16(user):
            at = 60000
        fields += struct.pack("<HHI", len(value), len(value), at)
        payload += value
    return b"NTLMSSP\0" + struct.pack("<I", 3) + fields + struct.pack("<I", flags) + bytes(8) + payload, key


def der(tag, content):
    length = len(content)
    return bytes([tag]) + (bytes([length]) if length < 128 else struct.pack(">BH", 0x82, length)) + content


def wrapped(message):
    """NegTokenResp with a responseToken."""
    return der(0xA1, der(0x30, der(0xA2, der(0x04, message))))


def main(target, variant):
    wrap = (lambda m: m) if variant == "bare" else wrapped
    authenticate, session_key = authenticate_message(variant)
    tokens = [b"\x60negotiate", wrap(challenge_message()), wrap(authenticate), b"\xa1\x07accepted"]
    if variant == "kerberos":
        tokens = [b"\x60AP-REQ"] * 4
    key = Key(HMAC, session_key)
    s = Scenario()
    c = s.connect()
    s.negotiate(c, 0x0210, 0)
    request = lambda token: struct.pack("<HBBIIHHQ", 25, 0, 1, 0, 0, 88, len(token), 0) + token
    response = lambda token: struct.pack("<HHHH", 9, 0, 72, len(token)) + token
    s.send(c, CLIENT, "EXEMPT", SESSION_SETUP, 1, 0, body=request(tokens[0]))
    s.send(c, SERVER, "UNSIGNED", SESSION_SETUP, 1, 7, body=response(tokens[1]), status=MORE)
    s.send(c, CLIENT, "UNSIGNED", SESSION_SETUP, 2, 7, body=request(tokens[2]))
    s.send(c, SERVER, "OK", SESSION_SETUP, 2, 7, body=response(tokens[3]), key=key)
    s.send(c, CLIENT, "OK", TREE_CONNECT, 3, 7, key=key)
    write_capture(target, s.capture)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in __doc__:
        sys.exit(__doc__)
    main(*sys.argv[1:])
