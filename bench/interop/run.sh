#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: sh bench/interop/run.sh [ROUNDS [MiB [MESSAGE]]]
# As root, on Debian or Ubuntu. 5 rounds of a file of 1024 MiB in messages of 1 MiB unless given; Samba's own choice are
# messages of 8 MiB.
#
# What signing costs Samba, end to end: smbd and smbclient on loopback, files in memory, 3.1.1 without encryption, with each
# algorithm, with Samba's own signing and with libsmb3sign in its place (../../tests/interop/samba), and without signing.
# Prints tables in Markdown. measure.py does the measuring. Build folder: $BUILD-interop (default: build-interop). Takes
# about 8 minutes and three times as much memory as the file has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tests/samba_rig.sh"

# make NAME PORT LINE ...
make() {
	name=$1
	make_port=$2
	shift 2
	make_server "$scratch/$name" "$make_port" "smb2 max write = $message" "$@"
	start_server "$scratch/$name" "$make_port"
}

# pair NAME PORT LINE ...: a server of long reads, and one of reads of 4 KiB at the next port
pair() {
	pair_name=$1
	pair_port=$2
	shift 2
	make "$pair_name" "$pair_port" "smb2 max read = $message" "$@"
	make "$pair_name-4k" $((pair_port + 1)) 'smb2 max read = 4096' "$@"
}

inside() {
	scratch=$1
	message=$(($6 << 20))
	cd "$scratch"
	enter_namespaces 65536
	pair off 4455 'server signing = disabled'
	pair stock 4457
	(
		export LD_PRELOAD="$2" SMB3SIGN_SAMBA_COUNTERS="$scratch/counters"
		pair ours 4459
	)
	python3 "$here/measure.py" --scratch "$scratch" --login "$user%$password" --preload "$2" \
		--counters "$scratch/counters" --costs "$3" --rounds "$4" --mib "$5" --message "$6"
}

outside() {
	rounds=${1-5}
	mib=${2-1024}
	message_mib=${3-1}
	cd "$here/../.."
	sh tools/install-missing.sh gcc libc6-dev make cmake pkg-config libssl-dev samba smbclient samba-vfs-modules \
		iproute2 util-linux passwd python3
	build=${BUILD:-build}-interop
	cmake -S . -B "$build" -DBUILD_SHARED_LIBS=OFF -DSMB3SIGN_TESTS=OFF -DSMB3SIGN_TOOLS=OFF -DSMB3SIGN_INTEROP=ON \
		-DSMB3SIGN_BENCH=ON >&2
	cmake --build "$build" -j "$(nproc)" >&2
	build=$(cd "$build" && pwd)
	"$build/bench/smb3sign-bench" --size $((message_mib << 20)) --seconds 0.05 --csv "$build/costs.csv" >/dev/null
	# Files in memory: the scratch folder is made there.
	export TMPDIR=/dev/shm
	in_namespaces 3600 "$build/tests/interop/samba/libsamba_preload.so" "$build/costs.csv" "$rounds" "$mib" \
		"$message_mib" || fail "not measured"
}

if [ "${1-}" = --inside ]; then
	shift
	inside "$@"
else
	outside "$@"
fi
