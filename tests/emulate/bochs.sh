#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: bochs.sh CACHE_DIR SECONDS PROGRAM_DIR COMMAND...
# Runs static x86-64 Linux programs on a processor with AVX-512, VAES and VPCLMULQDQ (Ice Lake), emulated by Bochs: boots
# Debian's cloud kernel, once for all of them, with nothing but the programs and init.c. A COMMAND is one argument, words
# between blanks: "[NAME=VALUE...] PROGRAM [ARGUMENT...]", PROGRAM a file of PROGRAM_DIR. Prints what the programs print,
# and on standard error how each ended. The exit status is 0 if all programs' were, else the first other one; 124 after
# SECONDS, 125 if the guest did not come up or did not finish. CACHE_DIR keeps the kernel and init between runs.
#
# Installs what is missing with apt-get; the kernel comes by apt-get download, for which apt must have its lists.
set -eu
cache=$1 seconds=$2 programs=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache" "$work/root/programs" "$work/iso"

give_up() {
	echo "bochs.sh: $*" >&2
	exit 125
}

fetch_kernel() {
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends:/ { print $2; exit }')
	[ -n "$package" ] || give_up "apt has no linux-image-cloud-amd64: no apt-get update so far?"
	(cd "$work" && apt-get -q download "$package" && dpkg -x ./*.deb kernel) >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		give_up "no kernel to be had"
	}
	mv "$work"/kernel/boot/vmlinuz-* "$cache/vmlinuz"
	rm -rf "$work/kernel" "$work"/*.deb
}

# The command's program and words into the guest; its words are split at blanks.
add_command() {
	for word; do
		printf '%s\0' "$word" >>"$work/root/commands"
	done
	printf '\0' >>"$work/root/commands"
	while [ $# -gt 0 ]; do
		case $1 in
		*=*) shift ;;
		*) break ;;
		esac
	done
	cp "$programs/${1:-}" "$work/root/programs/" || give_up "no program '${1:-}' in $programs"
}

sh "$here/../../tools/install-missing.sh" bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso cpio gzip gcc \
	libc6-dev util-linux
[ -s "$cache/vmlinuz" ] || fetch_kernel
[ "$cache/init" -nt "$here/init.c" ] || gcc -O2 -static -s -o "$cache/init" "$here/init.c" || give_up "init.c does not build"

cp "$cache/init" "$work/root/init"
for command; do
	# shellcheck disable=SC2086 # its words
	add_command $command
	printf '%s\n' "$command" >>"$work/names"
done
(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/iso/initrd.gz"
cp "$cache/vmlinuz" /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/iso/"

# Bochs 2.7 announces PKU and XSAVES states that Linux finds inconsistent, for which it would give up AVX-512; and it lacks
# the MSR by which Linux keeps ERMS, without which FSRM leads memmove astray. tsc_early_khz is ips below.
cat >"$work/iso/isolinux.cfg" <<END
DEFAULT guest
PROMPT 0
LABEL guest
 KERNEL /vmlinuz
 INITRD /initrd.gz
 APPEND quiet loglevel=0 panic=-1 nokaslr mitigations=off acpi=off pci=off lapic=notscdeadline tsc_early_khz=20000 idle=halt clearcpuid=pku,xsaves,xsavec,fsrm apparmor=0 lsm= cryptomgr.notests random.trust_cpu=on
END
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
	-boot-info-table "$work/iso" >"$work/log" 2>&1 || { cat "$work/log" >&2; give_up "no boot image"; }
cat >"$work/bochsrc" <<END
cpu: model=corei7_icelake_u, count=1, ips=20000000, reset_on_triple_fault=0, ignore_bad_msrs=1
memory: guest=256, host=256
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
boot: cdrom
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path="$work/boot.iso", status=inserted
port_e9_hack: enabled=1
display_library: rfb, options="timeout=0"
sound: driver=dummy
log: "$work/bochs.log"
panic: action=fatal
error: action=ignore
info: action=ignore
clock: sync=none, time0=1000000000
END
# Debian's Bochs starts in its debugger: "continue". Its one display without a screen listens on a TCP port: a network
# namespace keeps that to itself, where one may be made.
echo c >"$work/continue"
alone=
unshare -n true 2>/dev/null && alone='unshare -n'
ended=0
# shellcheck disable=SC2086 # a command and its option, or nothing
timeout "$seconds" $alone bochs -q -f "$work/bochsrc" -rc "$work/continue" >"$work/out" 2>"$work/err" </dev/null || ended=$?

sed -n '/^@begin$/,/^@end$/p' "$work/out" | sed '/^@begin$/d;/^@end$/d;/^@exit /d'
sed -n 's/^@exit \([0-9]* [0-9]*\)$/\1/p' "$work/out" >"$work/exits"
status=0
while read -r code millions; do
	read -r command <&3
	[ "$code" = 0 ] || echo "bochs.sh: exit status $code:" >&2
	echo "$command: $millions million instructions" >&2
	[ "$status" != 0 ] || status=$code
done <"$work/exits" 3<"$work/names"
if [ "$(wc -l <"$work/exits")" != $# ]; then
	if [ "$ended" = 124 ]; then
		echo "bochs.sh: not finished after $seconds s" >&2
		exit 124
	fi
	tail -n 5 "$work/out" "$work/err" >&2
	give_up "the guest did not finish"
fi
exit "$status"
