# SPDX-License-Identifier: MIT
"""Builds of the library's objects and of the program `kernel`, for both processors with both compilers; what running it
tells: instructions by class on an emulated arm64, cycles on this x86."""
import functools
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CROSS = ["--toolchain", os.path.join(ROOT, "cmake/aarch64-linux-gnu.cmake"), "-DCMAKE_EXE_LINKER_FLAGS=-static"]
COMPILERS = {
    ("arm64", "gcc"): CROSS,
    ("arm64", "clang"): [*CROSS, "-DSMB3SIGN_CROSS_CLANG=clang-19"],
    ("x86", "gcc"): ["-DCMAKE_C_COMPILER=gcc"],
    ("x86", "clang"): ["-DCMAKE_C_COMPILER=clang-19"],
}
COUNTED_BYTES = 65536
MEASURED_BYTES = 24576  # all in the first-level cache


class Builds:
    def __init__(self, folder):
        self.folder = folder

    @functools.lru_cache(maxsize=None)
    def build(self, arch, compiler):
        """The folder of one build, as it is released: -O3, position-independent."""
        folder = os.path.join(self.folder, f"{arch}-{compiler}")
        quiet(["cmake", "-S", HERE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", *COMPILERS[arch, compiler]])
        quiet(["cmake", "--build", folder, "--target", "kernel", "-j", "2"])
        return folder

    def object_file(self, kernel, compiler):
        folder = self.build(kernel.arch, compiler)
        return os.path.join(folder, "smb3sign/CMakeFiles/smb3sign_objects.dir/src/arch", kernel.source + ".o")

    @functools.lru_cache(maxsize=None)
    def plugin(self):
        """tests/emulate/instructions.c for qemu-aarch64."""
        file = os.path.join(self.folder, "instructions.so")
        source = os.path.join(ROOT, "tests/emulate/instructions.c")
        quiet(["cc", "-std=c11", "-O2", "-fPIC", "-shared", "-o", file, source])
        return file

    def counts(self, kernel, compiler):
        """{class: instructions a byte} executed in the kernel's function."""
        program = os.path.join(self.build(kernel.arch, compiler), "kernel")
        plugin = f"{self.plugin()},count={kernel.function}"
        done = subprocess.run(["qemu-aarch64", "-plugin", plugin, program, *kernel.run, str(COUNTED_BYTES)],
                              check=True, capture_output=True, text=True)
        counts = {name: int(n) / COUNTED_BYTES for name, n in re.findall(r"(\w+)=(\d+)", done.stderr)}
        if not sum(counts.values()):
            raise ValueError(f"nothing was executed in {kernel.function} of {kernel.source}: inlined elsewhere?")
        return counts

    def measure(self, kernel, compiler, seconds):
        """Cycles a byte on this machine."""
        program = os.path.join(self.build(kernel.arch, compiler), "kernel")
        command = [program, *kernel.run, str(MEASURED_BYTES), str(seconds)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def quiet(command):
    """Shows what a command says if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}")
