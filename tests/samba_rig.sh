# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# For scripts that talk to private smbd servers on loopback; they source this file. What a script does with servers it does
# in network, host name, mount and process namespaces of its own: no port is taken, nothing tells about the machine, and
# whatever happens no process stays behind. The user that smbd needs is added for as long as it takes.
#
#     in_namespaces SECONDS ARGUMENT ...   outside, as root: runs the script again with --inside $scratch ARGUMENT ... ;
#                                          $scratch is a new folder, removed at the end
#     enter_namespaces MTU                 inside, first: the largest packet on loopback; then
#     make_server FOLDER PORT LINE ...     folders and smb.conf of a server; LINEs for its [global]
#     start_server FOLDER PORT
#     wait_for COMMAND ...

script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
user=smb3signtest
# Read by the scripts.
# shellcheck disable=SC2034
password=Not-A-Secret-1

fail() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# Repeats a command for up to ten seconds, until it succeeds.
wait_for() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		! "$@" || return 0
		sleep 1
	done
	fail "no success within ten seconds: $*"
}

# ---- inside ----

enter_namespaces() {
	trap 'exit 1' HUP INT TERM
	hostname smbtest
	ip link set lo mtu "$1" up
}

make_server() {
	folder=$1
	shift
	server_port=$1
	shift
	mkdir "$folder"
	for sub in private lock state cache pid ncalrpc binddns log export; do
		mkdir "$folder/$sub"
	done
	chmod 777 "$folder/export"
	cat >"$folder/smb.conf" <<-END
		[global]
			server role = standalone server
			workgroup = WORKGROUP
			netbios name = SMBTEST
			passdb backend = tdbsam:$folder/private/passdb.tdb
			private dir = $folder/private
			lock directory = $folder/lock
			state directory = $folder/state
			cache directory = $folder/cache
			pid directory = $folder/pid
			ncalrpc dir = $folder/ncalrpc
			binddns dir = $folder/binddns
			interfaces = lo
			bind interfaces only = yes
			smb ports = $server_port
			disable netbios = yes
			load printers = no
			printcap name = /dev/null
			client min protocol = SMB2_02
			server min protocol = SMB2_02
			server max protocol = SMB3_11
			server signing = mandatory
			server smb3 signing algorithms = AES-128-GMAC, AES-128-CMAC, HMAC-SHA256
			server multi channel support = yes
			log level = 1
			$(printf '%s\n' "$@")
		[share]
			path = $folder/export
			read only = no
	END
	printf '%s\n%s\n' "$password" "$password" | smbpasswd -c "$folder/smb.conf" -a -s "$user" \
		>"$folder/smbpasswd.log" 2>&1 || fail "$(cat "$folder/smbpasswd.log")"
}

start_server() {
	# An absolute folder for the log: smbd opens it again after it has gone into the share.
	smbd -F -s "$1/smb.conf" -l "$1/log" >"$1/smbd.log" 2>&1 &
	# A socket in state 0A, listening.
	wait_for grep -q ":$(printf %04X "$2") [0-9A-F:]* 0A " /proc/net/tcp
}

# ---- outside ----

clean_up() {
	[ -z "$added" ] || userdel "$user"
	rm -rf "$scratch"
}

in_namespaces() {
	limit=$1
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
		unshare --net --uts --pid --mount-proc --fork --kill-child sh "$script" --inside "$scratch" "$@"
}
