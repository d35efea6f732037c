/* Names and texts of status codes and error domains. */
#include <gpuchar/status.h>

const char *gpuchar_status_name(gpuchar_status status) {
    switch (status) {
#define STATUS_NAME(name, number, text)                                                                                \
    case number:                                                                                                       \
        return "GPUCHAR_" #name;
        GPUCHAR_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    default:
        return "unknown status";
    }
}

const char *gpuchar_status_text(gpuchar_status status) {
    switch (status) {
#define STATUS_TEXT(name, number, text)                                                                                \
    case number:                                                                                                       \
        return text;
        GPUCHAR_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    default:
        return "a status of another version of the library";
    }
}

const char *gpuchar_domain_name(uint32_t domain) {
    switch (domain) {
    case GPUCHAR_DOMAIN_NONE:
        return "";
    case GPUCHAR_DOMAIN_OS:
        return "OS";
    case GPUCHAR_DOMAIN_CUDA:
        return "CUDA";
    case GPUCHAR_DOMAIN_NVRTC:
        return "NVRTC";
    case GPUCHAR_DOMAIN_CUPTI:
        return "CUPTI";
    case GPUCHAR_DOMAIN_NVML:
        return "NVML";
    case GPUCHAR_DOMAIN_CUBLASLT:
        return "cuBLASLt";
    default:
        return "unknown domain";
    }
}
