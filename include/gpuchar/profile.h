/*
 * A profile: the results of one GPU as one JSON document, and sessions that answer from it where the GPU is not.
 * Document: {"schema", "type": "gpuchar_profile", "library_version", "created_utc", "source", "command",
 * "device": {...}, "units": {"gpuchar_device_info": {...}, ...}, "results": {"divergence_sweep": [{...}, ...]}}.
 * Fields are those of the structs (gpuchar_schema_get), null where unknown; "units" tells the unit of each by struct and
 * field; "source" is "measured", "recorded" (answers of a recorded session) or "compiled" (of a compile-only one).
 *
 * Thread safety: one call at a time per profile.
 */
#ifndef GPUCHAR_PROFILE_H
#define GPUCHAR_PROFILE_H

#include <gpuchar/session.h>

GPUCHAR_BEGIN_DECLS

typedef struct gpuchar_profile gpuchar_profile;

/* An empty profile of the session's device. */
GPUCHAR_API gpuchar_status gpuchar_profile_create(gpuchar_session *session, gpuchar_profile **profile);
/*
 * Reads a document. Results of experiments that this library does not know are kept and saved again.
 * Errors: E_INVALID_ARGUMENT, E_IO, E_FORMAT (also a number that no measurement can give; the message names the field),
 * E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_profile_load(const char *path, gpuchar_profile **profile);
/* NULL is allowed. */
GPUCHAR_API void gpuchar_profile_free(gpuchar_profile *profile);

/*
 * Adds a result (copied) of an experiment, by the experiment's name. What gpuchar_profile_load would refuse is refused here.
 * Errors: E_INVALID_ARGUMENT (no such experiment; a number that no measurement on this device can give, the message names
 * the field), E_STRUCT_SIZE, E_FORMAT, E_OUT_OF_MEMORY.
 */
GPUCHAR_API gpuchar_status gpuchar_profile_add(gpuchar_profile *profile, const char *experiment, const void *result);
/* Free text kept in the document, such as the command line that made it. */
GPUCHAR_API gpuchar_status gpuchar_profile_set_command(gpuchar_profile *profile, const char *command);
/* The document as text; free it with gpuchar_string_free. */
GPUCHAR_API gpuchar_status gpuchar_profile_text(const gpuchar_profile *profile, char **text);
/* Writes the document; the file appears whole or not at all. Errors: E_INVALID_ARGUMENT, E_IO, E_OUT_OF_MEMORY. */
GPUCHAR_API gpuchar_status gpuchar_profile_save(const gpuchar_profile *profile, const char *path);

/*
 * Opens a session that answers from a recorded profile, without GPU or driver: calls with equal or default options,
 * or a subset of a recorded sweep, return the recorded numbers with the flag RECORDED; others E_NOT_RECORDED, naming the
 * option that differs. Where several recordings answer, the one added last does. gpuchar_device_info_get returns the
 * recorded device. Errors: those of gpuchar_profile_load.
 */
GPUCHAR_API gpuchar_status gpuchar_session_open_recorded(gpuchar_runtime *runtime, const char *path,
                                                         gpuchar_session **session);

GPUCHAR_END_DECLS

#endif
