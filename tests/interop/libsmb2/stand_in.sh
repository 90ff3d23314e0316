#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: stand_in.sh SOURCE_DIR C_COMPILER LIBRARY
# libsmb2_preload.c against a stand-in for libsmb2: it takes over every message that the library signs, leaves the
# others, and no signature changes. What it does for libsmb2 itself is ../libsmb2.sh's matter.
set -eu
src=$1 cc=$2 library=$3
here=$src/tests/interop
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$(dirname "$library")

fail() {
	echo "$*" >&2
	exit 1
}

compile() {
	"$cc" -std=c11 -O2 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "$@"
}

compile -shared -fPIC -o "$work/preload.so" -I"$src/include" "$here/libsmb2_preload.c" "$library" \
	-Wl,--exclude-libs,ALL -pthread -ldl
# No inlining: clang takes its own function for the one that will be called.
compile -shared -fPIC -fno-inline -o "$work/stand-in.so" "$here/libsmb2/stand_in.c" -lcrypto
compile -o "$work/signatures" "$here/libsmb2/signatures.c" "$work/stand-in.so" -pthread -Wl,-rpath,"$work"

"$work/signatures" >"$work/without"
LD_LIBRARY_PATH=$folder LD_PRELOAD=$work/preload.so SMB3SIGN_PRELOAD_REPORT=$work/report \
	"$work/signatures" >"$work/with"
cmp "$work/without" "$work/with" || fail "the signatures differ"
[ "$(cat "$work/report")" = "$(tail -1 "$work/without")" ] ||
	fail "expected: $(tail -1 "$work/without"); reported: $(cat "$work/report")"
echo "a stand-in for libsmb2, the same signatures: $(cat "$work/report")"
