#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: test_objects.sh NM READELF OBJECT...
# Every global name of the library begins with smb3sign_, so that a statically linked program cannot collide with it. And
# nothing is kept in variables, but for what cpu.c finds out about the processor.
set -u
nm=$1 readelf=$2
shift 2
status=0
[ $# -gt 0 ] || { echo "no objects"; exit 1; }

strangers=$("$nm" -g --defined-only "$@" | awk 'NF == 3 && $3 !~ /^_?smb3sign_/ { print $3 }')
[ -z "$strangers" ] || { echo "global names: $strangers"; status=1; }
[ "$("$nm" -g --defined-only "$@" | awk 'NF == 3 && $3 ~ /^_?smb3sign_/' | wc -l)" -ge 30 ] || { echo "too few names"; status=1; }

for object; do
	case $object in
	*/cpu.c.*) continue ;;
	esac
	# Sections that are written at run time: .data and .bss, not .data.rel.ro.
	"$readelf" -SW "$object" | sed 's/^ *\[ *[0-9]*\] *//' | awk '
		($1 == ".data" || $1 == ".bss" || $1 ~ /^\.(data|bss)\.[a-z]/ && $1 !~ /^\.data\.rel\.ro/) && $5 !~ /^0+$/ {
			print $1 " has " $5 " bytes"; bad = 1 } END { exit bad }' || { echo "in $object"; status=1; }
done
exit $status
