# SPDX-License-Identifier: MIT
"""Which loops there are, how many bytes a pass of each takes, and the least that any such loop must do.

Bytes are counted by the instructions that do the work, so a loop that a compiler has unrolled further comes out right.
"""
from dataclasses import dataclass

import mca

# llvm-mca's name -> (the usual one, whether it may have EOR3, of the SHA3 extension). LLVM has all of Apple's cores as
# the Cyclone of 2013.
CORES = {
    "cortex-a55": ("Cortex-A55", False),
    "neoverse-n1": ("Neoverse N1", False),
    "neoverse-n2": ("Neoverse N2", True),
    "neoverse-v1": ("Neoverse V1", True),
    "neoverse-v2": ("Neoverse V2", True),
    "apple-m4": ("Apple Cyclone", True),
}


@dataclass(frozen=True)
class Kernel:
    title: str
    source: str  # below src/arch
    function: str
    run: tuple  # of the program `kernel`
    work: str  # the mnemonics that are counted, a regular expression
    per_block: int  # of them, to a block
    block: int  # bytes
    per_pass: int = 0  # of them, to a pass, besides
    group: str = ""  # arm64: what the emulator's plugin calls the class they belong to
    kind: str = ""  # arm64: the mnemonics of that class
    sha3: bool = False  # arm64: whether it has instructions of the SHA3 extension

    @property
    def arch(self):
        return self.source.split("/")[0]

    def blocks(self, loop):
        """Of one pass."""
        blocks, rest = divmod(loop.count(self.work) - self.per_pass, self.per_block)
        if rest or blocks < 1:
            raise ValueError(f"{loop.count(self.work)} of {self.work} in {self.source} are no whole blocks")
        return blocks

    def bytes(self, loop):
        return self.block * self.blocks(loop)


PMULL = dict(work="pmull2?", per_block=3, per_pass=2, block=16, group="pmull", kind="pmull2?")
ARM64 = [
    Kernel("GHASH pmull", "arm64/ghash_pmull.c", "blocks", ("ghash", "pmull"), **PMULL),
    Kernel("GHASH pmull-eor3", "arm64/ghash_pmull_eor3.c", "blocks", ("ghash", "pmull-eor3"), **PMULL, sha3=True),
    Kernel("CMAC ce", "arm64/aes_ce.c", "cbcmac", ("cbcmac", "ce"), "aese", 10, 16, group="aes", kind="aese|aesmc"),
    Kernel("SHA-256 ce", "arm64/sha256_ce.c", "blocks", ("sha256", "ce"), "sha256h", 16, 64, group="sha2",
           kind="sha256.*"),
]
# AESENCLAST comes once a block; instructions on 256 bits do two blocks. The innermost loop of SHA-256's lanes has 16
# rounds of four blocks, as many as one block has.
X86 = [
    Kernel("GHASH pclmul", "x86/ghash_pclmul.c", "blocks", ("ghash", "pclmul"), "pclmulqdq", 3, 16, per_pass=2),
    Kernel("GHASH vpclmul", "x86/ghash_vpclmul.c", "blocks", ("ghash", "vpclmul"), "vpclmulqdq", 3, 32, per_pass=2),
    Kernel("CMAC ni", "x86/aes_ni.c", "cbcmac", ("cbcmac", "ni"), "aesenclast", 1, 16),
    Kernel("CMAC ni, 8 lanes", "x86/aes_lanes.c", "own_keys", ("cbcmac_lanes", "ni"), "aesenclast", 1, 16),
    Kernel("CMAC vaes, 16 lanes", "x86/aes_lanes.c", "one_key_16", ("cbcmac_lanes", "vaes"), "vaesenclast", 1, 32),
    Kernel("SHA-256 ni", "x86/sha256_ni.c", "blocks", ("sha256", "ni"), "sha256rnds2", 32, 64),
    Kernel("SHA-256 ni, 4 lanes", "x86/sha256_ni_lanes.c", "four", ("sha256_lanes", "ni"), "sha256rnds2", 32, 64),
]


def ghash_needs(blocks, karatsuba, eor3):
    """{instruction: how many} for so many blocks, an even number, and one reduction (src/arch/arm64/ghash_template.h).

    Each block is loaded and its bytes are reversed, each power is loaded, two blocks or powers by one LDP. Karatsuba
    has three products a block, and the sum of each block's halves, for two blocks ZIP1, ZIP2 and EOR, and loads those
    of the powers; the schoolbook has four products, and loads each power a second time with its halves swapped. All
    products are added up to three, acc is added to the first block; the reduction takes two products, three EXT, and
    the XORs of (lo, hi), (that, mid, EXT, product) and (that, EXT, EXT). One EOR3 stands for two XORs.
    """
    products = (3 if karatsuba else 4) * blocks
    sums = [blocks, blocks, products - 2 * blocks]  # to be added up
    xors = [n - 1 for n in sums] + [1, 1, 3, 2]
    return {
        "pmull v0.1q, v1.1d, v2.1d": products + 2,
        "rev64 v0.16b, v1.16b": blocks,
        "ldp q0, q1, [x0]": blocks + (blocks // 4 if karatsuba else blocks // 2),
        "zip1 v0.2d, v1.2d, v2.2d": blocks if karatsuba else 0,
        "eor v0.16b, v1.16b, v2.16b": (blocks // 2 if karatsuba else 0) + sum(n % 2 if eor3 else n for n in xors),
        "eor3 v0.16b, v1.16b, v2.16b, v3.16b": sum(n // 2 for n in xors) if eor3 else 0,
        "ext v0.16b, v1.16b, v2.16b, #8": 3,
        "add x0, x0, #256": 1,
        "subs x1, x1, #1": 1,
        "b.ne .Lback": 1,
    }


def assembly(needs):
    return ".Lback:\n" + "".join((instruction + "\n") * n for instruction, n in needs.items())


def latency(core, instruction):
    return mca.latencies("arm64", core, instruction + "\n")[0]


def ghash_ideal(core, blocks, with_eor3):
    """Cycles for so many blocks if the ports never idle: the least of Karatsuba's and the schoolbook's way, and, if the
    core may use EOR3, of using and not using it."""
    variants = [(karatsuba, eor3) for karatsuba in (True, False) for eor3 in {False, with_eor3 and CORES[core][1]}]
    return min(mca.ports("arm64", core, assembly(ghash_needs(blocks, *variant))) for variant in variants)


def cmac_ideal(core, fused):
    """Cycles for a block: ten AESE one after the other, nine AESMC between them."""
    aese, aesmc = latency(core, "aese v0.16b, v1.16b"), latency(core, "aesmc v0.16b, v0.16b")
    return 10 * aese + (0 if fused else 9 * aesmc)


def sha256_ideal(core):
    """Cycles for a block: sixteen SHA256H or SHA256H2 one after the other."""
    return 16 * latency(core, "sha256h q0, q1, v2.4s")
