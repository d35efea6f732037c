/* libgpuchar: what a GPU really does. This header includes all others. */
#ifndef GPUCHAR_GPUCHAR_H
#define GPUCHAR_GPUCHAR_H

#include <gpuchar/barrier_class.h>
#include <gpuchar/compile.h>
#include <gpuchar/counters.h>
#include <gpuchar/device.h>
#include <gpuchar/divergence.h>
#include <gpuchar/divergence_occupancy.h>
#include <gpuchar/divergence_shapes.h>
#include <gpuchar/experiment.h>
#include <gpuchar/forward_progress.h>
#include <gpuchar/predication.h>
#include <gpuchar/profile.h>
#include <gpuchar/reconvergence_study.h>
#include <gpuchar/runtime.h>
#include <gpuchar/sass.h>
#include <gpuchar/sass_file.h>
#include <gpuchar/schema.h>
#include <gpuchar/session.h>
#include <gpuchar/stat.h>
#include <gpuchar/status.h>
#include <gpuchar/version.h>

#endif
