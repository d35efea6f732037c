"""What the decoder's tests share: compiling with any NVRTC, reading nvdisasm's listing, and holding a listing against what
tests/unit/sass_dump.c prints."""
import ctypes
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLASSES = {1: ["RELIABLE"], 2: ["RECONVERGENT"]}
CONDITIONS = ("F LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU T OFF LO SFF LS HI SFT HS OFT CSM_TA CSM_TR CSM_MX FCSM_TA "
              "FCSM_TR FCSM_MX RLE RGT").split()
STOPS = ["", "", "PAUSE", "TRAP", "INT", "DRAIN", "PAUSE_QUIET", ""]
FLOW = set("BRA BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BSSY BSYNC BREAK BMOV WARPSYNC YIELD BPT ENDCOLLECTIVE".split())
FLOW64 = set("BRA BRX JMP JMX CAL JCAL RET EXIT KIL SYNC BRK CONT LONGJMP SSY PBK PCNT PRET PLONGJMP PEXIT".split())
CHAINED = {"FFMA", "IMAD", "MUFU", "FADD", "FMUL", "LDG"}
FIELDS = "opcode mnemonic guard second target barrier cls condition mode mask clear uniform stall".split()


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
    return list(found)


def compile_source(nvrtc, text, arch):
    """`arch`: "sm_90a". The cubin's bytes."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=" + arch.encode(), b"--std=c++17")
    size = ctypes.c_size_t()
    if nvrtc.nvrtcCompileProgram(program, 2, options):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise SystemExit("%s: %s" % (arch, log.value.decode()))
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin.raw


class Listing:
    """nvdisasm's: {kernel: {pc: text}}, targets in a text as numbers, and {kernel: {pc: targets told behind it}}."""

    LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*)")

    def __init__(self, output):
        self.code, self.told, self._labels = {}, {}, {}
        kernel, waiting = None, []
        for line in output.split("\n"):
            section = re.match(r"\s*\.section\s+([^,]+),", line)
            label = re.match(r"\"?([.$\w]+)\"?:\s*$", line)
            code = self.LINE.match(line)
            if section:
                name = section.group(1).strip('"')
                kernel = name[6:] if name.startswith(".text.") else None
                if kernel:
                    self.code[kernel], self.told[kernel] = {}, {}
            elif label:
                waiting.append((kernel, label.group(1)))
            elif code and kernel:
                self._add(kernel, int(code.group(1), 16), code.group(2), waiting)
                waiting = []
        for kernel, texts in self.code.items():
            for pc in texts:
                texts[pc] = self._resolve(kernel, texts[pc])
                self.told[kernel][pc] = [self._labels.get((kernel, name)) for name in self.told[kernel][pc]]

    def _add(self, kernel, pc, text, waiting):
        for name in waiting:
            self._labels[name] = pc
        told = re.search(r'\(\*"BRANCH_TARGETS ([^"]*)"\*\)', text)
        self.told[kernel][pc] = told.group(1).split(",") if told else []
        text = re.sub(r"\(\*.*?\*\)|/\*.*?\*/|[{};]", " ", text)
        self.code[kernel][pc] = re.sub(r"\s+", " ", text).strip()

    def _resolve(self, kernel, text):
        def number(match):
            found = self._labels.get((kernel, match.group(1)))
            return match.group(0) if found is None else "0x%x" % found
        return re.sub(r"`\(([^)]+)\)", number, text)


