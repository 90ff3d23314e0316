#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/coverage.sh
# Which lines and branches of src/ the suites run: builds without optimisation, counting (gcc, gcov); runs the suites, and
# again without processor features those that say what callers on lesser machines get; and prints a table, and each line and
# branch that was not run. Left out, and named: kernels that the processor at hand cannot run, and files of other processors.
# Fails below 97 % of the lines or 92 % of the branches, or if a suite fails. Installs what is missing with apt-get. Build folder:
# $BUILD-coverage (BUILD's default: build).
set -eu
cd "$(dirname "$0")/.."
sh tools/install-missing.sh gcc libc6-dev make cmake pkg-config check libssl-dev libpcap-dev python3
jobs=$(nproc 2>/dev/null || echo 2)
folder=${BUILD:-build}-coverage

mkdir -p "$folder"
{
	cmake -S . -B "$folder" -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=None -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=OFF \
		"-DCMAKE_C_FLAGS=-O0 --coverage -fprofile-abs-path" && cmake --build "$folder" -j "$jobs"
} >"$folder/log" 2>&1 || { tail -n 40 "$folder/log"; exit 1; }
find "$folder" -name '*.gcda' -delete
# guard_steps has a copy of guard.c of its own; the kernels' suite takes the kernels one by one, whatever is removed.
(cd "$folder" && SMB3SIGN_TEST_IDS=1000000 ctest --output-on-failure -j "$jobs" -LE shipped -E '^guard_steps$|^kernels_without_') \
	>"$folder/results" 2>&1 || { cat "$folder/results"; exit 1; }
python3 tests/coverage.py "$folder" 97 92
