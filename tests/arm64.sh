#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/arm64.sh
# Builds for arm64 with gcc and, if there is one, clang (or $SMB3SIGN_CROSS_CLANG), and runs the suites under QEMU on
# three processors: with everything (max), without SHA3 and SHA512 (neoverse-n1, gcc's build only), and without any
# extension's instructions, where using one ends the test; there some suites once more without NEON. And, with everything,
# under AddressSanitizer and UndefinedBehaviorSanitizer; and the library's own selftest on big-endian arm64. Each time the
# kernels are shown, and have to be the ones that belong there. Installs what is missing with apt-get, for which it tells
# dpkg of arm64. Build folders: $BUILD-arm64-gcc (BUILD's default: build), -clang, -sanitize, -big-endian.
set -eu
cd "$(dirname "$0")/.."
case ${BUILD:=build} in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
clang=${SMB3SIGN_CROSS_CLANG:-clang}
jobs=$(nproc 2>/dev/null || echo 2)

if command -v dpkg >/dev/null 2>&1 && ! dpkg --print-foreign-architectures | grep -qx arm64; then
	as_root=
	[ "$(id -u)" = 0 ] || as_root=sudo
	$as_root dpkg --add-architecture arm64
fi
sh tools/install-missing.sh gcc libc6-dev make cmake pkg-config gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user \
	check:arm64 libssl-dev:arm64 python3 binutils

# A process for each test is most of the time that an emulated suite takes. LeakSanitizer does not work under QEMU.
export CK_FORK=no ASAN_OPTIONS=detect_leaks=0
failed=

# name [CMAKE-ARGUMENT...]: builds $BUILD-arm64-name
build()
{
	folder=$BUILD-arm64-$1
	shift
	mkdir -p "$folder"
	{
		cmake -S . -B "$folder" --toolchain "$PWD/cmake/aarch64-linux-gnu.cmake" -DSMB3SIGN_TESTS=ON \
			-DSMB3SIGN_TOOLS=OFF "$@" && cmake --build "$folder" -j "$jobs"
	} >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
}

# title kernels CTEST-ARGUMENT...: the suites of the last build
suites()
{
	title=$1 kernels=$2
	shift 2
	echo "== arm64, $title"
	text=$(qemu-aarch64 "$folder/tests/print_features" kernels) || text=
	echo "$text" | grep -v disabled
	echo "$text" | grep -qx "kernels in use: $kernels" || failed="$failed; $title: kernels"
	(cd "$folder" && ctest --output-on-failure -j "$jobs" "$@") || failed="$failed; $title"
}

no_extension="aes=portable ghash=neon sha256=portable sha512=portable"
everything="aes=ce ghash=pmull-eor3 sha256=ce sha512=ce"
forbidden=forbid=aes,forbid=pmull,forbid=sha2,forbid=sha3,forbid=sha512
nothing="aes=portable ghash=portable sha256=portable sha512=portable"
on_all_processors()
{
	export QEMU_CPU=max
	suites "$1, max" "$everything"
	if [ "$1" = gcc ]; then
		export QEMU_CPU=neoverse-n1
		suites "$1, neoverse-n1" "aes=ce ghash=pmull sha256=ce sha512=portable" -E _without_ -LE shipped
	fi
	unset QEMU_CPU
	export QEMU_SET_ENV="LD_PRELOAD=$BUILD-arm64-gcc/hwcap.so,HWCAP_MASK=2" # ASIMD
	export QEMU_PLUGIN="$BUILD-arm64-gcc/instructions.so,$forbidden"
	suites "$1, no extension" "$no_extension" -E _without_ -LE shipped
	export SMB3SIGN_CPU_DISABLE=neon
	suites "$1, no extension and no NEON" "$nothing" -R '^(gmac|selftest|vectors)$'
	unset SMB3SIGN_CPU_DISABLE
	unset QEMU_SET_ENV QEMU_PLUGIN
}

build gcc
gcc -O2 -fPIC -shared -o "$folder/instructions.so" tests/emulate/instructions.c
aarch64-linux-gnu-gcc -O2 -fPIC -shared -o "$folder/hwcap.so" tests/emulate/hwcap.c
on_all_processors gcc
if command -v "$clang" >/dev/null 2>&1; then
	build clang "-DSMB3SIGN_CROSS_CLANG=$clang"
	on_all_processors "$clang"
else
	echo "== no $clang here: arm64 is not tested with it"
fi
build sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	"-DCMAKE_C_FLAGS=-fsanitize=address,undefined -fno-sanitize-recover=all -static-libasan -static-libubsan"
export QEMU_CPU=max
# The guard spins there for more than a minute, and is sanitized natively.
suites "sanitized, max" "$everything" -E "_without_|^guard$" -LE shipped

# cc [ARGUMENT...]: there is no C library for it, hence headers of the little-endian one, which want a file for it.
big_endian()
{
	echo "== arm64, big-endian, $1"
	folder=$BUILD-arm64-big-endian
	rm -rf "$folder"
	mkdir -p "$folder/gnu"
	: >"$folder/gnu/stubs-lp64_be.h"
	for source in src/*.c src/arch/*/*.c tests/emulate/big_endian.c; do
		"$@" -isystem "$folder" -isystem /usr/aarch64-linux-gnu/include -std=c11 -O1 -ffreestanding \
			-DSMB3SIGN_STATIC -Iinclude -c "$source" -o "$folder/$(echo "$source" | tr / _).o" || return 1
	done
	aarch64-linux-gnu-gcc -mbig-endian -static -nostdlib -o "$folder/selftest" "$folder"/*.o || return 1
	qemu-aarch64_be "$folder/selftest" >"$folder/text" || return 1
	cat "$folder/text"
	grep -qx "kernels in use: $nothing" "$folder/text"
}
big_endian aarch64-linux-gnu-gcc -mbig-endian -mno-outline-atomics || failed="$failed; big-endian gcc"
if command -v "$clang" >/dev/null 2>&1; then
	big_endian "$clang" --target=aarch64_be-linux-gnu || failed="$failed; big-endian $clang"
fi

[ -z "$failed" ] || { echo "arm64 failed:$failed"; exit 1; }
echo "all arm64 tests passed"
