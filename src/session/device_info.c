/* Facts about a device, from the driver's attributes and from NVML. What neither tells stays unknown. */
#include <core/structs.h>
#include <core/util.h>
#include <session/devices.h>
#include <session/session_internal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An attribute that every supported driver has: without it something is wrong. */
typedef struct attribute {
    CUdevice_attribute id;
    size_t offset;
    size_t size; /* 4 or 8 */
} attribute;

#define ATTRIBUTE(id, member)                                                                                          \
    { CU_DEVICE_ATTRIBUTE_##id, offsetof(gpuchar_device_info, member), sizeof(((gpuchar_device_info *)0)->member) }
static const attribute attributes[] = {
    ATTRIBUTE(MULTIPROCESSOR_COUNT, sm_count),
    ATTRIBUTE(WARP_SIZE, warp_size),
    ATTRIBUTE(MAX_THREADS_PER_MULTIPROCESSOR, max_threads_per_sm),
    ATTRIBUTE(MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks_per_sm),
    ATTRIBUTE(MAX_THREADS_PER_BLOCK, max_threads_per_block),
    ATTRIBUTE(MAX_REGISTERS_PER_MULTIPROCESSOR, registers_per_sm),
    ATTRIBUTE(MAX_REGISTERS_PER_BLOCK, registers_per_block),
    ATTRIBUTE(L2_CACHE_SIZE, l2_bytes),
    ATTRIBUTE(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_per_sm_bytes),
    ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK, shared_per_block_bytes),
    ATTRIBUTE(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_per_block_optin_bytes),
    ATTRIBUTE(RESERVED_SHARED_MEMORY_PER_BLOCK, shared_reserved_per_block_bytes),
    ATTRIBUTE(TOTAL_CONSTANT_MEMORY, constant_bytes),
    ATTRIBUTE(COMPUTE_MODE, compute_mode),
};

static gpuchar_status read_attributes(gpuchar_session *session, gpuchar_device_info *info) {
    const gc_cuda *cuda = session->cuda;
    for (size_t i = 0; i < GC_COUNT(attributes); i++) {
        int value = 0;
        gpuchar_status status = gc_cuda_check(cuda, cuda->DeviceGetAttribute(&value, attributes[i].id, session->device),
                                              "cuDeviceGetAttribute");
        if (status) {
            return status;
        }
        char *to = (char *)info + attributes[i].offset;
        uint64_t wide = value > 0 ? (uint64_t)value : 0;
        uint32_t narrow = (uint32_t)wide;
        if (attributes[i].size == sizeof wide) {
            memcpy(to, &wide, sizeof wide);
        } else {
            memcpy(to, &narrow, sizeof narrow);
        }
    }
    size_t bytes = 0;
    gpuchar_status status = gc_cuda_check(cuda, cuda->DeviceTotalMem(&bytes, session->device), "cuDeviceTotalMem");
    info->memory_bytes = bytes;
    return status;
}

/* An attribute that some drivers or systems answer with 0 or not at all. */
static bool read_optional(gpuchar_session *session, CUdevice_attribute id, uint32_t *value) {
    int got = 0;
    if (session->cuda->DeviceGetAttribute(&got, id, session->device) != CUDA_SUCCESS || got < 0) {
        return false;
    }
    *value = (uint32_t)got;
    return true;
}

static void read_driver_facts(gpuchar_session *session, gpuchar_device_info *info) {
    uint32_t value;
    if (read_optional(session, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &value) && value > 0) {
        info->driver_sm_clock_hz = (uint64_t)value * 1000;
        info->known |= GPUCHAR_DEVICE_DRIVER_SM_CLOCK;
    }
    if (read_optional(session, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &value) && value > 0) {
        info->driver_memory_clock_hz = (uint64_t)value * 1000;
        info->known |= GPUCHAR_DEVICE_DRIVER_MEMORY_CLOCK;
    }
    if (read_optional(session, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &value) && value > 0) {
        info->memory_bus_bits = value;
        info->known |= GPUCHAR_DEVICE_MEMORY_BUS;
    }
    if (read_optional(session, CU_DEVICE_ATTRIBUTE_ECC_ENABLED, &value)) {
        info->ecc_enabled = value != 0;
        info->known |= GPUCHAR_DEVICE_ECC;
    }
    if (strncmp(info->uuid, "MIG-", 4) == 0) {
        info->mig_enabled = 1;
        info->known |= GPUCHAR_DEVICE_MIG;
    }
}

/* ---- NVML */

typedef int (*clock_function)(gc_nvml_device device, int type, unsigned int *mhz);

static void read_clock(gpuchar_session *session, gpuchar_device_info *info, clock_function get, int type, uint64_t *hz,
                       uint32_t bit) {
    unsigned int mhz = 0;
    if (get && get(session->nvml_gpu, type, &mhz) == GC_NVML_SUCCESS && mhz > 0) {
        *hz = (uint64_t)mhz * 1000000;
        info->known |= bit;
    }
}

