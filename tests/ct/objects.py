#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: objects.py OBJDUMP PLANTED.o OBJECT.o...

Constant time, read off the object code: for the kernels whose instructions neither valgrind nor MemorySanitizer knows
(SHA-NI, VAES, AVX-512, arm64's), and for all others too. Every function that one of the structs of kernels.h names, in the
objects given (ELF, x86-64 or arm64), is followed through all its branches and calls with the values of flow.py: its
arguments are public, what it finds in memory is secret but for constants, the fields of keys and lanes that hold pointers
and sizes, the SMB2 header before its Signature, and public values that it put on the stack itself. Reported is
    a branch, or a jump, on a secret, be it by flags, by ptest and its like, by a mask register or by cbz;
    an address made from a secret, and which bytes a masked load touches; every gather;
    a division by or of a secret; a length for memcpy or memset that is secret;
    of AES and GHASH with vectors: sixteen secret bytes side by side on the stack, a vector, when the function returns. That
    is round keys, sums before reduction and the like, which nobody can search memory for without knowing their value. (The
    portable ones' and SHA's stacks are searched for known values by test_api.c: message words may stay there.)
Vectors count as everything else: what is loaded from messages and keys is secret there, and still is when it has moved to
a general register. Compare the processors' files for which instructions are known.

PLANTED.o (planted.c) tells what the structs look like and has kernels that leak, each of which has to be reported, and one
that does not. Exit status 0 if that is so and nothing else was found.
"""
import functools, os, re, struct, subprocess, sys

sys.dont_write_bytecode = True
import aarch64, x86_64
from flow import ANY_CONSTANT, NUMBER, SECRET, Analysis, State, is_stack, join, mixed, number

MACHINES = {62: x86_64, 183: aarch64}
LAYOUT = """lane.size lane.p lane.rk short.size short.key short.hdr short.body short.len short.caller key.secret
aes.expand aes.encrypt aes.cbcmac aes.cmac aes.cbcmac_lanes ghash.setkey ghash.blocks ghash.gmac ghash.gmac_short
sha256.blocks sha256.hmac sha256.blocks_lanes sha512.blocks""".split()

# Arguments that are more than numbers and pointers to secrets.
MESSAGE = [("key", 0, 0), ("header", 0, 0)]
LANES = [("lanes", 0, 0)]
CONTRACTS = {"aes.cmac": MESSAGE, "ghash.gmac": MESSAGE, "sha256.hmac": MESSAGE, "aes.cbcmac_lanes": LANES,
             "sha256.blocks_lanes": LANES, "ghash.gmac_short": [("shorts", 0, 0)]}
SIGNATURE = 48  # its offset in the header


class Object:
    """An ELF file's sections, symbols and relocations."""

    def __init__(self, path):
        self.path, self.data = path, open(path, "rb").read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            sys.exit("%s: not a 64-bit little-endian ELF file" % path)
        self.machine, = struct.unpack_from("<H", self.data, 18)
        offset, = struct.unpack_from("<Q", self.data, 40)
        count, names = struct.unpack_from("<HH", self.data, 60)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + 64 * i) for i in range(count)]
        self.names = [self.string(names, s[0]) for s in self.sections]
        self.symbols, self.relocations = [], {}
        for index, s in enumerate(self.sections):
            if s[1] == 2:
                for at in range(s[4], s[4] + s[5], 24):
                    name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
                    self.symbols.append((self.string(s[6], name), info & 15, section, value, size))
        for s in self.sections:
            if s[1] == 4:
                for at in range(s[4], s[4] + s[5], 24):
                    where, info, addend = struct.unpack_from("<QQq", self.data, at)
                    self.relocations[s[7], where] = (info >> 32, addend)

    def string(self, section, offset):
        start = self.sections[section][4] + offset
        return self.data[start:self.data.index(b"\0", start)].decode()

    def is_code(self, symbol):
        return 0 < symbol[2] < 0xff00 and self.sections[symbol[2]][2] & 4 != 0

    def bytes_of(self, wanted):
        for name, _, section, value, size in self.symbols:
            if name == wanted:
                start = self.sections[section][4] + value
                return self.data[start:start + size]
        return None


