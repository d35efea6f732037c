/* GPUs of this machine and what they say of themselves. A value the driver does not tell is unknown, never 0. */
#ifndef GPUCHAR_DEVICE_H
#define GPUCHAR_DEVICE_H

#include <gpuchar/session.h>

GPUCHAR_BEGIN_DECLS

/* One visible GPU. Frozen. */
typedef struct gpuchar_device_entry {
    char name[96];
    char uuid[48];         /* "GPU-..." or "MIG-..." */
    char pci_id[32];       /* "00000000:01:00.0" */
    uint32_t ordinal;      /* the driver's number among the visible GPUs */
    uint32_t architecture; /* 90 for compute capability 9.0 */
} gpuchar_device_entry;

typedef struct gpuchar_device_list_result {
    size_t struct_size;
    gpuchar_device_entry *devices; /* owned by the result */
    size_t device_count;
} gpuchar_device_list_result;

/* Bits of gpuchar_device_info.known; fields not listed are always known. */
enum {
    GPUCHAR_DEVICE_PCI_ID = 1u << 0,
    GPUCHAR_DEVICE_VBIOS = 1u << 1,
    GPUCHAR_DEVICE_DRIVER_NAME = 1u << 2,
    GPUCHAR_DEVICE_MAX_SM_CLOCK = 1u << 3,
    GPUCHAR_DEVICE_CURRENT_SM_CLOCK = 1u << 4,
    GPUCHAR_DEVICE_APPLICATION_SM_CLOCK = 1u << 5,
    GPUCHAR_DEVICE_MAX_MEMORY_CLOCK = 1u << 6,
    GPUCHAR_DEVICE_CURRENT_MEMORY_CLOCK = 1u << 7,
    GPUCHAR_DEVICE_DRIVER_SM_CLOCK = 1u << 8,
    GPUCHAR_DEVICE_DRIVER_MEMORY_CLOCK = 1u << 9,
    GPUCHAR_DEVICE_MEMORY_BUS = 1u << 10,
    GPUCHAR_DEVICE_ECC = 1u << 11,
    GPUCHAR_DEVICE_MIG = 1u << 12,
    GPUCHAR_DEVICE_POWER_LIMIT = 1u << 13,
    GPUCHAR_DEVICE_DEFAULT_POWER_LIMIT = 1u << 14,
    GPUCHAR_DEVICE_THROTTLE = 1u << 15,
    GPUCHAR_DEVICE_OTHER_PROCESSES = 1u << 16,
    GPUCHAR_DEVICE_TEMPERATURE = 1u << 17
};

/* Bits of gpuchar_device_info.throttle_reasons: NVML's clocks event reasons that slow the GPU below what was asked. */
enum {
    GPUCHAR_THROTTLE_POWER_CAP = 1u << 2, /* software power cap */
    GPUCHAR_THROTTLE_HW_SLOWDOWN = 1u << 3,
    GPUCHAR_THROTTLE_SYNC_BOOST = 1u << 4,
    GPUCHAR_THROTTLE_SW_THERMAL = 1u << 5,
    GPUCHAR_THROTTLE_HW_THERMAL = 1u << 6,
    GPUCHAR_THROTTLE_HW_POWER_BRAKE = 1u << 7
};

typedef struct gpuchar_device_info {
    size_t struct_size;
    char name[96];
    char uuid[48];
    char pci_id[32];
    char vbios[48];
    char driver_name[48];    /* of the display driver, "580.159.04" */
    uint32_t driver_version; /* CUDA version of the driver, 13000 for 13.0 */
    uint32_t architecture;   /* 90 for compute capability 9.0 */
    uint32_t sm_count;
    uint32_t warp_size;
    uint32_t max_threads_per_sm;
    uint32_t max_blocks_per_sm;
    uint32_t max_threads_per_block;
    uint32_t registers_per_sm;
    uint32_t registers_per_block;
    uint32_t memory_bus_bits;
    uint64_t memory_bytes;
    uint64_t l2_bytes;
    uint64_t shared_per_sm_bytes;
    uint64_t shared_per_block_bytes;       /* without opting in */
    uint64_t shared_per_block_optin_bytes; /* the most one block can get */
    uint64_t shared_reserved_per_block_bytes;
    uint64_t constant_bytes;
    uint64_t driver_sm_clock_hz; /* peak, as the driver's device attribute tells */
    uint64_t driver_memory_clock_hz;
    uint64_t max_sm_clock_hz; /* the following as NVML tells */
    uint64_t current_sm_clock_hz;
    uint64_t application_sm_clock_hz; /* what applications are set to run at */
    uint64_t max_memory_clock_hz;
    uint64_t current_memory_clock_hz;
    double power_limit_watts; /* enforced */
    double default_power_limit_watts;
    double temperature_celsius;
    uint32_t ecc_enabled;
    uint32_t mig_enabled;      /* this device is a MIG slice, or its GPU is in MIG mode */
    uint32_t compute_mode;     /* CUcomputemode: 0 default, 2 prohibited, 3 exclusive process */
    uint32_t throttle_reasons; /* GPUCHAR_THROTTLE_... */
    uint32_t other_processes;  /* compute processes on this GPU besides this one */
    uint32_t known;            /* GPUCHAR_DEVICE_... */
} gpuchar_device_info;

GPUCHAR_DEFINE_MAKER(gpuchar_device_list_result)
GPUCHAR_DEFINE_MAKER(gpuchar_device_info)
#define GPUCHAR_DEVICE_LIST_RESULT_INIT gpuchar_device_list_result_make()
#define GPUCHAR_DEVICE_INFO_INIT gpuchar_device_info_make()
GPUCHAR_API void gpuchar_device_list_result_init(gpuchar_device_list_result *result, size_t size);
GPUCHAR_API void gpuchar_device_info_init(gpuchar_device_info *info, size_t size);
GPUCHAR_API void gpuchar_device_list_result_free(gpuchar_device_list_result *result);

/* The GPUs the driver shows this process. No GPU is E_NO_DEVICE; no driver is E_NO_DRIVER. Calls cuInit. */
GPUCHAR_API gpuchar_status gpuchar_device_list(gpuchar_runtime *runtime, gpuchar_device_list_result *result);

/* Facts about the session's device, read now (clocks, temperature and other processes change). */
GPUCHAR_API gpuchar_status gpuchar_device_info_get(gpuchar_session *session, gpuchar_device_info *info);

GPUCHAR_END_DECLS

#endif
