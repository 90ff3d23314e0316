#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/fuzz.sh [SECONDS [TARGET...]]
#        sh tests/fuzz.sh coverage [TARGET...]
# Builds the fuzz targets with $CC (default: clang) and runs each (all, unless some are named) for SECONDS, 30 by
# default, as many at a time as there are processors, from the seeds and what earlier runs found. One line for each:
# inputs tried, inputs a second, edges of the code reached, inputs kept. With "coverage": no fuzzing; which lines and
# branches of each source file those inputs reach. Exit status: 1 if any target failed; the input is then in $BUILD
# (default: build-fuzz), as TARGET-crash-...
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
[ $# -gt 0 ] || set -- message stream frame caps preauth guard pcap
jobs=$(nproc 2>/dev/null || echo 2)
[ "$compiler" != clang ] || sh tools/install-missing.sh clang libclang-rt-dev llvm cmake make pkg-config check \
	libssl-dev libpcap-dev nettle-dev python3

# make_targets FOLDER [FLAGS]: the targets, in FOLDER/tests.
make_targets() {
	if ! {
		cmake -S . -B "$1" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSMB3SIGN_FUZZ=ON \
			-DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=ON -DCMAKE_C_FLAGS="${2-}" &&
			cmake --build "$1" --target fuzz -j "$jobs"
	} >"$1.log" 2>&1; then
		cat "$1.log" >&2
		exit 2
	fi
}

# options TARGET: the longest input, and for pcap, which reports on both of its outputs, nothing of that.
options() {
	case $1 in
	message) echo "-max_len=4096" ;;
	guard) echo "-max_len=400" ;;
	frame) echo "-max_len=6000" ;;
	pcap) echo "-max_len=20000 -close_fd_mask=3" ;;
	*) echo "-max_len=3000" ;;
	esac
}

# run TARGET: its file TARGET.failed goes when it has not.
run() {
	log=$build/$1.log
	mkdir -p "$build/corpus/$1"
	# shellcheck disable=SC2046 # several options
	"$build/tests/fuzz_$1" $(options "$1") -max_total_time="$seconds" -print_final_stats=1 -timeout=30 \
		-rss_limit_mb=1024 -artifact_prefix="$build/$1-" "$build/corpus/$1" "$build/seeds/$1" >"$log" 2>&1 &&
		rm "$build/$1.failed"
	awk -v target="$1" '
		/^stat::number_of_executed_units/ { n = $2 }
		/^stat::average_exec_per_sec/ { rate = $2 }
		/ cov: / {
			for (i = 1; i < NF; i++) {
				if ($i == "cov:") cov = $(i + 1)
				if ($i == "corp:") corpus = $(i + 1)
			}
		}
		END { sub("/.*", "", corpus); printf "%-8s %12s %8s %8s %8s\n", target, n, rate, cov, corpus }' "$log"
}

# lane NUMBER TARGET...: one after the other, those of the targets that are this lane's.
lane() {
	i=$1
	shift
	for target; do
		[ $((i % jobs)) -ne 0 ] || run "$target"
		i=$((i + 1))
	done
}

fuzz() {
	make_targets "$build"
	python3 tests/fuzz_seeds.py tests/data "$build/seeds"
	printf '%-8s %12s %8s %8s %8s\n' target executions exec/s edges inputs
	for target; do
		: >"$build/$target.failed"
	done
	n=0
	while [ "$n" -lt "$jobs" ]; do
		lane "$n" "$@" &
		n=$((n + 1))
	done
	wait
	status=0
	for target; do
		if [ -e "$build/$target.failed" ]; then
			echo "== $target failed; the end of $build/$target.log:"
			tail -n 60 "$build/$target.log"
			status=1
		fi
	done
	exit $status
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
    name, lines, branches = f["filename"], f["summary"]["lines"], f["summary"]["branches"]
    place = [part for part in ("/src/", "/tools/") if part in name]
    if place and lines["covered"]:
        short = name[name.rindex(place[0]) + 1:]
        both = (kind[field] for kind in (lines, branches) for field in ("covered", "count", "percent"))
        print("%-34s %4d of %4d lines %5.1f %%  %4d of %4d branches %5.1f %%" % (short, *both))'
	done
}

"$mode" "$@"
