#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Where verify-pcap gets its keys from, and its filter, from outside:
#
#     test_keys.sh COMMAND DATA yes|no      COMMAND: the built program; DATA: the folder of the captures, their keys.txt
#                                           and logs; whether --user was built in
#
# Every source must lead to the report, byte for byte, that the session keys in keys.txt lead to. Says what it checks,
# counts failures and exits with 1 if there are any. Needs python3.
#
# shellcheck disable=SC2046 # options from functions are words on purpose
command=$1 subcommand=verify-pcap
data=$2
with_users=$3
. "$(dirname "$0")/checks.sh"
user='smb3signtest%Not-A-Secret-1'

# same N REPORT ARGUMENT...: exits with N, prints what is in REPORT, and complains of nothing.
same() {
	expected_status=$1
	report=$2
	shift 2
	exits "$expected_status" "$@" && cmp -s "$report" "$scratch/out" && [ ! -s "$scratch/err" ]
}

# The keys of a capture in keys.txt as options, in the form of Wireshark's list, and as Samba's dump_data() writes them.
options_of() {
	awk -v file="$1" '$1 == file { printf "--session-key %s=%s ", $2, $3 }' "$data/keys.txt"
}

converted() {
	python3 - "$data/keys.txt" "$1" "$2" <<-'END'
		import sys
		path, capture, form = sys.argv[1:]
		def dump(label, data):
		    for at in range(0, len(data), 16):
		        row = data[at : at + 16]
		        columns = ["%02X " % b for b in row] + ["   "] * (16 - len(row))
		        text = "".join(chr(b) if 32 < b < 127 else "." for b in row)
		        lead = f"  {label:14}" if not at else ""
		        print(f"{lead}[{at:04X}] {''.join(columns[:8])}  {''.join(columns[8:])}  {text[:8]} {text[8:]}")
		print("# of " + capture if form != "log" else "[2026/01/02 03:04:05.678901,  1] something.c:1(main)")
		for line in open(path):
		    words = line.split()
		    if words[:1] != [capture]:
		        continue
		    wire, key = int(words[1], 16).to_bytes(8, "little"), bytes.fromhex(words[2])
		    if form == "wireshark":
		        print(f"{wire.hex()},{key.hex()},,")
		    elif form == "quoted":
		        print(f'"{wire.hex().upper()}", "{key.hex()}" ,"",""\r')
		    elif form == "numbers":
		        print(f"0x{words[1]}={key.hex()}")
		    else:
		        dump("Session Id", wire)
		        dump("Session Key", key)
		        dump("App Key", bytes(range(16)))
	END
}

# ---- All captures, by every source

