/* Tables of what is read from machine code. */
#include <gpuchar/sass_file.h>
#include <schema/table.h>

#define F(member, kind, unit, doc) GC_FIELD(THIS, member, kind, unit, doc)

#define THIS gpuchar_sass_entry
static const gpuchar_field entry_fields[] = {
    F(offset_bytes, U64, "bytes", "where it lies in the file"),
    F(stored_bytes, U64, "bytes", "how many it takes there"),
    F(unpacked_bytes, U64, "bytes", "and when it is unpacked"),
    F(kind, U32, "", "GPUCHAR_SASS_ENTRY_..."),
    F(packing, U32, "", "GPUCHAR_SASS_PACKING_..."),
    F(architecture, U32, "", "90: sm_90"),
};
const gpuchar_schema gc_schema_sass_entry =
    GC_SCHEMA(gpuchar_sass_entry, entry_fields, 0, GC_NONE, "one image in a file");
#undef THIS

#define THIS gpuchar_sass_info
static const gpuchar_field info_fields[] = {
    F(size_bytes, U64, "bytes", "of the cubin"),
    F(instructions, U64, "instructions", "of all functions, padding included"),
    F(architecture, U32, "", "90: sm_90"),
    F(abi, U32, "", "7 (CUDA 12) or 8 (CUDA 13)"),
    F(functions, U32, "1", "kernels and the functions that they call"),
    F(kernels, U32, "1", "of these"),
    F(instruction_bytes, U32, "bytes", "of one instruction"),
    F(toolkit_version, U32, "", "of the compiler, 12090 for CUDA 12.9; 0: not told"),
    F(target, TEXT, "", "what was compiled for, \"sm_90a\""),
    F(assembler, TEXT, "", "the assembler's version; empty: not told"),
    F(options, TEXT, "", "the assembler's options, as far as they fit"),
};
const gpuchar_schema gc_schema_sass_info = GC_SCHEMA(gpuchar_sass_info, info_fields, 1, GC_NONE, "one cubin");
#undef THIS

#define THIS gpuchar_sass_function
static const gpuchar_field function_fields[] = {
    F(name, STRING, "", "the function's symbol"),
    F(section, STRING, "", "the section that holds it"),
    F(start_bytes, U64, "bytes", "where it begins in its section"),
    F(size_bytes, U64, "bytes", "up to the next function, padding included"),
    F(instructions, U32, "instructions", "without control words"),
    F(kernel, U32, "", "1: a kernel, 0: a function that kernels call"),
};
const gpuchar_schema gc_schema_sass_function =
    GC_SCHEMA(gpuchar_sass_function, function_fields, 0, GC_NONE, "one function of a cubin");
#undef THIS

#define THIS gpuchar_sass_instruction
static const gpuchar_field instruction_fields[] = {
    F(pc_bytes, U64, "bytes", "program counter, from the section's start"),
    F(target_bytes, U64, "bytes", "where it leads; 2^64 - 1: nowhere"),
    F(low, U64, "", "bits 63 to 0 of the word"),
    F(high, U64, "", "bits 127 to 64; before sm_70 the 21 scheduling bits"),
    F(mnemonic, STRING, "", "base mnemonic; null: unknown opcode"),
    F(opcode, U32, "", "opcode bits"),
    F(kind, U32, "", "GPUCHAR_SASS_..., what it does to control flow"),
    F(flags, U32, "", "GPUCHAR_SASS_CONDITIONAL and others"),
    F(guard, U32, "", "predicate number, 7: PT"),
    F(guard_not, U32, "", "1: the predicate is negated"),
    F(second, U32, "", "second predicate; before sm_70 the condition code"),
    F(second_not, U32, "", "1: it is negated"),
    F(mode, U32, "", "BRA: 1 .U, 2 .DIV, 3 .CONV; of others see the header"),
    F(variant, U32, "", "BRA, BRX, JMP: 1 .INC, 2 .DEC, 4 .ANY"),
    F(operand_kind, U32, "", "GPUCHAR_SASS_OPERAND_..., what it goes by beside its predicates"),
    F(operand, U32, "", "the number of that"),
    F(operand_not, U32, "", "1: that uniform predicate is negated"),
    F(mask, U32, "", "WARPSYNC: an immediate mask"),
    F(barrier, U32, "", "barrier register"),
    F(barrier_class, U32, "", "GPUCHAR_SASS_CLASS_..."),
    F(stall_cycles, U32, "cycles", "stall count"),
    F(yield, U32, "", "the yield bit"),
    F(write_barrier, U32, "", "scoreboard set by its result, 7: none"),
    F(read_barrier, U32, "", "scoreboard set by its reads, 7: none"),
    F(wait_mask, U32, "", "scoreboards that it waits for"),
    F(reuse, U32, "", "operand reuse bits"),
};
const gpuchar_schema gc_schema_sass_instruction =
    GC_SCHEMA(gpuchar_sass_instruction, instruction_fields, 0, GC_NONE, "one decoded instruction");
