# SPDX-License-Identifier: MIT
"""What registers and the stack hold at each instruction, as far as secrecy goes: the part of objects.py that is the same on
every processor.

A value is SECRET, or public: (base, offset, step) stands for base + offset + k * step, k any integer. The base says what a
pointer points into: None (a number, or memory of which only secrets are expected), the stack, or one of the structs and
regions that objects.py describes. Steps let an index into an array of structs be told from an index into one of them.

Calls are followed with what the caller knows. Three assumptions stand in for what object code does not say: on the stack, an
index leads from where it starts upwards; it does not lead to where the code keeps a pointer, a length or a counter; and
memory that the code did not write it does not read.
"""
from functools import reduce
from math import gcd

SECRET = "secret"
NUMBER = (None, 0, 1)  # public, nothing else known
ANY_CONSTANT = (("constants",), 0, 1)
FAR = 1 << 20          # below every stack: where downward loops are taken to begin


def number(n):
    return (None, n, 0)


def is_stack(base):
    return isinstance(base, str) and base.startswith("stack")


def unknown(origin):
    """A public number of which nothing is known, but that what is computed from it twice goes together: x + 2 * x."""
    return (("multiple", origin, 1), 0, 0)


def multiple(a):
    """The factor, if it is one of an unknown's multiples, else 0."""
    return a[0][2] if isinstance(a[0], tuple) and a[0][0] == "multiple" else 0


def plain(a):
    return (None, a[1] % abs(multiple(a)), abs(multiple(a))) if a != SECRET and multiple(a) else a


