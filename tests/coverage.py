#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: tests/coverage.py BUILD-FOLDER PERCENT-OF-LINES PERCENT-OF-BRANCHES

What coverage.sh prints. A line or branch of a template or header counts once, and as run if it was in any of the objects that it
is part of.
"""
import glob, gzip, json, os, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Files, and the flag of /proc/cpuinfo that the processor needs to run them ("": none has it that runs this).
LEFT_OUT = {
    "src/arch/arm64": "",
    "src/arch/x86/ghash_avx512.c": "avx512f",
    "src/arch/x86/ghash_vpclmul.c": "vpclmulqdq",
    "src/arch/x86/sha256_ni.c": "sha_ni",
    "src/arch/x86/sha256_ni_lanes.c": "sha_ni",
    "src/arch/x86/sha256_avx2.c": "avx2",
}


def processor_flags():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("flags"):
                return line.split(":")[1].split()
    return []


def left_out():
    flags = processor_flags()
    return [path for path, flag in LEFT_OUT.items() if flag not in flags]


def reports(folder):
    """gcov's, one for each object of the library."""
    counted = glob.glob(folder + "/CMakeFiles/smb3sign_objects.dir/**/*.gcda", recursive=True)
    if not counted:
        sys.exit("nothing was counted in " + folder)
    with tempfile.TemporaryDirectory() as scratch:
        for path in counted:
            subprocess.run(["gcov", "--json-format", "--branch-probabilities", os.path.abspath(path)], cwd=scratch, check=True,
                           stdout=subprocess.DEVNULL)
            for name in glob.glob(scratch + "/*.gcov.json.gz"):
                with gzip.open(name, "rt") as f:
                    yield json.load(f)
                os.remove(name)


def add_up(folder, without):
    """{file: ({line: times}, {(line, branch): times})}"""
    sums = {}
    for report in reports(folder):
        for file in report["files"]:
            path = os.path.relpath(os.path.join(report["current_working_directory"], file["file"]), ROOT)
            if not path.startswith("src/") or any(path == w or path.startswith(w + "/") for w in without):
                continue
            lines, branches = sums.setdefault(path, ({}, {}))
            for line in file["lines"]:
                number = line["line_number"]
                lines[number] = lines.get(number, 0) + line["count"]
                for i, branch in enumerate(line["branches"]):
                    branches[number, i] = branches.get((number, i), 0) + branch["count"]
    return sums


def share(counts):
    return 100 * sum(1 for n in counts if n) / len(counts) if counts else 100


def main():
    folder, want = sys.argv[1], [float(a) for a in sys.argv[2:4]]
    without = left_out()
    sums = add_up(folder, without)
    print("left out: " + (" ".join(without) or "nothing"))
    print("%-40s %7s %7s %9s %7s" % ("", "lines", "run", "branches", "run"))
    for path, (lines, branches) in sorted(sums.items()):
        print("%-40s %7d %6.1f%% %9d %6.1f%%" %
              (path, len(lines), share(lines.values()), len(branches), share(branches.values())))
    totals = [[n for file in sums.values() for n in file[what].values()] for what in range(2)]
    shares = [share(t) for t in totals]
    print("%-40s %7d %6.1f%% %9d %6.1f%%" % ("together", len(totals[0]), shares[0], len(totals[1]), shares[1]))
    for path, (lines, branches) in sorted(sums.items()):
        for number in sorted(lines):
            missed = sum(1 for (line, _), times in branches.items() if line == number and not times)
            if not lines[number]:
                print("%s:%d: not run" % (path, number))
            elif missed:
                print("%s:%d: %d branches not taken" % (path, number, missed))
    if shares[0] < want[0] or shares[1] < want[1]:
        sys.exit("below %g %% of lines or %g %% of branches" % tuple(want))


if __name__ == "__main__":
    main()