test_sources() {
	for path in "$data"/*.pcap; do
		capture=$(basename "$path")
		"$command" verify-pcap "$path" $(options_of "$capture") >"$scratch/report" 2>/dev/null
		check "$capture: keys.txt's keys verify it" grep -q ' OK$' "$scratch/report"
		for form in wireshark quoted numbers log; do
			converted "$capture" $form >"$scratch/keys"
			check "$capture: $form" same 0 "$scratch/report" "$path" --keys "$scratch/keys"
		done
		[ "$with_users" = yes ] || continue
		check "$capture: the user" same 0 "$scratch/report" "$path" --user "$user"
		check "$capture: user and domain, in any case" same 0 "$scratch/report" "$path" --user "workGROUP\\SMB3signTest%${user#*%}"
		check "$capture: other users too" exits 0 "$path" --user 'x%y' --user "$user" --user 'smb3signtest%z'
		check "$capture: other users too: the same" cmp "$scratch/report" "$scratch/out"
	done
}

# A signature that was lost: what is found out does not depend on where keys come from.
test_explained() {
	[ "$with_users" = yes ] || return 0
	python3 - "$data/smb311-bind-gmac.pcap" >"$scratch/bad.pcap" <<-'END'
		import sys
		capture = bytearray(open(sys.argv[1], "rb").read())
		at, signed = capture.find(b"\xfeSMB\x40"), []
		while at >= 0:
		    if capture[at + 16] & 9 == 8: # a request
		        signed.append(at)
		    at = capture.find(b"\xfeSMB\x40", at + 1)
		capture[signed[-1] + 48 : signed[-1] + 64] = bytes(16)
		sys.stdout.buffer.write(capture)
	END
	"$command" verify-pcap --explain "$scratch/bad.pcap" $(options_of smb311-bind-gmac.pcap) >"$scratch/report" 2>/dev/null
	check "a lost signature is explained" grep -q 'matches if the Signature field was left at zero' "$scratch/report"
	check "with a password too" same 1 "$scratch/report" --explain "$scratch/bad.pcap" --user "$user"
}

# What Samba wrote, and each of it alone.
test_logs() {
	for log in smbd smbclient; do
		check "$log.log" exits 0 "$data/logs/logs.pcap" --keys "$data/logs/$log.log"
		check "$log.log: 25 by AES-GMAC" grep -q '^AES-GMAC  *25 ' "$scratch/out"
		check "$log.log: 25 by AES-CMAC" grep -q '^AES-CMAC  *25 ' "$scratch/out"
		cp "$scratch/out" "$scratch/$log"
	done
	check "the same from both" cmp "$scratch/smbd" "$scratch/smbclient"
	check "the same with both" same 0 "$scratch/smbd" "$data/logs/logs.pcap" --keys "$data/logs/smbd.log" \
		--keys "$data/logs/smbclient.log"
	sed 's/^/Jan  2 03:04:05 host smbd[99]: /' "$data/logs/smbd.log" >"$scratch/syslog"
	check "by way of syslog" same 0 "$scratch/smbd" "$data/logs/logs.pcap" --keys "$scratch/syslog"
	grep -v 'Session Key' "$data/logs/smbd.log" >"$scratch/signing"
	check "signing keys only" same 0 "$scratch/smbd" "$data/logs/logs.pcap" --keys "$scratch/signing"
	python3 "$here/make_pcap.py" rewrite midstream:30 "$data/logs/logs.pcap" "$scratch/late.pcap"
	check "a capture that begins late" exits 0 "$scratch/late.pcap" --keys "$data/logs/smbd.log"
	check "a capture that begins late: the signing keys of the log" grep -q 'OK$' "$scratch/out"
	[ "$with_users" = yes ] || return
	check "the user has the same keys" same 0 "$scratch/smbd" "$data/logs/logs.pcap" --user "$user"
}

# ---- What is wrong with keys

# bad_keys NAME TEXT LINE...: a file of these lines is refused, and TEXT said.
bad_keys() {
	name=$1
	text=$2
	shift 2
	printf '%s\n' "$@" >"$scratch/bad.keys"
	check "key file: $name" complains 2 "$text" "$data/smb30-cmac.pcap" --keys "$scratch/bad.keys"
}

test_bad_files() {
	good=0102030405060708,000102030405060708090a0b0c0d0e0f
	check "key file: none there" complains 2 "nowhere: " "$data/smb30-cmac.pcap" --keys "$scratch/nowhere"
	bad_keys "empty" "no keys" ""
	bad_keys "something else" "no keys" "<html>"
	bad_keys "decryption keys only" "decryption only" "0102030405060708,,00010203,"
	bad_keys "short session id" "bad.keys:2: 7 bytes" "$good" "01020304050607,000102030405060708090a0b0c0d0e0f"
	bad_keys "no digit" "bad.keys:3: character 3" "# x" "$good" "0102030405060708,00zz"
	bad_keys "odd length" "bad.keys:1: 31" "0102030405060708,000102030405060708090a0b0c0d0e0"
	bad_keys "length of no key" "bad.keys:1: 5 bytes" "0102030405060708,0001020304"
	bad_keys "too many fields" "bad.keys:2: more than" "$good" "$good,,,"
	bad_keys "quotation" "bad.keys:2: a quotation" "$good" "\"0102030405060708,$good"
	bad_keys "no list line" "bad.keys:2: neither" "$good" "and so on"
	bad_keys "number too long" "bad.keys:1: before" "12345678901234567=00"
	bad_keys "log: session id" "bad.keys:3: Session Id is not 8" "" "Session Id    [0000] 01 02" "x"
	bad_keys "log: signing key" "bad.keys:3: Signing Key is not 16" \
		"Session Id    [0000] 01 02 03 04 05 06 07 08" "Signing Key   [0000] 01 02 03 04 05 06 07 08" ""
	bad_keys "log: cut" "bad.keys:2: Session Key is not" "Session Id    [0000] 01 02 03 04 05 06 07 08" "Session Key   [0000] 01 0"
	bad_keys "log: no hexadecimal digit" "bad.keys:1: a dump" "Session Id    [0000] 01 0X 03 04 05 06 07 08"
	bad_keys "log: ids alone" "no keys" "Session Id    [0000] 01 02 03 04 05 06 07 08"
}

# 32 bytes take two lines, and what stands beside them as text is not read.
test_long_dump() {
	cat >"$scratch/long.log" <<-'END'
		Session Id    [0000] 01 00 00 00 00 00 00 00                             ........
		Session Key   [0000] 00 01 02 03 04 05 06 07   08 09 0A 0B 0C 0D 0E 0F   ........ ........
		[0010] 41 20 41 20 41 20 41 20   41 20 41 20 41 20 41 20   A A A A  A A A A 
	END
	check "log: a key of 32 bytes" complains 2 "nothing was verified" "$data/smb30-cmac.pcap" --keys "$scratch/long.log"
	sed -i '3s/41 20 41 20 41 20 41 20 /41 20 41 20 41             /2' "$scratch/long.log"
	check "log: one of 29" complains 2 "long.log:3: Session Key is not" "$data/smb30-cmac.pcap" --keys "$scratch/long.log"
}

test_bad_users() {
	capture=$data/smb30-cmac.pcap
	for value in name '%password' 'DOMAIN\%password' ''; do
		check "--user '$value'" complains 2 "NAME%PASSWORD" "$capture" --user "$value"
	done
	check "--user in Latin-1" complains 2 "not UTF-8" "$capture" --user "$(printf 'J\366rg%%x')"
	check "--user of a long password" exits 2 "$capture" --user "x%$(printf '%0300d' 0)"
	check "another user" complains 2 "--user nobody: no session of that user's; there are sessions of WORKGROUP\\smb3signtest" \
		"$capture" --user 'nobody%x'
	check "another domain" complains 2 "no session of that user's" "$capture" --user "OTHER\\$user"
	check "another password" complains 2 "WORKGROUP\\smb3signtest has another password" "$capture" --user 'smb3signtest%x'
	check "another password, then the right one" exits 0 "$capture" --user 'smb3signtest%x' --user "$user"
	check "the proof is checked" test ! -s "$scratch/err"
}

# ---- Users that the captures do not have

# logon NAME VARIANT: a capture of one NTLMv2 logon of Jörg with the password Gr€€n😀, signed by HMAC under SMB 2.1.
logon() {
	PYTHONPATH=$here python3 "$here/make_logon.py" "$@"
}

test_made_logons() {
	jorg='jörg%Gr€€n😀'
	for variant in spnego bare no-key-exchange; do
		logon "$scratch/logon.pcap" $variant
		check "made logon: $variant" exits 0 "$scratch/logon.pcap" --user "$jorg"
		check "made logon: $variant: two are OK" test "$(grep -c 'OK$' "$scratch/out")" -eq 2
		check "made logon: $variant: wrong password" complains 2 "Jörg has another password" "$scratch/logon.pcap" --user 'JÖRG%x'
	done
	logon "$scratch/logon.pcap" ntlmv1
	check "made logon: NTLMv1" complains 2 "Jörg used NTLMv1" "$scratch/logon.pcap" --user "$jorg"
	logon "$scratch/logon.pcap" outside
	check "made logon: a field outside the message" complains 2 "malformed NTLM" "$scratch/logon.pcap" --user "$jorg"
	logon "$scratch/logon.pcap" kerberos
	check "made logon: no NTLM" complains 2 "without a whole NTLM exchange" "$scratch/logon.pcap" --user "$jorg"
	logon "$scratch/logon.pcap" control
	check "made logon: a name that would speak to the terminal" complains 2 "sessions of W\\J?rg" "$scratch/logon.pcap" --user 'x%y'
}

# ---- The filter

# lines ARGUMENT...: how many messages are shown of the capture.
lines() {
	exits 0 "$data/smb311-gmac.pcap" $(options_of smb311-gmac.pcap) "$@" || return
	grep -c ' mid ' "$scratch/out"
}

test_filter() {
	lines >"$scratch/n"
	cp "$scratch/out" "$scratch/all"
	sid=$(awk '/ OK$/ { print $9; exit }' "$scratch/all")
	check "filter: everything" test "$(lines -f mid=0-0xffffffffffffffff)" -eq "$(cat "$scratch/n")"
	check "filter: a command" test "$(lines -f command=read)" -eq "$(grep -c ' READ ' "$scratch/all")"
	check "filter: two" test "$(lines -f command=READ -f command=WRITE)" -eq "$(grep -Ec ' (READ|WRITE) ' "$scratch/all")"
	check "filter: a connection" test "$(lines -f connection=2)" -eq "$(grep -Ec '#2 [CS]>' "$scratch/all")"
	check "filter: only its own connection is named" test "$(grep -c '^#' "$scratch/out")" -eq 1
	check "filter: connections" test "$(lines -f connection=2-3)" -eq "$(grep -Ec '#[23] [CS]>' "$scratch/all")"
	check "filter: a message" test "$(lines -f "connection=1,mid=4")" -eq "$(grep -c '#1 .* mid 4 ' "$scratch/all")"
	lines -f "session=$sid,command=CREATE" >"$scratch/m"
	check "filter: a session" test "$(cat "$scratch/m")" -eq "$(grep -c " CREATE .*$sid" "$scratch/all")"
	grep ' mid ' "$scratch/out" >"$scratch/shown"
	grep " CREATE .*$sid" "$scratch/all" >"$scratch/expected"
	check "filter: its lines are those of the whole report" cmp "$scratch/shown" "$scratch/expected"
	check "filter: the others are counted" grep -q "^filtered out: $(($(cat "$scratch/n") - $(cat "$scratch/m"))) messages" \
		"$scratch/out"
	check "filter: nothing fits" complains 2 "no message fits" "$data/smb311-gmac.pcap" -f connection=99
	for value in '' session command=FOO mid=x mid=5-4 mid=1- mid=-1 'mid= 1' session=0x mid=99999999999999999999 \
		"mid=1,mid=2" "connection=1," host=1; do
		check "filter: '$value'" complains 2 "-f: " "$data/smb311-gmac.pcap" -f "$value"
	done
}

# ---- Terminals, which script(1) makes

on_terminal() {
	TERM=xterm script -qec "'$command' verify-pcap '$data/smb30-cmac.pcap' --keys '$scratch/keys' -f command=READ" /dev/null \
		</dev/null >"$scratch/out" 2>"$scratch/err"
}

test_colours() {
	command -v script >/dev/null || { echo "NOT TESTED, for want of script(1): colours"; return; }
	green=$(printf '\033\\[32mOK\033\\[0m')
	converted smb30-cmac.pcap wireshark >"$scratch/keys"
	on_terminal
	check "colours on a terminal" grep -q "$green" "$scratch/out"
	NO_COLOR=1 on_terminal
	check "NO_COLOR" test "$(grep -c "$(printf '\033')" "$scratch/out")" -eq 0
	check "NO_COLOR: the line is there" grep -q ' OK' "$scratch/out"
	exits 0 "$data/smb30-cmac.pcap" --keys "$scratch/keys"
	check "no colours in a file" test "$(grep -c "$(printf '\033')" "$scratch/out")" -eq 0
}

test_stdin() {
	"$command" verify-pcap "$data/smb30-cmac.pcap" $(options_of smb30-cmac.pcap) >"$scratch/report"
	for form in ethernet pcapng; do
		python3 "$here/make_pcap.py" rewrite $form "$data/smb30-cmac.pcap" "$scratch/form"
		"$command" verify-pcap - $(options_of smb30-cmac.pcap) <"$scratch/form" >"$scratch/out"
		check "standard input, $form" cmp "$scratch/report" "$scratch/out"
	done
}

test_sources
test_explained
test_logs
test_bad_files
test_long_dump
if [ "$with_users" = yes ]; then
	test_bad_users
	test_made_logons
else
	check "--user says what it needs" complains 2 "built without nettle" "$data/smb30-cmac.pcap" --user "$user"
fi
test_filter
test_colours
test_stdin
conclude
