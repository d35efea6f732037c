#include <core/error.h>
#include <proof/chain.h>
#include <proof/stored.h>
#include <proof/tally.h>
#include <proof/walk.h>
#include <stdio.h>
#include <string.h>

static unsigned long long pc_of(const gc_instruction *in) {
    return (unsigned long long)in->pc;
}

/* What may stand in the region outside the loops: dispatch, parameters and constants, counters set up, waiting. */
static bool is_region_scaffold(const gc_instruction *in) {
    static const char *const ALLOWED[] = {
        "ISETP", "UISETP", "PLOP3",  "UPLOP3",   "LOP3",   "ULOP3",  "SHF",     "USHF",      "IADD3", "UIADD3",
        "IADD",  "VIADD",  "UVIADD", "IMNMX",    "UIMNMX", "VIMNMX", "UVIMNMX", "VIADDMNMX", "LEA",   "ULEA",
        "PRMT",  "UPRMT",  "SEL",    "USEL",     "MOV",    "UMOV",   "IMAD",    "UIMAD",     "HFMA2", "CS2R",
        "S2R",   "S2UR",   "CS2UR",  "R2UR",     "LDC",    "ULDC",   "LDCU",    "BRA",       "BRX",   "BRXU",
        "BSSY",  "BSYNC",  "BMOV",   "WARPSYNC", "NOP",    NULL};
    for (const char *const *name = ALLOWED; *name; name++)
        if (strcmp(in->mnemonic, *name) == 0) return true;
    return false;
}

static bool check_outside_loops(const gc_divergence_claim *claim, const gc_instruction *in,
                                gc_divergence_proof *proof) {
    if (!in->mnemonic)
        return gc_refuse(proof, "the timed region holds an unknown instruction (opcode 0x%x) at 0x%llx", in->opcode,
                         pc_of(in));
    if (in->never) return true;
    if (in->kind == GC_OP_CALL) return gc_refuse(proof, "the timed region calls a function at 0x%llx", pc_of(in));
    if (strcmp(in->mnemonic, "LDL") == 0 || strcmp(in->mnemonic, "STL") == 0)
        return gc_refuse(proof, "registers are spilled in the timed region: %s at 0x%llx", in->mnemonic, pc_of(in));
    if (gc_is_intended(claim, in))
        return gc_refuse(proof, "%s at 0x%llx stands in the timed region outside the paths' loops", in->mnemonic,
                         pc_of(in));
    return is_region_scaffold(in) ||
           gc_refuse(proof, "the timed region holds an unexpected %s at 0x%llx", in->mnemonic, pc_of(in));
}

static void take_mnemonic(const gc_divergence_claim *claim, const gc_region *region, gc_divergence_proof *proof) {
    for (uint32_t i = 0; i < region->flow->instruction_count && !proof->mnemonic[0]; i++) {
        const gc_instruction *in = &region->flow->instructions[i];
        if (region->inside[region->flow->block_of[i]] && gc_is_intended(claim, in))
            snprintf(proof->mnemonic, sizeof proof->mnemonic, "%s", in->mnemonic);
    }
}

static void tally_scaffold(const gc_divergence_claim *claim, const gc_region *region, gc_divergence_proof *proof) {
    gc_tally tally = {.count = 0};
    for (uint32_t i = 0; i < region->flow->instruction_count; i++) {
        const gc_instruction *in = &region->flow->instructions[i];
        if (!region->inside[region->flow->block_of[i]]) continue;
        if (gc_is_intended(claim, in)) {
            proof->intended_total++;
            continue;
        }
        proof->scaffold_total++;
        gc_tally_add(&tally, in->mnemonic ? in->mnemonic : "unknown", 1);
    }
    gc_tally_write(&tally, proof->scaffold, sizeof proof->scaffold);
}

static bool check_region(const gc_divergence_claim *claim, const gc_region *region, gc_divergence_proof *proof) {
    const gc_flow *flow = region->flow;
    for (uint32_t b = 0; b < flow->block_count; b++) {
        if (!region->inside[b] || gc_region_is_loop(region, b)) continue;
        for (uint32_t i = 0; i < flow->blocks[b].count; i++)
            if (!check_outside_loops(claim, &flow->instructions[flow->blocks[b].first + i], proof)) return false;
    }
    return true;
}

static bool check_equal_loops(gc_divergence_proof *proof) {
    for (uint32_t p = 1; p < proof->loops; p++) {
        if (proof->loop_instructions[p] != proof->loop_instructions[0])
            return gc_refuse(proof, "path %u holds %u instructions, path 0 %u", p, proof->loop_instructions[p],
                             proof->loop_instructions[0]);
        if (proof->loop_stall[p] != proof->loop_stall[0])
            return gc_refuse(proof, "path %u stalls %u cycles, path 0 %u", p, proof->loop_stall[p],
                             proof->loop_stall[0]);
    }
    return true;
}

