#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The smb3sign command from outside:
#
#     test_tool.sh COMMAND DATA      COMMAND: the built program; DATA: the folder of the captures and their keys.txt
#
# shellcheck disable=SC2046,SC2086 # options in variables and from functions are words on purpose
#
# Says what it checks, counts failures and exits with 1 if there are any. Needs python3, which makes further captures
# out of those in DATA (make_pcap.py).
command=$1 subcommand=
data=$2
. "$(dirname "$0")/checks.sh"

# For `check`: smb3sign exits so, and says so.
exits_and_prints() {
	expected_text=$2
	expected_status=$1
	shift 2
	exits "$expected_status" "$@" && grep -qF -- "$expected_text" "$scratch/out"
}

prints_line() {
	line=$1
	shift
	exits 0 "$@" && [ "$(cat "$scratch/out")" = "$line" ]
}

python() {
	python3 - "$@"
}

unhex() {
	python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))'
}

# patch FILE OFFSET XOR NEW: a copy in NEW with the byte at OFFSET changed.
patch() {
	python "$@" <<-'END'
		import sys
		data = bytearray(open(sys.argv[1], "rb").read())
		data[int(sys.argv[2])] ^= int(sys.argv[3], 0)
		open(sys.argv[4], "wb").write(data)
	END
}

# ---- Usage

test_usage() {
	check "no command" complains 2 "which command"
	check "unknown command" complains 2 "no command 'sing'" sing
	check "--help" exits_and_prints 0 "verify-pcap" --help
	check "--version" exits_and_prints 0 "smb3sign 0." --version
	for c in sign verify verify-pcap derive cpu selftest; do
		check "$c --help" exits_and_prints 0 "Usage: smb3sign $c" "$c" --help
		check "$c --nonsense" complains 2 "nonsense" "$c" --nonsense
	done
	if "$command" explain --help | grep -q Usage; then
		test_usage_of_explain
	else
		check "built without explain: says so" complains 2 "Nettle" explain x
		check "built without explain: --explain too" complains 2 "Nettle" verify-pcap --explain x
	fi
	check "cpu" exits 0 cpu
	check "cpu says something" test -s "$scratch/out"
	check "cpu takes no argument" exits 2 cpu now
	check "selftest" exits_and_prints 0 "OK" selftest
	key=00112233445566778899aabbccddeeff
	: >"$scratch/empty"
	for c in sign verify; do
		check "$c: no file" complains 2 "FILE" $c --alg cmac --key $key
		check "$c: two files" complains 2 "FILE" $c --alg cmac --key $key a b
		check "$c: no key" complains 2 "--key" $c --alg cmac a
		check "$c: wrong algorithm" complains 2 "--alg" $c --alg md5 --key $key a
		check "$c: short key" complains 2 "--key" $c --alg cmac --key 0011 a
		check "$c: long key" complains 2 "--key" $c --alg cmac --key ${key}00 a
		check "$c: odd digits" complains 2 "--key" $c --alg cmac --key 001 a
		check "$c: no hexadecimal" complains 2 "--key" $c --alg cmac --key ${key%f}g a
		check "$c: file is missing" complains 2 "missing" $c --alg cmac --key $key "$scratch/missing"
		check "$c: file is empty" complains 2 "empty" $c --alg cmac --key $key "$scratch/empty"
	done
	check "verify has no --output" complains 2 "--output" verify --alg cmac --key $key --output x y
	d="derive --use signing --session-key $key"
	check "derive: no dialect" complains 2 "--dialect" $d
	check "derive: unknown dialect" complains 2 "--dialect" $d --dialect 3.1
	check "derive: unknown use" complains 2 "--use" derive --use sign
	check "derive: 3.1.1 without hash" complains 2 "--preauth" $d --dialect 3.1.1
	check "derive: hash without 3.1.1" complains 2 "--preauth" $d --dialect 3.0 \
		--preauth $key$key$key$key
	check "derive: short hash" complains 2 "--preauth" $d --dialect 3.1.1 --preauth $key
	check "derive: 15 bytes" complains 2 "--session-key" derive --session-key ${key%ff}
	check "derive: length" complains 2 "--length" $d --dialect 3.0 --length 24
	check "derive: signing keys have 16 bytes" complains 2 "3.0" $d --dialect 3.0 --length 32
	check "derive: 2.1 has no ciphers" exits 2 derive --use c2s --session-key $key --dialect 2.1
	check "verify-pcap: two captures" complains 2 "unexpected argument 'b'" verify-pcap a b
	check "verify-pcap: no capture" complains 2 "CAPTURE" verify-pcap --session-key $key
	check "verify-pcap: bad key" complains 2 "--session-key" verify-pcap --session-key 1=xy c
	check "verify-pcap: 9 bytes" complains 2 "--session-key" verify-pcap --session-key 1=112233445566778899 c
	check "verify-pcap: bad id" complains 2 "--session-key" verify-pcap --session-key 0y1=$key c
	check "verify-pcap: no id" complains 2 "--session-key" verify-pcap --session-key "=$key" c
	check "verify-pcap: long id" complains 2 "--session-key" verify-pcap --session-key 11223344556677889=$key c
	check "verify-pcap: short signing key" complains 2 "--signing-key" verify-pcap --signing-key 0011 c
	check "verify-pcap: file is missing" complains 2 "missing" verify-pcap "$scratch/missing"
	check "verify-pcap: file is empty" complains 2 "empty" verify-pcap "$scratch/empty"
}

