/* Naming devices: by ordinal, UUID, PCI id, or, for compilation only, by architecture. */
#ifndef GC_SESSION_DEVICES_H
#define GC_SESSION_DEVICES_H

#include <gpuchar/device.h>
#include <platform/cuda_driver.h>

typedef struct gc_device_name {
    enum { GC_NAME_ORDINAL, GC_NAME_UUID, GC_NAME_PCI, GC_NAME_ARCHITECTURE } kind;
    uint32_t number; /* ordinal or architecture */
    char text[48];   /* UUID or PCI id as in gpuchar_device_entry */
} gc_device_name;

/* NULL reads as "0". E_INVALID_ARGUMENT with a hint. */
gpuchar_status gc_device_name_read(const char *text, gc_device_name *name);
/* E_NO_DEVICE, E_DEVICE_NOT_FOUND. */
gpuchar_status gc_device_find(const gc_cuda *cuda, const gc_device_name *name, CUdevice *device);
gpuchar_status gc_device_entry_read(const gc_cuda *cuda, CUdevice device, int ordinal, gpuchar_device_entry *entry);

#endif