static bool check_counts(const gc_divergence_claim *claim, gc_divergence_proof *proof) {
    const uint32_t decisions = claim->uniform ? 0 : claim->paths - 1;
    if (proof->dispatch_decisions != decisions)
        return gc_refuse(proof, "%u dispatch decisions, not %u", proof->dispatch_decisions, decisions);
    return true;
}

static void prove(const gc_divergence_claim *claim, gc_region *region, gc_divergence_proof *proof) {
    if (!gc_region_find(region, proof)) return;
    take_mnemonic(claim, region, proof);
    tally_scaffold(claim, region, proof);
    if (!gc_region_find_loops(region, claim->levels > 1, proof)) return;
    bool good = true;
    for (uint32_t loop = 0; loop < region->loop_count; loop++) good = gc_check_loop(region, claim, loop, proof) && good;
    if (!good || !check_region(claim, region, proof)) return;
    if (region->loop_count != gc_claim_nodes(claim)) {
        gc_refuse(proof, "%u loops between the clock reads, not %u", region->loop_count, gc_claim_nodes(claim));
        return;
    }
    if (!check_equal_loops(proof) || !gc_region_check_dispatch(region, proof) || !check_counts(claim, proof)) return;
    if (claim->arguments) gc_check_walks(region, claim, proof);
}

static gpuchar_status prove_code(const gc_code *code, const gc_divergence_claim *claim, gc_divergence_proof *proof) {
    gc_flow flow;
    gpuchar_status status = gc_flow_build(code, &flow);
    if (status) return status;
    gc_region region;
    status = gc_region_open(code, &flow, &region);
    if (!status) {
        prove(claim, &region, proof);
        gc_region_close(&region);
    }
    gc_flow_free(&flow);
    return status;
}

static gpuchar_status check_arguments(const gc_divergence_claim *claim) {
    const uint64_t bytes = claim->argument_bytes;
    const uint64_t turns_end =
        (uint64_t)claim->turns_offset + (uint64_t)claim->turns_stride * (gc_claim_nodes(claim) - 1) + 4;
    const bool mapped = !claim->uniform || claim->lanes_offset;
    const uint64_t lanes_end = mapped ? (uint64_t)claim->lanes_offset + 32 : 0;
    const uint64_t zeros_end = claim->zeros_offset ? (uint64_t)claim->zeros_offset + 32 : 0;
    if (!gc_stored_is_claimable(claim))
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a claim's sample stands inside its arguments");
    if (bytes <= GC_PROOF_ARGUMENTS_MAX && turns_end <= bytes && lanes_end <= bytes && zeros_end <= bytes)
        return GPUCHAR_OK;
    return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a claim's turns and lanes stand inside its arguments");
}

static gpuchar_status check_claim(const gc_divergence_claim *claim) {
    if (!claim || !claim->kernel || !claim->mnemonics || claim->mnemonic_count == 0)
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a claim needs a kernel and a mnemonic");
    if (claim->paths == 0 || claim->paths > GC_PROOF_PATHS_MAX || claim->body == 0)
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a claim has 1 to %d paths and a body", GC_PROOF_PATHS_MAX);
    if (claim->levels > 1 && claim->paths != 1u << (claim->levels - 1))
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a tree of %u levels has not %u paths", claim->levels, claim->paths);
    if (claim->mark_shift > 31 || claim->mark_bits > 16)
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a claim's marks stand in 32 bits, in 16 of them at most");
    if (claim->chains > GC_PROOF_CHAINS_MAX || (claim->chains && claim->body % claim->chains))
        return gc_fail(GPUCHAR_E_INVALID_ARGUMENT, "a body of %u has not %u equal chains", claim->body, claim->chains);
    return claim->arguments ? check_arguments(claim) : GPUCHAR_OK;
}

gpuchar_status gc_prove_divergence(const void *cubin, size_t size, const gc_divergence_claim *claim,
                                   gc_divergence_proof *proof) {
    memset(proof, 0, sizeof *proof);
    gc_cubin file;
    gc_code code;
    gpuchar_status status = check_claim(claim);
    if (!status) status = gc_cubin_open(cubin, size, &file);
    if (!status) status = gc_cubin_function(&file, claim->kernel, &code);
    if (!status) status = prove_code(&code, claim, proof);
    if (status) proof->status = status;
    return status;
}
