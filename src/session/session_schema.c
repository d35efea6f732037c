/* Field tables of session.h. */
#include <gpuchar/session.h>
#include <schema/table.h>

#define FIELD(member, kind, doc) GC_FIELD(gpuchar_session_options, member, kind, "", doc)
static const gpuchar_field fields[] = {
    FIELD(context, POINTER, "CUcontext of the caller; NULL: the primary context"),
    FIELD(progress, POINTER, "called while a call runs; NULL: none"),
    FIELD(progress_user, POINTER, "handed to progress"),
};
#undef FIELD
const gpuchar_schema gc_schema_session_options =
    GC_SCHEMA(gpuchar_session_options, fields, 1, GC_NONE, "How a session is opened.");
