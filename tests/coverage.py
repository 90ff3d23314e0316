#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: tests/coverage.py BUILD-FOLDER PERCENT-OF-LINES PERCENT-OF-BRANCHES

What coverage.sh prints, from llvm-cov's counts. A branch is one outcome of a condition that is not a constant. Lines and branches
of templates and headers count once, and as run if they were in any of the files that include them.
"""
import json, os, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Files, and the flag of /proc/cpuinfo that a processor needs to run them; None: it is another sort of processor.
LEFT_OUT = {
    "src/arch/arm64": None,
    "src/arch/x86/ghash_avx512.c": "avx512f",
    "src/arch/x86/ghash_vpclmul.c": "vpclmulqdq",
    "src/arch/x86/sha256_ni.c": "sha_ni",
    "src/arch/x86/sha256_ni_lanes.c": "sha_ni",
    "src/arch/x86/sha256_avx2.c": "avx2",
    "src/arch/x86/sha256_avx512.c": "avx512vl",
}


def left_out():
    with open("/proc/cpuinfo") as f:
        flags = next((line.split(":")[1].split() for line in f if line.startswith("flags")), [])
    return [path for path, flag in LEFT_OUT.items() if flag not in flags]


def lines_of(lcov):
    """{file: {line: times}}"""
    sums, lines = {}, {}
    with open(lcov) as f:
        for record in f:
            what, _, value = record.rstrip().partition(":")
            if what == "SF":
                lines = sums.setdefault(os.path.relpath(value, ROOT), {})
            elif what == "DA":
                number, times = [int(n) for n in value.split(",")[:2]]
                lines[number] = lines.get(number, 0) + times
    return sums


def branches_of(exported):
    """{file: {(line, column, outcome): times}}"""
    sums = {}
    with open(exported) as f:
        report = json.load(f)["data"][0]
    for function in report["functions"]:
        for line, column, _, _, taken, not_taken, file, *_ in function["branches"]:
            branches = sums.setdefault(os.path.relpath(function["filenames"][file], ROOT), {})
            for outcome, times in ((True, taken), (False, not_taken)):
                branches[line, column, outcome] = branches.get((line, column, outcome), 0) + times
    return sums


def share(counts):
    counts = list(counts)
    return 100 * sum(1 for n in counts if n) / len(counts) if counts else 100


def main():
    folder, want = sys.argv[1], [float(a) for a in sys.argv[2:4]]
    without = left_out()
    lines, branches = lines_of(folder + "/counts.lcov"), branches_of(folder + "/counts.json")
    files = [f for f in sorted(lines) if f.startswith("src/") and lines[f]
             and not any(f == w or f.startswith(w + "/") for w in without)]
    print("left out: " + (" ".join(without) or "nothing"))
    print("%-40s %7s %7s %9s %7s" % ("", "lines", "run", "branches", "run"))
    counts = [(f, list(lines[f].values()), list(branches.get(f, {}).values())) for f in files]
    counts.append(("together", [n for _, l, _ in counts for n in l], [n for _, _, b in counts for n in b]))
    for name, l, b in counts:
        print("%-40s %7d %6.1f%% %9d %6.1f%%" % (name, len(l), share(l), len(b), share(b)))
    for f in files:
        for number in sorted(n for n, times in lines[f].items() if not times):
            print("%s:%d: not run" % (f, number))
        for line, column, outcome in sorted(b for b, times in branches.get(f, {}).items() if not times and lines[f].get(b[0])):
            print("%s:%d:%d: never %s" % (f, line, column, "true" if outcome else "false"))
    shares = [share(counts[-1][1]), share(counts[-1][2])]
    if shares[0] < want[0] or shares[1] < want[1]:
        sys.exit("below %g %% of lines or %g %% of branches" % tuple(want))


if __name__ == "__main__":
    main()