#undef THIS

#define THIS gpuchar_sass_mix_entry
static const gpuchar_field mix_entry_fields[] = {
    F(mnemonic, STRING, "", "base mnemonic; null: unknown opcode"),
    F(count, U64, "instructions", "how many there are"),
    F(example_low, U64, "", "bits 63 to 0 of the first one"),
    F(example_high, U64, "", "its other bits"),
    F(opcode, U32, "", "opcode bits of the first one"),
};
const gpuchar_schema gc_schema_sass_mix_entry =
    GC_SCHEMA(gpuchar_sass_mix_entry, mix_entry_fields, 0, GC_NONE, "how often one base mnemonic stands in the code");
#undef THIS

#define THIS gpuchar_sass_mix
static const gpuchar_field mix_fields[] = {
    GC_FIELD_STRUCT_POINTED(gpuchar_sass_mix, entries, gc_schema_sass_mix_entry, entry_count, "",
                            "by mnemonic, the most frequent first"),
    GC_FIELD_COUNT(gpuchar_sass_mix, entry_count, U64, "how many mnemonics"),
    F(instructions, U64, "instructions", "all of them"),
    F(unknown, U64, "instructions", "of unknown opcodes"),
    F(guarded, U64, "instructions", "under a predicate"),
    F(stall_cycles, U64, "cycles", "sum of the stall counts"),
};
const gpuchar_schema gc_schema_sass_mix =
    GC_SCHEMA(gpuchar_sass_mix, mix_fields, 1, GC_NONE, "instructions by base mnemonic");
#undef THIS

#define THIS gpuchar_sass_block
static const gpuchar_field block_fields[] = {
    F(pc_bytes, U64, "bytes", "its first instruction"),
    F(first, U32, "", "index of that in the function"),
    F(instructions, U32, "instructions", "how many"),
    F(first_edge, U32, "", "index of its first edge"),
    F(edges, U32, "1", "how many"),
    F(dominator, U32, "", "immediate dominator, a block; 2^32 - 1: none"),
    F(post_dominator, U32, "", "immediate post-dominator, a block; 2^32 - 1: the exit, or none"),
    F(loop, U32, "", "innermost loop around it; 2^32 - 1: none"),
    F(flags, U32, "", "GPUCHAR_SASS_BLOCK_... bits"),
};
const gpuchar_schema gc_schema_sass_block = GC_SCHEMA(gpuchar_sass_block, block_fields, 0, GC_NONE, "one basic block");
#undef THIS

#define THIS gpuchar_sass_loop
static const gpuchar_field loop_fields[] = {
    F(head, U32, "", "the block that dominates all of it"),
    F(parent, U32, "", "the loop around it; 2^32 - 1: none"),
    F(depth, U32, "1", "1: outermost"),
    F(blocks, U32, "1", "with those of inner loops"),
};
const gpuchar_schema gc_schema_sass_loop = GC_SCHEMA(gpuchar_sass_loop, loop_fields, 0, GC_NONE, "one natural loop");
#undef THIS

#define THIS gpuchar_sass_graph
static const gpuchar_field graph_fields[] = {
    GC_FIELD_STRUCT_POINTED(gpuchar_sass_graph, blocks, gc_schema_sass_block, block_count, "",
                            "in the order of the code; 0 is the entry"),
    GC_FIELD_COUNT(gpuchar_sass_graph, block_count, U64, "how many blocks"),
    GC_FIELD_POINTED(gpuchar_sass_graph, edges, U32, edge_count, "", "the blocks that blocks lead to"),
    GC_FIELD_COUNT(gpuchar_sass_graph, edge_count, U64, "how many edges"),
    GC_FIELD_STRUCT_POINTED(gpuchar_sass_graph, loops, gc_schema_sass_loop, loop_count, "", "outer before inner"),
    GC_FIELD_COUNT(gpuchar_sass_graph, loop_count, U64, "how many loops"),
    F(irreducible, U64, "1", "back edges to a block that does not dominate their source"),
};
const gpuchar_schema gc_schema_sass_graph =
    GC_SCHEMA(gpuchar_sass_graph, graph_fields, 1, GC_NONE, "control-flow graph of a function");
