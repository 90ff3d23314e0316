#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/coverage.sh
# Which lines and branches of src/ the suites run: builds with clang's counters; runs the suites, and again without processor
# features those that say what callers on lesser machines get; and prints a table, and each line and branch that was not run.
# Left out, and named: kernels that the processor at hand cannot run, and files of other processors. Fails below 97 % of the
# lines or 92 % of the branches, or if a suite fails. Installs what is missing with apt-get. Build folder: $BUILD-coverage (BUILD's
# default: build).
set -eu
cd "$(dirname "$0")/.."
sh tools/install-missing.sh clang llvm libc6-dev make cmake pkg-config check libssl-dev python3
jobs=$(nproc 2>/dev/null || echo 2)
case ${BUILD:=build} in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
folder=$BUILD-coverage

# Without __OPTIMIZE__ api does not take these frames, which have counters in them, for those that are shipped.
mkdir -p "$folder"
{
	cmake -S . -B "$folder" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=None -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=OFF \
		"-DCMAKE_C_FLAGS=-O1 -U__OPTIMIZE__ -fprofile-instr-generate -fcoverage-mapping" && cmake --build "$folder" -j "$jobs"
} >"$folder/log" 2>&1 || { tail -n 40 "$folder/log"; exit 1; }
rm -rf "$folder/counts"
# guard_steps has a copy of guard.c of its own; the kernels' suite takes the kernels one by one, whatever is removed.
(cd "$folder" && LLVM_PROFILE_FILE=$folder/counts/%4m.profraw SMB3SIGN_TEST_IDS=1000000 \
	ctest --output-on-failure -j "$jobs" -LE shipped -E '^guard_steps$|^kernels_without_') >"$folder/results" 2>&1 ||
	{ cat "$folder/results"; exit 1; }
llvm-profdata merge -sparse "$folder"/counts/*.profraw -o "$folder/counts/all"
llvm-cov export -instr-profile="$folder/counts/all" "$folder/libsmb3sign.so" >"$folder/counts.json"
llvm-cov export -format=lcov -instr-profile="$folder/counts/all" "$folder/libsmb3sign.so" >"$folder/counts.lcov"
python3 tests/coverage.py "$folder" 97 92
