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

. "$(dirname "$0")/samba_rig.sh"

port=4455
limit=240 # seconds; it takes about 60
all='AES-128-GMAC, AES-128-CMAC, HMAC-SHA256'

# ---- inside the namespaces: $scratch is the current folder ----

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
	timeout 30 "$program" //127.0.0.1/share -p "$port" -s "$scratch/server/smb.conf" -U "$user%$secret" -m "$dialect" \
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
	enter_namespaces 1500 # Ethernet's size, so that long messages take several segments
	mkdir torture
	make_server "$scratch/server" $port 'debug encryption = yes'
	start_server "$scratch/server" $port

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

outside() {
	for command in smbd smbpasswd smbclient smbtorture tcpdump ip unshare useradd python3; do
		command -v "$command" >/dev/null || fail "no $command; the packages are named at the top of this script"
	done
	folder=${1-$(dirname "$0")/data}
	[ -d "$folder" ] || fail "no folder $folder"

	in_namespaces "$limit" || fail "no captures made"
	for capture in "$scratch"/*.pcap; do
		[ "$(wc -c <"$capture")" -le 300000 ] || fail "$capture is too large"
	done
	python3 "$(dirname "$0")/ntlm_keys.py" --log "$scratch/server/log/log.smbd" "$password" "$scratch"/*.pcap \
		>"$scratch/keys.txt"
	install -m 644 "$scratch"/*.pcap "$scratch/keys.txt" "$folder"
	grep '^# ' "$folder/keys.txt"
}

if [ "${1-}" = --inside ]; then
	inside "$2"
else
	outside "$@"
fi
