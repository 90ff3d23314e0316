#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: run.sh shared|static|subproject SOURCE_DIR C_COMPILER CXX_COMPILER
# Installs the library and builds consumer.c against what was installed, through pkg-config and through find_package; or
# makes the library a part of another project. CXX_COMPILER may be empty.
set -eu
way=$1 src=$2 cc=$3 cxx=$4
here=$src/tests/consumer
PKG_CONFIG_PATH=
export PKG_CONFIG_PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^#define SMB3SIGN_VERSION_[A-Z]* *//p' "$src/include/smb3sign.h" | paste -sd.)

fail() {
	echo "$*" >&2
	exit 1
}

# The output of a command, if it fails.
quietly() {
	"$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }
}

# configure BUILD_DIR OPTION...
configure() {
	build=$1
	shift
	quietly cmake -S "$src" -B "$build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug -DSMB3SIGN_TESTS=OFF \
		-DSMB3SIGN_TOOLS=OFF "$@"
	quietly cmake --build "$build" -j2
}

# run PROGRAM LIBRARY_DIR: it works, and it is this version.
run() {
	[ "$(LD_LIBRARY_PATH=$2 "$1")" = "$version" ] || fail "$1 does not work, or is not of version $version"
}

needs_library() {
	readelf -d "$1" | grep -q 'NEEDED.*libsmb3sign'
}

# with_pkg_config COMPILER OUTPUT: PKG_CONFIG_PATH says where.
with_pkg_config() {
	[ "$(pkg-config --modversion libsmb3sign)" = "$version" ] || fail "libsmb3sign.pc is not of version $version"
	# shellcheck disable=SC2046
	quietly "$1" -Wall -Wextra -Werror $(pkg-config --cflags libsmb3sign) -o "$2" "$here/consumer.c" \
		$(pkg-config --libs libsmb3sign)
}

# with_find_package PREFIX BUILD_DIR OPTION...
with_find_package() {
	prefix=$1 build=$2
	shift 2
	quietly cmake -S "$here" -B "$build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" "$@"
	quietly cmake --build "$build"
}

# Shared, installed below DESTDIR as packagers do, in relative directories.
try_shared() {
	configure "$work/shared" -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX=/opt/smb3sign -DCMAKE_INSTALL_LIBDIR=lib
	DESTDIR=$work/stage quietly cmake --install "$work/shared"
	root=$work/stage/opt/smb3sign
	for file in include/smb3sign.h lib/libsmb3sign.so "lib/libsmb3sign.so.${version%.*}" "lib/libsmb3sign.so.$version" \
		lib/pkgconfig/libsmb3sign.pc lib/cmake/smb3sign/smb3sign-config.cmake; do
		[ -e "$root/$file" ] || fail "$file is not installed"
	done
	PKG_CONFIG_PATH=$root/lib/pkgconfig
	grep -q '^libdir=${prefix}/lib$' "$root/lib/pkgconfig/libsmb3sign.pc" || fail "libdir does not follow the prefix"
	PKG_CONFIG_SYSROOT_DIR=$work/stage with_pkg_config "$cc" "$work/pc_sysroot"
	run "$work/pc_sysroot" "$root/lib"

	# Moved elsewhere: the prefix is told to pkg-config; CMake finds it by itself.
	mv "$root" "$work/moved"
	root=$work/moved
	PKG_CONFIG_PATH=$root/lib/pkgconfig
	pkg-config --define-variable=prefix="$root" --cflags --libs libsmb3sign >"$work/flags"
	grep -q "$root/include" "$work/flags" && grep -q "$root/lib" "$work/flags" || fail "pkg-config: $(cat "$work/flags")"
	# shellcheck disable=SC2046
	quietly "$cc" -o "$work/pc_moved" "$here/consumer.c" $(cat "$work/flags")
	run "$work/pc_moved" "$root/lib"
	needs_library "$work/pc_moved" || fail "the shared library is not used"
	if [ -n "$cxx" ]; then
		# shellcheck disable=SC2046
		quietly "$cxx" -x c++ -std=c++98 -Wall -Wextra -Werror -o "$work/pc_cxx" "$here/consumer.c" $(cat "$work/flags")
		run "$work/pc_cxx" "$root/lib"
	fi
	# Another minor version is another ABI until 1.0.
	with_find_package "$root" "$work/fp_shared" -DSMB3SIGN_WANTED="${version%.*}" \
		-DSMB3SIGN_REFUSED="0.0;0.99;1.0"
	run "$work/fp_shared/consumer" "$root/lib"
	needs_library "$work/fp_shared/consumer" || fail "the shared library is not used"
}

# Static, in absolute directories.
try_static() {
	configure "$work/static" -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_PREFIX="$work/p" \
		-DCMAKE_INSTALL_LIBDIR="$work/elsewhere/lib" -DCMAKE_INSTALL_INCLUDEDIR="$work/elsewhere/headers"
	quietly cmake --install "$work/static"
	PKG_CONFIG_PATH=$work/elsewhere/lib/pkgconfig
	pc=$PKG_CONFIG_PATH/libsmb3sign.pc
	grep -q "^libdir=$work/elsewhere/lib\$" "$pc" && grep -q "^includedir=$work/elsewhere/headers\$" "$pc" ||
		{ cat "$pc"; fail "absolute directories are wrong in libsmb3sign.pc"; }
	with_pkg_config "$cc" "$work/pc_static"
	run "$work/pc_static" ""
	! needs_library "$work/pc_static" || fail "a shared library is used"
	with_find_package "$work/elsewhere/lib/cmake/smb3sign" "$work/fp_static"
	run "$work/fp_static/consumer" ""
	! needs_library "$work/fp_static/consumer" || fail "a shared library is used"
}

# Part of another project: no tests, no tools.
try_subproject() {
	quietly cmake -S "$here" -B "$work/sub" -DCMAKE_C_COMPILER="$cc" -DSMB3SIGN_SUBDIRECTORY="$src" -DBUILD_SHARED_LIBS=OFF \
		-DCMAKE_BUILD_TYPE=Debug
	quietly cmake --build "$work/sub" -j2
	run "$work/sub/consumer" ""
}

case $way in
shared | static | subproject) "try_$way" ;;
*) fail "no way '$way'" ;;
esac
echo "version $version, $way: works"
