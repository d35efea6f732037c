#!/usr/bin/env python3
"""Compares the library's table of what instructions write with nvdisasm's live ranges. Needs no GPU.

usage: check_effects.py --nvdisasm NVDISASM CUBIN ...

nvdisasm marks, behind each instruction, the registers and predicates that it writes and reads. Told are, by opcode:
- missed: a value that is written, and the table says it is not. This makes wrong answers.
- kept: a value that the table says is surely replaced, and nvdisasm does not mark. This makes wrong answers too.
- unread: a value that a pure instruction reads, and the table does not name. So does this.
- extra: a value that the table says may be written, and is not. This costs precision only.
Exit status 1 when there is one of the first three kinds.
"""
import argparse
import collections
import os
import re
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);\s*/\* 0x([0-9a-f]{16}) \*/")
SECOND = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/\s*// \|(.*)$")


def build_dump(folder):
    program = os.path.join(folder, "sass_effects_dump")
    files = [os.path.join(ROOT, "tests", "unit", "sass_effects_dump.c")]
    for part in ("sass", "core"):
        source = os.path.join(ROOT, "src", part)
        files += sorted(os.path.join(source, name) for name in os.listdir(source) if name.endswith(".c"))
    include = ["-I" + os.path.join(ROOT, "src"), "-I" + os.path.join(ROOT, "include")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", *include, *files, "-o", program, "-lm", "-lpthread"],
                   check=True)
    return program


def architecture(path):
    with open(path, "rb") as file:
        head = file.read(64)
    flags = struct.unpack_from("<I", head, 48)[0]
    return flags >> 8 & 0xff if head[7] == 0x41 else flags & 0xff


def marked(cells, marks):
    """Numbers of the columns that hold one of these marks."""
    return {number for number, cell in enumerate(cells) if cell in marks}


def panes_of(text, starts, ends):
    return [text[start:end] for start, end in zip(starts, ends)]


def read_ranges(nvdisasm, path):
    """Yields word, text, written and read values: "R3", "P0"."""
    run = subprocess.run([nvdisasm, "-plr", "-lrm", "narrow", "-c", "-hex", path], capture_output=True, text=True, check=True)
    names, starts, ends, first = [], [], [], None
    for line in run.stdout.split("\n"):
        head = re.search(r"// \|((?:\s+(?:GPR|PRED|UGPR|UPRED)\s+\|)+)\s*$", line)
        digits = re.search(r"// \|((?:\s+# [0-9]*\s*\|)+)\s*$", line)
        code, second = CODE.match(line), SECOND.match(line)
        if head:
            names = head.group(1).replace("|", " ").split()
        elif digits:
            starts, ends, at = [], [], 0
            for pane in digits.group(1).split("|")[:-1]:
                starts.append(at + pane.index("#") + 2)
                at += len(pane) + 1
                ends.append(at - 1)
        elif code:
            first = code
        elif second and first:
            word = struct.pack("<QQ", int(first.group(3), 16), int(second.group(1), 16))
            panes = dict(zip(names, panes_of(second.group(2), starts, ends)))
            written, read = set(), set()
            for name, letter in (("GPR", "R"), ("PRED", "P")):
                written |= {letter + str(n) for n in marked(panes.get(name, ""), "^x")}
                read |= {letter + str(n) for n in marked(panes.get(name, ""), "vx")}
            yield word, first.group(2).strip(), written, read
            first = None


def told_by_table(line):
    first, replaced, sources = line.split("|")
    begin, span, predicates, pure = (int(field) for field in first.split())
    may = {"R%d" % n for n in range(begin, min(begin + span, 255))}
    may |= {"P%d" % n for n in range(7) if predicates >> n & 1}
    return may, set(replaced.split()), set(sources.split()), bool(pure)


# nvdisasm marks the predicate of LDGSTS, which is read, as written too; R2P's it does not mark at all.
READ_ONLY = {0x1ae: "P"}


def guard_of(word):
    low = struct.unpack_from("<Q", word)[0]
    return set() if low >> 12 & 7 == 7 else {"P%d" % (low >> 12 & 7)}


def check(tools, path, found, totals):
    arch = architecture(path)
    instructions = list(read_ranges(tools["nvdisasm"], path))
    run = subprocess.run([tools["dump"], str(arch)], input=b"".join(i[0] for i in instructions), capture_output=True, check=True)
    lines = run.stdout.decode().splitlines()
    for (word, text, written, read), line in zip(instructions, lines):
        may, replaced, sources, pure = told_by_table(line)
        low = struct.unpack_from("<H", word)[0] & 0xfff
        written = {value for value in written if value[0] != READ_ONLY.get(low & 0x1ff)}
        totals["instructions"] += 1
        totals["pure"] += pure
        for kind, wrong in (("missed", written - may), ("kept", replaced - written),
                            ("unread", (read - sources - guard_of(word) - written) if pure else set()),
                            ("extra", may - written if len(may) < 100 else set())):
            if wrong:
                key = (kind, "%03x" % low, re.sub(r"@\S+ ", "", text).split(" ")[0].split(".")[0])
                found.setdefault(key, [0, set(), text, sorted(wrong)])
                found[key][0] += 1
                found[key][1].add(arch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--extra", action="store_true", help="tell extra ones too")
    parser.add_argument("cubins", nargs="+")
    arguments = parser.parse_args()
    found, totals = {}, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        tools = {"nvdisasm": arguments.nvdisasm, "dump": build_dump(folder)}
        for path in arguments.cubins:
            check(tools, path, found, totals)
    failures = 0
    for key in sorted(found):
        count, archs, text, wrong = found[key]
        failures += count if key[0] != "extra" else 0
        if key[0] != "extra" or arguments.extra:
            print("%s: opcode %s %s, %d times, sm_%s: %s (%s)"
                  % (*key, count, ",".join(map(str, sorted(archs))), text, " ".join(wrong)))
    print("%d instructions, %d of them pure, %d wrong" % (totals["instructions"], totals["pure"], failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
