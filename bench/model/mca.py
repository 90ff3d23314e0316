# SPDX-License-Identifier: MIT
"""llvm-mca: cycles a pass of a loop, the limit that execution ports set, instructions' latencies."""
import functools
import itertools
import json
import subprocess
from collections import defaultdict

MCA = "llvm-mca-19"
TARGET = {
    "arm64": ["-mtriple=aarch64-linux-gnu", "-mattr=+crypto,+sha3"],
    "x86": ["-mtriple=x86_64-linux-gnu"],
}


@functools.lru_cache(maxsize=None)
def run(arch, core, assembly, *options):
    """The report on the text."""
    command = [MCA, *TARGET[arch], "-mcpu=" + core, "--json", *options]
    done = subprocess.run(command, input=assembly, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["CodeRegions"][0]


def cycles(arch, core, assembly):
    """Of one pass among many: the first hundred, which fill the pipeline, are taken off."""
    first, both = (run(arch, core, assembly, f"-iterations={n}")["SummaryView"]["TotalCycles"] for n in (100, 400))
    return (both - first) / 300


def demands(arch, core, assembly):
    """{ports: cycles that any of them, together, have to give}. An instruction's use of ports that are as good as each
    other stands in llvm-mca's table as equal parts."""
    info = run(arch, core, assembly, "--instruction-tables")
    parts = defaultdict(list)
    for use in info["ResourcePressureView"]["ResourcePressureInfo"]:
        if use["InstructionIndex"] < len(info["Instructions"]):  # behind the last there are sums
            parts[use["InstructionIndex"], round(use["ResourceUsage"], 6)].append(use["ResourceIndex"])
    total = defaultdict(float)
    for (_, part), ports_of_it in parts.items():
        total[frozenset(ports_of_it)] += part * len(ports_of_it)
    return total


def ports(arch, core, assembly):
    """Cycles of a pass if nothing had to wait for a result: of any set of ports, the work that no others can do; and of
    dispatch. (llvm-mca's own "block reciprocal throughput" leaves out what shares a port with work bound to it.)"""
    total = demands(arch, core, assembly)
    unions = {frozenset().union(*some) for n in range(1, len(total) + 1) for some in itertools.combinations(total, n)}
    summary = run(arch, core, assembly, "-iterations=1")["SummaryView"]
    busiest = max(sum(work for where, work in total.items() if where <= union) / len(union) for union in unions)
    return max(busiest, summary["TotaluOps"] / summary["DispatchWidth"])


def latencies(arch, core, assembly):
    """Of each instruction."""
    info = run(arch, core, assembly, "-iterations=1")["InstructionInfoView"]
    return [instruction["Latency"] for instruction in info["InstructionList"]]
