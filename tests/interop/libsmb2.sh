#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/interop/libsmb2.sh [LIBSMB2.so]
#
# libsmb2 with its signing taken over by libsmb2_preload.c, against Samba's smbd: LIBSMB2.so, or $LIBSMB2, is a build of
# it, whose functions are all exported (CMake's build does that; configure's exports the public ones alone). It writes
# and reads a file as it is and taken over, and says what each costs in processor time. Debian 12 has no package of it:
# without a library nothing is tested, and the exit status is 77.
#
# As root (see server.sh). Build folder: $BUILD (default: build), as tests/run.sh leaves it or new.
set -eu
. "$(dirname "$0")/server.sh"

megabytes=64

# transfer: libsmb2 through its public interface; prints the seconds.
transfer() {
	"$build/transfer" 127.0.0.1:4455 share "$user" "$password" "$megabytes"
}

inside() {
	build=$1
	start_server smbd 4455 mandatory
	before=$(transfer) || fail "libsmb2 does not work as it is"
	LD_PRELOAD=$build/preload.so SMB3SIGN_PRELOAD_REPORT=$scratch/report
	export LD_PRELOAD SMB3SIGN_PRELOAD_REPORT
	after=$(transfer) || fail "libsmb2 does not work with its signing taken over"
	unset LD_PRELOAD
	report=$(cat report 2>/dev/null) || report='0 taken over'
	case $report in
	'0 taken over'*) fail "nothing was taken over: this build does not call smb3_aes_cmac_128 through the PLT" ;;
	esac
	echo "libsmb2: $report"
	echo "libsmb2: $megabytes MiB written and read: $before s of processor time as it is, $after s taken over"
}

if [ "${1-}" = --inside ]; then
	enter "$2"
	inside "$3"
	exit
fi

library=${1-${LIBSMB2-}}
if [ -z "$library" ]; then
	echo "no libsmb2 was given: NOTHING WAS TESTED with it"
	exit 77
fi
[ -f "$library" ] || fail "no $library"
# shellcheck disable=SC2086 # one word a package
sh "$root/tools/install-missing.sh" gcc libc6-dev make cmake binutils $server_packages
nm -D --defined-only "$library" | grep -q ' smb3_aes_cmac_128$' || fail "$library does not export smb3_aes_cmac_128"
build_library
library=$(cd "$(dirname "$library")" && pwd)/$(basename "$library")
here=$root/tests/interop
cc -std=c11 -O2 -shared -fPIC -o "$build/interop/preload.so" -I"$root/include" "$here/libsmb2_preload.c" \
	-L"$build" -lsmb3sign -Wl,-rpath,"$build" -pthread -ldl
cc -std=c11 -O2 -o "$build/interop/transfer" "$here/libsmb2/transfer.c" "$library" -Wl,-rpath,"$(dirname "$library")"
in_namespaces "$0" "$build/interop"
