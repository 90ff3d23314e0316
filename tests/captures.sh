#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the captures of real signed SMB traffic that the tests verify, and the file with their keys:
#
#     captures.sh [FOLDER]          as root; FOLDER is the one beside this script, data, unless given
#
# Samba's smbclient and smbtorture talk to a private smbd on loopback. All of it runs in network, host name and process
# namespaces of its own, so that no port is taken, the captures tell nothing about the machine, and whatever happens
# nothing stays behind. The user that smbd needs is added for as long as it takes. Needs the Debian packages
#
#     samba smbclient samba-testsuite samba-vfs-modules tcpdump iproute2 util-linux passwd python3
set -eu

user=smb3signtest
password=Not-A-Secret-1
port=4455
limit=240 # seconds; it takes about 60
all='AES-128-GMAC, AES-128-CMAC, HMAC-SHA256'

fail() {
	echo "captures.sh: $*" >&2
	exit 1
}

# ---- inside the namespaces: $scratch is the current folder ----

write_config() {
	cat >smb.conf <<-END
		[global]
			server role = standalone server
			workgroup = WORKGROUP
			netbios name = SMBTEST
			passdb backend = tdbsam:$scratch/private/passdb.tdb
			private dir = $scratch/private
			lock directory = $scratch/lock
			state directory = $scratch/state
			cache directory = $scratch/cache
			pid directory = $scratch/pid
			ncalrpc dir = $scratch/ncalrpc
			binddns dir = $scratch/binddns
			interfaces = lo
			bind interfaces only = yes
			smb ports = $port
			disable netbios = yes
			load printers = no
			printcap name = /dev/null
			client min protocol = SMB2_02
			server min protocol = SMB2_02
			server max protocol = SMB3_11
			server signing = mandatory
			server smb3 signing algorithms = $all
			server multi channel support = yes
			debug encryption = yes
			log level = 1
		[share]
			path = $scratch/export
			read only = no
	END
}

# Repeats a command for up to ten seconds, until it succeeds.
wait_for() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		! "$@" || return 0
		sleep 1
	done
	fail "no success within ten seconds: $*"
}

start_server() {
	printf '%s\n%s\n' "$password" "$password" | smbpasswd -c smb.conf -a -s "$user" >smbpasswd.log 2>&1 ||
		fail "$(cat smbpasswd.log)"
	# An absolute folder for the log: smbd opens it again after it has gone into the share.
	smbd -F -s "$scratch/smb.conf" -l "$scratch/log" >smbd.log 2>&1 &
	# A socket in state 0A, listening.
	wait_for grep -q ":$(printf %04X "$port") [0-9A-F:]* 0A " /proc/net/tcp
}

# begin NAME DIALECT ALGORITHMS: captures into NAME.pcap; the clients use the dialect and the algorithms.
begin() {
	name=$1
	dialect=$2
	algorithms=$3
	tcpdump -i lo -B 16384 -s 0 --immediate-mode -U -w "$name.pcap" "tcp port $port" 2>"$name.tcpdump" &
	tcpdump=$!
	wait_for grep -qs 'listening on' "$name.tcpdump"
}

end() {
	sleep 1
	kill -INT "$tcpdump"
	wait "$tcpdump" || fail "tcpdump: $(cat "$name.tcpdump")"
	grep -q '^0 packets dropped by kernel' "$name.tcpdump" || fail "tcpdump lost packets of $name"
}

# client PROGRAM PASSWORD ARGUMENT ...
client() {
	program=$1
	secret=$2
	shift 2
	timeout 30 "$program" //127.0.0.1/share -p "$port" -s "$scratch/smb.conf" -U "$user%$secret" -m "$dialect" \
		--client-protection=sign "--option=client smb3 signing algorithms=$algorithms" "$@" >client.log 2>&1
}

# ordinary LINES: what a user does, with a file of 40 times as many bytes; one wrong name, one wrong password.
ordinary() {
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%03d the quick brown fox jumps over it all\n", i % 1000 }' >sent
	rm -f received
	client smbclient "$password" -c 'put sent; get sent received; ls; allinfo sent; get missing; del sent; logoff' ||
		fail "smbclient, $name: $(cat client.log)"
	cmp sent received
	! client smbclient wrong -c ls || fail "smbclient, $name: a wrong password was accepted"
}