#undef THIS

#define THIS gpuchar_sass_branch
static const gpuchar_field branch_fields[] = {
    F(pc_bytes, U64, "bytes", "the branch"),
    F(meet_bytes, U64, "bytes", "first instruction of its immediate post-dominator; 2^64 - 1: the exit"),
    F(bsync_bytes, U64, "bytes", "BSYNC of the interval that the primary rule finds; 2^64 - 1: none"),
    F(instruction, U32, "", "index in the function"),
    F(block, U32, "", "its block"),
    F(opcode, U32, "", "opcode bits"),
    F(flags, U32, "", "GPUCHAR_SASS_BRANCH_... bits"),
    F(interval, U32, "", "innermost interval around it; 2^32 - 1: none"),
    F(match, U32, "", "interval that the primary rule finds; 2^32 - 1: none"),
    GC_FIELD_ARRAY(gpuchar_sass_branch, placement, U32, "", "GPUCHAR_SASS_PLACED_..., by rule"),
    F(partial_joins, U32, "1", "inner intervals around it whose BSYNC does not post-dominate it"),
    F(depth, U32, "1", "intervals around it"),
};
const gpuchar_schema gc_schema_sass_branch =
    GC_SCHEMA(gpuchar_sass_branch, branch_fields, 0, GC_NONE, "a branch, and where its threads meet again");
#undef THIS

#define THIS gpuchar_sass_interval
static const gpuchar_field interval_fields[] = {
    F(bssy_bytes, U64, "bytes", "where it begins"),
    F(bsync_bytes, U64, "bytes", "where it ends"),
    F(barrier, U32, "", "barrier register"),
    F(barrier_class, U32, "", "GPUCHAR_SASS_CLASS_..."),
    F(parent, U32, "", "interval around it; 2^32 - 1: none"),
    F(depth, U32, "1", "1: outermost"),
    F(breaks, U32, "1", "BREAK of its barrier inside it"),
    F(flags, U32, "", "GPUCHAR_SASS_INTERVAL_... bits"),
    GC_FIELD_ARRAY(gpuchar_sass_interval, innermost, U32, "1",
                   "divergent branches of which it is the innermost interval, by placement"),
    GC_FIELD_ARRAY(gpuchar_sass_interval, primary, U32, "1",
                   "divergent branches that the primary rule matches with it, by placement"),
};
const gpuchar_schema gc_schema_sass_interval =
    GC_SCHEMA(gpuchar_sass_interval, interval_fields, 0, GC_NONE, "what BSSY opens and BSYNC closes");
#undef THIS

#define THIS gpuchar_sass_reconvergence
static const gpuchar_field reconvergence_fields[] = {
    GC_FIELD_STRUCT_POINTED(gpuchar_sass_reconvergence, branches, gc_schema_sass_branch, branch_count, "",
                            "in the order of the code"),
    GC_FIELD_COUNT(gpuchar_sass_reconvergence, branch_count, U64, "how many branches"),
    GC_FIELD_STRUCT_POINTED(gpuchar_sass_reconvergence, intervals, gc_schema_sass_interval, interval_count, "",
                            "in the order of the code, outer before inner"),
    GC_FIELD_COUNT(gpuchar_sass_reconvergence, interval_count, U64, "how many intervals"),
    F(divergent, U64, "1", "branches that are not proved uniform"),
    GC_FIELD_ARRAY(gpuchar_sass_reconvergence, placed, U64, "1",
                   "of these those that close no loop, by rule and placement"),
    GC_FIELD_ARRAY(gpuchar_sass_reconvergence, placed_back, U64, "1", "and those that close one"),
    F(depth, U32, "1", "most intervals around a reachable point"),
    F(live_barriers, U32, "1", "most distinct barrier registers among these"),
    F(unmatched, U32, "1", "intervals whose BSYNC does not stand where they say"),
};
const gpuchar_schema gc_schema_sass_reconvergence = GC_SCHEMA(gpuchar_sass_reconvergence, reconvergence_fields, 1,
                                                              GC_NONE, "where the threads of a function meet again");
#undef THIS
