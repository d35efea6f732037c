/*
 * The part of NVML's interface that is used, declared here since nvml.h is not in the compiler packages. Values and
 * layouts are NVML's stable ABI.
 */
#ifndef GC_PLATFORM_NVML_API_H
#define GC_PLATFORM_NVML_API_H

#include <platform/library.h>
#include <stdint.h>

typedef struct gc_nvml_device_handle *gc_nvml_device; /* nvmlDevice_t */

enum { GC_NVML_SUCCESS = 0, GC_NVML_NOT_SUPPORTED = 3, GC_NVML_INSUFFICIENT_SIZE = 7, GC_NVML_DRIVER_NOT_LOADED = 9 };
enum { GC_NVML_CLOCK_GRAPHICS = 0, GC_NVML_CLOCK_SM = 1, GC_NVML_CLOCK_MEMORY = 2 };
enum { GC_NVML_TEMPERATURE_GPU = 0 };
enum { GC_NVML_VERSION_BYTES = 80, GC_NVML_VBIOS_BYTES = 32 };

/* nvmlProcessInfo_t of both the _v2 and the _v3 functions. */
typedef struct gc_nvml_process {
    unsigned int pid;
    unsigned long long used_bytes;
    unsigned int gpu_instance;
    unsigned int compute_instance;
} gc_nvml_process;

/*
 * X(member, symbol, older symbol, optional, parameters): exported as "nvml" symbol, before that as "nvml" older symbol ("":
 * none). An optional function that is missing stays NULL: what it tells is unknown. All but ErrorString return nvmlReturn_t.
 */
#define GC_NVML_FUNCTIONS(X)                                                                                           \
    X(Init, "Init_v2", "", false, (void))                                                                              \
    X(Shutdown, "Shutdown", "", false, (void))                                                                         \
    X(SystemGetDriverVersion, "SystemGetDriverVersion", "", true, (char *text, unsigned int bytes))                    \
    X(DeviceGetHandleByUUID, "DeviceGetHandleByUUID", "", false, (const char *uuid, gc_nvml_device *device))           \
    X(DeviceGetHandleByPciBusId, "DeviceGetHandleByPciBusId_v2", "", true, (const char *id, gc_nvml_device *device))   \
    X(DeviceGetDeviceHandleFromMigDeviceHandle, "DeviceGetDeviceHandleFromMigDeviceHandle", "", true,                  \
      (gc_nvml_device slice, gc_nvml_device * device))                                                                 \
    X(DeviceGetVbiosVersion, "DeviceGetVbiosVersion", "", true,                                                        \
      (gc_nvml_device device, char *text, unsigned int bytes))                                                         \
    X(DeviceGetClockInfo, "DeviceGetClockInfo", "", true, (gc_nvml_device device, int type, unsigned int *mhz))        \
    X(DeviceGetMaxClockInfo, "DeviceGetMaxClockInfo", "", true, (gc_nvml_device device, int type, unsigned int *mhz))  \
    X(DeviceGetApplicationsClock, "DeviceGetApplicationsClock", "", true,                                              \
      (gc_nvml_device device, int type, unsigned int *mhz))                                                            \
    X(DeviceGetCurrentClocksEventReasons, "DeviceGetCurrentClocksEventReasons",                                        \
      "DeviceGetCurrentClocksThrottleReasons", true, (gc_nvml_device device, unsigned long long *reasons))             \
    X(DeviceGetPowerManagementDefaultLimit, "DeviceGetPowerManagementDefaultLimit", "", true,                          \
      (gc_nvml_device device, unsigned int *milliwatts))                                                               \
    X(DeviceGetEnforcedPowerLimit, "DeviceGetEnforcedPowerLimit", "", true,                                            \
      (gc_nvml_device device, unsigned int *milliwatts))                                                               \
    X(DeviceGetEccMode, "DeviceGetEccMode", "", true, (gc_nvml_device device, int *current, int *pending))             \
    X(DeviceGetMigMode, "DeviceGetMigMode", "", true,                                                                  \
      (gc_nvml_device device, unsigned int *current, unsigned int *pending))                                           \
    X(DeviceGetComputeRunningProcesses, "DeviceGetComputeRunningProcesses_v3", "DeviceGetComputeRunningProcesses_v2",  \
      true, (gc_nvml_device device, unsigned int *count, gc_nvml_process *processes))                                  \
    X(DeviceGetTemperature, "DeviceGetTemperature", "", true,                                                          \
      (gc_nvml_device device, int sensor, unsigned int *celsius))

typedef struct gc_nvml {
    gc_library library;
    uint32_t driver_major; /* 580, read off the library's file name; 0 when that does not tell */
    const char *(*ErrorString)(int result);
#define GC_NVML_MEMBER(member, symbol, older, optional, parameters) int(*member) parameters;
    GC_NVML_FUNCTIONS(GC_NVML_MEMBER)
#undef GC_NVML_MEMBER
} gc_nvml;

#endif