def split_operands(text):
    operands, depth, part = [], 0, ""
    for c in text:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            operands.append(part.strip())
            part = ""
        else:
            part += c
    return operands + [part.strip()] if part.strip() else operands


class Program:
    """The code of all objects together, by (object, section, address), and the memory it meets."""

    def __init__(self, objdump, objects, layout):
        self.objects, self.layout = objects, layout
        self.processor = MACHINES[objects[0].machine]
        self.code, self.targets, self.labels, self.globals, self.relocations, texts = {}, set(), {}, {}, {}, {}
        for i, o in enumerate(objects):
            for name, kind, section, value, _ in o.symbols:
                if kind == 2 and section:
                    self.globals.setdefault(name, (i, o.names[section], value))
        for i, o in enumerate(objects):
            self.disassemble(objdump, i, texts)
        self.text = texts

    def disassemble(self, objdump, i, texts):
        command = [objdump, "-d", "-r", "--no-show-raw-insn"] + self.processor.OBJDUMP + [self.objects[i].path]
        section, label, previous, lines = None, None, None, []
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            if line.startswith("Disassembly of section"):
                section, previous = line.split()[-1].rstrip(":"), None
            elif re.match(r"[0-9a-f]+ <.*>:", line):
                label = line.split("<")[1].rstrip(">:")
            elif re.match(r"\s+[0-9a-f]+: R_", line):
                lines[-1][3] = line.split(": ", 1)[1].split(None, 1)
            elif re.match(r"\s+[0-9a-f]+:\t", line):
                address, text = line.strip().split(":\t", 1)
                at = (i, section, int(address, 16))
                text = re.split(r"\s+(?:#|//) ", text)[0].strip()
                lines.append([at, previous, text, None])
                self.labels[at], texts[at], previous = label, text, at
        following = {line[1]: line[0] for line in lines if line[1]}
        for at, _, text, relocation in lines:
            self.add(at, text, relocation, following.get(at))

    def add(self, at, text, relocation, following):
        words = text.replace("\t", " ").split()
        while words[0] in ("data16", "cs", "ds", "notrack", "bnd") and len(words) > 1:
            del words[0]
        if words[0] in ("rep", "repz", "repnz") and len(words) > 1:
            words[:2] = [" ".join(words[:2])]
        name, operands = words[0], split_operands(" ".join(words[1:]))
        target = self.target(at, operands, relocation)
        self.code[at] = (name, operands, target, following)
        if relocation:
            self.relocations[at] = relocation
        if target is not None:
            self.targets.add(target)

    def target(self, at, operands, relocation):
        """Where a jump or a call goes, or whose address it is: a place in the code, or a name; None: neither."""
        if relocation:
            kind, symbol = relocation
            m = re.match(r"(.*?)([+-]0x[0-9a-f]+)?$", symbol)
            name, addend = m.group(1), int(m.group(2) or "0", 16)
            if kind.startswith("R_X86_64") and re.search(r"PC|PLT", kind):
                addend += 4
            if name in self.objects[at[0]].names:
                return (at[0], name, addend) if name.startswith(".text") else None
            if name in self.globals:
                return self.globals[name]
            return name if re.search("PLT|CALL26|JUMP26", kind) else None
        m = re.match(r"([0-9a-f]+) <", operands[-1]) if operands else None
        return (at[0], at[1], int(m.group(1), 16)) if m else None

    def load(self, state, address, size):
        """What is there, of this many bytes."""
        if address == SECRET:
            return SECRET
        base, offset, step = address
        if is_stack(base):
            return state.load(base, offset, step, size)
        if isinstance(base, tuple) and base[0] == "constants":
            return self.constant(base, offset, step, size)
        if base == "key":
            if step or offset < 0 or offset + size > self.layout["key.secret"]:
                return SECRET
            return ANY_CONSTANT if size == 8 else NUMBER
        if base == "header":
            return NUMBER if not step and 0 <= offset and offset + size <= SIGNATURE else SECRET
        if base == "lanes":
            return self.field(address, size, "lane", {"p": NUMBER, "rk": NUMBER})
        if base == "shorts":
            return self.field(address, size, "short", {"key": ("key", 0, 0), "hdr": ("header", 0, 0), "body": NUMBER,
                                                       "len": NUMBER, "caller": NUMBER})
        return SECRET

    def constant(self, base, offset, step, size):
        """What a constant says, if the place is known; of a vector, what its words of eight bytes have in common."""
        if step or size not in (4, 8, 16, 32, 64) or len(base) < 3:
            return NUMBER
        o = self.objects[base[1]]
        start = o.sections[base[2]][4] + offset
        words = [number(int.from_bytes(o.data[at:at + min(size, 8)], "little")) for at in range(start, start + size, 8)]
        return functools.reduce(join, words)

    def place(self, at, relocation):
        """A constant's address, from the relocation of what refers to it."""
        if relocation is None:
            return ANY_CONSTANT
        i, o, (kind, symbol) = at[0], self.objects[at[0]], relocation
        m = re.match(r"(.*?)([+-]0x[0-9a-f]+)?$", symbol)
        for name, _, section, value, _ in o.symbols:
            if "GOT" not in kind and section and (name == m.group(1) or (not name and o.names[section] == m.group(1))):
                return (("constants", i, section), value + int(m.group(2) or "0", 16) + (4 if "X86" in kind else 0), 0)
        return ANY_CONSTANT

    def field(self, address, size, struct_name, fields):
        """A field of one of an array of structs, or several in a row that are all public."""
        _, offset, step = address
        whole = self.layout[struct_name + ".size"]
        if step % whole:
            return SECRET
        values = {self.layout[struct_name + "." + name]: value for name, value in fields.items()}
        found = [values.get(at) for at in range(offset % whole, offset % whole + size, 8)]
        if None in found:
            return SECRET
        return found[0] if size == 8 else NUMBER

    def aligned(self, pointer, at):
        """The stack pointer, rounded down: a stack of its own from here on."""
        return ("stack@%s:%x" % (at[1], at[2]), 0, 0) if pointer != SECRET and is_stack(pointer[0]) else pointer

    def transfer(self, run, at, state, is_jump, target, following, processor):
        """A jump or a call to a place, to one of several, to a name, or to what one of the structs names (None), which is
        checked by itself."""
        if target is not None and not isinstance(target, str):
            places = [target] if isinstance(target, tuple) else sorted(target)
            if is_jump:
                self.targets.update(places)
                return places
            if set(places) & set(run.active):  # itself: with what, if it is no secret, is what contracts are about
                if SECRET in [state.get(reg) for reg in self.processor.ARGUMENTS[:3]]:
                    run.report(at, "calls itself with a secret")
                return self.foreign_call(state, NUMBER, [following])
            after = run.call(places, state)
            if after is None:
                return []
            state.__dict__.update(after.__dict__)
            return [following]
        arguments = [state.get(reg) for reg in self.processor.ARGUMENTS[:3]]
        if target in ("memcpy", "memmove", "memset"):
            if SECRET in (arguments[0], arguments[2]) or (target != "memset" and arguments[1] == SECRET):
                run.report(at, "what %s touches depends on a secret" % target)
            self.fill(state, arguments[0], arguments[2], arguments[1] if target == "memset" else SECRET)
        elif target is not None and target != "__stack_chk_fail":
            run.report(at, "calls %s, of which nothing is known" % target)
        return self.foreign_call(state, arguments[0] if target else NUMBER, None if is_jump else [following])

    def foreign_call(self, state, result, following):
        for reg in self.processor.VOLATILE:
            state.put(reg, SECRET)
        for reg in self.processor.RESULT:
            state.put(reg, result)
        return following

    @staticmethod
    def fill(state, address, size, value):
        """Bytes of one kind from address on; of a length not known, from there upwards."""
        if address == SECRET or not is_stack(address[0]):
            return True
        if size != SECRET and size[0] is None and not size[2] and not address[2]:
            for at in range(0, size[1], 4):
                state.store(address[0], address[1] + at, 0, min(4, size[1] - at), mixed([value]))
        else:
            state.store(address[0], address[1], address[2] or 4, 4, mixed([value]))
        return True

    def kernels(self):
        """(struct's name, function's name in it, where it is), for all of them."""
        for i, o in enumerate(self.objects):
            for name, kind, section, value, size in o.symbols:
                m = re.match(r"smb3sign_(aes|ghash|sha256|sha512)_\w+$", name)
                if not m or name.endswith("_kernels") or kind != 1 or section == 0 or section >= 0xff00:
                    continue
                places = {offset for field, offset in self.layout.items() if field.startswith(m.group(1) + ".")}
                strange = [at for (s, at), (symbol, _) in o.relocations.items() if s == section
                           and value <= at < value + size and at - value not in places and o.is_code(o.symbols[symbol])]
                if strange:
                    sys.exit("%s: %s has a function that planted.c's list does not" % (o.path, name))
                for field, offset in self.layout.items():
                    found = o.relocations.get((section, value + offset))
                    if not field.startswith(m.group(1) + ".") or not found or offset >= size:
                        continue
                    symbol, addend = o.symbols[found[0]], found[1]
                    if symbol[2]:
                        yield name, field, (i, o.names[symbol[2]], symbol[3] + addend)
                    else:
                        yield name, field, self.globals[symbol[0]]

    def check(self, field, entry, keeps_stack_clean):
        """What is wrong with one function."""
        found = {}
        run = Analysis(self.processor.Processor(self), lambda at, why: found.setdefault(at, why))
        state = State()
        contract = CONTRACTS.get(field, [])
        for i, reg in enumerate(self.processor.ARGUMENTS):
            state.put(reg, contract[i] if i < len(contract) else NUMBER)
        for reg in self.processor.KEPT:  # the caller's, which are put by and fetched back
            state.put(reg, NUMBER)
        state.put(self.processor.STACK, ("stack", 0, 0))
        self.targets.add(entry)
        end = run.run(entry, state)
        if end is None:
            found[entry] = "never returns"
        elif keeps_stack_clean and end.longest_secret() >= 16:
            found[entry] = "leaves %d secret bytes in a row on the stack" % end.longest_secret()
        return ["%s: %s+0x%x: %s: %s" % (os.path.basename(self.objects[at[0]].path), self.labels[at], at[2],
                                         self.text[at].replace("\t", " "), why) for at, why in sorted(found.items())]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__.splitlines()[0])
    objects = [Object(path) for path in sys.argv[2:]]
    numbers = objects[0].bytes_of("ct_layout")
    layout = dict(zip(LAYOUT, struct.unpack("<%dI" % len(LAYOUT), numbers)))
    program = Program(sys.argv[1], objects, layout)
    failed, checked, caught, done = False, 0, 0, {}
    for name, field, entry in program.kernels():
        if (field, entry) not in done:
            clean = field.split(".")[0] in ("aes", "ghash") and not name.endswith("_portable")
            done[field, entry] = program.check(field, entry, clean)
        wrong = done[field, entry]
        if "_planted_" in name and not name.endswith("_harmless"):
            caught += 1
            if not wrong:
                print("NOT FOUND: the leak of %s" % name)
                failed = True
            else:
                print("found: %s: %s" % (name, wrong[0]))
            continue
        checked += 1
        for line in wrong:
            print("%s, %s: %s" % (name, field.split(".")[1], line))
            failed = True
    print("%d functions of kernels, %d leaks on purpose" % (checked, caught))
    sys.exit(1 if failed or caught < 11 or checked < 25 else 0)


if __name__ == "__main__":
    main()
