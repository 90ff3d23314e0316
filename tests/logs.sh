#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the debug logs of Samba that the tests read keys from, and the capture that they belong to:
#
#     logs.sh [FOLDER]              as root; FOLDER is data/logs beside this script unless given
#
# smbd and smbclient print their keys under "debug encryption = yes". Needs the Debian packages of captures.sh.
set -eu

. "$(dirname "$0")/samba_rig.sh"

port=4455
limit=60 # seconds; it takes about 10

# ---- inside the namespaces ----

inside() {
	scratch=$1
	cd "$scratch"
	enter_namespaces 1500
	make_server "$scratch/server" $port 'debug encryption = yes'
	start_server "$scratch/server" $port
	tcpdump -i lo -B 16384 -s 0 --immediate-mode -U -w logs.pcap "tcp port $port" 2>tcpdump.log &
	tcpdump=$!
	wait_for grep -qs 'listening on' tcpdump.log
	for algorithm in AES-128-GMAC AES-128-CMAC; do
		timeout 30 smbclient //127.0.0.1/share -p "$port" -s server/smb.conf -U "$user%$password" -m SMB3_11 \
			--client-protection=sign "--option=client smb3 signing algorithms=$algorithm" \
			-c 'ls; logoff' >>smbclient.log 2>&1 || fail "smbclient: $(cat smbclient.log)"
	done
	sleep 1
	kill -INT "$tcpdump"
	wait "$tcpdump" || fail "tcpdump: $(cat tcpdump.log)"
}

# ---- outside ----

outside() {
	folder=${1-$(dirname "$0")/data/logs}
	[ -d "$folder" ] || fail "no folder $folder"
	in_namespaces "$limit" || fail "no logs made"
	# The paths in the logs are of no use to anybody.
	sed "s|$scratch|/srv/smbtest|g" "$scratch/server/log/log.smbd" >"$folder/smbd.log"
	sed "s|$scratch|/srv/smbtest|g" "$scratch/smbclient.log" >"$folder/smbclient.log"
	install -m 644 "$scratch/logs.pcap" "$folder"
	chmod 644 "$folder"/*.log
}

if [ "${1-}" = --inside ]; then
	inside "$2"
else
	outside "$@"
fi
