#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tools/demo.sh
# Installs what is missing, builds the library and the smb3sign command, verifies a real capture of each signing algorithm,
# and signs, verifies and tampers with a message. Build folder: $BUILD, or else build-demo.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build-demo}

sh tools/install-missing.sh gcc libc6-dev make cmake pkg-config libpcap-dev nettle-dev

cmake -S . -B "$build" -DSMB3SIGN_TESTS=OFF -DSMB3SIGN_TOOLS=ON >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" -j "$(nproc 2>/dev/null || echo 2)" >>"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
mv "$build.log" "$build/demo.log"
smb3sign=$build/tools/smb3sign

echo "== this machine"
"$smb3sign" cpu
"$smb3sign" selftest

# The session keys of a capture, as options; keys.txt has them as FILE SESSIONID KEY [bind:PORT].
keys_of() {
	awk -v file="$1" '$1 == file { printf "--session-key %s=%s ", $2, $3 }' tests/data/keys.txt
}
for capture in smb21-hmac smb30-cmac smb311-gmac; do
	echo
	echo "== tests/data/$capture.pcap, recorded from Samba: every signature"
	# shellcheck disable=SC2046 # one word an option
	"$smb3sign" verify-pcap --quiet "tests/data/$capture.pcap" $(keys_of "$capture.pcap")
done

echo
echo "== a message of our own: an ECHO request, MessageId 7, SessionId 1, signed with AES-128-GMAC"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
key=000102030405060708090a0b0c0d0e0f
{
	printf '\376SMB\100\000\001\000\000\000\000\000\015\000\001\000\000\000\000\000\000\000\000\000' # to NextCommand
	printf '\007\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'                        # MessageId, TreeId
	printf '\001\000\000\000\000\000\000\000'                                                        # SessionId
	head -c 16 /dev/zero                                                                             # Signature
	printf '\004\000\000\000'                                                                        # the ECHO itself
} >"$work/echo"
"$smb3sign" sign --alg gmac --key $key --output "$work/signed" "$work/echo"
echo "Signature: $(od -An -tx1 -j48 -N16 "$work/signed" | tr -d ' ')"
"$smb3sign" verify --alg gmac --key $key "$work/signed"
{ head -c 64 "$work/signed"; printf '\005\000\000\000'; } >"$work/forged"
echo "with one bit of the body changed:"
if "$smb3sign" verify --alg gmac --key $key "$work/forged"; then
	echo "a forged message was accepted" >&2
	exit 1
fi
echo
echo "demo done: real captures verified, one message signed, one forgery refused"