# Its findings are plant_mistakes.py's matter.
test_usage_of_explain() {
	key=00112233445566778899aabbccddeeff
	e="explain --alg cmac --key $key"
	check "explain --help" exits_and_prints 0 "Usage: smb3sign explain" explain --help
	check "explain --nonsense" complains 2 "nonsense" explain --nonsense
	check "explain: no file" complains 2 "FILE" $e
	check "explain: no key" complains 2 "--key or --session-key" explain --alg cmac x
	check "explain: no algorithm" complains 2 "--alg" explain --key $key x
	check "explain: no algorithm for 3.1.1" complains 2 "--alg" explain --dialect 3.1.1 --session-key $key x
	check "explain: no dialect" complains 2 "--dialect" explain --alg cmac --session-key $key x
	check "explain: unknown dialect" complains 2 "--dialect" explain --dialect 3.1 --session-key $key x
	check "explain: short hash" complains 2 "--preauth" $e --preauth $key x
	check "explain: channel without session" complains 2 "--session-key" $e --channel-key $key x
	check "explain: file is missing" complains 2 "missing" $e "$scratch/missing"
	: >"$scratch/empty"
	check "explain: file is empty" complains 2 "empty" $e "$scratch/empty"
	printf 'no message' >"$scratch/text"
	check "explain: no message" complains 2 "offset 0" $e "$scratch/text"
	check "explain: no message to hash" complains 2 "text" explain --dialect 3.1.1 --alg cmac \
		--session-key $key --message "$scratch/text" x
	check "verify-pcap --explain: no capture" complains 2 "CAPTURE" verify-pcap --explain
	check "verify-pcap --json: file is missing" complains 2 "missing" verify-pcap --json "$scratch/missing"
}

# ---- Messages

# Name, algorithm, key, message with its signature.
#   smb-rs          afiffon/smb-rs crates/smb/src/session/signer.rs, a captured LOGOFF request
#   smbj            hierynomus/smbj PacketSignatoryTest.java
#   SMBLibrary      TalAloni/SMBLibrary SMB2SigningTests.cs
#   blog            Microsoft, "SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and cryptographic keys",
#                   SMB 3.1.1: the final SESSION_SETUP response, and that of the second channel
published() {
	cat <<-'END'
		smb-rs gmac ac36e9543cd888f0a84123e46bb2a0d7 fe534d424000010000000000020001001800000000000000090000000000000000000000000000005320 0c210000000076234b3c812f51ab8a5cf9fa43d4eb2804000000
		smbj hmac 75c5cb91419e3a45ce9ef869dfd3e2a8 fe534d4240001000060000800e002000090000000000000015000000000000000000000001000000250000000024000046efdd50d6cdaa25bac7c4b5d49a0e08090000000000000005
		SMBLibrary hmac d38354cc374339f0524f789146789921 fe534d4240000100280100c00b00070009000000000000000400000000000000fffe0000010000000100000000040000fbd284340324c62fbebb65dd1051f3ae0900000000000000ff
		blog cmac 73fe7a9a77bef0bde49c650d8ccb5f76 fe534d4240000100000000000100800009000000000000000300000000000000fffe0000000000001900000000100000ebe146da120ba25fc3376a49dfe31bc10900000048001d00a11b3019a0030a0100a3120410010000003b453cdc3524164200000000
		blog-2 cmac c962bca1a9dd1697b030644199705431 fe534d4240000100000000000100800009000000000000000300000000000000fffe00000000000019000000001000008d604217ffbacf40635bf9d8729921500900000048001d00a11b3019a0030a0100a312041001000000cfb046fc5d368e2200000000
	END
}