static void read_clocks(gpuchar_session *session, gpuchar_device_info *info) {
    const gc_nvml *nvml = session->nvml;
    read_clock(session, info, nvml->DeviceGetMaxClockInfo, GC_NVML_CLOCK_SM, &info->max_sm_clock_hz,
               GPUCHAR_DEVICE_MAX_SM_CLOCK);
    read_clock(session, info, nvml->DeviceGetClockInfo, GC_NVML_CLOCK_SM, &info->current_sm_clock_hz,
               GPUCHAR_DEVICE_CURRENT_SM_CLOCK);
    /* NVML sets this one for the graphics domain, which the SMs follow. */
    read_clock(session, info, nvml->DeviceGetApplicationsClock, GC_NVML_CLOCK_GRAPHICS, &info->application_sm_clock_hz,
               GPUCHAR_DEVICE_APPLICATION_SM_CLOCK);
    read_clock(session, info, nvml->DeviceGetMaxClockInfo, GC_NVML_CLOCK_MEMORY, &info->max_memory_clock_hz,
               GPUCHAR_DEVICE_MAX_MEMORY_CLOCK);
    read_clock(session, info, nvml->DeviceGetClockInfo, GC_NVML_CLOCK_MEMORY, &info->current_memory_clock_hz,
               GPUCHAR_DEVICE_CURRENT_MEMORY_CLOCK);
}

static void read_power(gpuchar_session *session, gpuchar_device_info *info) {
    const gc_nvml *nvml = session->nvml;
    unsigned int value = 0;
    if (nvml->DeviceGetEnforcedPowerLimit &&
        nvml->DeviceGetEnforcedPowerLimit(session->nvml_gpu, &value) == GC_NVML_SUCCESS) {
        info->power_limit_watts = value / 1000.0;
        info->known |= GPUCHAR_DEVICE_POWER_LIMIT;
    }
    if (nvml->DeviceGetPowerManagementDefaultLimit &&
        nvml->DeviceGetPowerManagementDefaultLimit(session->nvml_gpu, &value) == GC_NVML_SUCCESS) {
        info->default_power_limit_watts = value / 1000.0;
        info->known |= GPUCHAR_DEVICE_DEFAULT_POWER_LIMIT;
    }
    if (nvml->DeviceGetTemperature &&
        nvml->DeviceGetTemperature(session->nvml_gpu, GC_NVML_TEMPERATURE_GPU, &value) == GC_NVML_SUCCESS) {
        info->temperature_celsius = value;
        info->known |= GPUCHAR_DEVICE_TEMPERATURE;
    }
}

static void copy_text(char *to, size_t capacity, const char *from) {
    size_t length = strnlen(from, capacity - 1);
    memcpy(to, from, length);
    to[length] = 0;
}

static void read_names(gpuchar_session *session, gpuchar_device_info *info) {
    const gc_nvml *nvml = session->nvml;
    char text[GC_NVML_VERSION_BYTES] = "";
    if (nvml->SystemGetDriverVersion && nvml->SystemGetDriverVersion(text, sizeof text) == GC_NVML_SUCCESS) {
        copy_text(info->driver_name, sizeof info->driver_name, text);
        info->known |= GPUCHAR_DEVICE_DRIVER_NAME;
    }
    char vbios[GC_NVML_VBIOS_BYTES] = "";
    if (nvml->DeviceGetVbiosVersion &&
        nvml->DeviceGetVbiosVersion(session->nvml_gpu, vbios, sizeof vbios) == GC_NVML_SUCCESS) {
        copy_text(info->vbios, sizeof info->vbios, vbios);
        info->known |= GPUCHAR_DEVICE_VBIOS;
    }
}

static void read_modes(gpuchar_session *session, gpuchar_device_info *info) {
    const gc_nvml *nvml = session->nvml;
    int ecc = 0, ecc_pending = 0;
    if (nvml->DeviceGetEccMode && nvml->DeviceGetEccMode(session->nvml_gpu, &ecc, &ecc_pending) == GC_NVML_SUCCESS) {
        info->ecc_enabled = ecc != 0;
        info->known |= GPUCHAR_DEVICE_ECC;
    }
    if (info->known & GPUCHAR_DEVICE_MIG) {
        return;
    }
    unsigned int mig = 0, mig_pending = 0;
    int result = nvml->DeviceGetMigMode ? nvml->DeviceGetMigMode(session->nvml_gpu, &mig, &mig_pending) : -1;
    /* A chip without MIG is not in MIG mode: that is known. */
    if (result == GC_NVML_SUCCESS || result == GC_NVML_NOT_SUPPORTED) {
        info->mig_enabled = result == GC_NVML_SUCCESS && mig != 0;
        info->known |= GPUCHAR_DEVICE_MIG;
    }
}

