# SPDX-License-Identifier: MIT
# Toolchain file: arm64 Linux on another Debian or Ubuntu machine, the tests run by QEMU.
#     cmake -S . -B build-arm64 --toolchain cmake/aarch64-linux-gnu.cmake -DSMB3SIGN_TOOLS=OFF
# Needs gcc-aarch64-linux-gnu and qemu-user; for the tests, after `dpkg --add-architecture arm64`, check:arm64 and
# libssl-dev:arm64 too, which bring the libraries that QEMU finds where the system has them. SMB3SIGN_CROSS_CLANG names
# a clang to compile with instead of gcc.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
if(SMB3SIGN_CROSS_CLANG)
	set(CMAKE_C_COMPILER ${SMB3SIGN_CROSS_CLANG})
	set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
else()
	set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SMB3SIGN_CROSS_CLANG)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
