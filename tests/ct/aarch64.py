# SPDX-License-Identifier: MIT
"""What each arm64 instruction does with secrets (flow.py). An instruction that is not known here computes its first operand
from the others."""
import re

from flow import (ANY_CONSTANT, NUMBER, SECRET, add, functions, is_functions, is_stack, join, masked, mixed, number,
                  subtract, times, truncated)

ARGUMENTS = ["x%d" % i for i in range(6)]
OBJDUMP = []
STACK = "sp"
VOLATILE = ["x%d" % i for i in range(1, 19)] + ["flags"] + ["v%d" % i for i in range(8)] + ["v%d" % i for i in range(16, 32)]
KEPT = ["x%d" % i for i in range(19, 31)] + ["v%d" % i for i in range(8, 16)]
RESULT = ["x0"]

REGISTER = re.compile(r"(?:([xw])(\d+|zr)|(w?sp)|([vqdshb])(\d+)(?:\.\w+)?(\[\d+\])?)$")
VECTOR_SIZES = {"v": 16, "q": 16, "d": 8, "s": 4, "h": 2, "b": 1}

# The first operand is read too.
OVERWRITE = re.compile(r"aes[ed]|sha|[us]?q?d?ml[as]|[us]?ml[as]|fml[as]|bit$|bif$|bsl$|s[lr]i$|tbx|ins$|[us]r?sra|bfi|bfxil|bfc|"
                       r"bfm|movk|sm[34]|[us]adalp|[us]abal?|(xtn|shrn|rshrn|addhn|subhn|[us]qxtn|sqxtun|fcvtn)2|[us]?sdot|[us]dot")
SET_FLAGS = re.compile(r"cmp$|cmn$|tst$|adds|subs|ands|bics|adcs|sbcs|negs|ngcs|ccm[pn]|fc?cmpe?$|fccmp")
ONLY_FLAGS = re.compile(r"cmp$|cmn$|tst$|ccm[pn]|fcmpe?$|fccmp")
READ_FLAGS = re.compile(r"cs|cinc|cinv|cneg|ccm|fccmp|fcsel|adc|sbc|ngc")
LOAD = re.compile(r"ld(r|ur|p|np|a|x|\d)")
STORE = re.compile(r"st(r|ur|p|np|l|x|\d)")


