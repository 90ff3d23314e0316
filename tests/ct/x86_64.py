# SPDX-License-Identifier: MIT
"""What each x86-64 instruction does with secrets (flow.py), as `objdump -M intel` writes them. An instruction that is not
known here computes its first operand and the flags from all operands and from what the first one held."""
import re

from flow import (ANY_CONSTANT, NUMBER, SECRET, add, functions, is_functions, is_stack, join, masked, mixed, number,
                  subtract, times, truncated, unknown)

ARGUMENTS = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"]
OBJDUMP = ["-M", "intel"]
STACK = "rsp"
VOLATILE = ["rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "flags"] + ["v%d" % i for i in range(32)] + \
    ["k%d" % i for i in range(8)]
KEPT = ["rbx", "rbp", "r12", "r13", "r14", "r15"]
RESULT = ["rax"]

SIZES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}


def _registers():
    names = {}
    for r in ("ax", "bx", "cx", "dx"):
        names.update({"r" + r: ("r" + r, 8), "e" + r: ("r" + r, 4), r: ("r" + r, 2),
                      r[0] + "l": ("r" + r, 1), r[0] + "h": ("r" + r, 1)})
    for r in ("si", "di", "bp", "sp"):
        names.update({"r" + r: ("r" + r, 8), "e" + r: ("r" + r, 4), r: ("r" + r, 2), r + "l": ("r" + r, 1)})
    for i in range(8, 16):
        r = "r%d" % i
        names.update({r: (r, 8), r + "d": (r, 4), r + "w": (r, 2), r + "b": (r, 1)})
    for i in range(32):
        names.update({"xmm%d" % i: ("v%d" % i, 16), "ymm%d" % i: ("v%d" % i, 32), "zmm%d" % i: ("v%d" % i, 64)})
    for i in range(8):
        names["k%d" % i] = ("k%d" % i, 8)
    return names


REGISTERS = _registers()

# Two operands, of which the first is only written. Of those with a "v" in front, all but OVERWRITE's are like that.
PURE = re.compile(r"mov(zx|sx|sxd|abs|d|q|dqa|dqu|aps|ups|apd|upd|be|mskps|mskpd|ntdqa|nti)?$|lea$|lddqu$|pmov|pshuf[dlh]|"
                  r"pabs|aesimc|aeskey|cvt|bsf|bsr|tzcnt|lzcnt|popcnt|rorx|pext|extractps|pdep|s[ha][lr]x|andn$|bzhi|bls|"
                  r"set|k|v|bextr")
OVERWRITE = re.compile(r"vpternlog|vf[mn]|vpdp|vperm[it]2|vpsha|vsm")
NO_FLAGS = re.compile(r"mov|lea$|lddqu|not$|bswap|rorx|s[ha][lr]x|pext$|pdep|mulx|push|pop$|set|cmov|v|p(?!test|opcnt|cmp.str)|"
                      r"aes|sha|k(?!test|ortest)|cdq|cqo|cwde|cdqe|xchg|unpck|shuf|xorp|andp|andnp|orp|palign|extract|insert|leave|nop")
VECTOR_FLAGS = re.compile(r"v?ptest$|vtestp|v?u?comis|k(or)?test|v?pcmp.str")
SAME_IS_ZERO = re.compile(r"xor|sub|v?pxor|v?xorp|v?psub|v?pcmpeq|v?pcmpgt|kxor")
# Of vectors, what their words of eight bytes have in common is the value: compilers choose among pointers in them too.
COPY = re.compile(r"mov(abs|sxd|zx|sx)?$|v?movq$|v?movdq[au](32|64)?$|v?mov[au]p[sd]$|vpbroadcastq$|vextract[if]128$|v?pextrq$")
BOTH = re.compile(r"v?p?blendvb$|vinsert[if]128$|v?punpck[lh]qdq$|v?pinsrq$")
GATHER = re.compile(r"vp?(gather|scatter)")