def disassemble(nvdisasm, path):
    run = subprocess.run([nvdisasm, "-c", path], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit("%s %s: %s" % (nvdisasm, path, run.stderr))
    return Listing(run.stdout)


def build_dump(folder):
    program = os.path.join(folder, "sass_dump")
    files = [os.path.join(ROOT, "tests", "unit", "sass_dump.c")]
    for part in ("sass", "core"):
        source = os.path.join(ROOT, "src", part)
        files += sorted(os.path.join(source, name) for name in os.listdir(source) if name.endswith(".c"))
    include = ["-I" + os.path.join(ROOT, "src"), "-I" + os.path.join(ROOT, "include")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", *include, *files, "-o", program, "-lm", "-lpthread"], check=True)
    return program


def dump(program, path, kernels):
    """{kernel: ({pc: fields}, lines about tokens)}"""
    run = subprocess.run([program, path, *kernels], capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit("%s: %s%s" % (path, run.stdout[-300:], run.stderr))
    found, kernel = {}, None
    for line in run.stdout.splitlines():
        words = line.split(" ")
        if words[0] == "=":
            kernel = found[words[1]] = ({}, [])
        elif words[0] == "&":
            kernel[1].append(words[1:])
        else:
            fields = dict(zip(FIELDS, words[1:]))
            fields["registers"] = words[1 + len(FIELDS):]
            kernel[0][int(words[0], 16)] = fields
    return found


def split(text):
    """(guard or "-", base mnemonic, modifiers, operands)"""
    found = re.match(r"(?:(@!?U?P\w+) )?([A-Z0-9_]+)((?:\.[A-Z0-9_a-z:?]+)*) ?(.*)", text)
    guard, base, modifiers, operands = found.groups()
    return guard or "-", base, modifiers.split(".")[1:], [o.strip() for o in operands.split(",")] if operands else []


def modifiers_of(base, arch, fields):
    """Those that the decoded fields mean."""
    condition, mode, opcode = int(fields["condition"]), int(fields["mode"]), int(fields["opcode"], 16)
    if arch < 70:
        names = ["U"] * int(fields["uniform"])
        if base in ("CAL", "JCAL", "PRET"):
            names += ["NOINC"] * mode
        return names + ["KEEPREFCOUNT"] * (base == "EXIT" and mode)
    if base in ("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"):
        counted = [[], ["INC"], ["DEC"], ["?"]][mode & 3] + ["ANY"] * (mode >> 2)
        return counted + [[], ["U"], ["DIV"], ["CONV"]][condition]
    if base == "CALL":
        return ["REL" if opcode & 0x1FF == 0x144 else "ABS"] + ["NOINC"] * mode
    if base == "RET":
        return ["ABS" if mode & 1 else "REL"] + ["NODEC"] * (mode >> 1)
    if base == "EXIT":
        return [name for bit, name in enumerate(("KEEPREFCOUNT", "PREEMPTED", "NO_ATEXIT")) if mode >> bit & 1]
    if base in ("BSSY", "BSYNC", "BREAK"):
        return CLASSES.get(int(fields["cls"]), []) if arch >= 100 else []
    if base == "BMOV":
        return ["CLEAR"] * int(fields["clear"])
    if base == "WARPSYNC":
        names = {2: ["EXCLUSIVE"]} if arch < 90 else {1: ["EXCLUSIVE"], 2: ["COLLECTIVE"]}
        return names.get(mode, []) + ["ALL"] * (arch >= 90 and opcode == 0x948)
    return [STOPS[mode]] if base == "BPT" else []


def flow_differences(base, arch, text, fields):
    _, _, modifiers, operands = split(text)
    wrong = []
    printed = [name for name in modifiers if base != "BMOV" or name == "CLEAR"]
    if sorted(printed) != sorted(modifiers_of(base, arch, fields)):
        wrong.append("modifiers")
    second = operands[0] if operands and re.match(r"!?P[0-6T]$", operands[0]) else "-"
    if second != fields["second"]:
        wrong.append("second predicate")
    condition = [o[3:] for o in operands if o.startswith("CC.")] or ["T"]
    if arch < 70 and base in FLOW64 and condition[0] != CONDITIONS[int(fields["condition"])]:
        wrong.append("condition code")
    barriers = [o for o in operands if re.match(r"B\d+$", o)]
    if base != "BPT" and (fields["barrier"] != "-" and int(fields["barrier"][1:]) < 16) != bool(barriers):
        wrong.append("barrier")
    elif barriers and fields["barrier"] not in barriers:
        wrong.append("barrier")
    return wrong + target_differences(base, arch, operands, fields)


def target_differences(base, arch, operands, fields):
    number = re.search(r"(?:^|\s)0x([0-9a-f]+)$", operands[-1]) if operands else None
    if base == "WARPSYNC" and arch < 90:
        return [] if not number or int(number.group(1), 16) == int(fields["mask"], 16) else ["mask"]
    # What is relative to a register has no target; nor does what only stops.
    if base in ("BRX", "BRXU", "JMX", "JMXU", "RET", "BMOV", "BPT") or (operands and re.match(r"U?R(\d+|Z)\b", operands[-1])):
        return [] if fields["target"] == "-" else ["target"]
    if operands and "`(" in operands[-1]:  # another section's: filled in later
        return []
    if not number:
        return [] if fields["target"] == "-" else ["target"]
    return [] if fields["target"] != "-" and int(number.group(1), 16) == int(fields["target"], 16) else ["target"]


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


def is_flow(arch, base):
    return base in (FLOW if arch >= 70 else FLOW64)


def differences(arch, text, fields, registers=False):
    """What the decoder has otherwise than the listing."""
    guard, base, _, _ = split(text)
    wrong = [] if fields["mnemonic"] == base else ["mnemonic"]
    # Instructions of the uniform datapath have a predicate of their own there, on the same bits.
    if guard.replace("UP", "P") != fields["guard"]:
        wrong.append("guard")
    if is_flow(arch, base):
        wrong += flow_differences(base, arch, text, fields)
    if registers and arch >= 70 and base in CHAINED:
        expected = registers_of(base, re.sub(r"^@!?U?P\w+ ", "", text))
        if fields["registers"] != expected:
            wrong.append("registers " + " ".join(expected))
    return wrong
