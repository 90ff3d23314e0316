# SPDX-License-Identifier: MIT
"""Measures what run.sh has set up, and prints the tables.

Everything takes turns: a round does each kind of work once with each kind of signing, beginning with another in every
round, and ratios to "off" are taken within a round. Figures are medians of the rounds. What counts is the processor time of
smbd and smbclient: on a shared machine the clock on the wall tells of others.
"""

import argparse
import csv
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

ALGORITHMS = {"HMAC-SHA256": "HMAC-SHA256", "AES-128-CMAC": "AES-CMAC", "AES-128-GMAC": "AES-GMAC"}
WORKS = ("put", "get", "read 4k")
PORTS = {"off": 4455, "stock": 4457, "ours": 4459}  # those with reads of 4 KiB: the next
TICK = 1 / os.sysconf("SC_CLK_TCK")
READS = 32768

# The project's: processor time of smbd and smbclient as a multiple of that without signing, or of Samba's own signing.
TARGETS = (
    ("AES-128-CMAC", "put", "off", 2.10),
    ("AES-128-GMAC", "put", "off", 1.20),
    ("HMAC-SHA256", "put", "stock", 1.00),
    ("HMAC-SHA256", "get", "stock", 1.00),
)
NO_RESULT = 0.10  # processor seconds scatter by this much: less is no difference

# Where signing is done: the libraries that Samba's own uses, and the preloaded object.
SIGNING_OBJECTS = re.compile(r"libgnutls|libnettle|libhogweed|libsamba_preload")