class Processor:
    def __init__(self, program):
        self.program = program

    def is_target(self, at):
        return at in self.program.targets

    def address(self, at, state, operand):
        text = re.sub(r".*PTR |\{.*?\}", "", operand)
        if text.startswith(("fs:", "gs:")):
            return NUMBER
        value, scales = number(0), {}
        for sign, term in re.findall(r"([+-]?)([^+\-\[\]]+)", text[text.index("["):]):
            name, _, scale = term.partition("*")
            if name in ("rip", "eip"):
                return self.program.place(at, self.program.relocations.get(at))
            if name in REGISTERS:
                reg = REGISTERS[name][0]
                scales[reg] = scales.get(reg, 0) + int(scale or "1")
            elif not re.match(r"[re]iz", name):
                value = add(value, number(int(sign + term, 16)))
        for reg, scale in scales.items():
            value = add(value, times(state.get(reg), scale) if scale != 1 else state.get(reg))
        return value

    def size(self, operand, others):
        word = re.match(r"(\w+) (PTR|BCST)", operand)
        if word and word.group(1) in SIZES:
            return SIZES[word.group(1)]
        return max([REGISTERS[re.sub(r"\{.*", "", o)][1] for o in others if re.sub(r"\{.*", "", o) in REGISTERS] or [64])

    def read(self, run, at, state, operand, operands):
        name = re.sub(r"\{.*", "", operand)
        if name in REGISTERS:
            reg, size = REGISTERS[name]
            value = state.get(reg)
            return truncated(value) if size == 4 else value if size >= 8 or value == SECRET else \
                masked(value, number((1 << 8 * size) - 1))
        if "[" in operand or ":" in operand:
            if "[rip" in operand and "GOT" in self.program.relocations.get(at, [""])[0]:
                return ANY_CONSTANT
            address = self.address(at, state, operand)
            self.check_address(run, at, address)
            return self.program.load(state, address, self.size(operand, operands))
        return number(int(operand, 16)) if re.match(r"-?0x[0-9a-f]+$|-?\d+$", operand) else NUMBER

    def write(self, run, at, state, operand, operands, value):
        name = re.sub(r"\{.*", "", operand)
        mask = re.search(r"\{(k\d)\}", operand)
        if mask:
            value = mixed([value, state.get(mask.group(1))])
        if name in REGISTERS:
            reg, size = REGISTERS[name]
            if (mask and "{z}" not in operand) or size < 4:
                value = mixed([value, state.get(reg)]) if state.get(reg) != number(0) else value
            state.put(reg, truncated(value) if size == 4 else value)
            return
        address = self.address(at, state, operand)
        self.check_address(run, at, address)
        if address != SECRET and is_stack(address[0]):
            state.store(*address, self.size(operand, operands), value)

    @staticmethod
    def check_address(run, at, address):
        if address == SECRET:
            run.report(at, "an address depends on a secret")

    def step(self, run, at, state):
        name, operands, target, following = self.program.code[at]
        if name.startswith("ret"):
            return None
        if name in ("ud2", "hlt"):
            return []
        if "nop" in name or name in ("endbr64", "vzeroupper", "vzeroall", "prefetcht0", "prefetchnta"):
            return [following]
        if name == "jmp" or name == "call":
            return self.transfer(run, at, state, name, operands, target, following)
        if name[0] == "j" or name.startswith("loop"):
            if state.get("rcx" if name in ("jrcxz", "jecxz", "loop") else "flags") == SECRET:
                run.report(at, "a branch depends on a secret")
            return [target, following]
        self.compute(run, at, state, name, operands, target)
        return [following]

    def transfer(self, run, at, state, name, operands, target, following):
        if target is None and operands and not re.match(r"[0-9a-f]+ <", operands[0]):
            to = self.read(run, at, state, operands[0], operands)
            if to == SECRET:
                run.report(at, "a jump depends on a secret")
            target = to[0][1] if is_functions(to) else None
        return self.program.transfer(run, at, state, name == "jmp", target, following, self)

    def compute(self, run, at, state, name, operands, target):
        if GATHER.match(name):
            run.report(at, "addresses are taken from a vector")
        special = getattr(self, "do_" + name.replace(" ", "_"), None)
        if special and special(run, at, state, operands):
            return
        if target is not None and name in ("lea", "mov", "movabs"):
            state.put(REGISTERS[operands[0]][0], functions(target))
            return
        self.generic(run, at, state, name, operands)

    def generic(self, run, at, state, name, operands):
        sources = operands
        if PURE.match(name) and not OVERWRITE.match(name) and len(operands) > 1:
            sources = operands[1:]
        if name == "imul" and len(operands) == 3:
            sources = operands[1:]
        if SAME_IS_ZERO.match(name) and len(operands) > 1 and operands[-1] == operands[-2]:
            sources = []
        if name.startswith("vpternlog") and operands[-1] in ("0xff", "0x0"):
            sources = []
        values = [self.read(run, at, state, o, operands) for o in sources]
        for operand in operands:
            mask = re.search(r"\{(k\d)\}", operand)
            if mask and "[" in "".join(operands) and state.get(mask.group(1)) == SECRET:
                run.report(at, "which bytes of memory are touched depends on a secret")
        if name.startswith(("set", "cmov", "adc", "sbb", "rcl", "rcr", "adcx", "adox")):
            values.append(state.get("flags"))
        if name == "sha256rnds2":
            values.append(state.get("v0"))
        if re.search(r"div|sqrt", name) and SECRET in values:
            run.report(at, "a divisor or dividend is secret")
        result = mixed(values)
        if not NO_FLAGS.match(name) or VECTOR_FLAGS.match(name):
            state.put("flags", result)
        if operands and name not in ("cmp", "test", "bt") and not VECTOR_FLAGS.match(name):
            self.write(run, at, state, operands[0], operands, self.exact(at, name, values, result))

    @staticmethod
    def exact(at, name, values, result):
        """Of what is computed with addresses and indices, more than whether it is secret."""
        if result == SECRET:
            return SECRET
        if COPY.match(name):
            return values[0]
        if BOTH.match(name):
            return join(values[0], values[1])
        if len(values) >= 2:
            a, b = values[-2:]
            if name in ("add", "paddq", "vpaddq"):
                return add(a, b)
            if name == "sub":
                return subtract(a, b)
            if name == "and":
                return masked(a, b)
            if name in ("shl", "sal", "imul") and b[0] is None and not b[2]:
                return times(a, 1 << b[1] if name != "imul" else b[1])
            if name.startswith("cmov"):
                return join(values[0], values[1])
        if name == "xor" and not values:
            return number(0)
        if name.startswith("set"):
            return unknown(at)
        if name in ("inc", "dec", "neg"):
            return {"inc": add(values[0], number(1)), "dec": subtract(values[0], number(1)),
                    "neg": subtract(number(0), values[0])}[name]
        return result

    # ---- Instructions with ways of their own: true if that was all of it

    def do_lea(self, run, at, state, operands):
        if self.program.code[at][2] is not None:
            return False
        self.write(run, at, state, operands[0], operands, self.address(at, state, operands[1]))
        return True

    def do_and(self, run, at, state, operands):
        """Aligning the stack begins a part of it that has no known distance from the rest."""
        if operands[0] != "rsp":
            return False
        state.put("rsp", self.program.aligned(state.get("rsp"), at))
        return True

    def do_push(self, run, at, state, operands):
        value = self.read(run, at, state, operands[0], operands)
        state.put("rsp", subtract(state.get("rsp"), number(8)))
        state.store(*state.get("rsp"), 8, value)
        return True

    def do_pop(self, run, at, state, operands):
        value = self.program.load(state, state.get("rsp"), 8)
        state.put("rsp", add(state.get("rsp"), number(8)))
        state.put(REGISTERS[operands[0]][0], value)
        return True

    def do_leave(self, run, at, state, operands):
        state.put("rsp", state.get("rbp"))
        return self.do_pop(run, at, state, ["rbp"])

    def do_xchg(self, run, at, state, operands):
        a, b = (self.read(run, at, state, o, operands) for o in operands)
        self.write(run, at, state, operands[0], operands, b)
        self.write(run, at, state, operands[1], operands, a)
        return True

    def do_mul(self, run, at, state, operands):
        value = mixed([state.get("rax")] + [self.read(run, at, state, o, operands) for o in operands])
        for reg in ("rax", "rdx", "flags"):
            state.put(reg, value)
        return True

    def do_imul(self, run, at, state, operands):
        return len(operands) == 1 and self.do_mul(run, at, state, operands)

    def do_div(self, run, at, state, operands):
        value = mixed([state.get("rax"), state.get("rdx")] + [self.read(run, at, state, o, operands) for o in operands])
        if value == SECRET:
            run.report(at, "a divisor or dividend is secret")
        for reg in ("rax", "rdx", "flags"):
            state.put(reg, value)
        return True

    do_idiv = do_div

    def do_mulx(self, run, at, state, operands):
        value = mixed([state.get("rdx"), self.read(run, at, state, operands[2], operands)])
        for operand in operands[:2]:
            self.write(run, at, state, operand, operands, value)
        return True

    def do_cqo(self, run, at, state, operands):
        state.put("rdx", mixed([state.get("rax")]))
        return True

    do_cdq = do_cqo

    def do_rep_stos(self, run, at, state, operands):
        if SECRET in (state.get("rcx"), state.get("rdi")):
            run.report(at, "an address depends on a secret")
        return self.program.fill(state, state.get("rdi"), NUMBER, state.get("rax"))

    def do_rep_movs(self, run, at, state, operands):
        if SECRET in (state.get("rcx"), state.get("rdi"), state.get("rsi")):
            run.report(at, "an address depends on a secret")
        return self.program.fill(state, state.get("rdi"), NUMBER, SECRET)
