#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: test_symbols.sh NM READELF SOURCE_DIR SHARED_LIBRARY
# The shared library exports the functions of smb3sign.h, all of them and nothing else, as libsmb3sign.map lists them, under
# the soname and the version node of its version; and it needs nothing but libc.
set -u
nm=$1 readelf=$2 src=$3 lib=$4
header=$src/include/smb3sign.h
map=$src/src/libsmb3sign.map
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

sed -n 's/.*\(smb3sign_[a-z0-9_]*\)(.*/\1/p' >"$work/header" <<END
$(grep '^SMB3SIGN_API' "$header")
END
sed -n 's/^[[:space:]]*\(smb3sign_[a-z0-9_]*\);$/\1/p' "$map" >"$work/map"
"$nm" -D --defined-only "$lib" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' >"$work/lib"
for list in header map lib; do
	sort -o "$work/$list" "$work/$list"
	[ -s "$work/$list" ] || { echo "no symbols in $list"; exit 1; }
done
diff -u "$work/header" "$work/map" || { echo "smb3sign.h and libsmb3sign.map differ"; status=1; }
diff -u "$work/header" "$work/lib" || { echo "smb3sign.h and $lib differ"; status=1; }

number() {
	sed -n "s/^#define SMB3SIGN_VERSION_$1 *//p" "$header"
}
abi=$(number MAJOR).$(number MINOR)
"$readelf" -d "$lib" | grep -q "(SONAME).*\[libsmb3sign\.so\.$abi\]" || { echo "soname is not of $abi"; status=1; }
"$nm" -D --defined-only "$lib" | awk -v node="SMB3SIGN_$abi" '
	$2 != "A" && $3 !~ "@@?" node "$" { print $3 " is not of " node; bad = 1 } END { exit bad }' || status=1

needed=$("$readelf" -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
case $needed in
*san.so*) echo "built with a sanitizer, which brings libraries of its own: $needed" ;;
*)
	others=$(printf '%s\n' "$needed" | grep -Ev '^(libc|ld-linux[^.]*)\.so' | grep .)
	[ -z "$others" ] || { echo "needs $others"; status=1; }
	;;
esac
exit $status
