#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/avx512.sh ["[NAME=VALUE...] SUITE"...]
# Runs suites on an emulated processor with AVX-512 (tests/emulate/bochs.sh), where the kernels with it are among those they
# force; NAME=VALUE is the suite's environment, as CK_RUN_CASE=content. Unless suites are named: published values, SHA-256
# side by side, and all of GMAC, at random too with a seed that is printed; two minutes of processor time. The other suites
# spend more than nine tenths of their instructions in portable kernels and references (kernels two minutes, message half an
# hour).
# Installs what is missing with apt-get. Folder: $BUILD-avx512 (default: build-avx512). Longer than
# $SMB3SIGN_EMULATION_SECONDS (default: 600) is a failure.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}-avx512
seconds=${SMB3SIGN_EMULATION_SECONDS:-600}

sh tools/install-missing.sh binutils gcc libc6-dev make cmake pkg-config check libssl-dev

[ $# -gt 0 ] || set -- vectors selftest "SMB3SIGN_TEST_ROUNDS=1000 gmac" \
	"SMB3SIGN_TEST_SHA256=avx512 CK_RUN_CASE=sha256_lanes kernels" \
	"SMB3SIGN_TEST_SEED=$(date +%s) SMB3SIGN_TEST_SECONDS=20 CK_RUN_CASE=random gmac"

# Static: the guest has no libraries.
cmake -S . -B "$build" -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=OFF -DBUILD_SHARED_LIBS=OFF -DSMB3SIGN_VECTORS_DIR=none \
	-DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_C_STANDARD_LIBRARIES="-lsubunit -lm -lrt" >/dev/null
commands=$#
for suite; do
	program=test_${suite##* }
	cmake --build "$build" -j "$(nproc 2>/dev/null || echo 2)" --target "$program" >"$build/log" 2>&1 || {
		cat "$build/log"
		exit 1
	}
	environment=${suite% *}
	[ "$environment" != "$suite" ] || environment=
	set -- "$@" "CK_FORK=no CK_DEFAULT_TIMEOUT=0 SMB3SIGN_TEST_GHASH=avx512 $environment $program"
done
shift "$commands"
# SHA-256 keeps off ZMM registers, for which the processors that it is for lower their clock; compilers take them unasked.
objdump -d "$build/CMakeFiles/smb3sign_objects.dir/src/arch/x86/sha256_avx512.c.o" >"$build/sha256_avx512"
grep -q 'vpternlogd.*ymm' "$build/sha256_avx512" || { echo "avx512.sh: sha256=avx512 is not in this build" >&2; exit 1; }
! grep zmm "$build/sha256_avx512" || { echo "avx512.sh: sha256=avx512 uses ZMM registers" >&2; exit 1; }
sh tests/emulate/bochs.sh "$build/bochs" "$seconds" "$build/tests" "$@"
echo "all suites passed on AVX-512"
