/* The devices the driver shows this process. */
#include <core/structs.h>
#include <session/devices.h>
#include <session/session_internal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The driver gives bytes only. That they belong to a MIG slice is told by the device's name, "NVIDIA A100-SXM4-40GB MIG
 * 1g.5gb"; NVML would know better but need not be there.
 */
static void write_uuid(const CUuuid *uuid, bool slice, char *to, size_t capacity) {
    unsigned char b[16];
    memcpy(b, uuid->bytes, sizeof b);
    snprintf(to, capacity, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             slice ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
             b[13], b[14], b[15]);
}

/* The driver writes the domain with four digits, NVML with eight. */
static void write_pci(const char *id, char *to, size_t capacity) {
    unsigned domain, bus, device, function;
    if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4) {
        snprintf(to, capacity, "%08x:%02x:%02x.%x", domain, bus & 0xffu, device & 0xffu, function & 0xfu);
    } else {
        snprintf(to, capacity, "%s", "");
    }
}

gpuchar_status gc_device_entry_read(const gc_cuda *cuda, CUdevice device, int ordinal, gpuchar_device_entry *entry) {
    memset(entry, 0, sizeof *entry);
    CUuuid uuid;
    int major = 0, minor = 0;
    gpuchar_status status =
        gc_cuda_check(cuda, cuda->DeviceGetName(entry->name, (int)sizeof entry->name, device), "cuDeviceGetName");
    if (!status) {
        status = gc_cuda_check(cuda, cuda->DeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
    }
    if (!status) {
        status =
            gc_cuda_check(cuda, cuda->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                          "cuDeviceGetAttribute");
    }
    if (!status) {
        status =
            gc_cuda_check(cuda, cuda->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
                          "cuDeviceGetAttribute");
    }
    if (status) {
        memset(entry, 0, sizeof *entry);
        return status;
    }
    entry->name[sizeof entry->name - 1] = 0;
    write_uuid(&uuid, strstr(entry->name, " MIG ") != NULL, entry->uuid, sizeof entry->uuid);
    char pci[32] = "";
    /* Not on every system has a GPU a PCI id. */
    if (cuda->DeviceGetPCIBusId(pci, (int)sizeof pci, device) == CUDA_SUCCESS) {
        write_pci(pci, entry->pci_id, sizeof entry->pci_id);
    }
    entry->ordinal = (uint32_t)ordinal;
    entry->architecture = (uint32_t)(major * 10 + minor);
    return GPUCHAR_OK;
}

static gpuchar_status count_devices(const gc_cuda *cuda, int *count) {
    gpuchar_status status = gc_cuda_check(cuda, cuda->DeviceGetCount(count), "cuDeviceGetCount");
    if (!status && *count <= 0) {
        status = gc_fail(GPUCHAR_E_NO_DEVICE, "the driver shows this process no GPU");
        gc_hint("CUDA_VISIBLE_DEVICES may hide every GPU");
    }
    return status;
}

static bool matches(const gc_device_name *name, const gpuchar_device_entry *entry) {
    switch (name->kind) {
    case GC_NAME_ORDINAL:
        return entry->ordinal == name->number;
    case GC_NAME_UUID:
        return strcmp(entry->uuid, name->text) == 0;
    case GC_NAME_PCI:
        return strcmp(entry->pci_id, name->text) == 0;
    default:
        return false;
    }
}

gpuchar_status gc_device_find(const gc_cuda *cuda, const gc_device_name *name, CUdevice *device) {
    int count = 0, without_pci = 0;
    gpuchar_status status = count_devices(cuda, &count);
    for (int i = 0; i < count && !status; i++) {
        gpuchar_device_entry entry;
        status = gc_cuda_check(cuda, cuda->DeviceGet(device, i), "cuDeviceGet");
        if (!status) {
            status = gc_device_entry_read(cuda, *device, i, &entry);
        }
        if (!status && matches(name, &entry)) {
            return GPUCHAR_OK;
        }
        without_pci += !status && !entry.pci_id[0];
    }
    if (status) {
        return status;
    }
    if (name->kind == GC_NAME_ORDINAL) {
        status = gc_fail(GPUCHAR_E_DEVICE_NOT_FOUND, "there is no GPU %u", name->number);
    } else {
        status = gc_fail(GPUCHAR_E_DEVICE_NOT_FOUND, "there is no GPU %s", name->text);
    }
    if (name->kind == GC_NAME_PCI && without_pci > 0) {
        gc_hint("the driver does not tell the PCI id of %d of its %d GPUs: name it by number or UUID", without_pci,
                count);
        return status;
    }
    gc_hint("the driver shows this process %d GPU%s; gpuchar_device_list tells their names", count,
            count == 1 ? "" : "s");
    return status;
}

gpuchar_status gpuchar_device_list(gpuchar_runtime *runtime, gpuchar_device_list_result *result) {
    gpuchar_status status =
        gc_result_check(result, GC_SIZE_UP_TO(gpuchar_device_list_result, device_count), "gpuchar_device_list_result");
    gpuchar_runtime *r = NULL;
    const gc_cuda *cuda = NULL;
    int count = 0;
    if (!status) {
        status = gc_runtime_resolve(runtime, &r);
    }
    if (!status) {
        status = gc_runtime_cuda(r, &cuda);
    }
    if (!status) {
        status = count_devices(cuda, &count);
    }
    if (status) {
        return status;
    }
    gpuchar_device_list_result known = GPUCHAR_DEVICE_LIST_RESULT_INIT;
    known.devices = calloc((size_t)count, sizeof *known.devices);
    if (!known.devices) {
        return gc_fail_memory((size_t)count * sizeof *known.devices);
    }
    for (int i = 0; i < count && !status; i++) {
        CUdevice device;
        status = gc_cuda_check(cuda, cuda->DeviceGet(&device, i), "cuDeviceGet");
        if (!status) {
            status = gc_device_entry_read(cuda, device, i, &known.devices[i]);
        }
    }
    if (status) {
        free(known.devices);
        return status;
    }
    known.device_count = (size_t)count;
    gc_result_write(result, &known, sizeof known);
    return GPUCHAR_OK;
}

void gpuchar_device_list_result_free(gpuchar_device_list_result *result) {
    if (result) {
        free(result->devices);
        result->devices = NULL;
        result->device_count = 0;
    }
}

GC_DEFINE_INIT(gpuchar_device_list_result)