# One of them forth and back.
test_message() {
	name=$1
	alg=$2
	key=$3
	m=$scratch/message
	verify="verify --alg $alg --key $key"
	sign="sign --alg $alg --key $key"

	printf '%s' "$4" | unhex >"$m"
	check "$name: verify" exits_and_prints 0 " OK" $verify "$m"
	if "$command" explain --help >/dev/null 2>&1; then
		check "$name: nothing to explain" exits_and_prints 0 " OK" explain --alg "$alg" --key "$key" "$m"
	fi
	check "$name: another key" exits_and_prints 1 " BAD" verify --alg "$alg" --key "${key%?}e" "$m"
	for at in 7 40 48 63 64 $(($(wc -c <"$m") - 1)); do
		patch "$m" "$at" 0x01 "$m.bad"
		check "$name: byte $at changed" exits_and_prints 1 " BAD" $verify "$m.bad"
	done
	patch "$m" 16 0x08 "$m.bad"
	check "$name: flag cleared" exits_and_prints 1 " UNSIGNED" $verify "$m.bad"
	# The flag and the signature are what sign writes.
	patch "$m.bad" 50 0xff "$m.bad"
	check "$name: sign" exits 0 $sign "$m.bad"
	check "$name: sign gives the published signature" cmp -s "$scratch/out" "$m"
	check "$name: sign --output" exits 0 $sign --output "$scratch/new" "$m.bad"
	check "$name: nothing on standard output" test ! -s "$scratch/out"
	check "$name: in the file" cmp -s "$scratch/new" "$m"
	check "$name: sign in place" exits 0 $sign --output "$m.bad" "$m.bad"
	check "$name: in the same file" cmp -s "$m.bad" "$m"
	"$command" $sign - <"$m" 2>"$scratch/err" | "$command" $verify - >"$scratch/out" 2>>"$scratch/err"
	check "$name: through a pipe" grep -q " OK" "$scratch/out"
}

test_messages() {
	published >"$scratch/published"
	while read -r name alg key hex; do
		test_message "$name" "$alg" "$key" "$(printf '%s' "$hex" | tr -d ' ')"
	done <"$scratch/published"
	check "five published messages" test "$(wc -l <"$scratch/published")" -eq 5
	test_compound
	test_refusals
}

# Two elements under one key: the first 128 bytes long with padding, the second RELATED. Computed for this project with
# three implementations that agreed.
test_compound() {
	key=73fe7a9a77bef0bde49c650d8ccb5f76
	c=$scratch/compound
	{
		echo fe534d4240000100000000000500010008000000800000000a00000000000000fffe0000010000001900000000100000
		echo a08466fe8a65158f3bc3c6ab27d151823900000000000000000000000000000000000000000000000000000000000000
		echo 0000000000000000000000000000000000000000000000000000000000000000
		echo fe534d424000010000000000060001000c000000000000000b00000000000000fffe0000010000001900000000100000
		echo c39c57d9b2d9c9373fefc9d3a5397caa180000000000000000000000000000000000000000000000
	} | unhex >"$c"
	check "compound: verify" exits 0 verify --alg cmac --key $key "$c"
	check "compound: two messages" test "$(grep -c ' OK' "$scratch/out")" -eq 2
	check "compound: sign" exits 0 sign --alg cmac --key $key "$c"
	check "compound: same bytes" cmp -s "$scratch/out" "$c"
	patch "$c" 127 0x01 "$c.bad"
	check "compound: padding changed" exits 1 verify --alg cmac --key $key "$c.bad"
	check "compound: first BAD" grep -q "^offset 0 .* BAD" "$scratch/out"
	check "compound: second OK" grep -q "^offset 128 .* OK" "$scratch/out"
	patch "$c" 20 0x01 "$c.bad"
	check "compound: NextCommand past the next header" \
		complains 2 "offset 129" verify --alg cmac --key $key "$c.bad"
	patch "$c" 23 0x80 "$c.bad"
	check "compound: NextCommand past the end" complains 2 "offset 0" verify --alg cmac --key $key "$c.bad"
}