class Bench:
    def __init__(self, options):
        self.options = options
        self.figures = {}  # (work, signing) -> one (seconds, smbd's, smbclient's, others' processor seconds) a round
        self.sent = os.path.join(options.scratch, "sent")
        self.small = os.path.join(options.scratch, "small")
        self.received = os.path.join(options.scratch, "received")

    # signing: "off", or (algorithm, "stock" or "ours")
    def server(self, work, signing):
        name = signing if signing == "off" else signing[1]
        small = work == "read 4k"
        return os.path.join(self.options.scratch, name + ("-4k" if small else "")), PORTS[name] + small

    def server_pid(self, folder):
        with open(os.path.join(folder, "pid", "smbd.pid"), encoding="ascii") as f:
            return int(f.read())

    def command(self, work, signing):
        folder, port = self.server(work, signing)
        command = ["smbclient", "//127.0.0.1/share", "-p", str(port), "-s", folder + "/smb.conf", "-m", "SMB3_11",
                   "-U", self.options.login]
        environment = dict(os.environ)
        if signing == "off":
            command += ["--client-protection=off"]
        else:
            command += ["--client-protection=sign", "--option=client smb3 signing algorithms=" + signing[0]]
            if signing[1] == "ours":
                environment |= {"LD_PRELOAD": self.options.preload, "SMB3SIGN_SAMBA_COUNTERS": self.options.counters}
        does = {"put": f"put {self.sent} file", "get": f"get file {self.received}", "read 4k": f"get small {self.received}"}
        return command + ["-c", does[work]], environment

    def signatures(self):
        """Made and verified by the library, of smbd and smbclient together (samba_preload.c has the layout)."""
        with open(self.options.counters, "rb") as f:
            return sum(struct.unpack("=6Q", f.read(48)))

    def run(self, work, signing, wrap=()):
        """One transfer: seconds, smbd's and smbclient's processor seconds, everybody else's."""
        folder, _ = self.server(work, signing)
        pid = self.server_pid(folder)
        command, environment = self.command(work, signing)
        idle = children(pid)
        before = children_seconds(pid)
        machine = busy_seconds()
        signatures = self.signatures()
        start = time.monotonic()
        process = subprocess.Popen([*wrap, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        if status:
            sys.exit(f"{' '.join(command)}: {output.decode(errors='replace')}")
        while children(pid) - idle:  # the connection's smbd, whose time counts when it has ended
            if time.monotonic() > start + seconds + 10:
                sys.exit("a connection's smbd does not end")
            time.sleep(0.01)
        time.sleep(0.05)
        server = children_seconds(pid) - before
        client = usage.ru_utime + usage.ru_stime
        if server <= 0:
            sys.exit("smbd's processor time was not found")
        # A request and a response for each piece, each signed and verified. An object that cannot be preloaded is left out
        # with no more than a message.
        pieces = READS if work == "read 4k" else self.options.mib // self.options.message
        signatures = self.signatures() - signatures
        if signatures < 4 * pieces if signing != "off" and signing[1] == "ours" else signatures:
            sys.exit(f"{work} with {name_of(signing)}: {signatures} signatures by the library")
        return seconds, server, client, max(0.0, busy_seconds() - machine - server - client)

    def round(self, number):
        kinds = ["off"] + [(algorithm, whose) for algorithm in ALGORITHMS for whose in ("stock", "ours")]
        kinds = kinds[number % len(kinds):] + kinds[:number % len(kinds)]
        for work in WORKS:
            for signing in kinds:
                folder, _ = self.server(work, signing)
                if work == "put":
                    remove(folder + "/export/file")
                elif work == "read 4k" and not os.path.exists(folder + "/export/small"):
                    shutil.copy(self.small, folder + "/export/small")
                figure = self.run(work, signing)
                self.figures.setdefault((work, signing), []).append(figure)
                came = folder + "/export/file" if work == "put" else self.received
                if os.path.getsize(came) != os.path.getsize(self.small if work == "read 4k" else self.sent):
                    sys.exit(f"{work} with {signing}: the file has another size")
                remove(self.received)
        for name in PORTS:  # at most one copy of the file for each server
            remove(os.path.join(self.options.scratch, name, "export", "file"))

    def signing_share(self, work, signing, program):
        """The share of a program's processor time that its signing takes, by sampling; None without perf."""
        if not shutil.which("perf"):
            return None
        data = os.path.join(self.options.scratch, "perf.data")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", data]
        folder, _ = self.server(work, signing)
        if program == "smbclient":
            self.run(work, signing, wrap=[*record, "--"])
        else:
            perf = subprocess.Popen([*record, "-p", str(self.server_pid(folder))], stderr=subprocess.DEVNULL)
            time.sleep(1)
            self.run(work, signing)
            perf.send_signal(2)
            perf.wait()
        remove(self.received)
        report = subprocess.run(["perf", "report", "-i", data, "--sort", "dso", "--stdio", "-t", "\t"],
                                capture_output=True, text=True, check=False).stdout
        shares = [line.split("\t") for line in report.splitlines() if line.strip() and not line.startswith("#")]
        if not shares:
            return None
        return sum(float(share.strip().rstrip("%")) for share, what in shares if SIGNING_OBJECTS.search(what)) / 100

    # ---- what the rounds say ----

    def cpu(self, work, signing):
        return [server + client for _, server, client, _ in self.figures[work, signing]]

    def ratio(self, work, signing, base):
        return statistics.median(a / b for a, b in zip(self.cpu(work, signing), self.cpu(work, base)))

    def median(self, work, signing, column):
        return statistics.median(figure[column] for figure in self.figures[work, signing])


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return set(f.read().split())


def children_seconds(pid):
    """User and system time of the children that have ended (proc(5): cutime, cstime)."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) * TICK


def busy_seconds():
    """All processors' time but idle and waiting for input and output."""
    with open("/proc/stat", encoding="ascii") as f:
        fields = [int(field) for field in f.readline().split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) * TICK


def remove(path):
    if os.path.exists(path):
        os.unlink(path)


def read_costs(path):
    """Nanoseconds a byte of the library's signing of such a message, with the kernels in use: the first of each algorithm."""
    costs = {}
    with open(path, encoding="ascii", newline="") as f:
        for row in csv.DictReader(f):
            if row["work"] == "sign":
                costs.setdefault(row["what"], float(row["ns"]) / int(row["bytes"]))
    return costs


def name_of(signing):
    if signing == "off":
        return "off"
    return f"{signing[0]}, {'Samba' if signing[1] == 'stock' else 'libsmb3sign'}"


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " ---: |" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_tables(bench, costs):
    mib = bench.options.mib
    kinds = ["off"] + [(algorithm, whose) for algorithm in ALGORITHMS for whose in ("stock", "ours")]

    print(f"{mib} MiB in messages of {bench.options.message} MiB, medians of {bench.options.rounds} rounds\n")
    rows = []
    for signing in kinds:
        row = [name_of(signing)]
        for work in ("put", "get"):
            rate = mib * 1.048576 / bench.median(work, signing, 0)
            server, client = (bench.median(work, signing, column) for column in (1, 2))
            row += [f"{rate:.0f}", f"{server:.2f}+{client:.2f}", f"{bench.ratio(work, signing, 'off'):.2f}"]
        rows.append(row)
    table(("signing", "put MB/s", "CPU s smbd+smbclient", "CPU vs off", "get MB/s", "CPU s", "CPU vs off"), rows)

    print(f"Reads of 4 KiB, {READS} of them\n")
    rows = []
    for signing in kinds:
        server, client = (bench.median("read 4k", signing, column) for column in (1, 2))
        rows.append([name_of(signing), f"{READS / bench.median('read 4k', signing, 0):.0f}",
                     f"{server / READS * 1e6:.1f}+{client / READS * 1e6:.1f}",
                     f"{bench.ratio('read 4k', signing, 'off'):.2f}"])
    table(("signing", "reads/s", "CPU us a read, smbd+smbclient", "CPU vs off"), rows)

    print("What signing adds: each byte is signed once and verified once; a byte as smb3sign-bench has it\n")
    rows = []
    for algorithm, short in ALGORITHMS.items():
        for work in ("put", "get"):
            off = bench.cpu(work, "off")
            added = {whose: statistics.median(a - b for a, b in zip(bench.cpu(work, (algorithm, whose)), off))
                     for whose in ("stock", "ours")}
            rows.append([f"{algorithm}, {work}", f"{added['stock']:.2f}", f"{added['ours']:.2f}",
                         f"{2 * mib * 2**20 * costs[short] * 1e-9:.2f}", f"{costs[short]:.3f}"])
    table(("", "Samba, CPU s", "libsmb3sign, CPU s", "bytes x time a byte, s", "ns a byte"), rows)


def print_shares(bench):
    rows = []
    for signing in ["off"] + [(algorithm, whose) for algorithm in ALGORITHMS for whose in ("stock", "ours")]:
        row = [name_of(signing)]
        for work in ("put", "get"):
            for program in ("smbd", "smbclient"):
                share = bench.signing_share(work, signing, program)
                if share is None:
                    print("No share of signing in the processor time: perf is not here or gives no samples\n")
                    return
                row.append(f"{100 * share:.0f} %")
        rows.append(row)
    print("Share of the processor time in the code that signs (samples of perf record -e cpu-clock)\n")
    table(("signing", "put smbd", "put smbclient", "get smbd", "get smbclient"), rows)


def print_targets(bench):
    for algorithm, work, base, most in TARGETS:
        other = "off" if base == "off" else (algorithm, "stock")
        ratio = bench.ratio(work, (algorithm, "ours"), other)
        noise = NO_RESULT if base == "stock" else 0
        verdict = "met" if ratio <= most + noise else "NOT MET"
        within = f" (scatter of {NO_RESULT:.2f} allowed)" if noise else ""
        print(f"target: {algorithm} {work}, CPU {ratio:.2f} of {base}, at most {most:.2f}{within}: {verdict}")
    others = [figure[3] / figure[0] for figures in bench.figures.values() for figure in figures]
    print(f"beside it the machine's other work took {statistics.median(others):.2f} of {os.cpu_count()} processors, "
          f"{max(others):.2f} at most; scatter of CPU seconds in 'put, off': "
          f"{max(bench.cpu('put', 'off')) / min(bench.cpu('put', 'off')) - 1:.0%}")


def main():
    parser = argparse.ArgumentParser()
    for option in ("scratch", "login", "preload", "counters", "costs"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--mib", type=int, required=True)  # the file
    parser.add_argument("--message", type=int, required=True)  # MiB too
    bench = Bench(parser.parse_args())
    chunk = os.urandom(1 << 20)
    with open(bench.sent, "wb") as f:
        for _ in range(bench.options.mib):
            f.write(chunk)
    with open(bench.small, "wb") as f:
        f.write(os.urandom(4096) * READS)
    bench.run("put", "off")  # memory for the files is found
    for number in range(bench.options.rounds):
        print(f"round {number + 1} of {bench.options.rounds}", file=sys.stderr)
        bench.round(number)
    print_tables(bench, read_costs(bench.options.costs))
    print_targets(bench)
    print()
    print_shares(bench)


main()
