# SPDX-License-Identifier: MIT
# Toolchain file: tests as static programs of another Linux architecture, run by QEMU.
#     cmake -S . -B build-s390x --toolchain cmake/static-linux-gnu.cmake -DSMB3SIGN_TRIPLET=s390x-linux-gnu
#         -DSMB3SIGN_SYSROOT=FOLDER -DSMB3SIGN_TESTS=ON -DSMB3SIGN_TOOLS=OFF
# Needs Debian's cross compiler for the triplet, qemu-user, and Check and OpenSSL in FOLDER (tests/emulate/sysroot.sh).
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${SMB3SIGN_TRIPLET}")
# Where Debian's libraries are: those of i686 under i386's name.
string(REPLACE i686 i386 CMAKE_LIBRARY_ARCHITECTURE "${SMB3SIGN_TRIPLET}")
set(CMAKE_C_COMPILER ${SMB3SIGN_TRIPLET}-gcc)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_C_FLAGS_INIT "-isystem ${SMB3SIGN_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SMB3SIGN_TRIPLET SMB3SIGN_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${SMB3SIGN_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(ENV{PKG_CONFIG_LIBDIR} "${SMB3SIGN_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${SMB3SIGN_SYSROOT}")
# An x86-64 processor runs i386 itself, and has instructions that QEMU does not.
if(NOT (CMAKE_SYSTEM_PROCESSOR STREQUAL i686 AND CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL x86_64))
	string(REPLACE i686 i386 emulated "${CMAKE_SYSTEM_PROCESSOR}")
	set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${emulated})
endif()
