# SPDX-License-Identifier: MIT
# Toolchain file: 64-bit Windows from a Debian or Ubuntu machine, programs run by Wine.
#     cmake -S . -B build-windows --toolchain cmake/x86_64-w64-mingw32.cmake -DSMB3SIGN_TESTS=OFF -DSMB3SIGN_TOOLS=OFF
# Needs gcc-mingw-w64-x86-64-posix; to run what is built, wine64.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
