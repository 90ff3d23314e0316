#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library from Python, by ctypes: a sketch.

    smb3sign_ctypes.py sign|verify hmac|cmac|gmac SIGNING_KEY < frames

A frame is a transport prefix of 4 bytes and one message. `sign` writes the frames signed; `verify` prints a line for each.
Exit status: 0 all are right, 1 some are not.
"""
import ctypes
import sys

lib = ctypes.CDLL("libsmb3sign.so.0.1")
HMAC_SHA256, AES_CMAC, AES_GMAC = range(3)
ROLE_ANY, ROLE_CLIENT, ROLE_SERVER = range(3)

# Without these, ctypes would pass and return pointers as ints of 32 bits.
lib.smb3sign_key_new.argtypes = [
    ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint,
]  # fmt: skip
lib.smb3sign_key_free.argtypes = [ctypes.c_void_p]
lib.smb3sign_key_free.restype = None
lib.smb3sign_sign_buf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
lib.smb3sign_verify_buf.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
lib.smb3sign_strerror.argtypes = [ctypes.c_int]
lib.smb3sign_strerror.restype = ctypes.c_char_p


class Error(Exception):
    def __init__(self, code):
        super().__init__(lib.smb3sign_strerror(code).decode())
        self.code = code


def check(code):
    if code != 0:
        raise Error(code)


class Key:
    """with Key(AES_CMAC, raw, ROLE_CLIENT) as key: ...; the key is wiped at the end."""

    def __init__(self, alg, raw, role):
        self._key = ctypes.c_void_p()
        check(lib.smb3sign_key_new(ctypes.byref(self._key), alg, raw, len(raw), role))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lib.smb3sign_key_free(self._key)
        self._key = None  # which the library refuses

    def sign(self, msg):
        """Signs a message, header and body, in a bytearray: in place."""
        check(lib.smb3sign_sign_buf(self._key, (ctypes.c_char * len(msg)).from_buffer(msg), len(msg)))

    def verify(self, msg):
        """Raises Error unless the signature of these bytes is right."""
        check(lib.smb3sign_verify_buf(self._key, msg, len(msg)))


def frames(stream):
    while prefix := stream.read(4):
        msg = stream.read(int.from_bytes(prefix, "big"))
        if len(prefix) != 4 or len(msg) != int.from_bytes(prefix, "big"):
            sys.exit("the last frame is not whole")
        yield msg


def verdict(key, msg):
    try:
        key.verify(msg)
    except Error as error:
        return str(error)
    return "success"


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("sign", "verify") or sys.argv[2] not in ("hmac", "cmac", "gmac"):
        sys.exit(__doc__)
    alg = {"hmac": HMAC_SHA256, "cmac": AES_CMAC, "gmac": AES_GMAC}[sys.argv[2]]
    role = ROLE_SERVER if sys.argv[1] == "sign" else ROLE_CLIENT
    right = True
    with Key(alg, bytes.fromhex(sys.argv[3]), role) as key:
        for msg in frames(sys.stdin.buffer):
            if sys.argv[1] == "sign":
                signed = bytearray(msg)
                key.sign(signed)
                sys.stdout.buffer.write(len(signed).to_bytes(4, "big") + signed)
            else:
                said = verdict(key, msg)
                right &= said == "success"
                print(f"{int.from_bytes(msg[24:32], 'little')}: {said}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
