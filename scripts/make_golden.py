#!/usr/bin/env python3
"""Makes tests/golden/listings.tar.xz: cubins by NVRTC 12.9.86 and what nvdisasm 12.8 says of them, for the architectures that newer
tools no longer know (sm_50 to sm_72). tests/golden/check_golden.py holds the decoder against it without these tools.

usage: make_golden.py NVDISASM-12.8 LIBNVRTC-12.9.86      (scripts/wheels.sh nvdisasm-12.8 nvrtc-12.9.86 gets them)

Compilers are deterministic: from the same sources it makes the same file. Of an instruction that is no control flow, only guard
and base mnemonic are kept.
"""
import io
import os
import sys
import tarfile
import tempfile

import compare_disassembly
import disassembly

ARCHITECTURES = (50, 52, 53, 60, 61, 62, 70, 72)
TARGET = os.path.join(disassembly.ROOT, "tests", "golden", "listings.tar.xz")


def lines_of(listing, arch):
    """What disassembly.Listing holds, as text that check_golden.py reads back."""
    for kernel, code in listing.code.items():
        yield "= " + kernel
        for pc, text in sorted(code.items()):
            guard, base, _, _ = disassembly.split(text)
            if not disassembly.is_flow(arch, base):
                text = base if guard == "-" else guard + " " + base
            told = ",".join("%x" % target for target in listing.told[kernel][pc])
            yield "%x %s%s" % (pc, text, " -> " + told if told else "")


def add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    nvdisasm, nvrtc = sys.argv[1], disassembly.load_nvrtc(sys.argv[2])
    with tarfile.open(TARGET, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for name, text in [*compare_disassembly.corpus(), *compare_disassembly.instructions()]:
            for arch in ARCHITECTURES:
                cubin = disassembly.compile_source(nvrtc, text, "sm_%d" % arch)
                with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
                    file.write(cubin)
                    file.flush()
                    listing = disassembly.disassemble(nvdisasm, file.name)
                path = "sm_%d/%s" % (arch, name.split(".")[0])
                add(archive, path + ".cubin", cubin)
                add(archive, path + ".txt", "\n".join(lines_of(listing, arch)).encode())
    print("%s: %d bytes" % (TARGET, os.path.getsize(TARGET)))


if __name__ == "__main__":
    main()
