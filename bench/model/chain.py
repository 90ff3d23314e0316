# SPDX-License-Identifier: MIT
"""What a loop's passes wait for: the longest chain of vector instructions from pass to pass (arm64).

Vector registers only: addresses and counters run ahead. A load ends a chain.
"""
import re
from collections import Counter

# Their first operand is read too.
READS_DESTINATION = re.compile(r"aes[ed]|sha256.*|sha512.*|fml[as]|mla|mls|bsl|bit|bif|ins|[su]ml[as]l2?|sri|sli|tbx")
REGISTER = re.compile(r"\b[vqdsbh](\d+)\b")
PASSES = 16


def operands(line):
    """(registers written, registers read)"""
    mnemonic, _, rest = line.partition(" ")
    fields = [REGISTER.findall(field) for field in rest.split(", ")]
    if mnemonic.startswith("st"):
        return [], sum(fields, [])
    if mnemonic.startswith("ld"):
        return sum(fields, []), []
    written, read = fields[0], sum(fields[1:], [])
    partial = mnemonic in ("mov", "ins", "fmov") and "[" in rest.split(", ")[0]
    return written, read + written if partial or READS_DESTINATION.fullmatch(mnemonic) else read


def longest(loop, latency, free=()):
    """(cycles a pass, Counter of the mnemonics a pass) of the chain. latency: of each instruction of the loop; those
    whose mnemonics are `free` cost nothing."""
    ready = {}  # register -> (cycle, link), a link being (pass, mnemonic, link before)
    ends, best = [], (0, None)
    for turn in range(PASSES):
        for line, cost in zip(loop.code, latency):
            written, read = operands(line)
            start, link = max((ready.get(r, (0, None)) for r in read), key=lambda at: at[0], default=(0, None))
            cost = 0 if line.split()[0] in free else cost
            for register in written:
                ready[register] = (start + cost, (turn, line.split()[0], link)) if read else (0, None)
                best = max(best, ready[register], key=lambda at: at[0])
        ends.append(best[0])
    half = PASSES // 2
    return (ends[-1] - ends[half - 1]) / half, on_chain(best[1], half)


def on_chain(link, half):
    """Mnemonics of one pass in the middle, whose links the last pass's result hangs on."""
    names = Counter()
    while link:
        turn, mnemonic, link = link
        names[mnemonic] += turn == half
    return +names
