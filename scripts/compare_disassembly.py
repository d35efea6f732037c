#!/usr/bin/env python3
"""Compares the library's decoder with NVIDIA's nvdisasm, instruction by instruction. Needs no GPU.

usage: compare_disassembly.py --nvdisasm NVDISASM [--nvrtc LIBNVRTC] [--no-registers] [SOURCE.cu[:DEFINE=VALUE,...] ...]

Without sources it takes the library's own kernels. Each is compiled for every architecture that NVRTC knows. Compared
are base mnemonic, guard, branch target, barrier register and class, and of the instructions that proofs follow the
registers. Exit status 1 when anything differs. nvdisasm comes with the wheel nvidia-cuda-nvdisasm.
"""
import argparse
import collections
import ctypes
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNELS = os.path.join(ROOT, "src", "kernels")
FLOW = {"BRA", "BRX", "BRXU", "BSSY", "BSYNC", "BREAK", "CALL", "RET", "EXIT", "WARPSYNC"}
CHAINED = {"FFMA", "IMAD", "MUFU", "FADD", "FMUL", "LDG"}
CLASSES = {"RELIABLE": 1, "RECONVERGENT": 2}


def load_nvrtc(path):
    folder = os.path.dirname(path) or "/usr/local/cuda/lib64"
    for name in sorted(os.listdir(folder)):
        if name.startswith("libnvrtc-builtins.so"):
            ctypes.CDLL(os.path.join(folder, name), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(path)


def architectures(nvrtc):
    count = ctypes.c_int()
    nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    found = (ctypes.c_int * count.value)()
    nvrtc.nvrtcGetSupportedArchs(found)
    return [arch for arch in found if arch >= 70]


def compile_source(nvrtc, text, arch):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=sm_%d" % arch, b"--std=c++17")
    size = ctypes.c_size_t()
    if nvrtc.nvrtcCompileProgram(program, 2, options):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit(log.value.decode())
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin.raw


def read_nvdisasm(nvdisasm, path):
    """{kernel: {pc: text with targets as numbers}}"""
    run = subprocess.run([nvdisasm, "-c", "-hex", path], capture_output=True, text=True, check=True)
    kernels, labels, waiting, kernel = {}, {}, [], None
    for line in run.stdout.split("\n"):
        section = re.match(r"\s*\.section\s+\.text\.([^,]+),", line)
        label = re.match(r"([.$\w]+):\s*$", line)
        code = re.match(r"\s*/\*([0-9a-f]+)\*/\s+(.*?);\s*/\* 0x", line)
        if section:
            kernel = section.group(1).strip('"')
            kernels[kernel] = {}
        elif label:
            waiting.append((kernel, label.group(1)))
        elif code and kernel:
            pc = int(code.group(1), 16)
            labels.update((name, pc) for name in waiting)
            waiting = []
            kernels[kernel][pc] = re.sub(r"\s+", " ", code.group(2)).strip()

    def resolve(kernel, text):
        def number(match):
            name = (kernel, match.group(1))
            return "0x%x" % labels[name] if name in labels else match.group(0)
        return re.sub(r"`\(([^)]+)\)", number, text)
    return {kernel: {pc: resolve(kernel, text) for pc, text in code.items()} for kernel, code in kernels.items()}


def registers_of(base, text):
    """Destination, a, b, c as the decoder names them; "-" for what is no vector register."""
    names = []
    for operand in text.split(" ", 1)[1].split(","):
        operand = operand.strip()
        if re.match(r"[!~]*(UP\w+|P\w)$", operand):
            continue
        operand = re.sub(r"^[-|~]+|\.reuse|\|", "", operand)
        address = re.match(r"(?:desc\[\w+\])?\[(R\d+|RZ)", operand)
        plain = re.match(r"R(\d+|Z)$", operand)
        names.append(address.group(1) if address else operand if plain else "-")
    if base == "MUFU":
        names = [names[0], "-", names[1]]
    if base == "LDG":
        names = names[:2]
    return (names + ["-"] * 4)[:4]


def differences(base, text, fields, check_registers):
    mnemonic, guard, target, barrier, barrier_class, _stall, *registers = fields
    found = re.match(r"(?:(@!?U?P\w+) )?([A-Z0-9_.]+)", text)
    wrong = []
    if mnemonic != base:
        wrong.append("mnemonic")
    if (found.group(1) or "-") != guard and not (found.group(1) or "").startswith(("@UP", "@!UP")):
        wrong.append("guard")
    if base in FLOW:
        numbers = re.findall(r"0x[0-9a-f]+", text)
        if target != "-" and (not numbers or int(numbers[-1], 16) != int(target, 16)):
            wrong.append("target")
        if barrier != "-":
            classes = [CLASSES[part] for part in found.group(2).split(".") if part in CLASSES] or [0]
            if not re.search(r"\b%s\b" % barrier, text) or classes[0] != int(barrier_class):
                wrong.append("barrier")
    if check_registers and base in CHAINED:
        expected = registers_of(base, text[found.start(2):])
        if registers != expected:
            wrong.append("registers " + " ".join(expected))
    return wrong


def build_dump(folder):
    program = os.path.join(folder, "sass_dump")
    files = [os.path.join(ROOT, "tests", "unit", "sass_dump.c")]
    for part in ("sass", "core"):
        source = os.path.join(ROOT, "src", part)
        files += sorted(os.path.join(source, name) for name in os.listdir(source) if name.endswith(".c"))
    include = ["-I" + os.path.join(ROOT, "src"), "-I" + os.path.join(ROOT, "include")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", *include, *files, "-o", program, "-lm"], check=True)
    return program


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def own_kernels():
    prelude = read_text(os.path.join(KERNELS, "prelude.cu"))
    sweep = prelude + "".join(read_text(os.path.join(KERNELS, name)) for name in ("paths.cu", "divergence_sweep.cu"))
    validation = prelude + read_text(os.path.join(KERNELS, "divergence_validation.cu"))
    for kind in (1, 2, 3, 4):
        yield "divergence_sweep kind %d" % kind, "#define GPUCHAR_KIND %d\n#define GPUCHAR_BODY 64\n" % kind + sweep
    for ways in (1, 2, 32):
        yield "divergence_validation ways %d" % ways, "#define GPUCHAR_WAYS %d\n" % ways + validation


def given_kernels(arguments):
    for argument in arguments:
        path, _, defines = argument.partition(":")
        text = read_text(path)
        for define in filter(None, defines.split(",")):
            text = "#define %s\n" % define.replace("=", " ") + text
        yield argument, text


def compare_one(tools, name, text, arch, totals, check_registers):
    path = os.path.join(tools["folder"], "kernel.cubin")
    with open(path, "wb") as file:
        file.write(compile_source(tools["nvrtc"], text, arch))
    for kernel, code in read_nvdisasm(tools["nvdisasm"], path).items():
        dump = subprocess.run([tools["dump"], path, kernel], capture_output=True, text=True, check=True)
        for line in dump.stdout.splitlines():
            pc, *fields = line.split(" ")
            asm = code[int(pc, 16)]
            base = re.match(r"(?:@!?U?P\w+ )?([A-Z0-9_]+)", asm).group(1)
            totals["instructions"] += 1
            totals["flow"] += base in FLOW
            wrong = differences(base, asm, fields, check_registers)
            totals["different"] += bool(wrong)
            if wrong and totals["different"] <= 40:
                print("sm_%d %s %s+0x%s: %s | %s | %s" % (arch, name, kernel, pc, asm, line, ", ".join(wrong)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--nvrtc", default=os.environ.get("GPUCHAR_LIBNVRTC", "/usr/local/cuda/lib64/libnvrtc.so"))
    parser.add_argument("--no-registers", action="store_true", help="compare no registers")
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_args()
    nvrtc = load_nvrtc(arguments.nvrtc)
    grand = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        tools = {"nvrtc": nvrtc, "nvdisasm": arguments.nvdisasm, "folder": folder, "dump": build_dump(folder)}
        kernels = list(given_kernels(arguments.sources) if arguments.sources else own_kernels())
        for arch in architectures(nvrtc):
            totals = collections.Counter()
            for name, text in kernels:
                compare_one(tools, name, text, arch, totals, not arguments.no_registers)
            print("sm_%d: %d instructions, %d of control flow, %d different"
                  % (arch, totals["instructions"], totals["flow"], totals["different"]))
            grand += totals
    print("all: %d instructions, %d different" % (grand["instructions"], grand["different"]))
    return 1 if grand["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