def reduced(base, offset, step):
    """The one form of values that mean the same; a stack pointer keeps its lower end."""
    if not step:
        return (base, offset, 0)
    if not is_stack(base):
        return (base, offset % step, step)
    return (base, offset if offset > -FAR else offset % step - 2 * FAR // step * step, step)


def join(a, b):
    if a == b:
        return a
    if SECRET in (a, b):
        return SECRET
    a, b = plain(a), plain(b)
    if is_functions(a) and is_functions(b):
        return (("functions", a[0][1] | b[0][1]), 0, 0)
    if a[0] != b[0]:
        return ANY_CONSTANT if is_constant(a) and is_constant(b) else NUMBER
    return reduced(a[0], min(a[1], b[1]), gcd(gcd(a[2], b[2]), abs(a[1] - b[1])))


def mixed(values):
    """What is computed from them, in whatever way."""
    return SECRET if SECRET in values else NUMBER


def add(a, b):
    if SECRET in (a, b):
        return SECRET
    if multiple(a) and multiple(b) and a[0][1] == b[0][1] and multiple(a) + multiple(b):
        return (("multiple", a[0][1], multiple(a) + multiple(b)), a[1] + b[1], 0)
    for value, constant in ((a, b), (b, a)):
        if multiple(value) and constant[0] is None and not constant[2]:
            return (value[0], value[1] + constant[1], 0)
    a, b = plain(a), plain(b)
    if a[0] is not None and b[0] is not None:
        return NUMBER
    return reduced(a[0] if a[0] is not None else b[0], a[1] + b[1], gcd(a[2], b[2]))


def subtract(a, b):
    if SECRET in (a, b):
        return SECRET
    a, b = plain(a), plain(b)
    if b[0] is not None:
        return number(a[1] - b[1]) if a[0] == b[0] and not a[2] and not b[2] else NUMBER
    return reduced(a[0], a[1] - b[1], gcd(a[2], b[2]))


def times(a, n):
    if a == SECRET:
        return SECRET
    if multiple(a) and n:
        return (("multiple", a[0][1], multiple(a) * n), a[1] * n, 0)
    return NUMBER if a[0] is not None else reduced(None, a[1] * n, a[2] * n)


def masked(a, b):
    """a & b: what is left of a multiple of a power of two."""
    if SECRET in (a, b):
        return SECRET
    a, b = plain(a), plain(b)
    for value, mask in ((a, b), (b, a)):
        if mask[0] is None and mask[2] == 0 and value[0] is None and mask[1]:
            if value[2] == 0:
                return number(value[1] & mask[1])
            return (None, 0, mask[1] & -mask[1])
    return NUMBER


def truncated(a):
    """To 32 bits. Offsets and indices are small: what was a multiple remains one."""
    if a == SECRET or multiple(a):
        return a
    if a[0] is not None:
        return NUMBER
    return number(a[1] & 0xFFFFFFFF) if not a[2] else a


def functions(targets):
    return (("functions", frozenset(targets)), 0, 0)


def is_functions(a):
    return a != SECRET and isinstance(a[0], tuple) and a[0][0] == "functions"


def is_constant(a):
    return a != SECRET and isinstance(a[0], tuple) and a[0][0] == "constants"


def is_variable(a):
    """A pointer, a length or a counter: not what the elements of an array of secrets begin as."""
    return a != SECRET and (a[0] is not None or a[2] != 0)


class State:
    """Registers by name (what is not there is secret), the flags among them, and the stack in words of four bytes."""

    def __init__(self):
        self.regs, self.words, self.values, self.indexed = {}, {}, {}, {}

    def copy(self):
        other = State()
        other.regs, other.words = self.regs.copy(), self.words.copy()
        other.values, other.indexed = self.values.copy(), self.indexed.copy()
        return other

    def get(self, reg):
        return self.regs.get(reg, SECRET)

    def put(self, reg, value):
        if value == SECRET:
            self.regs.pop(reg, None)
        else:
            self.regs[reg] = value

    def store(self, base, offset, step, size, value):
        if step:
            array = (base, offset, step, size)
            self.indexed[array] = join(self.indexed[array], value) if array in self.indexed else value
            return
        for at in range(offset - 7, offset + size):
            held = self.values.get((base, at))
            if held and at + held[0] > offset:
                del self.values[base, at]
        if value != SECRET and (size == 4 or size % 8 == 0):
            for at in range(offset, offset + size, 8):
                self.values[base, at] = (min(size, 8), value)
        for word in range(offset >> 2, (offset + size + 3) >> 2):
            whole = word << 2 >= offset and (word << 2) + 4 <= offset + size
            before = False if whole else self.words.get((base, word), False)
            self.words[base, word] = before or value == SECRET

    def load(self, base, offset, step, size):
        value = self.element(base, offset, step, size) if step else self.exact(base, offset, size)
        if value and is_variable(value):
            return value
        for (other, start, stride, width), content in self.indexed.items():
            if other == base and meets(offset, step, size, start, stride, width):
                if content == SECRET:
                    return SECRET
                if not value and is_variable(content) and width == size:
                    return content
        if value:
            return value
        if step:
            for (other, word), secret in self.words.items():
                if secret and other == base and word << 2 >= offset and meets(offset, step, size, word << 2, 0, 4):
                    return SECRET
            return NUMBER
        words = [self.words.get((base, word)) for word in range(offset >> 2, (offset + size + 3) >> 2)]
        if True in words or (None in words and not self.indexed):
            return SECRET
        return NUMBER

    def exact(self, base, offset, size):
        """What was put there by itself, or what its eight-byte parts have in common; None: not known."""
        held = [self.values.get((base, at)) for at in range(offset, offset + size, 8)]
        return reduce(join, [v[1] for v in held]) if all(v and v[0] == min(size, 8) for v in held) else None

    def element(self, base, offset, step, size):
        """Of an array, which was written by index too, or element by element."""
        value = self.indexed.get((base, offset, step, size))
        while size == 8 and self.values.get((base, offset), (0, 0))[0] == 8 and is_variable(self.values[base, offset][1]):
            value = join(value, self.values[base, offset][1]) if value else self.values[base, offset][1]
            offset += step
        return value

    def longest_secret(self):
        """The most secret bytes side by side on the stack; of what was written by index, by one store."""
        longest = max([size for (_, _, _, size), value in self.indexed.items() if value == SECRET] + [0])
        for base, word in [at for at, secret in self.words.items() if secret]:
            run = 1
            while self.words.get((base, word + run)):
                run += 1
            longest = max(longest, 4 * run)
        return longest

    def merge(self, other):
        """Take in what is so on another way here; whether that says more than before."""
        before = (self.regs, self.words, self.values, self.indexed)
        regs = {r: join(v, other.regs[r]) for r, v in self.regs.items() if r in other.regs}
        self.regs = {r: v for r, v in regs.items() if v != SECRET}
        mine, its = self.words, other.words
        self.words = {w: mine.get(w, False) or its.get(w, False) for w in mine.keys() | its.keys()}
        values = {}
        for at in self.values.keys() | other.values.keys():
            a, b = self.values.get(at), other.values.get(at)
            word = (at[0], at[1] >> 2)
            if a and b and a[0] == b[0]:
                values[at] = (a[0], join(a[1], b[1]))
            elif (a and word not in its) or (b and word not in mine):
                values[at] = a or b
        self.values = {at: v for at, v in values.items() if v[1] != SECRET}
        self.indexed = {a: join(self.indexed.get(a, v), v) for a, v in {**self.indexed, **other.indexed}.items()}
        return before != (self.regs, self.words, self.values, self.indexed)


def meets(offset, step, size, start, stride, width):
    """Whether bytes of the one may be bytes of the other: both lead upwards, by steps, or are where they are."""
    if not step and offset + size <= start:
        return False
    if not stride and start + width <= offset:
        return False
    apart, common = start - offset, gcd(step, stride)
    if not common:
        return -width < apart < size
    return apart % common < size or -apart % common < width


class Analysis:
    """Follows code from an entry. The processor gives instructions and what each does; what is wrong goes to report."""

    def __init__(self, processor, report):
        self.processor, self.report, self.active = processor, report, []

    def run(self, entry, state):
        """The state in which the code that begins at entry returns, or None if it never does."""
        self.active.append(entry)
        waiting, known, result = [entry], {entry: state}, None
        while waiting:
            at = waiting.pop()
            state = known[at].copy()
            while True:
                following = self.processor.step(self, at, state)
                if following is None:  # a return
                    result = merged(result, state)
                    break
                if len(following) == 1 and not self.processor.is_target(following[0]):
                    at = following[0]
                    continue
                for to in following:
                    if to not in known:
                        known[to] = state.copy()
                        waiting.append(to)
                    elif known[to].merge(state) and to not in waiting:
                        waiting.append(to)
                break
        self.active.pop()
        return result

    def call(self, targets, state):
        """The state after a call of one of them."""
        result = None
        for target in targets:
            result = merged(result, self.run(target, state.copy()))
        return result


def merged(a, b):
    if a is None or b is None:
        return a or b
    a.merge(b)
    return a
