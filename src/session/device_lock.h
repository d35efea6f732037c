/* One lock per device and process. */
#ifndef GC_SESSION_DEVICE_LOCK_H
#define GC_SESSION_DEVICE_LOCK_H

#include <cuda.h>
#include <gpuchar/status.h>
#include <stdbool.h>

typedef struct gc_device_lock gc_device_lock;

/* Made at the first use of the UUID in the process, freed with the last release. NULL: no memory. */
gc_device_lock *gc_device_lock_get(const CUuuid *uuid);
void gc_device_lock_release(gc_device_lock *lock); /* NULL is allowed */

/* Waits until nobody else measures. E_CANCELLED (without detail) as soon as `cancelled` says so; E_BUSY when this thread holds it. */
gpuchar_status gc_device_lock_enter(gc_device_lock *lock, bool (*cancelled)(void *), void *user);
void gc_device_lock_leave(gc_device_lock *lock);

#endif
