#!/usr/bin/env bash
# Each public header compiles alone, warning-free, and every GPUCHAR_..._INIT macro is usable.
# usage: headers.sh INCLUDE_FOLDER c|cxx COMPILER      exit 77: no compiler for that language
set -euo pipefail
include=$1 language=$2 compiler=${3:-}
command -v "${compiler:-none-given}" >/dev/null || { echo "skipped: no $language compiler"; exit 77; }
warnings=(-Wall -Wextra -Wconversion -Wshadow -pedantic-errors -Werror)
case $language in
  c) standards=(c99 c11); as=c; warnings+=(-Wstrict-prototypes -Wmissing-prototypes -Wc++-compat) ;;
  cxx) standards=(c++11 c++17); as=c++; warnings+=(-Wold-style-cast -Wmissing-field-initializers) ;;
  *) echo "unknown language $language" >&2; exit 2 ;;
esac
count=0
# An unused typedef keeps the unit from being empty, which C99 forbids.
for header in "$include"/gpuchar/*.h; do
  name=gpuchar/${header##*/}
  makers=$(sed -nE 's/^GPUCHAR_DEFINE_MAKER\((gpuchar_[a-z0-9_]+)\).*/\1/p' "$header")
  macros=$(sed -nE 's/^#define (GPUCHAR_[A-Z0-9_]+_INIT) (gpuchar_[a-z0-9_]+)_make\(\).*/\1 \2/p' "$header")
  if [ "$(wc -w <<<"$makers")" -ne $(($(wc -w <<<"$macros") / 2)) ]; then
    echo "$name: a maker without its _INIT macro, or the other way round" >&2; exit 1
  fi
  body=
  while read -r macro type; do
    [ -z "$macro" ] || body+="size_t use_$macro(void); size_t use_$macro(void) { $type made = $macro; return made.struct_size; }"$'\n'
  done <<<"$macros"
  for standard in "${standards[@]}"; do
    # Twice: the guard holds.
    if ! printf '#include <%s>\n#include <%s>\n%stypedef int not_empty;\n' "$name" "$name" "$body" |
      "$compiler" "-std=$standard" "${warnings[@]}" -I"$include" -fsyntax-only -x $as -; then
      echo "$name does not compile cleanly as $standard" >&2; exit 1
    fi
    count=$((count + 1))
  done
done
[ "$count" -gt 10 ] || { echo "only $count headers tested" >&2; exit 1; }
for header in "$include"/gpuchar/*.h; do
  [ "${header##*/}" = gpuchar.h ] || grep -q "#include <gpuchar/${header##*/}>" "$include/gpuchar/gpuchar.h" ||
    [ "${header##*/}" = export.h ] || { echo "gpuchar.h does not include ${header##*/}" >&2; exit 1; }
done
echo "$count compilations"