test_refusals() {
	key=73fe7a9a77bef0bde49c650d8ccb5f76
	m=$scratch/refused
	# SessionId 0, then no SMB2 at all.
	patch "$scratch/message" 45 0x10 "$m"
	patch "$m" 40 0x19 "$m"
	echo kept >"$scratch/kept"
	check "no session: sign" exits 1 sign --alg cmac --key $key --output "$scratch/kept" "$m"
	check "no session: the file is as it was" grep -qx kept "$scratch/kept"
	check "no session: verify" exits_and_prints 1 "EXEMPT (no session)" verify --alg cmac --key $key "$m"
	patch "$scratch/message" 0 0x01 "$m"
	check "no SMB2: sign" complains 2 "refused" sign --alg cmac --key $key --output "$scratch/kept" "$m"
	check "no SMB2: the file is as it was" grep -qx kept "$scratch/kept"
	check "no SMB2: verify" complains 2 "offset 0" verify --alg cmac --key $key "$m"
	check "a folder that is missing" exits 2 sign --alg cmac --key $key --output "$scratch/no/x" "$scratch/message"
	check "to a device" exits 0 sign --alg cmac --key $key --output /dev/null "$scratch/message"
	check "the device is one still" test -c /dev/null
	ln -s kept "$scratch/link"
	check "through a symbolic link" exits 0 sign --alg cmac --key $key --output "$scratch/link" "$scratch/message"
	check "the link is one still" test -L "$scratch/link"
	check "and the file behind it is written" test "$(wc -c <"$scratch/kept")" -eq "$(wc -c <"$scratch/message")"
	check "nothing temporary is left" test -z "$(find "$scratch" -name '*.??????')"
	if [ -c /dev/full ]; then
		"$command" sign --alg cmac --key $key "$scratch/message" >/dev/full 2>"$scratch/err"
		check "a full disk" test $? -eq 2
	fi
}

# ---- Derivation: [blog] as above; swift is the public Swift test "testKDF", pike is emc-isilon/pike.

