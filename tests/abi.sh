#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/abi.sh [--update]
# Compares the shared library's binary interface (functions, their types, the symbols' versions) with tests/data/abi.xml, by
# libabigail. Any difference is a failure: whoever means it says --update, and commits the file with the change. Installs
# abigail-tools if it is missing. Build folder: $BUILD-abi (default: build-abi).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}-abi
sh tools/install-missing.sh gcc libc6-dev make cmake abigail-tools
mkdir -p "$build"
{
	cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=-O1 -g -ffile-prefix-map=$PWD/=" -DSMB3SIGN_TESTS=OFF -DSMB3SIGN_TOOLS=OFF &&
		cmake --build "$build" -j "$(nproc 2>/dev/null || echo 2)"
} >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
abidw --headers-dir include --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
	--no-write-default-sizes --exported-interfaces-only --out-file "$build/abi.xml" "$build/libsmb3sign.so"
if [ "${1-}" = --update ]; then
	cp "$build/abi.xml" tests/data/abi.xml
	echo "tests/data/abi.xml: $(grep -c '<elf-symbol ' tests/data/abi.xml) symbols"
	exit 0
fi
abidiff tests/data/abi.xml "$build/abi.xml" || { echo "the ABI is another than tests/data/abi.xml says"; exit 1; }
echo "the ABI is that of tests/data/abi.xml: $(grep -c '<elf-symbol ' tests/data/abi.xml) symbols"