/* The list as NVML gives it; NULL when it does not. */
static gc_nvml_process *list_processes(gpuchar_session *session, unsigned int *count) {
    const gc_nvml *nvml = session->nvml;
    enum { ATTEMPTS = 4, MOST = 65536 };
    unsigned int capacity = 64;
    for (int i = 0; i < ATTEMPTS && capacity <= MOST; i++) {
        gc_nvml_process *list = calloc(capacity, sizeof *list);
        *count = capacity;
        int result =
            list ? nvml->DeviceGetComputeRunningProcesses(session->nvml_device, count, list) : GC_NVML_NOT_SUPPORTED;
        if (result == GC_NVML_SUCCESS && *count <= capacity) {
            return list;
        }
        free(list);
        if (result != GC_NVML_INSUFFICIENT_SIZE) {
            return NULL;
        }
        /* More may start between the two calls. */
        capacity = *count > MOST ? MOST : *count + 64;
    }
    return NULL;
}

/*
 * This process has a context, so it is in the list, unless NVML numbers processes as another PID namespace does (in
 * containers) or hides them. Then nothing is known of the others.
 */
static void read_other_processes(gpuchar_session *session, gpuchar_device_info *info) {
    unsigned int count = 0;
    gc_nvml_process *list = session->nvml->DeviceGetComputeRunningProcesses ? list_processes(session, &count) : NULL;
    for (unsigned int i = 0; list && i < count; i++) {
        if (list[i].pid == (unsigned int)getpid()) {
            info->other_processes = count - 1;
            info->known |= GPUCHAR_DEVICE_OTHER_PROCESSES;
        }
    }
    free(list);
}

bool gc_session_throttle_reasons(gpuchar_session *session, uint32_t *reasons) {
    const uint32_t all = GPUCHAR_THROTTLE_POWER_CAP | GPUCHAR_THROTTLE_HW_SLOWDOWN | GPUCHAR_THROTTLE_SYNC_BOOST |
                         GPUCHAR_THROTTLE_SW_THERMAL | GPUCHAR_THROTTLE_HW_THERMAL | GPUCHAR_THROTTLE_HW_POWER_BRAKE;
    unsigned long long bits = 0;
    *reasons = 0;
    if (!session->nvml || !session->nvml->DeviceGetCurrentClocksEventReasons ||
        session->nvml->DeviceGetCurrentClocksEventReasons(session->nvml_gpu, &bits) != GC_NVML_SUCCESS) {
        return false;
    }
    *reasons = (uint32_t)bits & all;
    return true;
}

gpuchar_status gc_device_info_read(gpuchar_session *session, gpuchar_device_info *info) {
    *info = gpuchar_device_info_make();
    gpuchar_device_entry entry;
    gpuchar_status status = gc_device_entry_read(session->cuda, session->device, 0, &entry);
    if (!status) {
        status = read_attributes(session, info);
    }
    if (status) {
        *info = gpuchar_device_info_make();
        return status;
    }
    memcpy(info->name, entry.name, sizeof info->name);
    memcpy(info->uuid, entry.uuid, sizeof info->uuid);
    memcpy(info->pci_id, entry.pci_id, sizeof info->pci_id);
    info->known |= entry.pci_id[0] ? GPUCHAR_DEVICE_PCI_ID : 0u;
    info->architecture = entry.architecture;
    info->driver_version = session->cuda->version;
    read_driver_facts(session, info);
    if (session->nvml) {
        read_names(session, info);
        read_clocks(session, info);
        read_power(session, info);
        read_modes(session, info);
        read_other_processes(session, info);
    }
    info->known |= gc_session_throttle_reasons(session, &info->throttle_reasons) ? GPUCHAR_DEVICE_THROTTLE : 0u;
    return GPUCHAR_OK;
}

static gpuchar_status get_info(gpuchar_session *session, gpuchar_device_info *info) {
    switch (session->kind) {
    case GC_SESSION_LIVE:
        return gc_device_info_read(session, info);
    case GC_SESSION_RECORDED:
        *info = session->info;
        return GPUCHAR_OK;
    default:
        return gc_advise(gc_fail(GPUCHAR_E_NOT_APPLICABLE, "a compile-only session has no device"),
                         "open the session on a GPU, or a recorded one");
    }
}

gpuchar_status gpuchar_device_info_get(gpuchar_session *session, gpuchar_device_info *info) {
    gpuchar_status status = gc_result_check(info, GC_SIZE_UP_TO(gpuchar_device_info, known), "gpuchar_device_info");
    if (status) {
        return status;
    }
    gc_scope scope;
    status = gc_session_enter(session, &scope);
    if (status) {
        return status;
    }
    gpuchar_device_info known;
    status = get_info(session, &known);
    gc_session_leave(&scope);
    if (!status) {
        gc_result_write(info, &known, sizeof known);
    }
    return status;
}

GC_DEFINE_INIT(gpuchar_device_info)