test_derive() {
	hash=0dd13628cc3ed218ef9df9772d436d0887ab9814bfae63a80aa845f36909db7928622dddad522d9751640a459762c5a9d6bb084cbb3ce6bdadef5d5bce3c6c01
	d311="derive --dialect 3.1.1 --session-key 270e1ba896585eeb7af3472d3b4c75a7"
	d30="derive --dialect 3.0 --session-key 7cd451825d0450d235424e44ba6e78cc"
	check "3.1.1 signing (blog)" prints_line 73fe7a9a77bef0bde49c650d8ccb5f76 $d311 --use signing --preauth $hash
	check "3.1.1 c2s (blog)" prints_line 629bcbc54422a0f572b97f45989b6073 $d311 --use c2s --preauth $hash
	check "3.1.1 s2c (blog)" prints_line e2af0dcefac68da71a0dfbd0d1350d74 $d311 --use s2c --preauth $hash
	check "3.1.1 application (blog)" prints_line 6d7ad7954e9ec61e907b4d473dc178ff $d311 --use application --preauth $hash
	check "3.1.1 second channel (blog)" prints_line c962bca1a9dd1697b030644199705431 derive --dialect 3.1.1 --use signing \
		--session-key 84b9dbb730116a8fa6e9889555c265f9 --preauth \
		ea3bf912b11cbfec5b1889e8209614218687f82fa5294521ad3063425e49e88a10bd022124ce25123bc9111f52d9566ba88bf46344e6063dc5e3ff0389026f6c
	check "3.0 signing (blog)" prints_line 0b7e9c5cac36c0f6ea9ab275298cedce $d30 --use signing
	check "3.0 c2s (blog)" prints_line fad27796665b313ebb578f388632b4f7 $d30 --use c2s
	check "3.0 s2c (blog)" prints_line b0f0427f7ceb416d1d9dcc0cd4f99447 $d30 --use s2c
	check "3.0 application (blog)" prints_line bb23a4575aa26c721af525af15a87b4f $d30 --use application
	check "3.0.2 c2s (pike)" prints_line 261b72350558f2e9dcf613070383edbf \
		derive --dialect 3.0.2 --use c2s --session-key b4546771b515f766a86735532dd6c4f0
	check "3.1.1 c2s, 32 bytes (swift)" prints_line c273f0de35671e766ef5106b605054d70385f9237f1327662763de8ac2444317 \
		$d311 --use c2s --length 32 --preauth \
		000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f
	for dialect in 2.0.2 2.1; do
		for use in signing application; do
			check "$dialect $use is the session key" prints_line 00112233445566778899aabbccddeeff \
				derive --dialect $dialect --use $use --session-key 00112233445566778899AABBCCDDEEFF
		done
	done
	# Computed for this project: GSS keys of other lengths.
	check "a session key of 32 bytes" prints_line 8d4e96512d0f1da5e012141bc918709a derive --dialect 3.1.1 --use signing \
		--session-key 0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20 --preauth $hash
	check "an anonymous session" prints_line 9951088b83220f39d99420419d16d393 \
		derive --dialect 3.0 --use signing --session-key ""
	# The messages themselves; the final response is among them and does not count.
	python "$here" "$scratch" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		import make_pcap
		messages = make_pcap.vector_messages(sys.argv[1] + "/vectors.h")
		names = ["negotiate-request", "negotiate-response", "session-setup-request-1", "session-setup-response-1",
		         "session-setup-request-2", "final-session-setup-response"]
		for i, name in enumerate(names, 1):
		    open(f"{sys.argv[2]}/leg{i}", "wb").write(messages["ms-blog-311-c1-" + name])
	END
	set -- --message "$scratch/leg1" --message "$scratch/leg2" --message "$scratch/leg3" --message "$scratch/leg4"
	check "3.1.1 from the messages (blog)" \
		prints_line 73fe7a9a77bef0bde49c650d8ccb5f76 $d311 --use signing "$@" --message "$scratch/leg5"
	check "the final response is left out" prints_line 73fe7a9a77bef0bde49c650d8ccb5f76 $d311 --use signing "$@" \
		--message "$scratch/leg5" --message "$scratch/leg6"
	check "which is said" grep -q "leg6.*left out" "$scratch/err"
	check "another order is another key" exits 0 $d311 --use signing --message "$scratch/leg5" "$@"
	check "really" test "$(cat "$scratch/out")" != 73fe7a9a77bef0bde49c650d8ccb5f76
	check "what is no SMB2 is not hashed" \
		complains 2 "published" $d311 --use signing --message "$scratch/published"
}

# ---- Captures

# The options for a capture, one a line, from keys.txt: FILE SESSIONID KEY [bind:PORT].
key_options() {
	awk -v file="$1" '$1 == file { print "--session-key"; print $2 "=" $3 }' "$data/keys.txt"
}

# count VERDICT [SESSION]: messages with this verdict in $scratch/out.
count() {
	awk -v verdict="$1" -v session="${2-}" '
		/^ *[0-9]+ +[0-9]+\.[0-9]+ #/ {
			for (i = 1; i <= NF && $i != "sid"; i++)
				;
			if ($(i + 3) == verdict && (session == "" || $(i + 1) == "0x" session))
				n++
		}
		END { print n + 0 }' "$scratch/out"
}

# A figure of the table in keys.txt: a heading "# conns all signed ...", then "# FILE" and as many figures.
expected() {
	awk -v file="$1" -v column="$2" '
		$1 == "#" && $2 == "conns" { for (i = 2; i <= NF; i++) at[$i] = i + 1 }
		$1 == "#" && $2 == file && column in at { print $at[column]; found = 1 }
		END { if (!found) print "no-figure" }' "$data/keys.txt"
}

# is VALUE NAME...: the sum of these figures for $file
is() {
	value=$1
	shift
	sum=0
	for column; do
		figure=$(expected "$file" "$column")
		case $figure in
		*[!0-9]*) return 1 ;;
		esac
		sum=$((sum + figure))
	done
	[ "$value" -eq "$sum" ] || {
		echo "    $value, expected $sum"
		return 1
	}
}

# The summary's "total" row is what the lines say.
total_is() {
	set -- "$1" $(grep '^total' "$scratch/out")
	[ "$3 $4 $7 $8" = "$1" ]
}

