#!/usr/bin/env bash
# What README.md and docs/ say against what is there. usage: documents.sh SOURCE QUICK_CHAR FIRST
# shellcheck disable=SC2016 # the backticks are Markdown's
set -euo pipefail
source=$1 quick_char=$2 first=$3
bad=0
complain() { echo "FAILED: $*" >&2; bad=1; }

# ---- the program of the README is examples/first.c, and it runs
diff <(sed -n '/^```c$/,/^```$/p' "$source/README.md" | sed '1d;$d') "$source/examples/first.c" ||
  complain "README.md's program and examples/first.c differ"
[ "$(wc -l <"$source/examples/first.c")" -le 16 ] || complain "examples/first.c is longer than 16 lines"
grep -qF 'it needs a GPU' "$source/README.md" || complain "README.md does not say that its program needs a GPU"
rc=0; out=$("$first" 2>&1) || rc=$?
case $rc in
  0) [ "$(grep -c 'paths: [1-9][0-9]* cycles' <<<"$out")" = 6 ] || complain "first printed: $out" ;;
  1) [ ! -e /dev/nvidiactl ] || complain "first failed on a machine with a GPU: $out"
     [[ $out == *libcuda* || $out == *GPU* ]] || complain "first does not tell what is missing: $out" ;;
  *) complain "first ended with $rc: $out" ;;
esac

# ---- the scripts' own words leave standard output to the program, whose document may go there
words=$(tool=demo need=build install=0 bash -c '. "$1/scripts/common.sh"; say words 2>/dev/null' - "$source")
[ -z "$words" ] || complain "scripts/common.sh writes to standard output: $words"

# ---- links lead somewhere
links=0
while IFS=: read -r file target; do
  links=$((links + 1))
  case $target in http*://* | '#'*) continue ;; esac
  [ -e "$(dirname "$file")/${target%%#*}" ] || complain "${file#"$source"/}: no $target"
done < <(grep -oHE '\]\([^)]+\)' "$source/README.md" "$source"/docs/*.md | sed -E 's/\]\(([^)]+)\)$/\1/')
[ "$links" -gt 5 ] || complain "only $links links found"

# ---- every status is explained, every one explained exists
diff <(sed -nE 's/^ *X\((E_[A-Z_]+), .*/GPUCHAR_\1/p' "$source/include/gpuchar/status.h" | sort) \
  <(grep -oE '^\| `GPUCHAR_E_[A-Z_]+`' "$source/docs/troubleshooting.md" | tr -d '|` ' | sort) ||
  complain "docs/troubleshooting.md and status.h differ in their statuses"

# ---- quick_char's options, in its help and in its page
diff <("$quick_char" --help | grep -oE '^ +--[a-z-]+' | tr -d ' ' | sort) \
  <(grep -oE '^\| `--[a-z-]+' "$source/docs/quick_char.md" | tr -d '|` ' | sort) ||
  complain "docs/quick_char.md and --help differ in their options"

# ---- environment variables that the code reads are named
for name in $(grep -rhoE '"GPUCHAR_[A-Z]+"' "$source/src/platform" "$source/src/worker" "$source/examples" | tr -d '"' | sort -u); do
  grep -qF "\`$name\`" "$source/README.md" || complain "README.md does not name $name"
done
[ "$bad" = 0 ] && echo "documents agree with the code: $links links"
exit $bad
