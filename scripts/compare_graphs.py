#!/usr/bin/env python3
"""Compares the library's control-flow graphs with nvdisasm's, function by function. Needs no GPU.

usage: compare_graphs.py --nvdisasm NVDISASM CUBIN ...

nvdisasm begins a block at each label and behind each call and each return of a warp; the library does not. Such blocks are
joined with those before them, when these are all that leads there. Then block starts and edges must be equal, but for what
EXPLAINED names. The post-dominators are compared with those of a plain computation on nvdisasm's graph. Exit status 1 when
anything differs that is not explained.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REACHABLE, LEAVES, ENDLESS = 1, 2, 4
EXPLAINED = {
    "call as branch": "CALL.REL.NOINC into its own function: nvdisasm goes on behind it, the library to its target",
    "collective": "WARPSYNC.COLLECTIVE: nvdisasm only goes on, the library goes to its target too",
}


def build_dump(folder):
    program = os.path.join(folder, "sass_graph_dump")
    files = [os.path.join(ROOT, "tests", "unit", "sass_graph_dump.c")]
    for part in ("sass", "core"):
        source = os.path.join(ROOT, "src", part)
        files += sorted(os.path.join(source, name) for name in os.listdir(source) if name.endswith(".c"))
    include = ["-I" + os.path.join(ROOT, "src"), "-I" + os.path.join(ROOT, "include")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", *include, *files, "-o", program, "-lm", "-lpthread"],
                   check=True)
    return program


def number(text):
    return None if text == "-" else int(text, 16)


def read_own(dump, path):
    """[{name, section, start, end, blocks: {pc: (flags, post-dominator, edges)}}]"""
    run = subprocess.run([dump, path], capture_output=True, text=True, check=True)
    functions = []
    for line in run.stdout.splitlines():
        kind, *fields = line.split(" ")
        if kind == "F":
            start = int(fields[2], 16)
            functions.append({"name": fields[0], "section": fields[1], "start": start, "blocks": {},
                              "end": start + 16 * int(fields[3])})
        elif kind == "B":
            edges = {int(field, 16) for field in fields[3:]}
            functions[-1]["blocks"][int(fields[0], 16)] = (int(fields[1]), number(fields[2]), edges)
        elif kind == "E":
            raise SystemExit("%s: %s" % (path, line))
    return functions


def read_graphs(nvdisasm, path):
    """{function: ({pc of a block: [(pc, text)]}, {pc: set of pcs})}"""
    run = subprocess.run([nvdisasm, "-bbcfg", "-poff", path], capture_output=True, text=True, check=True)
    graphs, function, name, names, edges = {}, None, None, {}, []

    def finish():
        if function is None:
            return
        blocks = {code[0][0]: code for code in names.values() if code}
        successors = {start: set() for start in blocks}
        for left, right in edges:
            if names.get(left) and names.get(right):
                successors[names[left][0][0]].add(names[right][0][0])
        graphs[function] = (blocks, successors)
    for line in run.stdout.split("\n"):
        cluster = re.match(r'subgraph "cluster_(.*)"', line)
        edge = re.match(r'"(.*?)":(?:entry|exit\d+)[:\w]* -> "(.*?)":', line)
        node = re.match(r'"(.*)"\s*$', line)
        if cluster:
            finish()
            function, names, edges = cluster.group(1), {}, []
        elif edge:
            edges.append(edge.groups())
        elif node:
            name = node.group(1)
        elif line.startswith("[label=") and name:
            text = line.replace("\\ ", " ")
            code = re.findall(r"(?:\\l|\||\{|>)([0-9a-f]{4,}):\s+(.*?)\s*;(?=\\l)", text)
            names[name] = [(int(pc, 16), what.replace("\\", "")) for pc, what in code]
    finish()
    return graphs


def joined(own_starts, blocks, successors, notes):
    """nvdisasm's graph with blocks put together that the library does not part."""
    before = collections.defaultdict(set)
    for start, to in successors.items():
        for target in to:
            before[target].add(start)
    order = sorted(blocks)
    follows = {start: blocks[start][-1][0] + 16 for start in order}
    head = {}
    for start in order:
        previous = [p for p in before[start] if follows[p] == start and successors[p] == {start}]
        if start not in own_starts and len(before[start]) == 1 and previous:
            head[start] = head[previous[0]]
            notes["joined"] += 1
        else:
            head[start] = start
    result = {}
    for start in order:
        result.setdefault(head[start], [None, None])
        result[head[start]] = (successors[start], blocks[start][-1])
    return result


