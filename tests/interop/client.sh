#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: sh tests/interop/client.sh
#
# A client of our own, which signs and verifies with the library alone, against Samba's smbd: every dialect, at 3.1.1
# every algorithm; ordinary use, compounds, asynchronous requests, binds of every pair of connections; requests and
# answers with a flipped bit or without a signature, which the server and the client must refuse; and what signing costs
# the client.
#
# As root, for namespaces and the user that smbd needs: the server runs in network, host name and process namespaces of
# its own, on loopback. Installs the Debian packages that are missing. Prints a line for each check; exit status 1 if
# one fails. Build folder: $BUILD-interop (default: build-interop).
set -eu

user=smb3signclient
password=Not-A-Secret-2
limit=300 # seconds; it takes about 25, and the build as long
# Dialect and algorithm, as on the wire.
all='0202:0 0210:0 0300:1 0302:1 0311:0 0311:1 0311:2'

fail() {
	echo "client.sh: $*" >&2
	exit 1
}

# ---- inside the namespaces: $scratch is the current folder ----

# write_config FOLDER PORT SIGNING
write_config() {
	mkdir "$1" "$1/private" "$1/lock" "$1/state" "$1/cache" "$1/pid" "$1/ncalrpc" "$1/binddns" "$1/log"
	cat >"$1/smb.conf" <<-END
		[global]
			server role = standalone server
			workgroup = WORKGROUP
			netbios name = SMBTEST
			passdb backend = tdbsam:$1/private/passdb.tdb
			private dir = $1/private
			lock directory = $1/lock
			state directory = $1/state
			cache directory = $1/cache
			pid directory = $1/pid
			ncalrpc dir = $1/ncalrpc
			binddns dir = $1/binddns
			interfaces = lo
			bind interfaces only = yes
			smb ports = $2
			disable netbios = yes
			load printers = no
			printcap name = /dev/null
			server min protocol = SMB2_02
			server max protocol = SMB3_11
			server signing = $3
			server smb3 signing algorithms = AES-128-GMAC, AES-128-CMAC, HMAC-SHA256
			server multi channel support = yes
			log level = 0
		[share]
			path = $scratch/export
			read only = no
	END
}

# start_server NAME PORT SIGNING
start_server() {
	write_config "$scratch/$1" "$2" "$3"
	printf '%s\n%s\n' "$password" "$password" | smbpasswd -c "$1/smb.conf" -a -s "$user" >smbpasswd.log 2>&1 ||
		fail "$(cat smbpasswd.log)"
	smbd -F -s "$scratch/$1/smb.conf" -l "$scratch/$1/log" >"$1/smbd.log" 2>&1 &
	# A socket in state 0A, listening.
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		! grep -q ":$(printf %04X "$2") [0-9A-F:]* 0A " /proc/net/tcp || return 0
		sleep 0.5
	done
	fail "smbd does not start: $(cat "$1/smbd.log" "$1"/log/* 2>/dev/null)"
}

# run PORT CHECK DIALECT:ALGORITHM [MEGABYTES]
run() {
	port=$1 what=$2 dialect=${3%:*} algorithm=${3#*:}
	shift 3
	# 1: a check has failed, and the client has said which. Anything else is the client's end.
	"$client" "$port" "$user" "$password" "$what" "$dialect" "$algorithm" "$@" >>lines 2>&1 || {
		[ $? = 1 ] || echo "FAILED: $dialect $algorithm: $what: the client has ended" >>lines
	}
	tail -n +$((seen + 1)) lines
	seen=$(wc -l <lines)
}

inside() {
	scratch=$1 client=$2
	cd "$scratch"
	hostname smbtest
	ip link set lo up
	mkdir -m 777 export
	seen=0
	: >lines
	start_server mandatory 4455 mandatory
	for each in $all; do
		for what in use spoilt binds; do
			run 4455 "$what" "$each"
		done
	done
	# Where signing is left to the client, it can also do without.
	start_server optional 4456 auto
	for each in 0311:0 0311:1 0311:2; do
		run 4456 throughput "$each"
	done
	passed=$(grep -c '^ok: ' lines) || true
	failed=$(grep -c '^FAILED: ' lines) || true
	# Fewer checks than there are is no success either.
	[ "$passed" -ge 450 ] || fail "only $passed checks have passed"
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}

# ---- outside ----

clean_up() {
	[ -z "$added" ] || userdel "$user"
	rm -rf "$scratch"
}

outside() {
	[ "$(id -u)" = 0 ] || fail "must be root: for namespaces and the user it adds"
	root=$(cd "$(dirname "$0")/../.." && pwd)
	build=${BUILD:-$root/build}-interop
	sh "$root/tools/install-missing.sh" gcc libc6-dev make cmake pkg-config libssl-dev samba samba-vfs-modules \
		iproute2 util-linux passwd
	! id "$user" >/dev/null 2>&1 || fail "there is a user $user already"
	cmake -S "$root/tests/interop/client" -B "$build"
	cmake --build "$build" -j "$(nproc 2>/dev/null || echo 2)"
	client=$(cd "$build" && pwd)/smb3sign-client

	added=
	scratch=$(mktemp -d)
	trap clean_up EXIT
	trap 'exit 1' HUP INT TERM
	chmod 711 "$scratch" # smbd goes through it as the user
	useradd --system --no-create-home --no-user-group --shell /usr/sbin/nologin "$user"
	added=yes
	timeout --foreground -s KILL "$limit" \
		unshare --net --uts --pid --fork --kill-child sh "$0" --inside "$scratch" "$client"
}

if [ "${1-}" = --inside ]; then
	inside "$2" "$3"
else
	outside
fi
