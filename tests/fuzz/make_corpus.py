#!/usr/bin/env python3
"""Makes the fuzzers' first inputs from kernels of our own, for several architectures, in FOLDER/<target>.

usage: make_corpus.py FOLDER

NVRTC comes from scripts/wheels.sh. Packed images are made by liblz4.so.1 and libzstd.so.1. What lies in tests/fuzz/corpus
came from here and was minimised: scripts/fuzz.sh --minimise.
"""
import ctypes
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
from compare_disassembly import compile_source, load_nvrtc  # noqa: E402 (the path is set above)

COMPILERS = {"12.8.93": (52, 61, 70), "13.0.88": (75, 80, 90, 100, 120)}
# As fuzz_decoder.c numbers them.
DECODER = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121, 255)
PTX, CUBIN, LZ4, ZSTD = 1, 2, 0x2000, 0x8000


def compile_all():
    with open(os.path.join(HERE, "seeds.cu"), encoding="utf-8") as file:
        source = file.read()
    # Each kernel alone keeps the inputs small.
    parts = source.split("extern \"C\" __global__ void ")
    called = parts[2][parts[2].index("__device__"):]
    kernels = {"nested": parts[1], "table": parts[2][:parts[2].index("__device__")], "calls": parts[3]}
    for version, archs in COMPILERS.items():
        path = subprocess.run([os.path.join(ROOT, "scripts", "wheels.sh"), "nvrtc-" + version], check=True,
                              capture_output=True, text=True).stdout.split()[-1]
        nvrtc = load_nvrtc(path)
        for arch in archs:
            for name, body in kernels.items():
                text = (called if name == "calls" else "") + "extern \"C\" __global__ void " + body
                yield name, arch, compile_source(nvrtc, text, arch)


def text_sections(cubin):
    table, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    base = headers[names][4]
    for name, _kind, _flags, _address, offset, length in headers:
        if cubin[base + name:].startswith(b".text."):
            yield cubin[offset:offset + length]


def pack_lz4(data):
    library = ctypes.CDLL("liblz4.so.1")
    room = ctypes.create_string_buffer(len(data) + 1024)
    return room.raw[:library.LZ4_compress_default(data, room, len(data), len(room))]


def pack_zstd(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(len(data) + 1024)
    size = library.ZSTD_compress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 9)
    return room.raw[:size]


def entry(kind, arch, data, flag=0, unpacked=0, options=b""):
    padded = data + bytes(-len(data) % 8)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64 + len(options), len(padded), len(data) if flag else 0,
                       64 if options else 0, 8, 1, arch, 0, 0, 0x11 | flag, 0, unpacked) + options + padded


def fat_binary(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def host_elf(machine, sections):
    names, body, headers = b"\0.shstrtab\0", bytes(64), [bytes(64)]
    for name, data in sections:
        body += bytes(-len(body) % 8)
        headers.append(struct.pack("<IIQQQQIIQQ", len(names), 1, 2, 0, len(body), len(data), 0, 0, 8, 0))
        names += name + b"\0"
        body += data
    headers.append(struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, len(body), len(names), 0, 0, 1, 0))
    body += names
    body += bytes(-len(body) % 8)
    head = struct.pack("<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 1, machine, 1, 0, 0, len(body), 0, 64, 0, 0,
                       64, len(headers), len(headers) - 1)
    return head + body[64:] + b"".join(headers)


def archive(*members):
    file = b"!<arch>\n"
    for name, data in members:
        file += b"%-16s%-12d%-6d%-6d%-8d%-10d`\n" % (name, 0, 0, 0, 644, len(data)) + data + b"\n" * (len(data) % 2)
    return file


def containers(cubin):
    ptx = b".version 9.0\n.target sm_90\n.address_size 64\n"
    plain = fat_binary(entry(CUBIN, 90, cubin), entry(PTX, 90, ptx, options=b"-O3\0\0\0\0\0"))
    packed = fat_binary(entry(CUBIN, 90, pack_lz4(cubin), LZ4, len(cubin)),
                        entry(CUBIN, 90, pack_zstd(cubin), ZSTD, len(cubin)), entry(PTX, 90, pack_zstd(ptx), ZSTD, len(ptx)))
    host = host_elf(62, [(b".text", b"\x90" * 20), (b".nv_fatbin", packed), (b".rodata", b"12345678" + packed)])
    object_file = host_elf(183, [(b"__nv_relfatbin", packed)])
    stripped = bytearray(object_file)
    stripped[40:48] = bytes(8)
    stripped[60:64] = bytes(4)
    return {"plain": plain, "packed": packed, "host": host, "object": object_file, "stripped": bytes(stripped),
            "archive": archive((b"/", b"\0\0\0\0"), (b"one.o/", object_file), (b"#1/8", b"long.o\0\0" + packed)),
            "nested": archive((b"inner.a/", archive((b"k.cubin/", cubin))))}


def write(folder, target, name, data):
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    with open(os.path.join(folder, target, name), "wb") as file:
        file.write(data)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    smallest = None
    for name, arch, cubin in compile_all():
        write(folder, "reader", "%s_%d" % (name, arch), cubin)
        for text in text_sections(cubin):
            write(folder, "decoder", "%s_%d" % (name, arch), bytes([DECODER.index(arch), 0]) + text)
        if arch == 90 and (smallest is None or len(cubin) < len(smallest)):
            smallest = cubin
    for name, data in containers(smallest).items():
        write(folder, "container", name, data)


if __name__ == "__main__":
    main()
