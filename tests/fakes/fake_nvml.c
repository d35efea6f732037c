/*
 * An NVML without a GPU. It knows those devices of the fake driver that the book says; the second one is a MIG slice of
 * the first. Each function is there by its newer and its older name; fake_hide makes it an older NVML.
 */
#include "book.h"

#include <platform/nvml_api.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOT_FOUND = 6, INVALID_ARGUMENT = 2, UNINITIALIZED = 1 };

#define DECLARE(member, symbol, older, optional, parameters)                                                           \
    __attribute__((visibility("hidden"))) int fake_##member parameters;
GC_NVML_FUNCTIONS(DECLARE)
#undef DECLARE

static const struct {
    const char *uuid, *pci;
} devices[FAKE_DEVICES] = {{"GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", "00000000:01:00.0"},
                           {"MIG-01112131-4151-6171-8191-a1b1c1d1e1f1", ""}};
static char handles[FAKE_DEVICES];

/* Returns from the function when NVML is not initialized or the handle is none of its own. */
#define NEEDS(device)                                                                                                  \
    if (fake()->nvml_users == 0) fake_misuse("%s: NVML is not initialized", fake_current());                           \
    if (fake()->nvml_users == 0) return UNINITIALIZED;                                                                 \
    if ((char *)(device) < handles || (char *)(device) >= handles + FAKE_DEVICES) return INVALID_ARGUMENT

static gc_nvml_device handle(size_t index) {
    return (gc_nvml_device)(void *)&handles[index];
}

int fake_Init(void) {
    fake()->nvml_users++;
    return GC_NVML_SUCCESS;
}
int fake_Shutdown(void) {
    if (fake()->nvml_users-- > 0) return GC_NVML_SUCCESS;
    fake()->nvml_users = 0;
    fake_misuse("nvmlShutdown without nvmlInit");
    return UNINITIALIZED;
}
__attribute__((visibility("default"))) const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result) {
    return result ? "a fake failure" : "success";
}
int fake_SystemGetDriverVersion(char *text, unsigned int bytes) {
    snprintf(text, bytes, "580.159.04");
    return GC_NVML_SUCCESS;
}

static int find(bool by_uuid, const char *name, gc_nvml_device *device) {
    for (size_t i = 0; i < FAKE_DEVICES; i++) {
        const char *own = by_uuid ? devices[i].uuid : devices[i].pci;
        if (!(fake()->nvml_knows & (1u << i)) || strcmp(own, name) != 0) continue;
        *device = handle(i);
        return GC_NVML_SUCCESS;
    }
    return NOT_FOUND;
}

int fake_DeviceGetHandleByUUID(const char *uuid, gc_nvml_device *device) {
    return find(true, uuid, device);
}
int fake_DeviceGetHandleByPciBusId(const char *id, gc_nvml_device *device) {
    return find(false, id, device);
}
int fake_DeviceGetDeviceHandleFromMigDeviceHandle(gc_nvml_device slice, gc_nvml_device *device) {
    NEEDS(slice);
    *device = handle(0);
    return slice == handle(1) ? GC_NVML_SUCCESS : INVALID_ARGUMENT;
}
int fake_DeviceGetVbiosVersion(gc_nvml_device device, char *text, unsigned int bytes) {
    NEEDS(device);
    snprintf(text, bytes, "96.00.99.00.01");
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetClockInfo(gc_nvml_device device, int type, unsigned int *mhz) {
    NEEDS(device);
    *mhz = type == GC_NVML_CLOCK_MEMORY ? 3201 : 345;
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetMaxClockInfo(gc_nvml_device device, int type, unsigned int *mhz) {
    NEEDS(device);
    *mhz = type == GC_NVML_CLOCK_MEMORY ? 3201 : 1980;
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetApplicationsClock(gc_nvml_device device, int type, unsigned int *mhz) {
    NEEDS(device);
    *mhz = type == GC_NVML_CLOCK_MEMORY ? 3201 : 1590;
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetCurrentClocksEventReasons(gc_nvml_device device, unsigned long long *reasons) {
    NEEDS(device);
    bool turned = fake()->nvml_turn == 0;
    if (!turned) fake()->nvml_turn--;
    *reasons = fake()->throttle_reasons[turned];
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetPowerManagementDefaultLimit(gc_nvml_device device, unsigned int *milliwatts) {
    NEEDS(device);
    *milliwatts = 650000;
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetEnforcedPowerLimit(gc_nvml_device device, unsigned int *milliwatts) {
    NEEDS(device);
    *milliwatts = 700000;
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetEccMode(gc_nvml_device device, int *current, int *pending) {
    NEEDS(device);
    *current = *pending = 1;
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetMigMode(gc_nvml_device device, unsigned int *current, unsigned int *pending) {
    NEEDS(device);
    *current = *pending = 99;
    return GC_NVML_NOT_SUPPORTED;
}
int fake_DeviceGetTemperature(gc_nvml_device device, int sensor, unsigned int *celsius) {
    NEEDS(device);
    *celsius = sensor == GC_NVML_TEMPERATURE_GPU ? 41 : 0;
    return GC_NVML_SUCCESS;
}
int fake_DeviceGetComputeRunningProcesses(gc_nvml_device device, unsigned int *count, gc_nvml_process *processes) {
    NEEDS(device);
    unsigned int capacity = *count;
    *count = fake()->nvml_processes;
    if (capacity < *count) return GC_NVML_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < *count; i++) {
        processes[i] = (gc_nvml_process){.pid = i == 0 ? (unsigned int)getpid() : 1};
    }
    return GC_NVML_SUCCESS;
}
