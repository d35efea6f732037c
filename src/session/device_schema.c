/* Field tables of device.h. */
#include <gpuchar/device.h>
#include <schema/table.h>

#define FIELD(member, kind, unit, doc) GC_FIELD(gpuchar_device_entry, member, kind, unit, doc)
static const gpuchar_field entry_fields[] = {
    FIELD(name, TEXT, "", "name as the driver tells it"),
    FIELD(uuid, TEXT, "", "\"GPU-...\" or \"MIG-...\""),
    FIELD(pci_id, TEXT, "", "PCI id with eight digits of domain; empty when there is none"),
    FIELD(ordinal, U32, "", "the driver's number among the visible GPUs"),
    FIELD(architecture, U32, "", "90 for compute capability 9.0"),
};
#undef FIELD
const gpuchar_schema gc_schema_device_entry =
    GC_SCHEMA(gpuchar_device_entry, entry_fields, 0, GC_NONE, "One visible GPU.");

static const gpuchar_field list_fields[] = {
    GC_FIELD_ANY(gpuchar_device_list_result, devices, STRUCT, GPUCHAR_FIELD_POINTED, &gc_schema_device_entry,
                 sizeof(gpuchar_device_entry), 0, (uint32_t)offsetof(gpuchar_device_list_result, device_count), "",
                 "the visible GPUs in the driver's order"),
    GC_FIELD_ANY(gpuchar_device_list_result, device_count, U64, GPUCHAR_FIELD_COUNT, NULL, sizeof(size_t), 1, GC_NONE,
                 "1", "number of visible GPUs"),
};
const gpuchar_schema gc_schema_device_list_result =
    GC_SCHEMA(gpuchar_device_list_result, list_fields, 1, GC_NONE, "The GPUs the driver shows this process.");

#define FIELD(member, kind, unit, doc) GC_FIELD(gpuchar_device_info, member, kind, unit, doc)
#define KNOWN(member, kind, unit, bit, doc)                                                                            \
    GC_FIELD_KNOWN(gpuchar_device_info, member, kind, unit, known, GPUCHAR_DEVICE_##bit, doc)
static const gpuchar_field info_fields[] = {
    FIELD(name, TEXT, "", "name as the driver tells it"),
    FIELD(uuid, TEXT, "", "\"GPU-...\" or \"MIG-...\""),
    KNOWN(pci_id, TEXT, "", PCI_ID, "PCI id with eight digits of domain"),
    KNOWN(vbios, TEXT, "", VBIOS, "version of the VBIOS"),
    KNOWN(driver_name, TEXT, "", DRIVER_NAME, "version of the display driver"),
    FIELD(driver_version, U32, "", "CUDA version of the driver, 13000 for 13.0"),
    FIELD(architecture, U32, "", "90 for compute capability 9.0"),
    FIELD(sm_count, U32, "1", "streaming multiprocessors"),
    FIELD(warp_size, U32, "1", "threads of a warp"),
    FIELD(max_threads_per_sm, U32, "1", "most resident threads of an SM"),
    FIELD(max_blocks_per_sm, U32, "1", "most resident blocks of an SM"),
    FIELD(max_threads_per_block, U32, "1", "most threads of a block"),
    FIELD(registers_per_sm, U32, "1", "32-bit registers of an SM"),
    FIELD(registers_per_block, U32, "1", "most 32-bit registers of a block"),
    KNOWN(memory_bus_bits, U32, "bits", MEMORY_BUS, "width of the memory bus"),
    FIELD(memory_bytes, U64, "bytes", "device memory"),
    FIELD(l2_bytes, U64, "bytes", "L2 cache"),
    FIELD(shared_per_sm_bytes, U64, "bytes", "shared memory of an SM"),
    FIELD(shared_per_block_bytes, U64, "bytes", "most shared memory of a block without opting in"),
    FIELD(shared_per_block_optin_bytes, U64, "bytes", "most shared memory of a block"),
    FIELD(shared_reserved_per_block_bytes, U64, "bytes", "shared memory that each block spends on the system"),
    FIELD(constant_bytes, U64, "bytes", "constant memory"),
    KNOWN(driver_sm_clock_hz, U64, "Hz", DRIVER_SM_CLOCK, "peak SM clock, as the driver's attribute tells"),
    KNOWN(driver_memory_clock_hz, U64, "Hz", DRIVER_MEMORY_CLOCK, "peak memory clock, as the driver's attribute tells"),
    KNOWN(max_sm_clock_hz, U64, "Hz", MAX_SM_CLOCK, "highest SM clock, as NVML tells"),
    KNOWN(current_sm_clock_hz, U64, "Hz", CURRENT_SM_CLOCK, "SM clock when read"),
    KNOWN(application_sm_clock_hz, U64, "Hz", APPLICATION_SM_CLOCK, "SM clock that applications are set to run at"),
    KNOWN(max_memory_clock_hz, U64, "Hz", MAX_MEMORY_CLOCK, "highest memory clock, as NVML tells"),
    KNOWN(current_memory_clock_hz, U64, "Hz", CURRENT_MEMORY_CLOCK, "memory clock when read"),
    KNOWN(power_limit_watts, F64, "W", POWER_LIMIT, "enforced power limit"),
    KNOWN(default_power_limit_watts, F64, "W", DEFAULT_POWER_LIMIT, "power limit as delivered"),
    KNOWN(temperature_celsius, F64, "Cel", TEMPERATURE, "temperature of the GPU when read"),
    KNOWN(ecc_enabled, U32, "", ECC, "1 when memory is error-corrected"),
    KNOWN(mig_enabled, U32, "", MIG, "1 for a MIG slice, or a GPU in MIG mode"),
    FIELD(compute_mode, U32, "", "0 default, 2 prohibited, 3 exclusive process"),
    KNOWN(throttle_reasons, U32, "", THROTTLE, "GPUCHAR_THROTTLE_... when read"),
    KNOWN(other_processes, U32, "1", OTHER_PROCESSES, "compute processes on this GPU besides this one"),
    FIELD(known, U32, "", "GPUCHAR_DEVICE_...: which values are known"),
};
#undef FIELD
#undef KNOWN
const gpuchar_schema gc_schema_device_info =
    GC_SCHEMA(gpuchar_device_info, info_fields, 1, GC_NONE, "Facts about a device; what nobody tells is unknown.");
