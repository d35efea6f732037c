#!/usr/bin/env python3
"""Writes the ABI record: every public struct's members with type, offset and size, every enum constant, every function.

usage: make_record.py INCLUDE_FOLDER COMPILER     (the record goes to standard output)
Fails on implicit padding: a later field in it would go unnoticed by callers compiled before.
To accept a change on purpose: make_record.py include cc > tests/abi/abi_record.h
"""
import glob
import os
import re
import subprocess
import sys
import tempfile


def strip(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"\\\n", " ", text)


def members(body):
    """[(name, type)] of a struct body; a type may end in [N]."""
    found = []
    for declaration in body.split(";"):
        declaration = " ".join(declaration.split())
        if not declaration:
            continue
        match = re.fullmatch(r"(.+?)(\**)\s*(\w+)\s*((?:\[\w+\])*)", declaration)
        if not match or "," in declaration or "(" in declaration or ":" in declaration:
            sys.exit(f"make_record: cannot read the member '{declaration}'")
        base, stars, name, array = match.groups()
        found.append((name, (base.strip() + (" " + stars if stars else "") + array)))
    return found


def parse(include):
    structs, constants, functions = [], [], []
    for path in sorted(glob.glob(os.path.join(include, "gpuchar", "*.h"))):
        with open(path, encoding="utf-8") as file:
            text = strip(file.read())
        code = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for match in re.finditer(r"struct\s+(gpuchar_\w+)\s*\{([^{}]*)\}", code):
            structs.append((match.group(1), members(match.group(2))))
        for match in re.finditer(r"enum\s*\w*\s*\{([^{}]*)\}", code):
            constants += re.findall(r"\b(GPUCHAR_\w+)\s*=", match.group(1))
        for match in re.finditer(r"GPUCHAR_STATUS_LIST\(X\)(.*)", text):
            constants += ["GPUCHAR_" + name for name in re.findall(r"X\((\w+),", match.group(1))]
        functions += re.findall(r"GPUCHAR_API[^(;]*?(gpuchar_\w+)\s*\(", code)
    return structs, constants, functions


def main():
    include, compiler = sys.argv[1], sys.argv[2]
    structs, constants, functions = parse(include)
    if len(structs) < 3 or len(functions) < 3:
        sys.exit("make_record: found next to nothing, the parser is broken")
    lines = ["#include <gpuchar/gpuchar.h>", "#include <stdio.h>", "#include <stddef.h>", "int main(void) {"]
    for name, fields in structs:
        # A typedef exists for each struct; its tag has the same name.
        lines.append(f'printf("STRUCT %zu\\n", sizeof(struct {name}));')
        for field, _ in fields:
            lines.append(f'printf("%zu %zu\\n", offsetof(struct {name}, {field}), sizeof(((struct {name} *)0)->{field}));')
    for constant in constants:
        lines.append(f'printf("%lld\\n", (long long){constant});')
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "probe.c"), os.path.join(folder, "probe")
        with open(source, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        subprocess.run([compiler, "-w", "-I", include, source, "-o", program], check=True)
        answers = iter(subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines())

    print("/* Made by make_record.py: the ABI as released. RECORD_TYPE(struct, size), RECORD_FIELD(struct, member, type, offset,")
    print(" * size), RECORD_CONSTANT(name, value), RECORD_FUNCTION(name). */")
    padded = []
    for name, fields in structs:
        size = int(next(answers).split()[1])
        print(f"RECORD_TYPE({name}, {size})")
        end = 0
        for field, declared in fields:
            offset, width = map(int, next(answers).split())
            if offset != end:
                padded.append(f"{name}: {offset - end} bytes of padding before {field}")
            end = offset + width
            print(f"RECORD_FIELD({name}, {field}, {declared}, {offset}, {width})")
        if end != size:
            padded.append(f"{name}: {size - end} bytes of padding at its end")
    for constant in constants:
        print(f"RECORD_CONSTANT({constant}, {next(answers)})")
    for function in functions:
        print(f"RECORD_FUNCTION({function})")
    if padded:
        sys.exit("make_record: " + "; ".join(padded))


main()