class Processor:
    def __init__(self, program):
        self.program = program

    def is_target(self, at):
        return at in self.program.targets

    @staticmethod
    def register(operand):
        """Its name in the state and its size in bytes; (None, 8) for what is none."""
        m = REGISTER.match(operand)
        if not m:
            return None, 8
        if m.group(3):
            return "sp", 8
        if m.group(4):
            return "v" + m.group(5), VECTOR_SIZES[m.group(4)]
        return "x" + m.group(2), 8 if m.group(1) == "x" else 4

    def read(self, state, operand):
        m = re.match(r"#?(-?0x[0-9a-f]+|-?\d+)$", operand)
        if m:
            return number(int(m.group(1), 0))
        reg, size = self.register(operand)
        if reg is None:
            return mixed([state.get(self.register(part.strip())[0]) for part in self.listed(operand)])
        if reg == "xzr":
            return number(0)
        value = state.get(reg)
        return truncated(value) if reg[0] == "x" and size == 4 else value

    def write(self, state, operand, value):
        reg, size = self.register(operand)
        if reg in (None, "xzr"):
            for part in self.listed(operand):
                state.put(self.register(part)[0], value)
            return
        if reg[0] == "x" and size == 4:
            value = truncated(value)
        if operand.endswith("]"):
            value = mixed([value, state.get(reg)])
        state.put(reg, value)

    @staticmethod
    def listed(operand):
        """The registers of {v0.16b, v1.16b} or {v0.16b-v3.16b}."""
        m = re.match(r"\{v(\d+)(\.\w+)-v(\d+)", operand)
        if m:
            return ["v%d" % (i % 32) for i in range(int(m.group(1)), int(m.group(3)) + 1 +
                                                    (32 if int(m.group(3)) < int(m.group(1)) else 0))]
        return [part.strip() for part in re.sub(r"[{}]|\[\d+\]", "", operand).split(",")] if operand.startswith("{") else []

    def address(self, state, operand):
        parts = [p.strip() for p in operand.strip("[]!").split(",")]
        value = self.read(state, parts[0])
        if len(parts) > 1:
            index = self.read(state, parts[1])
            shift = re.search(r"#(\d+)", parts[2]) if len(parts) > 2 else None
            value = add(value, times(index, 1 << int(shift.group(1))) if shift else index)
        return value

    def step(self, run, at, state):
        name, operands, target, following = self.program.code[at]
        if name == "ret":
            return None
        if name in ("nop", "hint", "bti", "prfm", "paciasp", "autiasp"):
            return [following]
        if name in ("udf", "brk"):
            return []
        if name in ("b", "bl", "br", "blr"):
            if name in ("br", "blr"):
                to = self.read(state, operands[0])
                if to == SECRET:
                    run.report(at, "a jump depends on a secret")
                target = to[0][1] if is_functions(to) else None
            return self.program.transfer(run, at, state, name in ("b", "br"), target, following, self)
        if name.startswith("b."):
            if state.get("flags") == SECRET:
                run.report(at, "a branch depends on a secret")
            return [target, following]
        if re.match(r"[ct]bn?z", name):
            if self.read(state, operands[0]) == SECRET:
                run.report(at, "a branch depends on a secret")
            return [target, following]
        if LOAD.match(name) or STORE.match(name):
            self.memory(run, at, state, name, operands, target)
        else:
            self.compute(run, at, state, name, operands, target)
        return [following]

    def memory(self, run, at, state, name, operands, target):
        where = next(i for i, operand in enumerate(operands) if operand.startswith("["))
        address = self.address(state, operands[where])
        if address == SECRET:
            run.report(at, "an address depends on a secret")
        regs, at_byte = [], 0
        for operand in operands[:where]:
            regs += self.listed(operand) or [operand]
        for reg in regs:
            size = self.width(name, reg)
            here = add(address, number(at_byte))
            at_byte += size
            if STORE.match(name):
                if here != SECRET and is_stack(here[0]):
                    state.store(*here, size, self.read(state, reg))
            elif at in self.program.relocations and "GOT" in self.program.relocations[at][0]:
                self.write(state, reg, functions(target) if target is not None else ANY_CONSTANT)
            else:
                value = self.program.load(state, here, size)
                lane = operands[0].endswith("]")
                self.write(state, reg, mixed([value, self.read(state, reg)]) if lane else value)
        self.write_back(state, operands, where, address)

    def width(self, name, reg):
        """Bytes that one register gets."""
        if reg[0] in "xw":
            if re.search(r"sw$", name):
                return 4
            return 1 if name.endswith("b") else 2 if name.endswith("h") else self.register(reg)[1]
        return VECTOR_SIZES[reg[0]]

    def write_back(self, state, operands, where, address):
        base = operands[where].strip("[]!").split(",")[0].strip()
        if operands[where].endswith("!"):
            self.write(state, base, address)
        elif len(operands) > where + 1:
            self.write(state, base, add(address, self.read(state, operands[where + 1])))

    def compute(self, run, at, state, name, operands, target):
        if name in ("adrp", "adr") or (name == "add" and at in self.program.relocations):
            place = self.program.place(at, self.program.relocations.get(at))
            self.write(state, operands[0], functions(target) if target is not None else place)
            return
        same = len(operands) == 3 and operands[1] == operands[2] and name in ("eor", "sub")
        sources = operands[1:] if not ONLY_FLAGS.match(name) else operands
        values = [] if same else [self.read(state, o) for o in sources if not re.match(r"(lsl|lsr|asr|ror|[us]xt)", o)
                                  and not self.is_condition(o)]
        if OVERWRITE.match(name):
            values.append(self.read(state, operands[0]))
        if READ_FLAGS.match(name):
            values.append(state.get("flags"))
        if re.search(r"div|sqrt", name) and SECRET in values:
            run.report(at, "a divisor or dividend is secret")
        result = mixed(values)
        if SET_FLAGS.match(name):
            state.put("flags", result)
        if not ONLY_FLAGS.match(name):
            if name == "and" and operands[0] == "sp":
                result = self.program.aligned(state.get(self.register(operands[1])[0]), at)
            elif result != SECRET and operands[0][0] in "xws":
                result = self.exact(name, operands, values, result)
            self.write(state, operands[0], result)

    @staticmethod
    def is_condition(operand):
        return re.match(r"(eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al|nv)$", operand) is not None

    @staticmethod
    def exact(name, operands, values, result):
        """Of what is computed with addresses and indices, more than whether it is secret."""
        shift = re.match(r"(lsl|[us]xt\w)(?: #(\d+))?$", operands[-1])
        if shift and len(values) >= 2:
            values = values[:-1] + [times(values[-1], 1 << int(shift.group(2) or 0))]
        elif re.match(r"lsr|asr|ror", operands[-1]):
            return result
        if name == "mov":
            return values[0]
        if name in ("add", "adds"):
            return add(values[0], values[1])
        if name in ("sub", "subs"):
            return subtract(values[0], values[1])
        if name in ("and", "ands"):
            return masked(values[0], values[1])
        if name == "lsl" and values[1][0] is None and not values[1][2]:
            return times(values[0], 1 << values[1][1])
        if name == "mul" and values[1][0] is None and not values[1][2]:
            return times(values[0], values[1][1])
        if name in ("madd", "umaddl", "smaddl") and values[1][0] is None and not values[1][2]:
            return add(values[2], times(values[0], values[1][1]))
        if name == "csel":
            return join(values[0], values[1])
        return result
