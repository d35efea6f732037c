#!/usr/bin/env bash
# Builds libgpuchar and runs quick_char: what your GPU really does.
# usage: scripts/demo.sh [--no-install] [quick_char's arguments...]
#   --no-install   install nothing; name in one line what is missing
# Exit status: quick_char's (0, or 3 with --require-gpu on a machine without a GPU); 1 when it could not be built.
set -euo pipefail
# shellcheck disable=SC2034 # for common.sh
tool=demo need=build install=1
if [ "${1:-}" = --no-install ]; then install=0; shift; fi
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then sed -n '2,5s/^# //p' "$0"; exit 0; fi
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
prepare
build "$top/build/demo" -DGPUCHAR_BUILD_TESTS=OFF -DGPUCHAR_BUILD_EXAMPLES=ON
program=$top/build/demo/examples/quick_char
[ -x "$program" ] || die "the build made no quick_char"
exec "$program" "$@"