# With one bit of every key of one session changed nothing of that session is OK, and the others are as before.
test_wrong_key() {
	file=$1
	session=$2
	before=$3
	all=$4
	key_options "$file" | awk -v session="$session=" '
		index($0, session) == 1 {
			digit = substr($0, length(session) + 1, 1)
			n = index("0123456789abcdef", digit) - 1
			n = n % 2 ? n - 1 : n + 1
			$0 = session substr("0123456789abcdef", n + 1, 1) substr($0, length(session) + 2)
		}
		{ print }' >"$scratch/options"
	exits 1 verify-pcap $(cat "$scratch/options") "$data/$file" || return
	[ "$before" -gt 0 ] && [ "$(count OK "$session")" -eq 0 ] && [ "$(count BAD "$session")" -eq "$before" ] &&
		[ "$(count OK)" -eq $((all - before)) ]
}

test_capture() {
	file=$1
	check "$file: verify" exits 0 verify-pcap $(key_options "$file") "$data/$file"
	cp "$scratch/out" "$scratch/$file.out"
	ok=$(count OK)
	echo "    $file: $ok OK, $(count BAD) BAD, $(count UNSIGNED) UNSIGNED, $(count EXEMPT) EXEMPT, $(count ECHO) ECHO," \
		"$(count NO-KEY) NO-KEY"
	check "$file: there are signed messages" test "$ok" -gt 0
	check "$file: all of them are OK" is "$ok" signed rebind
	check "$file: none is BAD" test "$(count BAD)" -eq 0
	check "$file: ECHO" is "$(count ECHO)" echo
	check "$file: NO-KEY" is "$(count NO-KEY ffffffffffffffff)" no-sid
	check "$file: UNSIGNED and EXEMPT" is $(($(count UNSIGNED) + $(count EXEMPT))) negot setup interim break
	check "$file: all messages" is "$(grep -c ' mid ' "$scratch/out")" all
	check "$file: encrypted frames" is "$(sed -n 's/^not verified: \([0-9]*\) encrypted.*/\1/p' "$scratch/out")" encr
	check "$file: connections" is "$(grep -c '^#[0-9]* is ' "$scratch/out")" conns
	check "$file: summary" total_is "$ok 0 $(count ECHO) $(count NO-KEY)"
	check "$file: --quiet" exits 0 verify-pcap --quiet $(key_options "$file") "$data/$file"
	check "$file: --quiet is the summary only" test "$(wc -l <"$scratch/out")" -eq 7
	check "$file: no key at all" complains 2 "nothing was verified" verify-pcap "$data/$file"
	check "$file: a key for nobody" complains 0 "no session 0x0000000000000001" \
		verify-pcap $(key_options "$file") --session-key 1=00112233445566778899aabbccddeeff "$data/$file"
	for session in $(awk -v file="$file" '$1 == file { print $2 }' "$data/keys.txt" | sort -u); do
		session=$(printf %016x "0x$session")
		cp "$scratch/$file.out" "$scratch/out"
		check "$file: one bit of the key of $session" test_wrong_key "$file" "$session" "$(count OK "$session")" "$ok"
	done
}

test_captures() {
	files=$(awk '!/^#/ && NF { print $1 }' "$data/keys.txt" | sort -u)
	check "there are captures" test -n "$files"
	for file in $files; do
		test_capture "$file"
	done
}

# ---- The same traffic in other forms

# What verify-pcap says, without packet numbers and times; the connections' names differ where the addresses do.
normal() {
	grep '^ *[0-9]* *[0-9]*\.[0-9]* #' "$1" | sed 's/^ *[0-9]* *[0-9.]* //' | sort
}

rewrite() {
	python3 "$here/make_pcap.py" rewrite "$1" "$2" "$scratch/rewritten.pcap"
}

# same FORM CAPTURE STATUS: verify-pcap says the same of the rewritten capture as $scratch/reference does.
same() {
	rewrite "$1" "$2" || return
	exits "$3" verify-pcap $(cat "$scratch/keys") "$scratch/rewritten.pcap" || return
	normal "$scratch/out" >"$scratch/normal"
	cmp -s "$scratch/normal" "$scratch/reference"
}

