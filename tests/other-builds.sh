#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/other-builds.sh [NAME]...
# The suites in other builds: without and with more optimisation, link-time optimisation, for the processor at hand alone,
# other compilers, AddressSanitizer and UndefinedBehaviorSanitizer with clang, MemorySanitizer, ThreadSanitizer; and the library,
# its self-test and a message with musl, and as a Windows DLL and static library under Wine. Without arguments: all of them. A
# compiler that is not there is named and counts as not tested. Installs what is missing with apt-get. Build folders:
# $BUILD-NAME (BUILD's default: build).
set -eu
cd "$(dirname "$0")/.."
case ${BUILD:=build} in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
jobs=$(nproc 2>/dev/null || echo 2)
failed= not_tested=

# name CTEST-EXPRESSION compiler flags [CMAKE-ARGUMENT...]: CMake's build type is none, so that the flags are all there are
suites()
{
	name=$1 expression=$2 compiler=$3 flags=$4
	shift 4
	echo "== $name: $compiler $flags"
	if ! command -v "$compiler" >/dev/null 2>&1; then
		not_tested="$not_tested; $name: no $compiler"
		return
	fi
	folder=$BUILD-$name
	mkdir -p "$folder"
	{
		cmake -S . -B "$folder" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=$flags" \
			-DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=OFF "$@" && cmake --build "$folder" -j "$jobs"
	} >"$folder/log" 2>&1 || { tail -n 40 "$folder/log"; failed="$failed; $name: build"; return; }
	(cd "$folder" && ctest --output-on-failure -j "$jobs" -R "$expression" -LE shipped) >"$folder/results" 2>&1 ||
		failed="$failed; $name"
	grep -v ' Passed \|^ *Start ' "$folder/results" || true
	! grep -q "warning: " "$folder/log" || { grep "warning: " "$folder/log"; failed="$failed; $name: warnings"; }
}

# With another C library. The consumer runs the self-test, and signs and verifies.
musl()
{
	echo "== musl"
	sh tools/install-missing.sh musl-tools
	folder=$BUILD-musl
	mkdir -p "$folder"
	{
		cmake -S . -B "$folder" -DCMAKE_C_COMPILER=musl-gcc -DSMB3SIGN_TESTS=OFF -DSMB3SIGN_TOOLS=OFF -DBUILD_SHARED_LIBS=OFF &&
			cmake --build "$folder" -j "$jobs" &&
			musl-gcc -static -Iinclude -DSMB3SIGN_STATIC -o "$folder/consumer" tests/consumer/consumer.c "$folder/libsmb3sign.a"
	} >"$folder/log" 2>&1 || { tail -n 40 "$folder/log"; failed="$failed; musl: build"; return; }
	"$folder/consumer" || failed="$failed; musl"
}

# The DLL exports what the library does elsewhere, and needs nothing but Windows.
windows()
{
	echo "== windows"
	sh tools/install-missing.sh gcc-mingw-w64-x86-64-posix wine64
	cc=x86_64-w64-mingw32-gcc-posix
	for shared in ON OFF; do
		folder=$BUILD-windows-$shared
		mkdir -p "$folder"
		link=$folder/libsmb3sign.dll.a define=
		[ "$shared" = ON ] || link=$folder/libsmb3sign.a define=-DSMB3SIGN_STATIC
		{
			cmake -S . -B "$folder" --toolchain "$PWD/cmake/x86_64-w64-mingw32.cmake" -DSMB3SIGN_TESTS=OFF \
				-DSMB3SIGN_TOOLS=OFF -DBUILD_SHARED_LIBS=$shared && cmake --build "$folder" -j "$jobs" &&
				$cc $define -Iinclude -o "$folder/consumer.exe" tests/consumer/consumer.c "$link"
		} >"$folder/log" 2>&1 || { tail -n 40 "$folder/log"; failed="$failed; windows: build"; return; }
		! grep -q "warning: " "$folder/log" || { grep "warning: " "$folder/log"; failed="$failed; windows: warnings"; }
		WINEDEBUG=-all WINEPREFIX=$folder/wine timeout 120 /usr/lib/wine/wine64 "$folder/consumer.exe" 2>"$folder/err" ||
			{ cat "$folder/err"; failed="$failed; windows, shared $shared"; }
	done
	folder=$BUILD-windows-ON
	x86_64-w64-mingw32-objdump -p "$folder/libsmb3sign.dll" >"$folder/headers"
	sed -n 's/^\tDLL Name: //p' "$folder/headers" | grep -vi '^\(kernel32\|msvcrt\)\.dll$' && failed="$failed; windows: DLLs"
	sed -n 's/^.*\(smb3sign_[a-z0-9_]*\)$/\1/p' "$folder/headers" | sort >"$folder/exports"
	sed -n 's/^\t\(smb3sign_.*\);$/\1/p' src/libsmb3sign.map | sort | cmp -s - "$folder/exports" ||
		failed="$failed; windows: exports"
}

every='^(api|batch|bind|bounds|frame|gmac|guard|guard_steps|kdf|kernels|key|message|negotiate|pitfalls|policy|preauth|selftest|stream|vectors)$'
# The searches of the stack in api are about optimised code.
no_api='^(batch|bind|bounds|frame|gmac|guard|guard_steps|kdf|kernels|key|message|negotiate|pitfalls|policy|preauth|selftest|stream|vectors)$'
# Link-time optimisation does not see the linker's --wrap, by which some suites stand between the library and malloc.
no_wrap='^(batch|bind|bounds|frame|gmac|guard_steps|kdf|kernels|message|negotiate|pitfalls|policy|preauth|stream|vectors)$'
# What has threads, or what they meet in.
threads='^(guard|key|batch|selftest)$'
# MemorySanitizer sees what is undefined, not where api and key look for secrets: on stacks and in freed memory.
memory='^(batch|bind|bounds|frame|gmac|guard|kdf|kernels|message|negotiate|pitfalls|policy|preauth|selftest|soak_batch|stream|vectors|wycheproof)$'
compiled='^(api|api_.*|batch|kernels|selftest|stream|vectors)$'

build_one()
{
	case $1 in
	O0) suites O0 "$no_api" gcc -O0 ;;
	O3) suites O3 "$every" gcc -O3 ;;
	native) suites native "$every" gcc "-O2 -march=native" ;;
	lto) suites lto "$no_wrap" gcc "-O2 -flto=auto" ;;
	clang-O3) suites clang-O3 "$compiled" clang "-O3" ;;
	clang-19) suites clang-19 "$compiled" clang-19 -O2 ;;
	clang-sanitize) suites clang-sanitize "$every" clang "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all" ;;
	memory) suites memory "$memory" clang "-O1 -g -fsanitize=memory -fsanitize-memory-param-retval" ;;
	threads) suites threads "$threads" gcc "-O1 -g -fsanitize=thread" ;;
	clang-threads) suites clang-threads "$threads" clang "-O1 -g -fsanitize=thread" ;;
	musl) musl ;;
	windows) windows ;;
	*) echo "no such build here: $1" >&2 && exit 2 ;;
	esac
}

sh tools/install-missing.sh gcc libc6-dev make cmake pkg-config check libssl-dev
[ $# -gt 0 ] || set -- O0 O3 native lto clang-O3 clang-19 clang-sanitize memory threads clang-threads musl windows
for name; do
	build_one "$name"
done
[ -z "$not_tested" ] || echo "not tested$not_tested"
[ -z "$failed" ] || { echo "failed in other builds:$failed"; exit 1; }
echo "all suites passed in other builds"
