#!/usr/bin/env bash
# sass_report on made cubins: exit codes, streams, tables, documents. usage: sass_report.sh SASS_REPORT BENCH_SASS [PYTHON]
set -euo pipefail
program=$1 bench=$2 python=${3:-}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
bad=0 checks=0
complain() { echo "FAILED: $*" >&2; bad=1; }

# expect CODE ARGUMENT...: the exit code; output in out and err.
expect() {
  local want=$1 got=0; shift
  checks=$((checks + 1))
  "$program" "$@" >out 2>err </dev/null || got=$?
  [ "$got" = "$want" ] || { complain "exit code $got instead of $want: sass_report $*"; tail -n 5 out err >&2; }
}
says() { grep -qF -- "$2" "$1" || { complain "$1 does not say: $2"; tail -n 5 "$1" >&2; }; checks=$((checks + 1)); }
says_not() { ! grep -qF -- "$2" "$1" || { complain "$1 says: $2"; tail -n 5 "$1" >&2; }; checks=$((checks + 1)); }
silent() { [ ! -s "$1" ] || { complain "$1 is not empty"; head -n 5 "$1" >&2; }; checks=$((checks + 1)); }
# holds EXPRESSION: of the document d in out, by Python.
holds() {
  checks=$((checks + 1))
  [ -z "$python" ] || "$python" -c "import json,sys; d=json.load(open('out')); sys.exit(0 if ($1) else 1)" ||
    complain "the document does not hold: $1"
}

"$bench" --write kernels 3000 kernels.cubin
"$bench" --write indirect 400 indirect.cubin
"$bench" --write nest 400 nest.cubin

# ---- words about itself, wrong usage
expect 0 --help; says out "exit status"; silent err
for wrong in "" "--nonsense x" "--json --dot --function a kernels.cubin" "--dot kernels.cubin" "--arch" "--arch sm_90 kernels.cubin" \
  "--arch 0 kernels.cubin" "--function a --function b kernels.cubin" "--top -1 kernels.cubin"; do
  # shellcheck disable=SC2086 # several words on purpose
  expect 2 $wrong; silent out; says err "hint:"
done

# ---- tables
expect 0 kernels.cubin; silent err
says out "kernels.cubin, image 0: sm_90, assembler: not told"; says out "3 functions, 3 of them kernels"
says out "kernels_1 (kernel)"; says out "primary"; says out "next in code"; says out "instruction mix:"; says out "FFMA"
says out "total of 3 functions"; says_not out "meets at"
expect 0 --no-mix --function kernels_2 --branches kernels.cubin
says out "total of 1 functions"; says out "meets at"; says out "divergent"; says out "closes a loop"; says_not out "instruction mix"
expect 0 --instructions --function nest_0 nest.cubin; says out "BSSY to 0x"; says out "@P0 BRA to 0x"
# The innermost branch leads to what is behind it anyway: it has one way.
expect 0 nest.cubin; says out "99 branches: 99 divergent, 0 uniform; 100 intervals, depth 100, 16 barriers live"
says out "primary       at 99, before 0, after 0, aside 0, none 0"
expect 0 --arch 80 kernels.cubin; silent out
expect 0 --branches --arch 90 indirect.cubin; says out "indirect"
expect 1 --function nobody kernels.cubin; says err "no function nobody"

# ---- the document
expect 0 --json kernels.cubin nest.cubin; silent err
holds "d['type'] == 'sass_report' and len(d['images']) == 2"
holds "[f['function']['name'] for f in d['images'][0]['functions']] == ['kernels_0', 'kernels_1', 'kernels_2']"
holds "d['images'][0]['info']['architecture'] == 90 and d['images'][0]['info']['functions'] == 3"
holds "d['images'][1]['totals']['placed'][1] == 99 and d['images'][1]['functions'][0]['reconvergence']['depth'] == 100"
holds "d['images'][1]['functions'][0]['reconvergence']['branches'] == []"
holds "sum(e['count'] for e in d['images'][1]['mix']['entries']) == d['images'][1]['info']['instructions']"
expect 0 --json --branches --instructions --no-mix nest.cubin
holds "len(d['images'][0]['functions'][0]['reconvergence']['branches']) == 99 and d['images'][0]['mix'] is None"
holds "len(d['images'][0]['functions'][0]['instructions']) == d['images'][0]['info']['instructions']"
expect 0 --json --arch 80 nest.cubin; holds "d['images'] == []"

# ---- the graph
expect 0 --dot --function nest_0 nest.cubin; says out 'digraph "nest_0" {'; says out "b0 -> b1;"; says out "-> exit"
[ "$(tail -n 1 out)" = "}" ] || complain "the graph does not end"

# ---- what cannot be read, and the others all the same
head -c 1000 nest.cubin >cut.cubin; echo "no machine code" >text.txt
expect 1 missing.cubin; says err "missing.cubin"; says err "GPUCHAR_E_IO"; silent out
expect 1 cut.cubin text.txt nest.cubin; says err "cut.cubin"; says err "text.txt"; says err "GPUCHAR_E_SASS_FORMAT"; says out "nest_0 (kernel)"
expect 1 --json text.txt nest.cubin; holds "len(d['images']) == 1"

# ---- a name never reaches the terminal as a command to it
LC_ALL=C sed 's/nest_0/n\x1b[3\x9bm/g' nest.cubin >hostile.cubin
expect 0 hostile.cubin; says out "n?[3?m"
"$program" --json hostile.cubin >out 2>err || true; holds "len(d['images']) == 1"
cp hostile.cubin $'h\x1b[31m.cubin'
expect 0 $'h\x1b[31m.cubin'; says out "h?[31m.cubin"
for file in out err; do ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' $file || complain "control characters in $file"; done

# ---- output that cannot be written
if [ -w /dev/full ]; then
  got=0; "$program" nest.cubin >/dev/full 2>err || got=$?
  [ "$got" = 1 ] || complain "a full standard output: exit code $got"
  says err "cannot be written"
fi

[ "$bad" = 0 ] && echo "$checks checks hold"
exit $bad