def plain_post_dominators(graph, leaving):
    """{block: immediate post-dominator, None: the exit}"""
    nodes = set(graph)
    sets = {node: nodes | {None} for node in nodes}
    changed = True
    while changed:
        changed = False
        for node in sorted(nodes, reverse=True):
            ways = [sets[to] for to in graph[node]] + ([{None}] if node in leaving else [])
            new = set.intersection(*ways) | {node} if ways else {node, None}
            changed |= new != sets[node]
            sets[node] = new
    return {node: max(sets[node] - {node}, key=lambda other: len(sets[other]) if other is not None else 1) for node in nodes}


def explain(last_text, own, other):
    bare = re.sub(r"^@\S+ ", "", last_text)
    if bare.startswith("CALL.REL.NOINC"):
        return "call as branch"
    if bare.startswith("WARPSYNC.COLLECTIVE") and other < own and len(own) == 2:
        return "collective"
    return None


def compare_function(function, blocks, successors, notes, tell):
    own = {pc: block for pc, block in function["blocks"].items() if block[0] & REACHABLE}
    inside = {pc: code for pc, code in blocks.items() if function["start"] <= pc < function["end"]}
    edges = {pc: {to for to in successors[pc] if to in inside} for pc in inside}
    theirs = joined(function["blocks"], inside, edges, notes)
    for pc in sorted(own):
        notes["blocks"] += 1
        notes["edges"] += len(own[pc][2])
        if pc not in theirs:
            tell("no block at 0x%x" % pc)
            continue
        other, (_, last) = theirs[pc]
        if other != own[pc][2]:
            why = explain(last, own[pc][2], other)
            notes["explained: " + why if why else "different"] += 1
            if not why:
                tell("0x%x (%s): %s, nvdisasm %s" % (pc, last, hexes(own[pc][2]), hexes(other)))
    for pc in sorted(set(theirs) - set(function["blocks"])):
        tell("a block at 0x%x that the library has not" % pc)
    compare_post_dominators(own, theirs, notes, tell)


def compare_post_dominators(own, theirs, notes, tell):
    """On nvdisasm's blocks, with the edges that EXPLAINED adds, from the library."""
    if any(block[0] & ENDLESS for block in own.values()) or not set(own) <= set(theirs):
        notes["post-dominators not compared"] += len(own)
        return
    graph = {}
    for pc in own:
        other, (_, last) = theirs[pc]
        graph[pc] = own[pc][2] if explain(last, own[pc][2], other) else other & set(own)
    leaving = {pc for pc in own if own[pc][0] & LEAVES}
    for pc, meet in plain_post_dominators(graph, leaving).items():
        notes["post-dominators"] += 1
        if meet != own[pc][1]:
            tell("post-dominator of 0x%x: %s, plainly %s" % (pc, own[pc][1], meet))


def hexes(values):
    return "{" + " ".join("%x" % value for value in sorted(values)) + "}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("cubins", nargs="+")
    arguments = parser.parse_args()
    failures = 0
    total = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        dump = build_dump(folder)
        for path in arguments.cubins:
            notes, told = collections.Counter(), []
            graphs = read_graphs(arguments.nvdisasm, path)
            for function in read_own(dump, path):
                if function["name"] not in graphs:
                    told.append("%s: nvdisasm shows no graph" % function["name"])
                    continue
                notes["functions"] += 1

                def tell(text, name=function["name"]):
                    told.append("%s: %s" % (name, text))
                compare_function(function, *graphs[function["name"]], notes, tell)
            print("%s: %s; %d not explained" % (os.path.basename(path),
                                                ", ".join("%d %s" % (notes[k], k) for k in sorted(notes)), len(told)))
            for text in told[:20]:
                print("  " + text)
            failures += len(told)
            total += notes
    print("all: %s; %d not explained" % (", ".join("%d %s" % (total[k], k) for k in sorted(total)), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
