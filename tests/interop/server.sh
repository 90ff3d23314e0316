# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# A private smbd for interop tests, for scripts to source:
#
#     build_library                        into $build, which gets a folder interop for what a script builds
#     in_namespaces SCRIPT ARGUMENT ...    runs `SCRIPT --inside FOLDER ARGUMENT ...`; FOLDER is a scratch folder
#     enter FOLDER                         what SCRIPT does first there
#     start_server NAME PORT SIGNING       an smbd on loopback, which exports FOLDER/export as "share" to $user
#
# As root: everything inside runs in network, host name and process namespaces of its own, so that no port is taken and
# nothing stays behind. The user that smbd needs is added for as long as it takes.

user=smb3signinterop
password=Not-A-Secret-2
limit=300 # seconds, for everything inside

# shellcheck disable=SC2034 # for the scripts that source this
server_packages='samba samba-vfs-modules iproute2 util-linux passwd'

root=$(cd "$(dirname "$0")/../.." && pwd)

fail() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# ---- inside: $scratch is the current folder ----

enter() {
	scratch=$1
	cd "$scratch" || exit
	hostname smbtest
	ip link set lo up
	mkdir -m 777 export
}

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

start_server() {
	write_config "$scratch/$1" "$2" "$3"
	printf '%s\n%s\n' "$password" "$password" | smbpasswd -c "$1/smb.conf" -a -s "$user" >smbpasswd.log 2>&1 ||
		fail "$(cat smbpasswd.log)"
	# An absolute folder for the log: smbd opens it again after it has gone into the share.
	smbd -F -s "$scratch/$1/smb.conf" -l "$scratch/$1/log" >"$1/smbd.log" 2>&1 &
	# A socket in state 0A, listening.
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		! grep -q ":$(printf %04X "$2") [0-9A-F:]* 0A " /proc/net/tcp || return 0
		sleep 0.5
	done
	fail "smbd does not start: $(cat "$1/smbd.log" "$1"/log/* 2>/dev/null)"
}

# ---- outside ----

# In a folder that is there already everything stays as it was configured.
build_library() {
	build=${BUILD:-$root/build}
	[ -f "$build/CMakeCache.txt" ] || cmake -S "$root" -B "$build" -DSMB3SIGN_TESTS=OFF -DSMB3SIGN_TOOLS=OFF
	cmake --build "$build" --target smb3sign -j "$(nproc 2>/dev/null || echo 2)"
	build=$(cd "$build" && pwd)
	mkdir -p "$build/interop"
}

clean_up() {
	[ -z "$added" ] || userdel "$user"
	rm -rf "$scratch"
}

in_namespaces() {
	script=$1
	shift
	[ "$(id -u)" = 0 ] || fail "must be root: for namespaces and the user it adds"
	! id "$user" >/dev/null 2>&1 || fail "there is a user $user already"
	added=
	scratch=$(mktemp -d)
	trap clean_up EXIT
	trap 'exit 1' HUP INT TERM
	chmod 711 "$scratch" # smbd goes through it as the user
	useradd --system --no-create-home --no-user-group --shell /usr/sbin/nologin "$user"
	added=yes
	timeout --foreground -s KILL "$limit" \
		unshare --net --uts --pid --fork --kill-child sh "$script" --inside "$scratch" "$@"
}
