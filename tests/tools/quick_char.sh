#!/usr/bin/env bash
# quick_char where there is no GPU: exit codes, streams, documents. usage: quick_char.sh QUICK_CHAR [PYTHON]
set -euo pipefail
program=$1 python=${2:-}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
bad=0 checks=0
complain() { echo "FAILED: $*" >&2; bad=1; }

# The driver is hidden, so that the answer is the same on a machine with a GPU.
export GPUCHAR_LIBCUDA=$work/no-driver GPUCHAR_PROFILES=$work/empty
mkdir empty

# expect CODE ARGUMENT...: the exit code; output in out and err.
expect() {
  local want=$1 got=0; shift
  checks=$((checks + 1))
  "$program" "$@" >out 2>err </dev/null || got=$?
  [ "$got" = "$want" ] || { complain "exit code $got instead of $want: quick_char $*"; tail -n 5 out err >&2; }
}
says() { grep -qF -- "$2" "$1" || { complain "$1 does not say: $2"; tail -n 5 "$1" >&2; }; checks=$((checks + 1)); }
silent() { [ ! -s "$1" ] || { complain "$1 is not empty"; head -n 5 "$1" >&2; }; checks=$((checks + 1)); }
valid() { [ -z "$python" ] || "$python" -m json.tool "$1" >/dev/null || complain "$1 is no JSON"; checks=$((checks + 1)); }

# ---- words about itself
expect 0 --help; says out "exit status"; silent err
expect 0 --version; says out "quick_char "
expect 0 --list; says out "divergence_sweep"

# ---- wrong usage: told on stderr, with a hint, nothing on stdout
for wrong in "--nonsense" "--json" "--only nothing_like_it" "--only= --quiet" "--profile a --device 0" "word"; do
  # shellcheck disable=SC2086 # several words on purpose
  expect 2 $wrong; silent out; says err "hint:"
done

# ---- compile-only: a real document, without a GPU and without a driver
if "$program" --device sm_90 --json compiled.json >out 2>err; then
  says out "machine code: proved for sm_90"; valid compiled.json
  says compiled.json '"schema": 1'; says compiled.json '"units"'; says compiled.json '"source": "compiled"'
  expect 0 --device sm_90 --json -; cp out stdout.json; valid stdout.json; silent err
  expect 0 --device sm_90 --json - --bench; cp out stdout.json; valid stdout.json; says err "total_ns: "
  expect 0 --device sm_90 --quiet; silent out; silent err
  expect 0 --device sm_90 --bench; says out "host_peak_bytes: "; says out "divergence_sweep.warm.call_ns: "
  expect 0 --device sm_90 --only divergence_sweep --cache "$work/cache"
  [ -n "$(ls cache)" ] || complain "--cache kept nothing"
  expect 2 --device no_device; says err "hint:"

  # ---- recorded: the document of before answers
  expect 0 --profile compiled.json --json again.json; says out "Recorded, not measured now, from compiled.json"
  says again.json '"source": "recorded"'; valid again.json
  cp compiled.json "$GPUCHAR_PROFILES/compiled.json"
  expect 0; says err "no GPU to measure"; says err "hint:"; says out "proved for sm_90"; says out "Recorded, not measured now"
  rm "$GPUCHAR_PROFILES/compiled.json"
else
  says err "GPUCHAR_E_NO_NVRTC"
  echo "(no NVRTC: kernels were not compiled)"
fi
expect 1 --profile missing.json; says err "GPUCHAR_E_IO"
echo '{"schema": 1, "type": "gpuchar_profile"' >broken.json
expect 1 --profile broken.json; says err "GPUCHAR_E_FORMAT"

# ---- no GPU
expect 3 --require-gpu; says err "no GPU to measure"; says err "hint:"; silent out
expect 0; says err "no recorded profile"
GPUCHAR_LIBNVRTC=$work/none expect 0 --quiet; says err "cannot be compiled either"

# ---- output that cannot be written, known before anything is measured
expect 4 --json "$work/nowhere/x.json"; says err "cannot be written"; silent out
expect 4 --json "$work"; says err "cannot be written"
expect 4 --cache "$work/nowhere/cache"; says err "$work/nowhere/cache cannot be used"; says err "hint:"; silent out
[ ! -e nowhere ] || complain "--cache made the folders above its own"
expect 4 --cache "$work/broken.json"; says err "ENOTDIR"; silent out
if [ -w /dev/full ]; then
  got=0; "$program" --list >/dev/full 2>err || got=$?
  [ "$got" = 4 ] || complain "a full standard output: exit code $got"
fi

# ---- a guest: no file that was not asked for (the cache keeps what --cache asked for)
left=$(find . -type f ! -path './cache/*' ! -name out ! -name err ! -name '*.json')
[ -z "$left" ] || complain "files were left behind: $left"

[ "$bad" = 0 ] && echo "$checks checks hold"
exit $bad
