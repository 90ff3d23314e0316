#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/run.sh
# Installs what is missing, builds the library, the command and the tests, and runs all of them: first as they are shipped,
# then under AddressSanitizer and UndefinedBehaviorSanitizer; and, if there is a clang, what depends on the compiler most.
# Build folders: $BUILD (default: build), $BUILD-sanitize, $BUILD-clang.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}

sh tools/install-missing.sh gcc g++ libc6-dev make cmake pkg-config binutils check libssl-dev libpcap-dev nettle-dev python3 valgrind

jobs=$(nproc 2>/dev/null || echo 2)
failed=
# They format the manuals.
sh tools/install-missing.sh groff-base man-db mandoc

echo "== as shipped"
cmake -S . -B "$build" -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=ON -DSMB3SIGN_BENCH=ON
cmake --build "$build" -j "$jobs"
(cd "$build" && ctest --output-on-failure -j "$jobs") || failed="$failed as-shipped"

echo "== under AddressSanitizer and UndefinedBehaviorSanitizer"
cmake -S . -B "$build-sanitize" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=ON \
	-DCMAKE_C_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"
cmake --build "$build-sanitize" -j "$jobs"
(cd "$build-sanitize" && ctest --output-on-failure -j "$jobs" -LE shipped) || failed="$failed sanitized"

if command -v clang >/dev/null 2>&1; then
	echo "== with clang"
	cmake -S . -B "$build-clang" -DCMAKE_C_COMPILER=clang -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=ON
	cmake --build "$build-clang" -j "$jobs"
	(cd "$build-clang" && ctest --output-on-failure -j "$jobs" -R '^(api|kernels|vectors|selftest|stream|ct_objects)') ||
		failed="$failed clang"
else
	echo "== no clang here: not tested with it"
fi

if [ -n "$failed" ]; then
	echo "tests failed:$failed"
	exit 1
fi
echo "all tests passed"
