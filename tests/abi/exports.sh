#!/usr/bin/env bash
# What the built libraries show. usage: exports.sh SHARED STATIC MAP SONAME
set -euo pipefail
shared=$1 static=$2 map=$3 soname=$4
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

mapped() { sed -nE 's/^[[:space:]]*(gpuchar_[a-z0-9_]+);.*/\1/p' "$1" | sort; }
# The version node itself is an absolute symbol (type A).
exported() { nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort; }
same_as_map() { diff <(mapped "$1") <(exported "$shared"); }

same_as_map "$map" || { echo "the shared library's exports (>) differ from the map (<)" >&2; exit 1; }
[ "$(mapped "$map" | wc -l)" -gt 10 ] || { echo "the map is next to empty" >&2; exit 1; }
# The comparison notices one name more or less.
sed '/ gpuchar_version;/d' "$map" >"$work/less"
sed 's/^  global:/  global:\n    gpuchar_planted;/' "$map" >"$work/more"
for planted in less more; do
  if same_as_map "$work/$planted" >/dev/null; then echo "planted map '$planted' not caught" >&2; exit 1; fi
done

names=$(nm -g --defined-only "$static" | awk 'NF == 3 {print $3}' | sort)
[ "$names" = "$(mapped "$map")" ] || { echo "the static library's global names differ from the map:" >&2; diff <(mapped "$map") <(echo "$names") >&2; exit 1; }

needed=$(readelf -d "$shared" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
for library in $needed; do
  case $library in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libjansson.so.* | liblz4.so.* | libzstd.so.* | ld-linux*) ;;
    *) echo "the shared library needs $library" >&2; exit 1 ;;
  esac
done
[[ $(readelf -d "$shared") == *SONAME*"[$soname]"* ]] || { echo "SONAME is not $soname" >&2; readelf -d "$shared" | grep SONAME >&2; exit 1; }
# dlclose must leave it where it is; see cmake/GpucharLibrary.cmake.
[[ $(readelf -d "$shared") == *NODELETE* ]] || { echo "the shared library can be unloaded (no NODELETE)" >&2; exit 1; }
echo "$(wc -l <<<"$names") names; needs: ${needed//$'\n'/ }"
