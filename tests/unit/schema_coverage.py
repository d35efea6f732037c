#!/usr/bin/env python3
"""Compares the structs of the public headers with the field tables: schema_coverage.py INCLUDE_FOLDER SCHEMA_PRINT.

Each struct with a body has a table with all its members, in the headers' order, of the right type, at the offset that
the declarations give (there is no implicit padding), each with a line of documentation. Left out: struct_size,
reserved words, and the two structs that tables are made of.
"""
import pathlib
import re
import subprocess
import sys

NO_TABLE = {"gpuchar_schema", "gpuchar_field"}
U32, I32, U64, F64, TEXT, STRING, STRUCT, POINTER, I64 = range(1, 10)
SCALARS = {
    "uint32_t": (U32, 4), "gpuchar_status": (I32, 4), "int32_t": (I32, 4), "uint64_t": (U64, 8), "size_t": (U64, 8),
    "int64_t": (I64, 8), "double": (F64, 8),
}
ARRAY, POINTED, COUNT = 1, 2, 8
NONE = 0xFFFFFFFF


def strip(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)


def number(text, constants):
    return int(text) if text.isdigit() else constants[text]


def parse_headers(folder):
    """{struct: [(type words, stars, name, array length or None)]}, names of function types, macros that are numbers."""
    structs, functions, constants = {}, set(), {}
    texts = [path.read_text() for path in sorted(folder.glob("*.h"))]
    for text in texts:
        for name, value in re.findall(r"^#define\s+(\w+)\s+(\d+)\s*$", text, flags=re.M):
            constants[name] = int(value)
    for text in map(strip, texts):
        functions.update(re.findall(r"typedef\s+\w+\s*\(\s*\*\s*(\w+)\s*\)", text))
        for tag, body, alias in re.findall(r"\bstruct\s+(\w+)?\s*\{([^{}]*)\}\s*(\w*)\s*;", text):
            structs[alias or tag] = parse_members(alias or tag, body, constants)
    return structs, functions


def parse_members(struct, body, constants):
    members = []
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        words = re.match(r"((?:(?:const|struct|unsigned|volatile)\s+)*\w+)\s*(.*)$", declaration, flags=re.S)
        base = re.sub(r"\b(const|struct|volatile)\s+", "", words.group(1)).strip()
        for declarator in words.group(2).split(","):
            match = re.fullmatch(r"([\s*]|\bconst\b)*?(\w+)\s*(?:\[\s*(\w+)\s*\])?", declarator.strip())
            if not match:
                raise SystemExit(f"{struct}: cannot parse \"{declaration}\"")
            stars = declarator.count("*")
            length = match.group(3) and number(match.group(3), constants)
            members.append((base, stars, match.group(2), length))
    return members


def read_tables(program):
    tables, fields = {}, None
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        kind, name, *rest = line.split()
        if kind == "struct":
            fields = []
            tables[name] = (int(rest[0]), int(rest[1]), fields)
        else:
            fields.append((name, *map(int, rest[:7]), rest[7], rest[8]))
    return tables


