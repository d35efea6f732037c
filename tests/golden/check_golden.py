#!/usr/bin/env python3
"""Holds the decoder against the stored listings of sm_50 to sm_72 (scripts/make_golden.py makes them).

usage: check_golden.py SASS_DUMP

Exit status 1 when anything differs, or when fewer instructions were compared than there are in the file.
"""
import collections
import os
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
sys.dont_write_bytecode = True
import compare_disassembly  # noqa: E402
import disassembly  # noqa: E402

LEAST = {"instructions": 80000, "flow": 10000, "followed": 3000}


def listing_of(text):
    listing, kernel = disassembly.Listing(""), None
    for line in text.splitlines():
        if line.startswith("= "):
            kernel = line[2:]
            listing.code[kernel], listing.told[kernel] = {}, {}
            continue
        pc, _, rest = line.partition(" ")
        rest, _, told = rest.partition(" -> ")
        listing.code[kernel][int(pc, 16)] = rest
        listing.told[kernel][int(pc, 16)] = [int(target, 16) for target in told.split(",") if told]
    return listing


def main():
    totals, by_arch = collections.Counter(), {}
    with tarfile.open(os.path.join(HERE, "listings.tar.xz")) as archive, tempfile.TemporaryDirectory() as folder:
        content = {entry.name: archive.extractfile(entry).read() for entry in archive}
        for name in sorted(content):
            if not name.endswith(".cubin"):
                continue
            path = os.path.join(folder, "kernel.cubin")
            with open(path, "wb") as file:
                file.write(content[name])
            arch = int(name[3:5])
            listing = listing_of(content[name[:-6] + ".txt"].decode())
            found = disassembly.dump(sys.argv[1], path, listing.code)
            counts, shown = compare_disassembly.compare_listing(listing, found, arch, name)
            print("\n".join(shown[:20]), end="\n" * bool(shown))
            by_arch.setdefault(arch, collections.Counter()).update(counts)
            totals += counts
    for arch, counts in sorted(by_arch.items()):
        compare_disassembly.show("sm_%d" % arch, counts)
    compare_disassembly.show("all", totals)
    few = [name for name, least in LEAST.items() if totals[name] < least]
    if few:
        print("too few: " + ", ".join(few))
    return 1 if totals["different"] or few else 0


if __name__ == "__main__":
    sys.exit(main())
