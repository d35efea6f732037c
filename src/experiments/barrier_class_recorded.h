/* Recorded answers of the barrier-class experiment. */
#ifndef GC_EXPERIMENTS_BARRIER_CLASS_RECORDED_H
#define GC_EXPERIMENTS_BARRIER_CLASS_RECORDED_H

const char *gc_barrier_answer(const void *options, const void *recorded, void *result);

#endif
