#!/usr/bin/env bash
# usage: abi.sh record INCLUDE COMPILER            the headers fit the record
#        abi.sh current INCLUDE COMPILER PYTHON    the record names everything in the headers (77: no Python)
#        abi.sh planted INCLUDE COMPILER PYTHON MAP CMAKE
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mode=$1 include=$2 compiler=$3 python=${4:-}

record() { "$compiler" -std=c11 -Wall -Wextra -Werror -I"$1" -I"$here" -fsyntax-only "$here/abi_check.c"; }
current() {
  local work; work=$(mktemp)
  "$python" "$here/make_record.py" "$1" "$compiler" >"$work" || { rm -f "$work"; return 1; }
  diff -u "$here/abi_record.h" "$work" || { rm -f "$work"; return 1; }
  rm -f "$work"
}

case $mode in
  record) record "$include"; echo "headers fit the record" ;;
  current)
    command -v "${python:-none-given}" >/dev/null || { echo "skipped: no python3"; exit 77; }
    current "$include" || { echo "the headers changed: see make_record.py on how to accept that" >&2; exit 1; }
    echo "the record is complete" ;;
  planted)
    command -v "${python:-none-given}" >/dev/null || { echo "skipped: no python3"; exit 77; }
    map=$5 cmake=$6
    work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
    fresh() { rm -rf "$work/include"; cp -r "$include" "$work/include"; }
    plant() { # FILE SED-EXPRESSION: the change must really change the file
      sed -i -E "$2" "$work/include/gpuchar/$1"
      ! cmp -s "$include/gpuchar/$1" "$work/include/gpuchar/$1" || { echo "planting in $1 changed nothing" >&2; exit 1; }
    }
    must_fail() { # WHAT CHECK...
      local what=$1; shift
      if "$@" >"$work/out" 2>&1; then echo "$what: not caught by $1" >&2; exit 1; fi
      echo "$what: caught by $1"
    }
    map_check() { "$cmake" -D "MAP=$1" -D "INCLUDE=$work/include/gpuchar" -P "$here/../../cmake/check_map.cmake"; }
    fresh
    # Called one by one: in an && list a failure would not stop the script, and every plant below would "be caught".
    record "$work/include"
    current "$work/include" >/dev/null || { echo "the unchanged headers fail: nothing can be shown with them" >&2; exit 1; }
    map_check "$map"

    plant stat.h 's/^( *)double mean;/\1double mean;\n\1double inserted;/'
    must_fail "an inserted field" record "$work/include"
    must_fail "an inserted field" current "$work/include"
    fresh; plant stat.h 's/^( *)uint32_t arch;.*/\1uint32_t arch;\n\1uint64_t appended;/'
    must_fail "a field appended to a frozen struct" record "$work/include"
    fresh; plant stat.h 's/^( *)double mean;/\1uint64_t mean;/'
    must_fail "a changed type of the same size" record "$work/include"
    fresh; plant status.h 's/X\(E_BUSY, -4,/X(E_BUSY, -44,/'
    must_fail "a renumbered status" record "$work/include"
    fresh; plant status.h 's/^GPUCHAR_API void gpuchar_error_free.*//'
    must_fail "a removed function" record "$work/include"
    must_fail "a removed function" map_check "$map"
    fresh; sed '/ gpuchar_error_free;/d' "$map" >"$work/map"
    must_fail "a symbol removed from the map" map_check "$work/map"
    fresh; plant stat.h 's/^#endif$/GPUCHAR_API int gpuchar_planted(void);\n#endif/'
    must_fail "a new function outside the map" map_check "$map"
    must_fail "a new function outside the record" current "$work/include"

    # Padding. A struct with a hole is refused, and a field that fills a hole moves nothing, so that only the complete
    # list of members can tell.
    fresh; plant stat.h 's/^( *)uint32_t outliers;.*//'
    must_fail "a hole in a struct" current "$work/include"
    grep -q "bytes of padding" "$work/out" || { echo "caught for another reason:" >&2; cat "$work/out" >&2; exit 1; }
    # Twin of a released struct with a hole: the record made from it fits the headers with the hole filled ...
    fresh; plant stat.h 's/^#endif$/typedef struct gpuchar_twin { uint32_t a; uint64_t b; } gpuchar_twin;\n#endif/'
    holed=$work/holed; mkdir "$holed"
    ("$python" "$here/make_record.py" "$work/include" "$compiler" >"$holed/abi_record.h") 2>/dev/null || true
    fresh; plant stat.h 's/^#endif$/typedef struct gpuchar_twin { uint32_t a; uint32_t sneaked; uint64_t b; } gpuchar_twin;\n#endif/'
    "$compiler" -std=c11 -I"$work/include" -I"$holed" -fsyntax-only "$here/abi_check.c" || { echo "offsets moved: the twin is no test" >&2; exit 1; }
    # ... but not the list of members.
    sneaked() { "$python" "$here/make_record.py" "$work/include" "$compiler" | diff - "$holed/abi_record.h"; }
    must_fail "a field in padding" sneaked
    grep -q "sneaked" "$work/out" || { echo "caught for another reason:" >&2; cat "$work/out" >&2; exit 1; }
    ;;
  *) echo "unknown mode $mode" >&2; exit 2 ;;
esac
