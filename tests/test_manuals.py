#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The manuals say what the header and the command say.

    test_manuals.py header SOURCE_DIR         functions, types and constants of smb3sign.h against section 3
    test_manuals.py command SOURCE_DIR TOOL   subcommands and options of TOOL's --help against smb3sign(1)
    test_manuals.py links SOURCE_DIR DIR      DIR has the section 3 pages and, for every other function, a link to its page
    test_manuals.py examples SOURCE_DIR DIR   writes the examples of section 3 into DIR, as PAGE.c, for manuals.c

Prints what differs and exits with 1 if anything does.
"""
import pathlib
import re
import subprocess
import sys

problems = []


def problem(text):
    problems.append(text)


def normal(text):
    """C with one space wherever there may be any, and none beside punctuation."""
    return re.sub(r"\s*([*(){};,\[\]])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def section(text, title):
    found = re.search(r"^\.Sh %s\n(.*?)(?=^\.Sh |\Z)" % re.escape(title), text, re.M | re.S)
    return found.group(1) if found else ""


def pages(src):
    found = {page.name: page.read_text() for page in sorted((src / "man").glob("*.3"))}
    assert len(found) >= 10, "too few pages"
    return found


# ---- The header


class Header:
    def __init__(self, src):
        text = (src / "include/smb3sign.h").read_text()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        self.prototypes = {}
        for found in re.finditer(r"^SMB3SIGN_API ([^;]*);", text, re.M):
            prototype = normal(found.group(1).replace("SMB3SIGN_MUST_CHECK", ""))
            self.prototypes[re.search(r"(smb3sign_\w+)\(", prototype).group(1)] = prototype
        self.types = {t for t in {normal(t) for t in re.findall(
            r"^typedef (?:struct \{[^}]*\} \w+|[^;{]*);", text, re.M)} if "iov_base" not in t}
        self.constants = set(re.findall(r"^#define (SMB3SIGN_\w+)[ \t]+\d", text, re.M))
        for body in re.findall(r"\benum \{([^}]*)\}", text):
            self.constants |= set(re.findall(r"\bSMB3SIGN_\w+", body))
        self.others = set(re.findall(r"\bSMB3SIGN_\w+", text)) - self.constants
        assert len(self.prototypes) >= 50 and len(self.types) >= 6 and len(self.constants) >= 50, "smb3sign.h is misread"


def names(page):
    return re.findall(r"^\.Nm (smb3sign_\w+)", section(page, "NAME"), re.M)


def prototypes(synopsis):
    for kind, name, arguments in re.findall(r"^\.Ft (.*)\n\.Fo (\w+)\n((?:\.Fa .*\n)+)\.Fc$", synopsis, re.M):
        arguments = [a.strip('"') for a in re.findall(r"^\.Fa (.*)$", arguments, re.M)]
        yield name, normal("%s %s(%s)" % (kind.strip('"'), name, ", ".join(arguments)))


def check_header(src):
    header = Header(src)
    documented, types, constants = {}, set(), set()
    found = pages(src)
    for name, page in found.items():
        listed = names(page)
        synopsis = section(page, "SYNOPSIS")
        here = dict(prototypes(synopsis))
        if synopsis.count("\n.Fo ") != len(here) or ".Fn" in synopsis:
            problem(f"{name}: a function in SYNOPSIS that is not .Ft, .Fo, .Fa, .Fc")
        if listed != list(here):
            problem(f"{name}: NAME has {listed}, SYNOPSIS {list(here)}")
        for function in here:
            if function in documented:
                problem(f"{name}: {function} is in another page too")
        documented.update(here)
        for block in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", synopsis, re.M | re.S):
            types |= {normal(t) for t in re.findall(r"typedef (?:struct \{[^}]*\} \w+|[^;{]*);", block)}
        for argument in re.findall(r"^\.Dv (SMB3SIGN_\w+)|^\.It Dv (SMB3SIGN_\w+)", page, re.M):
            constants |= set(argument) - {""}
        for function in re.findall(r"\bFn (smb3sign_\w+)", page):
            if function not in header.prototypes:
                problem(f"{name}: there is no function {function}")
    for function, prototype in header.prototypes.items():
        if function not in documented:
            problem(f"{function} is in no page")
        elif documented[function] != prototype:
            problem(f"{function}: smb3sign.h has\n\t{prototype}\nand its page\n\t{documented[function]}")
    for text in types ^ header.types:
        problem(f"only in {'a page' if text in types else 'smb3sign.h'}: {text}")
    for text in sorted(set(documented) - set(header.prototypes)) + sorted(constants - header.constants - header.others):
        problem(f"not in smb3sign.h: {text}")
    for text in sorted(header.constants - constants):
        problem(f"no page explains {text}")
    everything = {page[:-2] for page in found} | set(documented)
    for name, page in [*found.items(), ("smb3sign.1", (src / "man/smb3sign.1").read_text())]:
        for target, number in re.findall(r"\bXr (\S+) (\d)", page):
            if (target, number) != ("smb3sign", "1") and (target not in everything or number != "3"):
                problem(f"{name}: there is no {target}({number})")
    print(f"{len(documented)} functions, {len(types)} types, {len(constants)} constants in {len(found)} pages")


# ---- The command


def help_of(tool, *command):
    """None of a command that was left out of this build, which says so."""
    done = subprocess.run([tool, *command, "--help"], capture_output=True, text=True)
    if done.returncode == 2 and "built without" in done.stderr:
        print(f"not compared: {command[0]}: {done.stderr.strip()}")
        return None
    done.check_returncode()
    return done.stdout


def options_in(text):
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[A-Za-z])(?![\w-])", text)) - {"-h"}


def options_of(mdoc):
    """What .Fl has, in the lines that the pattern of options is made of."""
    found = set()
    for line in re.findall(r"^\.(?:It |Op |Oo |)(Fl .*)$", mdoc, re.M):
        for words in re.findall(r"Fl ((?:[\w-]+(?: [,|] )?)+)", line.replace("| Fl ", "| ")):
            found |= {"-" + word for word in re.split(r" [,|] ", words)}
    return found


def check_command(src, tool):
    page = (src / "man/smb3sign.1").read_text()
    synopsis = section(page, "SYNOPSIS")
    head, *parts = re.split(r"^\.Ss smb3sign (?=\S+$)", section(page, "DESCRIPTION"), flags=re.M)
    described = {part.split("\n", 1)[0]: part for part in parts}
    usage = help_of(tool)
    commands = re.findall(r"^  ([a-z][a-z-]*)  ", usage, re.M)
    assert len(commands) >= 6, "smb3sign --help is misread"
    if sorted(commands) != sorted(described):
        problem(f"--help has {sorted(commands)}, the page {sorted(described)}")
    used = re.findall(r"^\.Cm ([a-z-]+)$", synopsis, re.M)
    if set(used) != set(commands):
        problem(f"--help has {sorted(commands)}, SYNOPSIS {sorted(used)}")

    def compare(where, there, here):
        for option in sorted(there ^ here):
            problem(f"{where}: {option} is only in {'--help' if option in there else 'the page'}")

    compare("smb3sign", options_in(usage.split("\n\n")[0]), options_of("\n".join(re.findall(r"^\.It Fl.*$", head, re.M))))
    count = 0
    for command in commands:
        usage = help_of(tool, command)
        if usage is None:
            continue
        there = options_in(usage) - {"--help"}
        here = options_of("\n".join(re.findall(r"^\.It Fl.*$", described.get(command, ""), re.M)))
        compare(f"smb3sign {command}", there, here)
        forms = re.findall(r"^\.Cm %s\n((?:(?!\.Nm).*\n)*)" % re.escape(command), synopsis, re.M)
        for option in sorted(options_of("".join(forms)) - here):
            problem(f"smb3sign {command}: {option} is in SYNOPSIS only")
        count += len(here)
    assert count >= 10, "smb3sign.1 is misread"
    print(f"{len(commands)} commands, {count} options")


# ---- What is installed


def check_links(src, directory):
    found = pages(src)
    for name, page in found.items():
        for function in [name[:-2]] + names(page):
            path = directory / f"{function}.3"
            wanted = page if path.name == name else f".so man3/{name}\n"
            if not path.exists():
                problem(f"there is no {path.name}")
            elif path.read_text() != wanted:
                problem(f"{path.name} is not {'the page' if wanted is page else wanted.strip()}")
    expected = set(found) | {f"{function}.3" for page in found.values() for function in names(page)}
    for path in directory.glob("*"):
        if path.name not in expected:
            problem(f"{path.name} is nobody's")
    print(f"{len(expected)} files of section 3")


def write_examples(src, directory):
    count = 0
    for name, page in pages(src).items():
        code = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", section(page, "EXAMPLES"), re.M | re.S)
        if code:
            (directory / f"{name[:-2]}.c").write_text("".join(code).replace("\\e", "\\"))
            count += 1
    print(f"{count} examples")


def main(what, src, where=None):
    src = pathlib.Path(src)
    if what == "header":
        check_header(src)
    elif what == "command":
        check_command(src, where)
    elif what == "links":
        check_links(src, pathlib.Path(where))
    elif what == "examples":
        write_examples(src, pathlib.Path(where))
    else:
        sys.exit(__doc__)
    for text in problems:
        print(text)
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
