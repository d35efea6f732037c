#!/usr/bin/env bash
# Builds libgpuchar with its tests and runs them. Tests that need a GPU are skipped where there is none.
# usage: scripts/check.sh [--no-install] [ctest's arguments...]      (for example -L unit, or -R stats)
#   --no-install   install nothing; name in one line what is missing
# Exit status: 0 when every test passed or was skipped.
set -euo pipefail
# shellcheck disable=SC2034 # for common.sh
tool=check need=test install=1
if [ "${1:-}" = --no-install ]; then install=0; shift; fi
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then sed -n '2,5s/^# //p' "$0"; exit 0; fi
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
prepare
build "$top/build/check" -DGPUCHAR_BUILD_TESTS=ON -DGPUCHAR_BUILD_EXAMPLES=ON
cd "$top/build/check"
# CMake 3.22's ctest exits 0 when it finds no test: that is no success.
exec "$(dirname "$cmake")/ctest" --no-tests=error --output-on-failure --parallel "$(nproc)" "$@"
