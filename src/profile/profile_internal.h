/* What a profile holds. */
#ifndef GC_PROFILE_PROFILE_INTERNAL_H
#define GC_PROFILE_PROFILE_INTERNAL_H

#include <experiments/experiment.h>
#include <gpuchar/device.h>
#include <gpuchar/profile.h>
#include <gpuchar/stat.h>
#include <jansson.h>

/* The document as read, unknown members included, so that saving it again loses nothing. */
struct gpuchar_profile {
    json_t *document;
    gpuchar_device_info device;
};

/* The recordings of an experiment, oldest first; NULL when there are none. */
const json_t *gc_profile_results(const gpuchar_profile *profile, const char *experiment);
/* By name; NULL when this library has none. */
const gc_experiment *gc_profile_experiment(const char *name);
/* One recording as a struct of this library's size. gc_profile_result_free gives it back; NULL is allowed. */
gpuchar_status gc_profile_result_read(const gc_experiment *experiment, const json_t *json, void **result);
void gc_profile_result_free(const gc_experiment *experiment, void *result);
/* The evidence of a result; NULL when its struct has none. */
gpuchar_evidence *gc_profile_evidence(const gc_experiment *experiment, void *result);

#endif
