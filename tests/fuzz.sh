#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/fuzz.sh [SECONDS [TARGET...]]
#        sh tests/fuzz.sh coverage [TARGET...]
# Builds the fuzz targets with $CC (default: clang) and runs each (message, frame, caps, preauth, pcap) for SECONDS, 30
# by default, from the seeds and what earlier runs found. One line for each: inputs tried, inputs a second, edges of the
# code reached, inputs kept. With "coverage": no fuzzing; how much of each source file those inputs reach, in per cent.
# Exit status: 1 if any target failed; the input is then in $BUILD (default: build-fuzz), as TARGET-crash-...
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build-fuzz}
compiler=${CC:-clang}
seconds=30
mode=fuzz
if [ "${1-}" = coverage ]; then
	mode=coverage
	shift
elif [ $# -gt 0 ]; then
	seconds=$1
	shift
fi
case $seconds in
'' | *[!0-9]*)
	echo "usage: sh tests/fuzz.sh [SECONDS [TARGET...]] | coverage [TARGET...]" >&2
	exit 2
	;;
esac
[ $# -gt 0 ] || set -- message frame caps preauth pcap
[ "$compiler" != clang ] || sh tools/install-missing.sh clang libclang-rt-dev llvm cmake make pkg-config check \
	libssl-dev libpcap-dev python3

# make_targets FOLDER [FLAGS]: the targets, in FOLDER/tests.
make_targets() {
	if ! {
		cmake -S . -B "$1" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSMB3SIGN_FUZZ=ON \
			-DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=ON -DCMAKE_C_FLAGS="${2-}" &&
			cmake --build "$1" --target fuzz -j "$(nproc 2>/dev/null || echo 2)"
	} >"$1.log" 2>&1; then
		cat "$1.log" >&2
		exit 2
	fi
}

# options TARGET: the longest input, and for pcap, which reports on both of its outputs, nothing of that.
options() {
	case $1 in
	message) echo "-max_len=4096" ;;
	frame) echo "-max_len=6000" ;;
	pcap) echo "-max_len=20000 -close_fd_mask=3" ;;
	*) echo "-max_len=3000" ;;
	esac
}

fuzz() {
	make_targets "$build"
	python3 tests/fuzz_seeds.py tests/data "$build/seeds"
	failed=
	printf '%-8s %12s %8s %8s %8s\n' target executions exec/s edges inputs
	for target; do
		log=$build/$target.log
		mkdir -p "$build/corpus/$target"
		# shellcheck disable=SC2046 # several options
		"$build/tests/fuzz_$target" $(options "$target") -max_total_time="$seconds" -print_final_stats=1 \
			-timeout=30 -rss_limit_mb=1024 -artifact_prefix="$build/$target-" \
			"$build/corpus/$target" "$build/seeds/$target" >"$log" 2>&1 || failed="$failed $target"
		awk -v target="$target" '
			/^stat::number_of_executed_units/ { n = $2 }
			/^stat::average_exec_per_sec/ { rate = $2 }
			/ cov: / {
				for (i = 1; i < NF; i++) {
					if ($i == "cov:") cov = $(i + 1)
					if ($i == "corp:") corpus = $(i + 1)
				}
			}
			END { sub("/.*", "", corpus); printf "%-8s %12s %8s %8s %8s\n", target, n, rate, cov, corpus }' "$log"
	done
	[ -z "$failed" ] || {
		for target in $failed; do
			echo "== $target failed; the end of $build/$target.log:"
			tail -n 60 "$build/$target.log"
		done
		exit 1
	}
}

# The profile tools must be those of the compiler.
coverage() {
	version=$("$compiler" -dumpversion)
	version=${version%%.*}
	[ -d "$build/seeds" ] || python3 tests/fuzz_seeds.py tests/data "$build/seeds"
	make_targets "$build-coverage" "-fprofile-instr-generate -fcoverage-mapping"
	for target; do
		mkdir -p "$build/corpus/$target"
		# -runs=0: every input once.
		# shellcheck disable=SC2046
		LLVM_PROFILE_FILE=$build-coverage/$target.profraw "$build-coverage/tests/fuzz_$target" $(options "$target") \
			-runs=0 "$build/corpus/$target" "$build/seeds/$target" >"$build-coverage/$target.log" 2>&1
		"llvm-profdata-$version" merge -o "$build-coverage/$target.profdata" "$build-coverage/$target.profraw"
		echo "== $target"
		"llvm-cov-$version" export --summary-only -instr-profile="$build-coverage/$target.profdata" \
			"$build-coverage/tests/fuzz_$target" |
			python3 -c '
import json, sys
for f in json.load(sys.stdin)["data"][0]["files"]:
    name, lines = f["filename"], f["summary"]["lines"]
    place = [part for part in ("/src/", "/tools/") if part in name]
    if place and lines["covered"]:
        short = name[name.rindex(place[0]) + 1:]
        print("%-34s %4d of %4d lines %5.1f %%" % (short, lines["covered"], lines["count"], lines["percent"]))'
	done
}

"$mode" "$@"
