#!/usr/bin/env bash
# Compares the built library with the baseline by libabigail: a report, beside the record, which is the guard. Also shows
# that the comparison notices a removed function and an inserted field.
# usage: abidiff.sh LIBRARY [--accept]     LIBRARY was built with -g; --accept makes it the baseline
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) library=$(realpath "$1")
baseline=$here/libgpuchar.abi root=$(cd "$here/../.." && pwd) include=$here/../../include
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

# Paths and line numbers do not belong into the baseline: they would change with every edit.
describe() {
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --headers-dir "$include" --drop-private-types "$1" |
    sed -E "s,( path=')$root/(build/[^/']*/)?,\1,"
}

if [ "${2:-}" = --accept ]; then
  describe "$library" >"$baseline"
  echo "baseline: $(wc -l <"$baseline") lines"
  exit 0
fi
describe "$library" >"$work/now.abi"

# The tool at work: a baseline in which one function more, or one member less, was there.
plant() { # WHAT SED-EXPRESSION
  sed -E "$2" "$work/now.abi" >"$work/planted.abi"
  ! cmp -s "$work/now.abi" "$work/planted.abi" || { echo "planting $1 changed nothing" >&2; exit 1; }
  local rc=0
  abidiff "$work/planted.abi" "$work/now.abi" >"$work/report" 2>&1 || rc=$?
  # Bit 2: the ABI changed. Bits 0 and 1: the tool itself failed.
  if [ $((rc & 4)) = 0 ] || [ $((rc & 3)) != 0 ]; then echo "$1: not caught ($rc)" >&2; cat "$work/report" >&2; exit 1; fi
  echo "$1: caught by abidiff"
}
plant "a removed function" "s/(<elf-symbol name='gpuchar_version)(' .*)/\1\2\n\1_removed\2/"
plant "a changed member" "/<class-decl name='gpuchar_error' /,/<\/class-decl>/s/layout-offset-in-bits='64'/layout-offset-in-bits='32'/"

[ -f "$baseline" ] || { echo "no baseline yet: abidiff.sh LIBRARY --accept" >&2; exit 1; }
rc=0
abidiff "$baseline" "$work/now.abi" || rc=$?
if [ $((rc & 3)) != 0 ]; then echo "abidiff itself failed ($rc)" >&2; exit 1; fi
# An incompatible change is the record's to refuse; here it is shown.
case $rc in 0) echo "no ABI change since the baseline" ;; *) echo "the ABI changed since the baseline (see above)" ;; esac
