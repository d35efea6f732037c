/* What all experiments do with their evidence: swallow or demand counters, and settle the final status. */
#ifndef GC_EXPERIMENTS_EVIDENCE_H
#define GC_EXPERIMENTS_EVIDENCE_H

#include <core/util.h>
#include <experiments/experiment.h>
#include <gpuchar/counters.h>
#include <measure/range_counters.h>
#include <measure/timing.h>
#include <proof/proof.h>

/* Where the constants of src/kernels/paths.cu hold the number of their path: an address offset in a load. */
#define GC_PATHS_MARK_SHIFT 16
#define GC_PATHS_LOAD_MARK_SHIFT 8
#define GC_PATHS_MARK_BITS 8

/* Reads counters into whatever `user` is. */
typedef gpuchar_status (*gc_count_function)(void *user);

/* E_NOT_APPLICABLE when the caller demands what only a run gives and the session runs nothing. Before any work. */
gpuchar_status gc_evidence_possible(const gc_call *call);

/*
 * One proof's verdict. PROVED stays as long as all of them are good; of the first that is not, status and reason stay (which
 * outlives the call's steps). A failure only when `require` makes one of it.
 */
gpuchar_status gc_evidence_take_proof(gc_call *call, const char *kernel, gpuchar_status proof_status,
                                      const char *reason);

/* The sample of a kernel whose arguments begin with a gc_header, in blocks of up to `threads`. `form` is GC_SAMPLE_... */
gc_sample_claim gc_evidence_sample(uint32_t form, uint32_t threads);

/* Proves the kernel of an image and takes the verdict. Fails as take_proof, or out of memory. `proof` lasts as long as the call. */
gpuchar_status gc_evidence_prove(gc_call *call, size_t image, const gc_divergence_claim *claim,
                                 gc_divergence_proof *proof);

/*
 * Runs `count` as the caller's `counters` option says. Off or not possible: the evidence tells why and the thread's
 * last error stays as it was. Required and not possible, cancelled, or a lost context: that failure.
 */
gpuchar_status gc_evidence_count(gc_call *call, gc_count_function count, void *user);

/* Takes what was read into the experiment's result; every value is valid. `user` is the request's. */
typedef void (*gc_fill_function)(void *user, const gpuchar_counters_result *read);

/* The same of ranges of launches. A session without GPU reads none, nor hardware that gives no number. */
gpuchar_status gc_evidence_count_ranges(gc_call *call, const gc_range_request *request, gc_fill_function fill);

/* What the timing says of the conditions: SM clock, whether it kept still, throttling. */
void gc_evidence_time(const gc_timing *timing, gpuchar_evidence *evidence);

/* GPUCHAR_OK, GPUCHAR_CAVEAT, or the failure that `require` makes of a missing proof. `reason`: the proof's own words. */
gpuchar_status gc_evidence_settle(const gpuchar_evidence *evidence, uint32_t require, const char *reason);

/* The option, "counters" or "require", that recorded evidence does not meet; NULL when it meets both. */
const char *gc_evidence_unmet(const gpuchar_evidence *evidence, uint32_t counters, uint32_t require);

/* The evidence as lines of text. */
void gc_evidence_text(const gpuchar_evidence *evidence, gc_text *text);
/* The same of an experiment that never counts: `why` stands for GPUCHAR_E_NOT_APPLICABLE, whose text is of chips and sessions. */
void gc_evidence_text_uncounted(const gpuchar_evidence *evidence, const char *why, gc_text *text);

#endif
