#!/usr/bin/env bash
# Who may include whom. usage: include_table.sh ROOT    (ROOT has src, include and tests)
set -euo pipefail
root=$1 bad=0
complain() { echo "$*" >&2; bad=1; }

# The runtime that a session belongs to owns the compiler's cache, so session sees codegen.
declare -A direct=(
  [core]="" [schema]="core" [stats]="core" [platform]="core" [sass]="core"
  [codegen]="platform" [session]="platform schema codegen" [measure]="session codegen stats" [proof]="sass"
  [worker]="measure sass" [experiments]="schema stats platform codegen session measure sass proof worker"
  [profile]="experiments"
)
# Everything that a folder reaches through those it may include.
allowed() {
  local seen=" core $1 " todo=$1 next one target
  while [ -n "$todo" ]; do
    next=
    for one in $todo; do
      for target in ${direct[$one]}; do case $seen in *" $target "*) ;; *) seen+="$target "; next+=" $target" ;; esac; done
    done
    todo=$next
  done
  printf '%s' "$seen"
}

count=0
for folder in "$root"/src/*/; do
  name=$(basename "$folder")
  [ "$name" != kernels ] || continue
  [ -n "${direct[$name]+set}" ] || { complain "src/$name is not in the include table"; continue; }
  may=$(allowed "$name")
  for file in "$folder"*.c "$folder"*.h; do
    [ -f "$file" ] || continue
    count=$((count + 1))
    while IFS=: read -r line target; do
      case $target in \"*/*) target=${target//\"/} ;; esac
      case $target in
        \"*) complain "${file#"$root"/}:$line: $target: include as <folder/file.h>" ;;
        *) other=${target%%/*}
          if [ -n "${direct[$other]+set}" ]; then
            case $may in *" $other "*) ;; *) complain "${file#"$root"/}:$line: $name may not include $other ($target)" ;; esac
          fi ;;
      esac
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*(<([^>]+)>|("[^"]+")).*/\2\3/;T;=;p' "$file" | paste -d: - -)
  done
done

# Public headers: nothing but themselves and freestanding C.
for file in "$root"/include/gpuchar/*.h; do
  count=$((count + 1))
  while read -r target; do
    case $target in
      gpuchar/*.h | stddef.h | stdint.h | string.h | stdbool.h) ;;
      *) complain "${file#"$root"/}: a public header may not include $target" ;;
    esac
  done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]+)[>"].*/\1/p' "$file")
done

# File names are unique, so that a name in a log or a stack trace is enough. The same noun may name a public header and
# the internal one behind it.
for name in $(cd "$root" && find src include tests -name '*.[ch]' -printf '%f\n' | sort | uniq -d); do
  case $name in compile.h | experiment.h) ;; *) complain "two files are called $name" ;; esac
done
[ "$count" -gt 20 ] || complain "only $count files looked at"
[ "$bad" = 0 ] && echo "$count files follow the include table"
exit $bad
