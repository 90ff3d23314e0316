#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: test_links.py SOURCE_DIR

What the documentation points to is there: every relative link of every *.md and the heading it names, every file of ours that
is named in it or in a picture's source, and every page of docs in its index. And the picture is its source's.
"""
import glob
import html
import os
import re
import sys

# Files that are not ours, or that a reader makes, by the page that names them.
OTHERS = {
    "README.md": "server.c",
    "CONTRIBUTING.md": "src/arch/x86/ghash_sse41.c",
    "docs/integrate-libsmb2.md": "libsmb2.c pdu.c smb2-cmd-negotiate.c socket.c init.c",
    "docs/integrate-samba.md": "smb2_negprot.c smb2_server.c smbXcli_base.c",
}
# Of these kinds are the files that are named without their folder.
KINDS = "c h sh py md svg dot go map cmake"


def tree(root):
    """The files, relative to the root; nothing of version control and nothing that was built."""
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "__pycache__") and not re.match("build|obj-", f)]
        for file in files:
            yield os.path.relpath(os.path.join(folder, file), root)


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def headings(text):
    """The anchors of its headings, as GitHub makes them."""
    for title in re.findall(r"^#+ (.*)$", without_code(text), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def bad_links(root, page, text):
    prose = re.sub(r"`[^`\n]*`", "", without_code(text))
    for target in re.findall(r"\]\(([^)\s]+)\)|^\[[^]]+\]: (\S+)", prose, re.M):
        target = target[0] or target[1]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(os.path.join(root, file)):
            yield f"{page}: a link to {target}, which is not there"
        elif anchor and anchor not in headings(open(os.path.join(root, file)).read()):
            yield f"{page}: a link to {target}, which has no such heading"


def bad_names(root, page, text, files):
    tops = {f.split("/")[0] for f in files if "/" in f}
    known = {os.path.basename(f) for f in files} | set(OTHERS.get(page, "").split())
    text = text.replace("\\n", " ")  # in labels of pictures
    text = re.sub(r"\]\([^)]*\)|\b[a-z]+://\S+", "", text)  # links are looked at above
    for word in re.findall(r"(?<![\w./$<>*{-])\.{0,2}/?[\w*][\w./*{},-]*", text):
        word = re.sub(r"^\.{0,2}/", "", word).rstrip(".,-")
        if "/" in word and word.split("/")[0] in tops:
            if word not in known and not all(glob.glob(os.path.join(root, w)) for w in braces(word)):
                yield f"{page}: names {word}, which is not there"
        elif "/" not in word and "*" not in word and re.fullmatch(rf"[\w-][\w.-]*\.({KINDS.replace(' ', '|')})", word):
            if word not in known:
                yield f"{page}: names {word}, and there is no file of that name"


def braces(word):
    """a/{b,c}.h is a/b.h and a/c.h."""
    found = re.fullmatch(r"(.*)\{([^}]*)\}(.*)", word)
    return [found[1] + middle + found[3] for middle in found[2].split(",")] if found else [word]


def bad_picture(root, page, source):
    """The picture says what its source says: somebody has drawn it again."""
    said = {html.unescape(t).strip() for t in re.findall(r"<text[^>]*>([^<]*)</text>", open(os.path.join(root, page)).read())}
    lines = {t.strip() for label in re.findall(r'label="([^"]*)"', source) for t in label.split("\\n")}
    if said != lines:
        yield f"{page}: not made from its source: {sorted(said ^ lines)}"


def main():
    root = sys.argv[1]
    files = sorted(tree(root))
    pages = [f for f in files if f.endswith((".md", ".dot")) or f == "NEWS"]
    index = open(os.path.join(root, "docs", "README.md")).read()
    problems, links = [], 0
    for page in pages:
        text = open(os.path.join(root, page)).read()
        links += text.count("](")
        problems += [*bad_links(root, page, text), *bad_names(root, page, text, files)]
        if page.endswith(".dot"):
            problems += bad_picture(root, page[:-4] + ".svg", text)
        name = os.path.relpath(page, "docs")
        if re.fullmatch(r"docs/[\w-]+\.md", page) and name != "README.md" and f"]({name})" not in index:
            problems.append(f"docs/README.md: {name} is missing")
    print(*problems, f"{len(pages)} pages, {links} links", sep="\n")
    return 1 if problems or len(pages) < 8 or links < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
