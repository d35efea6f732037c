#!/usr/bin/env python3
"""Compares the library's decoder with NVIDIA's nvdisasm, instruction by instruction. Needs no GPU.

usage: compare_disassembly.py --nvdisasm NVDISASM [--nvrtc LIBNVRTC]... [options] [SOURCE.cu[:DEFINE=VALUE,...] ...]

  --arch sm_90a,...  instead of every architecture that NVRTC knows, and its a-architectures
  --since N          leave out architectures before sm_N: nvdisasm 13 knows none before sm_75
  --registers        compare the registers of the instructions that proofs follow, too
  --expect N         fail when fewer instructions were compared
  --dump PROGRAM     tests/unit/sass_dump.c, built; otherwise it is built here

Without sources it takes the library's own kernels, the control-flow corpus and tests/golden/instructions.cu. Compared are the
base mnemonic and guard of every instruction, and of control flow second predicate, target, barrier, class, condition and every
modifier; before sm_70 also where SYNC, BRK and RET go, as the stack of tokens and as the attribute tell it. Exit status 1 when
anything differs, 77 when a tool is not there. scripts/wheels.sh gets the tools.
"""
import argparse
import collections
import concurrent.futures
import os
import sys
import tempfile

import disassembly

KERNELS = os.path.join(disassembly.ROOT, "src", "kernels")
SPECIFIC = ("sm_90a", "sm_100a", "sm_100f", "sm_103a", "sm_110a", "sm_120a", "sm_121a")


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def corpus():
    """Every kernel file of the reconvergence study, behind its prelude."""
    names = sorted(name for name in os.listdir(KERNELS) if name.startswith("corpus_"))
    prelude = read_text(os.path.join(KERNELS, "corpus_prelude.cu")) if "corpus_prelude.cu" in names else ""
    for name in names:
        if name != "corpus_prelude.cu":
            yield name, prelude + read_text(os.path.join(KERNELS, name))


def own_kernels():
    prelude = read_text(os.path.join(KERNELS, "prelude.cu"))
    sweep = prelude + "".join(read_text(os.path.join(KERNELS, name)) for name in ("paths.cu", "divergence_sweep.cu"))
    validation = prelude + read_text(os.path.join(KERNELS, "divergence_validation.cu"))
    for kind in (1, 2, 3, 4):
        yield "divergence_sweep kind %d" % kind, "#define GPUCHAR_KIND %d\n#define GPUCHAR_BODY 64\n" % kind + sweep
    for ways in (1, 2, 32):
        yield "divergence_validation ways %d" % ways, "#define GPUCHAR_WAYS %d\n" % ways + validation


def instructions():
    yield "instructions.cu", read_text(os.path.join(disassembly.ROOT, "tests", "golden", "instructions.cu"))


def given_kernels(arguments):
    for argument in arguments:
        path, _, defines = argument.partition(":")
        text = read_text(path)
        for define in filter(None, defines.split(",")):
            text = "#define %s\n" % define.replace("=", " ") + text
        yield argument, text


def compare_tokens(lines, told, report):
    """Where each instruction that takes a token goes: by the stack, by the attribute, by nvdisasm."""
    counts = collections.Counter()
    for words in lines[:-1]:
        pc, followed, listed, reached, outside, call = words
        wanted = ",".join("%x" % target for target in sorted(told.get(int(pc, 16), [])))
        counts["token sites"] += 1
        if listed != (wanted or "-"):
            report("+0x%s: the attribute's %s, nvdisasm's %s" % (pc, listed, wanted))
            counts["different"] += 1
        if reached == "1" and outside == "0" and call == "0" and followed != listed:
            report("+0x%s: the stack's %s, the attribute's %s" % (pc, followed, listed))
            counts["different"] += 1
        counts["followed"] += followed != "-" and followed == listed
    return counts


def compare_listing(listing, found, arch, name, registers=False):
    """Counts, and the first differences as text."""
    counts, shown = collections.Counter(), []

    def report(text):
        shown.append("sm_%d %s %s" % (arch, name, text))

    for kernel, code in listing.code.items():
        decoded, tokens = found[kernel]
        if set(decoded) != set(code):
            report("%s: %d instructions, nvdisasm has %d" % (kernel, len(decoded), len(code)))
            counts["different"] += 1
        for pc in sorted(set(decoded) & set(code)):
            counts["instructions"] += 1
            counts["flow"] += disassembly.is_flow(arch, disassembly.split(code[pc])[1])
            wrong = disassembly.differences(arch, code[pc], decoded[pc], registers)
            if wrong:
                counts["different"] += 1
                report("%s+0x%x: %s | %s | %s" % (kernel, pc, code[pc], decoded[pc], ", ".join(wrong)))
        counts += compare_tokens(tokens, listing.told[kernel], lambda text: report(kernel + text))
    return counts, shown


def compare_one(tools, name, text, arch):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(disassembly.compile_source(tools["nvrtc"], text, arch))
        file.flush()
        listing = disassembly.disassemble(tools["nvdisasm"], file.name)
        found = disassembly.dump(tools["dump"], file.name, listing.code)
    return compare_listing(listing, found, number_of(arch), name, tools["registers"])


def number_of(arch):
    return int(arch[3:].rstrip("af"))


def wanted_architectures(nvrtc, arguments):
    if arguments.arch:
        return arguments.arch.split(",")
    known = [arch for arch in disassembly.architectures(nvrtc) if arch >= arguments.since]
    names = ["sm_%d" % arch for arch in known]
    # The f-architectures came with CUDA 12.9.
    return names + [name for name in SPECIFIC if number_of(name) in known and (name[-1] == "a" or 103 in known)]


def show(name, counts):
    print("%s: %d instructions, %d of control flow, %d that take a token (%d followed), %d different"
          % (name, counts["instructions"], counts["flow"], counts["token sites"], counts["followed"], counts["different"]))


def compare_all(tools, archs, kernels):
    totals = collections.Counter()
    # One thread compiles while another one's programs run.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for arch in archs:
            counts, shown = collections.Counter(), []
            for part, texts in pool.map(lambda kernel, arch=arch: compare_one(tools, *kernel, arch), kernels):
                counts += part
                shown += texts
            print("\n".join(shown[:20]), end="\n" * bool(shown))
            show(arch, counts)
            totals += counts
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--nvrtc", action="append")
    parser.add_argument("--arch")
    parser.add_argument("--since", type=int, default=75)
    parser.add_argument("--registers", action="store_true")
    parser.add_argument("--expect", type=int, default=1)
    parser.add_argument("--dump")
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_args()
    libraries = arguments.nvrtc or [os.environ.get("GPUCHAR_LIBNVRTC", "/usr/local/cuda/lib64/libnvrtc.so")]
    for path in [*libraries, arguments.nvdisasm]:
        if os.sep in path and not os.path.exists(path):
            print("skipped: there is no %s" % path)
            return 77
    kernels = list(given_kernels(arguments.sources)) or [*own_kernels(), *corpus(), *instructions()]
    grand = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        tools = {"nvdisasm": arguments.nvdisasm, "dump": arguments.dump or disassembly.build_dump(folder),
                 "registers": arguments.registers}
        for path in libraries:
            print("with %s" % os.path.basename(os.path.dirname(path)))
            tools["nvrtc"] = disassembly.load_nvrtc(path)
            grand += compare_all(tools, wanted_architectures(tools["nvrtc"], arguments), kernels)
    show("all", grand)
    if grand["instructions"] < arguments.expect:
        print("fewer than %d instructions: something was left out" % arguments.expect)
        return 1
    return 1 if grand["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
