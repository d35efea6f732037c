#!/usr/bin/env bash
# The include table's test catches planted breaks. usage: include_table_planted.sh ROOT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) root=$1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
fresh() { rm -rf "$work/copy"; mkdir -p "$work/copy/tests"; cp -r "$root/src" "$root/include" "$work/copy/"; }
caught() { # NAME PATTERN
  if bash "$here/include_table.sh" "$work/copy" >"$work/out" 2>&1; then echo "$1: not caught" >&2; exit 1; fi
  grep -q -- "$2" "$work/out" || { echo "$1: caught for another reason:" >&2; cat "$work/out" >&2; exit 1; }
  echo "$1: caught"
}
fresh; bash "$here/include_table.sh" "$work/copy" >/dev/null || { echo "the unchanged copy fails" >&2; exit 1; }
echo '#include <session/session_internal.h>' >"$work/copy/src/core/planted.c"; caught "core includes session" "core may not include session"
fresh; echo '#  include <sass/decode.h>' >"$work/copy/src/codegen/planted.c"; caught "codegen includes sass" "codegen may not include sass"
fresh; echo '#include "error.h"' >"$work/copy/src/core/planted.c"; caught "include without folder" "include as"
fresh; echo '#include <cuda.h>' >>"$work/copy/include/gpuchar/session.h"; caught "public header includes cuda.h" "may not include cuda.h"
fresh; cp "$work/copy/src/core/util.h" "$work/copy/src/stats/util.h"; caught "two files of one name" "two files are called util.h"
fresh; mkdir "$work/copy/src/misc"; caught "unknown folder" "not in the include table"
