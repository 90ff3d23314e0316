#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/other-processors.sh [i386|armhf|s390x|x86-64]...
# Runs the suites where QEMU has to stand in, or where words are shorter or the other way round: on i386 (the processor at hand,
# if it is x86), 32-bit ARM and s390x, which is big-endian; and on x86-64 of several generations, where an instruction that
# the processor does not have ends the test. Each time the kernels are shown, and have to be the ones that belong there. Without
# arguments: all of them. Installs what is missing with apt-get. Build folders: $BUILD-i386 and so on (BUILD's default: build).
set -eu
cd "$(dirname "$0")/.."
case ${BUILD:=build} in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
jobs=$(nproc 2>/dev/null || echo 2)
# A process for each test is most of the time that an emulated suite takes.
export CK_FORK=no
failed=
portable="aes=portable ghash=portable sha256=portable sha512=portable"

# title kernels COMMAND...: COMMAND gives the kernels in use
kernels()
{
	title=$1 wanted=$2
	shift 2
	text=$("$@" kernels 2>/dev/null) || text=
	echo "$text" | grep 'kernels in use' || true
	echo "$text" | grep -qx "kernels in use: $wanted" || failed="$failed; $title: kernels"
}

# folder CMAKE-ARGUMENT...
build()
{
	folder=$1
	shift
	mkdir -p "$folder"
	{
		cmake -S . -B "$folder" -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=OFF "$@" &&
			cmake --build "$folder" -j "$jobs"
	} >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
}

# architecture triplet compiler-packages emulator
cross()
{
	echo "== $1"
	# shellcheck disable=SC2086 # one word a package
	sh tools/install-missing.sh make cmake pkg-config qemu-user $3
	sh tests/emulate/sysroot.sh "$1" "$BUILD-$1-sysroot"
	build "$BUILD-$1" --toolchain "$PWD/cmake/static-linux-gnu.cmake" "-DSMB3SIGN_TRIPLET=$2" \
		"-DSMB3SIGN_SYSROOT=$BUILD-$1-sysroot"
	[ -z "$4" ] || kernels "$1" "$portable" "$4" "$folder/tests/print_features"
	(cd "$folder" && ctest --output-on-failure -j "$jobs" -LE shipped) || failed="$failed; $1"
}

# model kernels
x86_64_model()
{
	echo "== x86-64, $1"
	kernels "$1" "$2" qemu-x86_64 -cpu "$1" "$folder/tests/print_features"
	# Not the cases of api with signals: QEMU 7.2 calls handlers with a misaligned stack.
	for suite in "api cpu" "api as shipped" batch gmac kernels selftest vectors; do
		case $suite in
		*" "*) export CK_RUN_CASE="${suite#* }" ;;
		*) unset CK_RUN_CASE ;;
		esac
		if qemu-x86_64 -cpu "$1" "$folder/tests/test_${suite%% *}" >"$folder/text" 2>&1; then
			echo "$suite: $(tail -n 1 "$folder/text")"
		else
			grep -v "TCG doesn't support" "$folder/text" | tail -n 20
			failed="$failed; $1: $suite"
		fi
	done
}

# QEMU 7.2 computes VAES wrongly, and says in newer models that it has it: no newer ones than these.
x86_64()
{
	sh tools/install-missing.sh gcc libc6-dev make cmake pkg-config check libssl-dev qemu-user
	build "$BUILD-x86-64" -DCMAKE_C_FLAGS=-DSMB3SIGN_EMULATED
	ssse3="aes=ssse3 ghash=ssse3 sha256=ssse3 sha512=portable"
	x86_64_model qemu64 "$portable"
	x86_64_model Nehalem "$ssse3"
	x86_64_model Westmere "aes=ni ghash=pclmul sha256=ssse3 sha512=portable"
	x86_64_model Haswell "aes=ni ghash=pclmul sha256=avx2 sha512=portable"
	x86_64_model Haswell,-aes,-pclmulqdq "aes=ssse3 ghash=ssse3 sha256=avx2 sha512=portable"
	x86_64_model EPYC-Milan "aes=ni ghash=pclmul sha256=avx2 sha512=portable"
}

[ $# -gt 0 ] || set -- i386 armhf s390x x86-64
for processor; do
	case $processor in
	# On x86 the processor itself runs it, whatever kernels it has.
	i386) cross i386 i686-linux-gnu "gcc-i686-linux-gnu libc6-dev-i386-cross" "" ;;
	armhf) cross armhf arm-linux-gnueabihf "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross" qemu-arm ;;
	s390x) cross s390x s390x-linux-gnu "gcc-s390x-linux-gnu libc6-dev-s390x-cross" qemu-s390x ;;
	x86-64) x86_64 ;;
	*) echo "no such processor here: $processor" >&2 && exit 2 ;;
	esac
done
[ -z "$failed" ] || { echo "failed on other processors:$failed"; exit 1; }
echo "all suites passed on other processors"
