#!/usr/bin/env python3
"""Compares the cubins that the library finds in files with those that NVIDIA's cuobjdump finds. Needs no GPU.

usage: compare_containers.py --cuobjdump CUOBJDUMP [--sample N] FILE...

cuobjdump looks into the sections made for fat binaries; the library also into the rest of a file. So of what it finds
in those sections the number must be equal, architecture by architecture, and what lies elsewhere is counted apart. Of
a sample, spread evenly, the unpacked bytes must be found too. All cubins, wherever they lie, must unpack and be what
their entries say. Exit status 1 when anything differs. cuobjdump comes with
scripts/wheels.sh cuobjdump-13.5.37.
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
CUBIN = 1
SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")
Image = collections.namedtuple("Image", "index kind packing arch offset stored unpacked")


def build_list(folder):
    program = os.path.join(folder, "container_list")
    files = [os.path.join(ROOT, "tests", "unit", "container_list.c")]
    for part in ("sass", "core"):
        source = os.path.join(ROOT, "src", part)
        files += sorted(os.path.join(source, name) for name in os.listdir(source) if name.endswith(".c"))
    options = ["-std=gnu11", "-O1", "-DGC_HAVE_LZ4", "-DGC_HAVE_ZSTD", "-I" + os.path.join(ROOT, "src"),
               "-I" + os.path.join(ROOT, "include")]
    libraries = ["-llz4", "-lzstd", "-lpthread", "-lm"]
    subprocess.run([os.environ.get("CC", "cc"), *options, *files, "-o", program, *libraries], check=True)
    return program


def section_ranges(path):
    """Where the sections of fat binaries lie in an ELF file; None: the whole file counts."""
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF" or struct.unpack_from("<H", head, 18)[0] == 190:
            return None
        table, = struct.unpack_from("<Q", head, 40)
        size, count, names = struct.unpack_from("<HHH", head, 58)
        file.seek(table)
        headers = [struct.unpack_from("<IIQQQQ", file.read(size)) for _ in range(count)]
        file.seek(headers[names][4])
        text = file.read(headers[names][5])
    found = []
    for name, kind, _flags, _address, offset, length in headers:
        if kind != 8 and text[name:text.index(b"\0", name)] in SECTIONS:
            found.append((offset, offset + length))
    return found


def own_cubins(program, path):
    run = subprocess.run([program, path], capture_output=True, text=True, check=True)
    images = [Image(*map(int, line.split())) for line in run.stdout.splitlines()]
    ranges = section_ranges(path)
    cubins = [image for image in images if image.kind == CUBIN]
    inside = [image for image in cubins
              if ranges is None or any(begin <= image.offset < end for begin, end in ranges)]
    return images, cubins, inside


def their_cubins(cuobjdump, path):
    run = subprocess.run([cuobjdump, "-all", "-lelf", path], capture_output=True, text=True, check=False)
    return re.findall(r"^ELF file +\d+: (\S+)$", run.stdout, re.M)


def architecture(name):
    return int(re.search(r"\.sm_(\d+)[a-z]?\.cubin$", name).group(1))


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def find_equal(tools, path, inside, name, data):
    """Whether one of our cubins has these bytes: cuobjdump's order is not always that of the file."""
    own = os.path.join(tools["folder"], "own.cubin")
    for image in inside:
        if image.arch == architecture(name) and image.unpacked == len(data):
            subprocess.run([tools["list"], path, str(image.index), own], check=True)
            if read_bytes(own) == data:
                return True
    return False


def compare_bytes(tools, path, inside, theirs, sample):
    step = max(1, len(theirs) // sample) if sample else len(theirs) + 1
    missing = compared = 0
    for name in theirs[::step]:
        subprocess.run([tools["cuobjdump"], "-all", "-xelf", name, os.path.abspath(path)], check=True,
                       capture_output=True, cwd=tools["folder"])
        other = os.path.join(tools["folder"], name)
        compared += 1
        if not find_equal(tools, path, inside, name, read_bytes(other)):
            missing += 1
            print("%s: no image is %s" % (path, name))
        os.unlink(other)
    return compared, missing


def compare_file(tools, path, sample):
    images, cubins, inside = own_cubins(tools["list"], path)
    theirs = their_cubins(tools["cuobjdump"], path)
    equal = sorted(image.arch for image in inside) == sorted(map(architecture, theirs))
    compared, missing = compare_bytes(tools, path, inside, theirs, sample) if equal else (0, 0)
    check = subprocess.run([tools["list"], path, "check"], capture_output=True, text=True, check=False)
    whole = check.returncode == 0 and int(check.stdout.split()[0]) == len(cubins)
    unpacked = "%s bytes" % check.stdout.split()[2] if whole else "NO " + check.stderr.strip()
    print("%s: %d images; cubins: %d in the sections, cuobjdump finds %d%s; %d elsewhere; bytes of %d looked for, %d "
          "missing; all unpacked: %s"
          % (os.path.basename(path), len(images), len(inside), len(theirs), "" if equal else ", NOT EQUAL",
             len(cubins) - len(inside), compared, missing, unpacked))
    return equal and whole and missing == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuobjdump", default="cuobjdump")
    parser.add_argument("--sample", type=int, default=10, help="cubins of each file whose bytes are compared")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = {"folder": folder, "list": build_list(folder), "cuobjdump": os.path.abspath(arguments.cuobjdump)}
        good = [compare_file(tools, path, arguments.sample) for path in arguments.files]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