class Checker:
    def __init__(self, structs, functions, tables):
        self.structs, self.functions, self.tables = structs, functions, tables
        self.problems = []

    def problem(self, text):
        self.problems.append(text)

    def size_of(self, struct):
        return self.layout(struct)[1]

    def layout(self, struct):
        """({member: offset}, size) by the rules of C on a 64-bit machine."""
        offsets, at, widest = {}, 0, 1
        for base, stars, name, length in self.structs[struct]:
            size, align = self.shape(base, stars)
            if at % align:
                self.problem(f"{struct}.{name}: implicit padding before it")
                at += align - at % align
            offsets[name] = at
            at += size * (length or 1)
            widest = max(widest, align)
        if at % widest:
            self.problem(f"{struct}: implicit padding at its end")
            at += widest - at % widest
        return offsets, at

    def shape(self, base, stars):
        if stars or base in self.functions:
            return 8, 8
        if base == "char":
            return 1, 1
        if base in SCALARS:
            return (SCALARS[base][1],) * 2
        if base in self.structs:
            return self.size_of(base), max(self.shape(b, s)[1] for b, s, _, _ in self.structs[base])
        raise SystemExit(f"unknown type {base}")

    def expected(self, base, stars, length):
        """The allowed (type, flags, element size, count, element); a set, for some pointers may be opaque."""
        opaque = (POINTER, 0, 8, 1, "-")
        if base in self.functions or (stars and base not in SCALARS and base not in self.structs and base != "char"):
            return {opaque}
        if stars:
            kind, size = (STRING, 8) if base == "char" else SCALARS.get(base) or (STRUCT, None)
            if base == "char" and stars == 1:
                return {(STRING, 0, 8, 1, "-")}
            if stars > 1 and base != "char":
                return {opaque}
            element = base if kind == STRUCT else "-"
            size = self.size_of(base) if kind == STRUCT else size
            return {(kind, POINTED, size, None, element), opaque}
        if base == "char":
            return {(TEXT, 0, length, 1, "-")}
        kind, size = SCALARS.get(base) or (STRUCT, self.size_of(base))
        element = base if kind == STRUCT else "-"
        return {(kind, ARRAY, size, length, element) if length else (kind, 0, size, 1, element)}

    def check_member(self, struct, member, field, offsets):
        base, stars, name, length = member
        _, kind, flags, offset, size, count, count_offset, known_offset, element, doc = field
        shape_flags = flags & (ARRAY | POINTED)
        found = {(kind, shape_flags, size, count, element), (kind, shape_flags, size, None, element)}
        if not found & self.expected(base, stars, length):
            self.problem(f"{struct}.{name}: the table says {sorted(map(str, found))}, "
                         f"the header {self.expected(base, stars, length)}")
        if offset != offsets[name]:
            self.problem(f"{struct}.{name}: offset {offset} in the table, {offsets[name]} in the header")
        if doc != "doc":
            self.problem(f"{struct}.{name}: no documentation")
        by_offset = {f[3]: f for f in self.tables[struct][2]}
        if shape_flags == POINTED and not by_offset.get(count_offset, (0, 0, 0))[2] & COUNT and kind != POINTER:
            self.problem(f"{struct}.{name}: no member holds the number of its elements")
        if known_offset != NONE and by_offset.get(known_offset, (0, 0))[1] != U32:
            self.problem(f"{struct}.{name}: the word of known bits is not in the table")

    def check_struct(self, struct, members):
        sized = members[0][2] == "struct_size"
        if struct not in self.tables:
            self.problem(f"{struct}: no table")
            return
        size, has_struct_size, fields = self.tables[struct]
        offsets, header_size = self.layout(struct)
        if size != header_size or bool(has_struct_size) != sized:
            self.problem(f"{struct}: the table says {size} bytes, struct_size {has_struct_size}")
        wanted = [m for m in members if m[2] != "struct_size" and not m[2].startswith("reserved")]
        names = [f[0] for f in fields if not f[0].startswith("reserved")]
        missing = [m[2] for m in wanted if m[2] not in names]
        if missing:
            self.problem(f"{struct}: not in its table: {', '.join(missing)}")
        elif names != [m[2] for m in wanted]:
            self.problem(f"{struct}: the table has other members or another order: {', '.join(names)}")
        table = {f[0]: f for f in fields}
        for member in wanted:
            if member[2] in table:
                self.check_member(struct, member, table[member[2]], offsets)

    def run(self):
        for struct, members in sorted(self.structs.items()):
            if struct not in NO_TABLE:
                self.check_struct(struct, members)
        for struct in sorted(set(self.tables) - set(self.structs)):
            self.problem(f"{struct}: a table without a struct in the headers")
        return self.problems


def self_test():
    """The parser and the checks see what they are there for."""
    body = "size_t struct_size; double *v; size_t n; uint32_t k[3], reserved"
    structs = {"gpuchar_a": parse_members("gpuchar_a", body, {})}
    assert structs["gpuchar_a"][3:] == [("uint32_t", 0, "k", 3), ("uint32_t", 0, "reserved", None)]
    good = [("v", F64, POINTED, 8, 8, 1, 16, NONE, "-", "doc"), ("n", U64, COUNT, 16, 8, 1, NONE, NONE, "-", "doc"),
            ("k", U32, ARRAY, 24, 4, 3, NONE, NONE, "-", "doc")]

    def problems(fields, size=40):
        return Checker(structs, set(), {"gpuchar_a": (size, 1, fields)}).run()

    assert problems(good) == [], problems(good)
    assert problems(good, 48) and problems(good[1:]) and problems(good[:2]) and problems(good[::-1])
    for at, wrong in ((1, F64), (2, 0), (3, 28), (4, 8), (5, 2), (9, "-")):
        field = list(good[2])
        field[at] = wrong
        assert problems(good[:2] + [tuple(field)]), f"a wrong {at} is not seen"
    assert Checker(structs, set(), {}).run() == ["gpuchar_a: no table"]


def main():
    self_test()
    structs, functions = parse_headers(pathlib.Path(sys.argv[1]))
    tables = read_tables(sys.argv[2])
    problems = Checker(structs, functions, tables).run()
    for text in dict.fromkeys(problems):
        print(text)
    print(f"{len(structs)} structs in the headers, {len(tables)} tables, {len(set(problems))} problems")
    return 1 if problems or not structs else 0


if __name__ == "__main__":
    sys.exit(main())
