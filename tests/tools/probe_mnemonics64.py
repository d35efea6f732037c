#!/usr/bin/env python3
"""Asks nvdisasm 12.8 what each value of the top 16 bits of a 64-bit word is called on sm_50 to sm_62, and prints the table of
src/sass/mnemonics64.c: runs of values with one base mnemonic, and the first architecture that has them.

usage: probe_mnemonics64.py NVDISASM [FILLS]

Whether a word is accepted hangs on its other bits too: each value is asked with FILLS (default 16) different ones.
"""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

ARCHITECTURES = (50, 52, 53, 60, 61, 62)
CONTROL = 0x7E0 * (1 | 1 << 21 | 1 << 42)  # no stall, no barrier, for all three
NOP = 0x50B0000000070F00
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+\{?\s*(?:@!?\w+\s+)?([A-Z0-9_]+)")


def number_at(address):
    return address // 32 * 3 + address % 32 // 8 - 1


def ask(nvdisasm, path, arch, words):
    """Base mnemonic of each word, None where it is refused. nvdisasm prints nothing until no word is refused."""
    names, alive = [None] * len(words), list(range(len(words)))
    while alive:
        asked = [words[i] for i in alive]
        asked += [NOP] * (-len(asked) % 3)
        with open(path, "wb") as file:
            for i in range(0, len(asked), 3):
                file.write(struct.pack("<4Q", CONTROL, *asked[i:i + 3]))
        run = subprocess.run([nvdisasm, "-b", "SM%d" % arch, path], capture_output=True, text=True, check=False)
        refused = {number_at(int(at, 16)) for at in re.findall(r"at address 0x([0-9a-f]+)", run.stderr)}
        if not refused:
            for at, name in LINE.findall(run.stdout):
                if int(at, 16) % 32 and number_at(int(at, 16)) < len(alive):
                    names[alive[number_at(int(at, 16))]] = name
            break
        alive = [word for i, word in enumerate(alive) if i not in refused]
    return names


def fills(count):
    """Lower 48 bits with the guard PT: few bits set, then many."""
    source = random.Random(1)
    yield 0x70000
    for i in range(count - 1):
        bits = source.getrandbits(48)
        for _ in range(2 - i % 3):
            bits &= source.getrandbits(48)
        yield bits & ~0xF0000 | 0x70000


def main():
    nvdisasm, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 16
    since = [None] * 65536
    with tempfile.TemporaryDirectory() as folder:
        for arch in ARCHITECTURES:
            known = [None] * 65536
            for fill in fills(count):
                found = ask(nvdisasm, os.path.join(folder, "words"), arch, [top << 48 | fill for top in range(65536)])
                for top, name in enumerate(found):
                    if name and known[top] not in (None, name):
                        sys.exit("sm_%d: %#x is %s or %s" % (arch, top, name, known[top]))
                    known[top] = known[top] or name
            for top, name in enumerate(known):
                if since[top] and name != since[top][0]:
                    sys.exit("%#x is %s up to sm_%d, then %s" % (top, since[top][0], arch, name))
                since[top] = since[top] or (name and (name, arch))
            print("sm_%d: %d values known" % (arch, sum(map(bool, known))), file=sys.stderr)
    begin = 0
    for top in range(1, 65537):
        if top == 65536 or since[top] != since[begin]:
            if since[begin]:
                print('{0x%04x, 0x%04x, %d, "%s"},' % (begin, top - 1, since[begin][1], since[begin][0]))
            begin = top


if __name__ == "__main__":
    main()