# forms CAPTURE STATUS: its keys are in $scratch/keys, one word a line.
test_forms() {
	capture=$1
	status=$2
	name=$(basename "$capture")
	check "$name as it is" exits "$status" verify-pcap $(cat "$scratch/keys") "$capture"
	normal "$scratch/out" >"$scratch/reference"
	check "$name has messages" test -s "$scratch/reference"
	expected_status=$status
	for form in ethernet vlan qinq sll sll2 raw ipv4 null loop options pcapng ipv6 ipv6ext rawipv6 \
		split:1 split:2 split:3 split:4 split:5 split:6 split:7 split:63 split:1460 \
		shuffle retransmit overlap wrap split:100,shuffle split:100,overlap,wrap,retransmit \
		split:9,overlap,wrap,retransmit,shuffle,ipv6ext split:1460,overlap,retransmit,shuffle,sll2; do
		check "$name: $form" same "$form" "$capture" "$status"
	done
	check "$name: aeons" same aeons,pcapng "$capture" "$status"
	check "$name: aeons pass forwards" grep -q '^ *[0-9]* [0-9]\{13\}\.[0-9]* #' "$scratch/out"
	"$command" verify-pcap $(cat "$scratch/keys") - <"$capture" >"$scratch/out" 2>"$scratch/err"
	check "$name: from standard input" test $? -eq "$status"
	normal "$scratch/out" >"$scratch/normal"
	check "$name: the same" cmp -s "$scratch/normal" "$scratch/reference"
}

# damaged FORM CAPTURE TEXT: exit status 2, the complaint says where, and nothing is BAD that was OK.
damaged() {
	rewrite "$1" "$2" || return
	exits 2 verify-pcap $(cat "$scratch/keys") "$scratch/rewritten.pcap" || return
	grep -q "$3" "$scratch/err" || return
	normal "$scratch/out" >"$scratch/normal"
	# Only messages of the reference; NO-KEY where the key went with what is missing.
	[ -z "$(grep -v NO-KEY "$scratch/normal" | grep ' BAD' | comm -23 - "$scratch/reference")" ]
}

at_least_ok() {
	[ "$(count OK)" -ge "$1" ]
}

test_damage() {
	capture=$1
	name=$(basename "$capture")
	all=$(grep -c ' OK$' "$scratch/reference")
	check "$name: cut file" damaged cut:70 "$capture" "after packet [0-9]*, byte offset [0-9]*: .*truncated"
	check "$name: verified up to there" at_least_ok $((all / 2))
	check "$name: cut in the file's header" damaged_header "$capture"
	missing="packet [0-9]*, .*stream offset [0-9]*: [0-9]* bytes are not in the capture"
	check "$name: cut inside TCP data" damaged snaplen:300 "$capture" "$missing"
	check "$name: small messages verified" at_least_ok $((all / 4))
	check "$name: cut before the data" damaged snaplen:54 "$capture" "cut by the snapshot length"
	check "$name: cut in headers" damaged snaplen:40 "$capture" "packet 1: cut in its headers, at byte 40 of"
	check "$name: segments missing" damaged gap "$capture" "$missing"
	check "$name: the rest is verified" at_least_ok $((all * 8 / 10))
	check "$name: small segments missing" damaged split:50,gap "$capture" "$missing"
	check "$name: a fragment" damaged fragment "$capture" "packet 21: an IP fragment"
}

# What is malformed rather than missing: the byte that is `delta` behind the first occurrence of some bytes is changed.
malformed() {
	capture=$1
	bytes=$2
	delta=$3
	xor=$4
	text=$5
	at=$(python "$capture" "$bytes" <<-'END'
		import sys
		print(open(sys.argv[1], "rb").read().index(bytes.fromhex(sys.argv[2])))
	END
	) || return
	patch "$capture" $((at + delta)) "$xor" "$scratch/malformed.pcap"
	complains 2 "$text" verify-pcap $(cat "$scratch/keys") "$scratch/malformed.pcap"
}

test_malformed() {
	capture=$1
	name=$(basename "$capture")
	tree_connect=fe534d42400001000000000003000100
	check "$name: StructureSize" malformed "$capture" $tree_connect 4 0x01 "malformed header or NextCommand"
	check "$name: the rest is verified" at_least_ok 50
	check "$name: NextCommand" malformed "$capture" $tree_connect 22 0x01 "malformed header or NextCommand"
	check "$name: ProtocolId" malformed "$capture" $tree_connect 1 0x01 "bytes are no transport frame"
	check "$name: the rest is verified" at_least_ok 50
	# A server's SMB2_SIGNING_CAPABILITIES: HMAC-SHA256, where that and AES-CMAC were offered, becomes AES-GMAC. Then the
	# first server's become two ids.
	check "$name: not offered" malformed "$capture" 080004000000000001000000 10 0x02 "was not offered"
	check "$name: no key without algorithm" test "$(count NO-KEY)" -gt 15
	check "$name: two ids selected" malformed "$capture" 080004000000000001000100 8 0x03 "malformed signing capabilities"
}

