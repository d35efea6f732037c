/*
 * An NVML of an older driver: throttle reasons and processes under their former names, no application clocks, MIG not
 * supported. It knows the first device of the fake driver.
 */
#include <platform/nvml_api.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define KNOWN_UUID "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0"

static char device;

/* How often nvmlInit is not yet undone. */
EXPORT int fake_nvml_users;
/* Processes told, this one among them when it is not 0. */
EXPORT unsigned int fake_nvml_processes;

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned int bytes);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, gc_nvml_device *found);
EXPORT int nvmlDeviceGetVbiosVersion(gc_nvml_device of, char *text, unsigned int bytes);
EXPORT int nvmlDeviceGetClockInfo(gc_nvml_device of, int type, unsigned int *mhz);
EXPORT int nvmlDeviceGetMaxClockInfo(gc_nvml_device of, int type, unsigned int *mhz);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(gc_nvml_device of, unsigned long long *reasons);
EXPORT int nvmlDeviceGetEnforcedPowerLimit(gc_nvml_device of, unsigned int *milliwatts);
EXPORT int nvmlDeviceGetMigMode(gc_nvml_device of, unsigned int *current, unsigned int *pending);
EXPORT int nvmlDeviceGetTemperature(gc_nvml_device of, int sensor, unsigned int *celsius);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(gc_nvml_device of, unsigned int *count, gc_nvml_process *list);

int nvmlInit_v2(void) {
    fake_nvml_users++;
    return GC_NVML_SUCCESS;
}
int nvmlShutdown(void) {
    fake_nvml_users--;
    return GC_NVML_SUCCESS;
}
const char *nvmlErrorString(int result) {
    return result ? "a fake failure" : "success";
}
int nvmlSystemGetDriverVersion(char *text, unsigned int bytes) {
    strncpy(text, "580.159.04", bytes);
    return GC_NVML_SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, gc_nvml_device *found) {
    *found = (gc_nvml_device)(void *)&device;
    return strcmp(uuid, KNOWN_UUID) == 0 ? GC_NVML_SUCCESS : 6; /* NVML_ERROR_NOT_FOUND */
}
int nvmlDeviceGetVbiosVersion(gc_nvml_device of, char *text, unsigned int bytes) {
    (void)of;
    strncpy(text, "96.00.99.00.01", bytes);
    return GC_NVML_SUCCESS;
}
int nvmlDeviceGetClockInfo(gc_nvml_device of, int type, unsigned int *mhz) {
    (void)of;
    *mhz = type == GC_NVML_CLOCK_MEMORY ? 3201 : 345;
    return GC_NVML_SUCCESS;
}
int nvmlDeviceGetMaxClockInfo(gc_nvml_device of, int type, unsigned int *mhz) {
    (void)of;
    *mhz = type == GC_NVML_CLOCK_MEMORY ? 3201 : 1980;
    return GC_NVML_SUCCESS;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(gc_nvml_device of, unsigned long long *reasons) {
    (void)of;
    *reasons = 0x1 | 0x4; /* idle is none, the power cap is one */
    return GC_NVML_SUCCESS;
}
int nvmlDeviceGetEnforcedPowerLimit(gc_nvml_device of, unsigned int *milliwatts) {
    (void)of;
    *milliwatts = 700000;
    return GC_NVML_SUCCESS;
}
int nvmlDeviceGetMigMode(gc_nvml_device of, unsigned int *current, unsigned int *pending) {
    (void)of;
    *current = *pending = 99;
    return GC_NVML_NOT_SUPPORTED;
}
int nvmlDeviceGetTemperature(gc_nvml_device of, int sensor, unsigned int *celsius) {
    (void)of;
    *celsius = sensor == GC_NVML_TEMPERATURE_GPU ? 41 : 0;
    return GC_NVML_SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v2(gc_nvml_device of, unsigned int *count, gc_nvml_process *list) {
    (void)of;
    unsigned int capacity = *count;
    *count = fake_nvml_processes;
    if (capacity < fake_nvml_processes) {
        return GC_NVML_INSUFFICIENT_SIZE;
    }
    for (unsigned int i = 0; i < fake_nvml_processes; i++) {
        list[i] = (gc_nvml_process){.pid = i == 0 ? (unsigned int)getpid() : 1};
    }
    return GC_NVML_SUCCESS;
}
