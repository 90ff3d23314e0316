#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/avx512.sh [SUITE...]
# Runs suites on an emulated processor with AVX-512 (tests/emulate/bochs.sh), where the 512-bit kernels are among those they
# force: vectors, selftest and kernels unless others are named (message takes half an hour). Installs what is missing with
# apt-get; takes some minutes. Folder: $BUILD-avx512 (default: build-avx512).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}-avx512

sh tools/install-missing.sh gcc libc6-dev make cmake pkg-config check libssl-dev bochs bochs-term bochsbios vgabios isolinux \
	syslinux-common xorriso cpio gzip util-linux

# Static: the guest has no libraries.
cmake -S . -B "$build" -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=OFF -DBUILD_SHARED_LIBS=OFF -DSMB3SIGN_VECTORS_DIR=none \
	-DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_C_STANDARD_LIBRARIES="-lsubunit -lm -lrt" >/dev/null
[ $# -gt 0 ] || set -- vectors selftest kernels
for suite in "$@"; do
	cmake --build "$build" -j "$(nproc 2>/dev/null || echo 2)" --target "test_$suite" >"$build/log" 2>&1 || {
		cat "$build/log"
		exit 1
	}
done

failed=
for suite in "$@"; do
	echo "== $suite"
	CK_FORK=no CK_DEFAULT_TIMEOUT=0 sh tests/emulate/bochs.sh "$build/bochs" 900 "$build/tests/test_$suite" ||
		failed="$failed $suite"
done
[ -z "$failed" ] || { echo "failed on AVX-512:$failed"; exit 1; }
echo "all suites passed on AVX-512"