# torture TEST ...: smbtorture leaves folders where it stands.
torture() {
	for test; do
		(cd torture && client smbtorture "$password" "smb2.$test") || fail "$test, $name: $(cat torture/client.log)"
	done
}

# Compounds, CHANGE_NOTIFY and LOCK that go asynchronous, CANCEL, LOGOFF and requests after it, an oplock break,
# re-authentication.
large() {
	ordinary 1000
	torture compound.related3 compound.unrelated1 compound_find.compound_find_related notify.close notify.logoff \
		lock.cancel lock.cancel-logoff oplock.batch7 session.reauth1
}

small() {
	ordinary 100
	torture compound.related3 lock.cancel lock.cancel-logoff
}

binds() {
	torture session.bind1 session.bind_invalid_auth
}

inside() {
	scratch=$1
	cd "$scratch"
	trap 'exit 1' HUP INT TERM
	hostname smbtest
	# Ethernet's size, so that long messages take several segments.
	ip link set lo mtu 1500 up
	mkdir private lock state cache pid ncalrpc binddns log export torture
	chmod 777 export
	write_config
	start_server

	begin smb202-hmac SMB2_02 "$all"
	small
	end
	begin smb21-hmac SMB2_10 "$all"
	large
	end
	begin smb30-cmac SMB3_00 "$all"
	large
	end
	begin smb302-cmac SMB3_02 "$all"
	small
	end
	begin smb311-hmac SMB3_11 HMAC-SHA256
	large
	end
	begin smb311-cmac SMB3_11 AES-128-CMAC
	large
	end
	begin smb311-gmac SMB3_11 AES-128-GMAC
	large
	# A CANCEL before the interim response. With the other algorithms smbtorture sends it with MessageId 0 and without
	# AsyncId then, and waits for ever.
	torture notify.double compound.interim1
	end
	begin smb30-bind-cmac SMB3_00 "$all"
	binds
	end
	begin smb311-bind-gmac SMB3_11 AES-128-GMAC
	binds
	end
	# Sessions of one algorithm bound to connections of another: CMAC and HMAC go together, GMAC only with itself, and
	# the dialect must be the same. All but the last encrypt what follows the session setup.
	begin smb311-bind-mixed SMB3_11 "$all"
	torture session.bind_negative_smb3signCtoHs session.bind_negative_smb3signHtoCs \
		session.bind_negative_smb3signGtoCs session.bind_negative_smb3signCtoGs session.bind_negative_smb3to3s
	end
}

# ---- outside ----

clean_up() {
	[ -z "$added" ] || userdel "$user"
	rm -rf "$scratch"
}

outside() {
	[ "$(id -u)" = 0 ] || fail "must be root: for tcpdump, namespaces and the user it adds"
	for command in smbd smbpasswd smbclient smbtorture tcpdump ip unshare useradd python3; do
		command -v "$command" >/dev/null || fail "no $command; the packages are named at the top of this script"
	done
	! id "$user" >/dev/null 2>&1 || fail "there is a user $user already"
	folder=${1-$(dirname "$0")/data}
	[ -d "$folder" ] || fail "no folder $folder"

	added=
	scratch=$(mktemp -d)
	trap clean_up EXIT
	trap 'exit 1' HUP INT TERM
	chmod 711 "$scratch" # smbd goes through it as the user
	useradd --system --no-create-home --no-user-group --shell /usr/sbin/nologin "$user"
	added=yes

	timeout --foreground -s KILL "$limit" \
		unshare --net --uts --pid --fork --kill-child sh "$0" --inside "$scratch" || fail "no captures made"
	for capture in "$scratch"/*.pcap; do
		[ "$(wc -c <"$capture")" -le 300000 ] || fail "$capture is too large"
	done
	python3 "$(dirname "$0")/ntlm_keys.py" --log "$scratch/log/log.smbd" "$password" "$scratch"/*.pcap >"$scratch/keys.txt"
	install -m 644 "$scratch"/*.pcap "$scratch/keys.txt" "$folder"
	grep '^# ' "$folder/keys.txt"
}

if [ "${1-}" = --inside ]; then
	inside "$2"
else
	outside "$@"
fi
