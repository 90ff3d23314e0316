#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tests/ct/msan.sh CLANG SOURCES
# Builds the library's portable kernels and secrets.c with clang's MemorySanitizer, for which all code has to be compiled,
# and runs them; then the leaks on purpose. It finds divisions by secrets, which valgrind does not; kernels of AES
# instructions it cannot follow, and neither does it assembly: what PIN_POINTER and smb3sign_wipe tell the compiler is
# no store (msan-handle-asm-conservative=0).
set -eu
clang=$1 sources=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$clang" -fsanitize=memory -mllvm -msan-handle-asm-conservative=0 -std=c11 -O1 -gline-tables-only -D_GNU_SOURCE -DSMB3SIGN_STATIC \
	-DSMB3SIGN_WITHOUT_SSSE3 -DSMB3SIGN_WITHOUT_AES_NI -DSMB3SIGN_WITHOUT_SHA_NI -DSMB3SIGN_WITHOUT_SHA256_AVX2 \
	-I"$sources/include" -I"$sources/src" -I"$sources/tests/ct" -include "$sources/tests/ct/judge.h" \
	"$sources"/src/*.c "$sources"/src/arch/x86/cpu_x86.c "$sources/tests/ct/secrets.c" -o "$folder/secrets"
"$folder/secrets"
EXPECT_DIVISION=1 sh "$sources/tests/ct/secrets.sh" "$folder/secrets"