damaged_header() {
	head -c 20 "$1" >"$scratch/cut.pcap"
	complains 2 "cut.pcap" verify-pcap "$scratch/cut.pcap"
}

test_forms_of_captures() {
	capture=$(ls "$data"/*.pcap | head -1)
	key_options "$(basename "$capture")" >"$scratch/keys"
	test_forms "$capture" 0
	test_damage "$capture"

	# SMB 2.x signs with the session key itself: given as signing key it serves without any session setup.
	capture=$(ls "$data"/*hmac*.pcap | head -1)
	key_options "$(basename "$capture")" | sed s/session-key/signing-key/ >"$scratch/keys"
	rewrite midstream:13 "$capture"
	check "in mid-stream: signing keys" exits 0 verify-pcap $(cat "$scratch/keys") "$scratch/rewritten.pcap"
	check "in mid-stream: messages are OK" at_least_ok 100
	rewrite split:40,midstream:100 "$capture"
	check "inside a frame" complains 2 "bytes skipped up to the next frame" \
		verify-pcap $(cat "$scratch/keys") "$scratch/rewritten.pcap"
	check "inside a frame: messages are OK" at_least_ok 100
}

# Microsoft's two channels: which key signs what in a bind.
test_blog() {
	python3 "$here/make_pcap.py" blog "$here/vectors.h" "$scratch/blog.pcap"
	one=270e1ba896585eeb7af3472d3b4c75a7
	two=84b9dbb730116a8fa6e9889555c265f9
	b=$scratch/blog.pcap
	sid=0x0000100000000019
	check "blog: both keys" exits 0 verify-pcap --session-key $sid=$one --session-key 100000000019=$two "$b"
	check "blog: five signed messages" test "$(count OK)" -eq 5
	check "blog: in the other order" exits 0 verify-pcap --session-key $sid=$two --session-key $sid=$one "$b"
	check "blog: five again" test "$(count OK)" -eq 5
	check "blog: without SESSIONID" exits 0 verify-pcap --session-key $two --session-key $one "$b"
	check "blog: five as well" test "$(count OK)" -eq 5
	check "blog: two keys behind one option" exits 0 verify-pcap "$b" --session-key $one $sid=$one $sid=$two
	check "blog: five with them" test "$(count OK)" -eq 5
	check "blog: first key only" exits 0 verify-pcap --session-key $sid=$one "$b"
	check "blog: no key for the second channel" test "$(count OK) $(count NO-KEY)" = "4 1"
	check "blog: second key only" exits 1 verify-pcap --session-key $sid=$two "$b"
	check "blog: the second channel's last response" test "$(count OK) $(count BAD)" = "1 4"
	check "blog: signing keys" exits 0 verify-pcap --signing-key $sid=73fe7a9a77bef0bde49c650d8ccb5f76 \
		--signing-key $sid=c962bca1a9dd1697b030644199705431 "$b"
	check "blog: five by them" test "$(count OK)" -eq 5
}

# Made up; every case of smb.c.
test_scenario() {
	python3 "$here/make_pcap.py" scenario "$scratch/scenario.pcap" >"$scratch/expect"
	awk '$1 == "key" { print "--session-key"; print $2 }' "$scratch/expect" >"$scratch/keys"
	check "scenario" exits 1 verify-pcap $(cat "$scratch/keys") "$scratch/scenario.pcap"
	for verdict in OK BAD UNSIGNED EXEMPT ECHO NO-KEY; do
		count $verdict
	done >"$scratch/counts"
	check "scenario: verdicts" test "expect $(paste -s -d ' ' "$scratch/counts")" = "$(grep expect "$scratch/expect")"
	check "scenario: frames counted" grep -q "1 encrypted, 1 compressed, 1 SMB1, 0 incomplete" "$scratch/out"
	check "scenario: the bind's first three messages have the session's algorithm" \
		test "$(grep -c '#2 .*SESSION_SETUP.*AES-CMAC *OK' "$scratch/out")" -eq 3
	test_forms "$scratch/scenario.pcap" 1
	test_malformed "$scratch/scenario.pcap"
}

test_usage
test_messages
test_derive
test_captures
test_forms_of_captures
test_blog
test_scenario
conclude
