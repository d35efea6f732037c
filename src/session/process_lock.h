/* Locks of the whole process, one per key: a device's UUID, or what else there is one of in a process. */
#ifndef GC_SESSION_PROCESS_LOCK_H
#define GC_SESSION_PROCESS_LOCK_H

#include <cuda.h>
#include <gpuchar/status.h>
#include <stdbool.h>

typedef struct gc_process_lock gc_process_lock;

/* Made at the first use of the key in the process, freed with the last release. NULL: no memory. */
gc_process_lock *gc_process_lock_get(const CUuuid *key);
void gc_process_lock_release(gc_process_lock *lock); /* NULL is allowed */

/*
 * Waits until nobody else holds it. Both failures are without detail: E_CANCELLED as soon as `cancelled` says so, E_BUSY
 * when this thread holds it.
 */
gpuchar_status gc_process_lock_enter(gc_process_lock *lock, bool (*cancelled)(void *), void *user);
void gc_process_lock_leave(gc_process_lock *lock);

#endif
