/* Whole files: read within a limit, written so that they appear whole or not at all. */
#ifndef GC_PROFILE_FILE_IO_H
#define GC_PROFILE_FILE_IO_H

#include <core/util.h>
#include <gpuchar/status.h>

/* E_IO, or E_FORMAT for a file over the limit. The text is freed with gc_text_free. */
gpuchar_status gc_file_read(const char *path, size_t limit, gc_text *text);
gpuchar_status gc_file_write(const char *path, const char *bytes, size_t size);

#endif
