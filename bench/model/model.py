#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the arm64 kernels should cost on cores that are not at hand: llvm-mca's models of them, run over the compiled
loops, beside the least that the core's ports and latencies allow; and the same for the x86 kernels beside a measurement
on this machine, which shows how far such figures go.

They go this far. A model has the core's ports, latencies and width as its makers published them, all data in the
first-level cache, every branch foreseen. It has no fusion of AESE with AESMC or of PMULL with EOR, and no free moves,
which real cores have to different degrees; so CMAC and SHA-256 are given both ways. It is good for comparing variants
of a loop, and for loops that the ports bind, if its entry for each instruction is right: that for SHA256RNDS2 on a
Zen 3 is not. Of Apple's cores it has only Cyclone, of 2013: a line to compare with what is known of an M4, too fast for
GHASH and too slow for SHA-256.

Tables go to the standard output, in sections as bench/update-docs takes them. Needs cmake, gcc, gcc-aarch64-linux-gnu,
clang-19, llvm-19 and qemu-user; with --measure, an AMD Zen 3 that is not too busy.
"""
import argparse
import subprocess
import sys
import tempfile

import chain
import kernels
import mca
from build import Builds
from kernels import ARM64, CORES, X86
from loops import NoLoop, find_loop

COMPILERS = ("gcc", "clang")
X86_CORE = "znver3"
ROUNDS = 8  # of measurements, in turns; the least counts

# Apple M4, as measured in a kernel, GB/s at about 4.4 GHz.
SEED_GHZ = 4.4
SEED = {"GHASH": 12.2, "CMAC": 2.75, "HMAC": 3.15}


class Subject:
    """One kernel from one compiler."""

    def __init__(self, builds, kernel, compiler):
        self.kernel, self.compiler = kernel, compiler
        self.loop = find_loop(kernel.arch, builds.object_file(kernel, compiler), kernel.function, kernel.work)
        self.blocks, self.bytes = kernel.blocks(self.loop), kernel.bytes(self.loop)
        self.name = f"{kernel.title}, {compiler}"

    def runs_on(self, core):
        return CORES[core][1] or not self.kernel.sha3

    def cycles(self, core, fused=False):
        return mca.cycles(self.kernel.arch, core, self.loop.assembly(fused))

    def ports(self, core):
        return mca.ports(self.kernel.arch, core, self.loop.assembly())

    def chain(self, core, free=()):
        latency = mca.latencies(self.kernel.arch, core, self.loop.assembly())
        return chain.longest(self.loop, latency, free)


def section(title, lines):
    print(title)
    print("\n".join("  " + line.rstrip() for line in lines))
    print()


def row(label, cells):
    return f"{label:34}" + "".join(f"{cell:>14}" for cell in cells)


def number(value, digits=3):
    return f"{value:.{digits}f}"


def header():
    return row("", [ours for ours, _ in CORES.values()])


def per_core(label, subject, figure):
    return row(label, [number(figure(core)) if subject.runs_on(core) else "-" for core in CORES])


def loops_table(subjects):
    lines = [f"{'':34}{'instructions':>14}{'bytes':>8}   of"]
    for s in subjects:
        where = f"{s.kernel.source}, {s.loop.function}() {s.loop.addresses[0]:#x}..{s.loop.addresses[-1]:#x}"
        lines.append(f"{s.name:34}{len(s.loop.code):14}{s.bytes:8}   {where}")
    section("Loops, one pass", lines)


def ghash_table(subjects):
    lines = [header()]
    for s in subjects:
        lines.append(per_core(s.name, s, lambda core: s.cycles(core) / s.bytes))
        lines.append(per_core("  its instructions' ports", s, lambda core: s.ports(core) / s.bytes))
    for blocks in sorted({s.blocks for s in subjects}):
        for eor3, label in ((False, f"ideal, {blocks} blocks a reduction"), (True, "  with EOR3 where it helps")):
            ideal = [number(kernels.ghash_ideal(core, blocks, eor3) / 16 / blocks) for core in CORES]
            lines.append(row(label, ideal))
    section("GHASH, cycles a byte", lines)


def cmac_table(subjects):
    lines = [header()]
    for s in subjects:
        lines.append(per_core(s.name, s, lambda core: s.cycles(core) / s.bytes))
        lines.append(per_core("  AESE and AESMC fused", s, lambda core: s.cycles(core, fused=True) / s.bytes))
    lines.append(row("ideal", [number(kernels.cmac_ideal(core, False) / 16) for core in CORES]))
    lines.append(row("  AESE and AESMC fused", [number(kernels.cmac_ideal(core, True) / 16) for core in CORES]))
    section("CMAC, one message, cycles a byte", lines)


def sha256_table(subjects):
    lines = [header()]
    for s in subjects:
        lines.append(per_core(s.name, s, lambda core: s.cycles(core) / s.bytes))
        lines.append(per_core("  its chain if MOV is free", s, lambda core: s.chain(core, ("mov",))[0] / s.bytes))
        lines.append(per_core("  its instructions' ports", s, lambda core: s.ports(core) / s.bytes))
    lines.append(row("ideal", [number(kernels.sha256_ideal(core) / 64) for core in CORES]))
    section("SHA-256, cycles a byte", lines)


def chains_table(subjects):
    lines = []
    for s in subjects:
        cycles, names = s.chain("neoverse-v1")
        lines.append(f"{s.name:34}{cycles:6.0f}   {', '.join(f'{n} {name}' for name, n in sorted(names.items()))}")
    section("Chains from pass to pass: cycles on a Neoverse V1, and which vector instructions", lines)


def seed_table(subjects):
    lines = [f"{'':34}{'GB/s':>8}{'cycles a byte':>16}{'Cyclone model':>16}"]

    def add(label, seed, cycles):
        lines.append(f"{label:34}{seed:8.2f}{SEED_GHZ / seed:16.3f}{cycles:16.3f}")

    def best(title, figure):
        return min(figure(s) / s.bytes for s in subjects if s.kernel.title.startswith(title))

    core = "apple-m4"
    add("GHASH", SEED["GHASH"], best("GHASH", lambda s: s.cycles(core)))
    add("CMAC", SEED["CMAC"], best("CMAC", lambda s: s.cycles(core)))
    add("CMAC, AESE and AESMC fused", SEED["CMAC"], best("CMAC", lambda s: s.cycles(core, fused=True)))
    add("HMAC", SEED["HMAC"], best("SHA-256", lambda s: s.cycles(core)))
    add("HMAC, chain if MOV is free", SEED["HMAC"], best("SHA-256", lambda s: s.chain(core, ("mov",))[0]))
    section("An Apple M4 (as measured in a kernel, at 4.4 GHz) and the model", lines)


def counts_table(counts):
    classes = ["pmull", "aes", "sha2", "sha3", "simd", "ldst", "branch", "other"]
    lines = [f"{'':34}" + "".join(f"{name:>9}" for name in ["all", *classes])]
    for s, c in counts.items():
        cells = [sum(c.values()), *(c[name] for name in classes)]
        lines.append(f"{s.name:34}" + "".join(f"{cell:9.3f}" for cell in cells))
    section("Instructions a byte, executed (QEMU)", lines)


def check_counts(counts):
    """The loop that was taken is the one that runs: it has as many instructions of the kind as were executed."""
    for s, c in counts.items():
        taken = s.loop.count(s.kernel.kind) / s.bytes
        if abs(c[s.kernel.group] / taken - 1) > 0.02:
            raise SystemExit(f"{s.name}: {taken} of {s.kernel.group} a byte in the loop, {c[s.kernel.group]} executed")


def ghash_targets(s, counts):
    """(what, target, value, digits)"""
    cores = ("neoverse-v1", "neoverse-v2")
    needs = kernels.ghash_needs(s.blocks, True, s.kernel.sha3)
    of_ports = max(s.cycles(core) / s.ports(core) for core in cores)
    of_ideal = max(s.cycles(core) / kernels.ghash_ideal(core, s.blocks, s.kernel.sha3) for core in cores)
    return [
        ("times its instructions' ports, Neoverse V", 1.15, of_ports, 2),
        ("times the ideal, Neoverse V", 1.15, of_ideal, 2),
        ("PMULL for 8 blocks", 26, counts["pmull"] * 128, 2),
        ("instructions a pass; the algebra's", sum(needs.values()), len(s.loop.code), 0),
    ]


def cmac_targets(s):
    cores = [core for core in CORES if core.startswith("neoverse")]
    names = s.chain("neoverse-v1")[1]
    return [
        ("others than AESE and AESMC on the chain", 0, sum(names.values()) - names["aese"] - names["aesmc"], 0),
        ("cycles a block, fused, Neoverse", 22, max(s.cycles(core, True) for core in cores) / s.blocks, 1),
        ("cycles a block, Neoverse", 40, max(s.cycles(core) for core in cores) / s.blocks, 1),
    ]


def targets_table(subjects, counts):
    lines = [f"{'':66}{'target':>10}{'here':>9}"]
    for s in subjects:
        targets = [("uses of the stack in the loop", 0, sum("[sp" in line for line in s.loop.code), 0)]
        if s.kernel.title.startswith("GHASH"):
            targets += ghash_targets(s, counts[s])
        elif s.kernel.title.startswith("CMAC"):
            targets += cmac_targets(s)
        for what, target, value, digits in targets:
            met = "met" if round(value, digits) <= target else "NOT MET"
            lines.append(f"{s.name + ': ' + what:66}<= {target:7.{digits}f}{value:9.{digits}f}   {met}")
    section("Targets, arm64 modelled", lines)


def measure(builds, subjects):
    """{subject: cycles a byte}, the least of turns."""
    least = {s: float("inf") for s in subjects}
    for _ in range(ROUNDS):
        for s in subjects:
            least[s] = min(least[s], builds.measure(s.kernel, s.compiler, 0.1))
    return least


def x86_table(subjects, measured):
    lines = [f"{'':34}{'ports':>10}{'model':>10}{'measured':>10}{'measured / model':>18}"]
    for s in subjects:
        model = s.cycles(X86_CORE) / s.bytes
        ports = s.ports(X86_CORE) / s.bytes
        lines.append(f"{s.name:34}{ports:10.3f}{model:10.3f}{measured[s]:10.3f}{measured[s] / model:18.2f}")
    section("x86, cycles a byte: the model of a Zen 3 and a measurement on one", lines)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print the loops' instructions, and nothing else")
    parser.add_argument("--only", default="", metavar="TEXT", help="with --show: only loops with this in their names")
    parser.add_argument("--measure", action="store_true", help="measure the x86 kernels too: on an AMD Zen 3")
    parser.add_argument("--builds", metavar="FOLDER", help="keep the builds there (else they are made anew)")
    return parser.parse_args()


def show(subjects, only):
    for s in subjects:
        if only in s.name:
            print(f"{s.name}: {s.kernel.source}, {s.loop.function}(), {s.bytes} bytes a pass\n{s.loop.listing()}\n")


def report(builds, arm64, x86, with_measurement):
    def of(title):
        return [s for s in arm64 if s.kernel.title.startswith(title)]

    counts = {s: builds.counts(s.kernel, s.compiler) for s in arm64}
    check_counts(counts)
    ghash_table(of("GHASH"))
    cmac_table(of("CMAC"))
    sha256_table(of("SHA-256"))
    targets_table(arm64, counts)
    seed_table(arm64)
    counts_table(counts)
    chains_table(arm64)
    if with_measurement:
        x86_table(x86, measure(builds, x86))
    loops_table(arm64 + x86)


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory() as scratch:
        builds = Builds(options.builds or scratch)
        try:
            arm64, x86 = ([Subject(builds, k, c) for k in ks for c in COMPILERS] for ks in (ARM64, X86))
            if options.show:
                show(arm64 + x86, options.only)
            else:
                report(builds, arm64, x86, options.measure)
        except (NoLoop, ValueError, OSError) as why:
            raise SystemExit(f"model.py: {why}")
        except subprocess.CalledProcessError as failed:
            raise SystemExit(f"model.py: {failed}\n{failed.stderr}")


if __name__ == "__main__":
    sys.exit(main())
