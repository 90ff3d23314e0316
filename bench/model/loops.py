# SPDX-License-Identifier: MIT
"""Loops of compiled functions, as llvm-mca takes them.

They are cut out of the object code, from a backward branch's target to the branch, so that all is in them that runs:
copies between passes, address arithmetic, spills. (Markers in the source's loop would change what is compiled.)
"""
import re
import subprocess

OBJDUMP = "llvm-objdump-19"

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
BRANCH = {
    "arm64": re.compile(r"^(?:b(?:\.\w+)?\s+|cbn?z\s+\w+, |tbn?z\s+\w+, #\w+, )0x([0-9a-f]+)\b"),
    "x86": re.compile(r"^j\w+\s+0x([0-9a-f]+)\b"),
}
COMMENT = {"arm64": "//", "x86": "#"}


class NoLoop(Exception):
    """There is no such function, or no loop in it."""


class Loop:
    """One pass of a loop: code is a list of instructions' texts, the last one the branch back."""

    def __init__(self, arch, function, code, addresses):
        self.arch, self.function, self.code, self.addresses = arch, function, code, addresses

    def count(self, mnemonics):
        """How many of its instructions are called so (a regular expression for the whole name)."""
        return sum(bool(re.fullmatch(mnemonics, line.split()[0])) for line in self.code)

    def assembly(self, fused=False):
        """Text for an assembler. fused: AESMC directly behind the AESE of its register is part of it, and left out."""
        lines, before = [], ""
        for line in self.code:
            if not (fused and is_fused(before, line)):
                lines.append(with_labels(self.arch, line))
            before = line
        return ".Lback:\n" + "\n".join(lines) + "\n"

    def listing(self):
        """The instructions with their addresses in the object file."""
        return "\n".join(f"  {address:6x}  {line}" for address, line in zip(self.addresses, self.code))


def is_fused(first, second):
    """Whether two neighbours are AESE and AESMC of one register, in and out."""
    one, two = re.match(r"aese\s+(v\d+)", first), re.match(r"aesmc\s+(v\d+)\.16b, (v\d+)", second)
    return bool(one and two and one[1] == two[1] == two[2])


def with_labels(arch, line):
    """llvm-mca goes through all instructions in order and jumps nowhere, but a branch must have a target."""
    branch = BRANCH[arch].match(line)
    if not branch:
        return line
    return line[: branch.start(1) - len("0x")] + ".Lback"


def disassemble(arch, objectfile, function):
    """(address, instruction) of one function."""
    command = [OBJDUMP, "-d", "--no-show-raw-insn", "--no-leading-headers", "--disassemble-symbols=" + function]
    if arch == "arm64":
        command.append("--mattr=+all")
    text = subprocess.run(command + [objectfile], check=True, capture_output=True, text=True).stdout
    found = []
    for line in text.splitlines():
        match = INSTRUCTION.match(line)
        if match:
            found.append((int(match[1], 16), match[2].split(COMMENT[arch])[0].strip().replace("\t", " ")))
    if not found:
        raise NoLoop(f"no function {function} in {objectfile}")
    return found


def innermost(arch, code):
    """(first, last) indices of the loops that have no loop inside."""
    index = {address: i for i, (address, _) in enumerate(code)}
    loops = set()
    for i, (address, line) in enumerate(code):
        branch = BRANCH[arch].match(line)
        if branch and int(branch[1], 16) <= address and int(branch[1], 16) in index:
            loops.add((index[int(branch[1], 16)], i))
    return [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]


def find_loop(arch, objectfile, function, work):
    """The innermost loop of a function with the most instructions called as `work` says: the bulk passes there."""
    code = disassemble(arch, objectfile, function)
    loops = [
        Loop(arch, function, [line for _, line in code[a : b + 1]], [address for address, _ in code[a : b + 1]])
        for a, b in sorted(innermost(arch, code))
    ]
    best = max(loops, key=lambda loop: loop.count(work), default=None)
    if not best or not best.count(work):
        raise NoLoop(f"no loop with {work} in {function} of {objectfile}")
    return best
