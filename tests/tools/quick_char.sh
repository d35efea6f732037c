#!/usr/bin/env bash
# quick_char where there is no GPU: exit codes, streams, documents. usage: quick_char.sh QUICK_CHAR FAKES [PYTHON]
set -euo pipefail
program=$1 fakes=$2 python=${3:-}
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
says_not() { ! grep -qF -- "$2" "$1" || { complain "$1 says: $2"; tail -n 5 "$1" >&2; }; checks=$((checks + 1)); }
silent() { [ ! -s "$1" ] || { complain "$1 is not empty"; head -n 5 "$1" >&2; }; checks=$((checks + 1)); }
valid() { [ -z "$python" ] || "$python" -m json.tool "$1" >/dev/null || complain "$1 is no JSON"; checks=$((checks + 1)); }

# ---- words about itself
expect 0 --help; says out "exit status"; silent err
expect 0 --version; says out "quick_char "
expect 0 --list; says out "divergence_sweep"

# ---- wrong usage: told on stderr, with a hint, nothing on stdout
for wrong in "--nonsense" "--json" "--only nothing_like_it" "--only= --quiet" "--profile a --device 0" "word" \
  "--json a.json --json b.json" "--device 0 --device=1" "--device sm_90 --require-gpu" "--require-gpu --device=sm_90 --json x.json" \
  "--quiet --verbose"; do
  # shellcheck disable=SC2086 # several words on purpose
  expect 2 $wrong; silent out; says err "hint:"
done
expect 2 --device sm_90 --require-gpu; says err "compiles only: sm_90"

# ---- compile-only: a real document, without a GPU and without a driver
if "$program" --device sm_90 --json compiled.json >out 2>err; then
  says out "machine code: proved for sm_90"; valid compiled.json
  says compiled.json '"schema": 1'; says compiled.json '"units"'; says compiled.json '"source": "compiled"'
  # Which experiments run does not matter from here on: the fastest one is enough, and one run proves all everywhere.
  one=(--only divergence_sweep)
  expect 0 --device sm_90 "${one[@]}" --json -; cp out stdout.json; valid stdout.json; silent err
  expect 0 --device sm_90 "${one[@]}" --json - --bench; cp out stdout.json; valid stdout.json; says err "total_ns: "
  expect 0 --device sm_90 "${one[@]}" --quiet; silent out; silent err
  expect 0 --device sm_90 "${one[@]}" --verbose; says err " s  info     NVRTC: "
  expect 0 --device sm_90 "${one[@]}" --bench; says out "host_peak_bytes: "; says out "divergence_sweep.warm.call_ns: "
  expect 0 --device sm_90 "${one[@]}" --cache "$work/cache"
  [ -n "$(ls cache)" ] || complain "--cache kept nothing"
  expect 2 --device no_device; says err "hint:"

  # ---- recorded: the document of before answers
  expect 0 --profile compiled.json --json again.json; says out "Recorded, not measured now, from compiled.json"
  says again.json '"source": "recorded"'; valid again.json
  # An experiment that was asked for by name and is not there was not done.
  expect 0 --device sm_90 "${one[@]}" --json single.json
  expect 0 --profile single.json; says out "divergence_shapes: not in this recording"
  expect 1 --profile single.json --only divergence_shapes; says err "divergence_shapes: "
  # What a recorded call had cost is not the cost of this run.
  expect 0 --profile compiled.json --bench; says out "run_all.wall_ns: "; says_not out "prove_ns: "

  # ---- without a GPU: the recording is shown, and never written as if it were of this machine
  sed 's/"name": ""/"name": "Elsewhere"/' compiled.json >"$GPUCHAR_PROFILES/elsewhere.json"
  expect 0 --cache "$work/cache" --json without.json; says err "no GPU to measure"; says err "hint:"
  says out "proved for sm_90"; says out "Recorded, not measured now"; says out "Elsewhere"
  newest=$(sed -nE 's/^  sm_([0-9]+) .*/\1/p' out | tail -n 1); says out "compiled for sm_$newest; nothing was measured"
  valid without.json; says without.json '"source": "compiled"'; says without.json "\"architecture\": $newest"
  says_not without.json "Elsewhere"; says without.json '"divergence_sweep"'
  says_not without.json '"ways": 3,'
  expect 0 --cache "$work/cache" "${one[@]}" --full --json -; cp out stdout.json; valid stdout.json
  says stdout.json '"source": "compiled"'; says stdout.json '"ways": 3,'
  rm "$GPUCHAR_PROFILES/elsewhere.json"
else
  says err "GPUCHAR_E_NO_NVRTC"
  echo "(no NVRTC: kernels were not compiled)"
fi
expect 1 --profile missing.json; says err "GPUCHAR_E_IO"; says err "hint:"
echo '{"schema": 1, "type": "gpuchar_profile"' >broken.json
expect 1 --profile broken.json; says err "GPUCHAR_E_FORMAT"

# ---- no GPU
expect 3 --require-gpu; says err "no GPU to measure"; says err "hint:"; silent out
expect 0 --cache "$work/cache" --only divergence_sweep; says err "no recorded profile"
GPUCHAR_LIBNVRTC=$work/none expect 0 --quiet; says err "cannot be compiled either"
cp broken.json "$GPUCHAR_PROFILES" # which nobody is shown
GPUCHAR_LIBNVRTC=$work/none expect 4 --quiet --json nothing.json; says err "nothing was written to nothing.json"
rm "$GPUCHAR_PROFILES/broken.json"
[ ! -e nothing.json ] || complain "a document of nothing was written"

# ---- a driver that is there and of no use is no GPU either; a GPU that cannot be had is an error of its own
no_gpu() { # WHAT IT SAYS [VARIABLE=VALUE...]
  local what=$1; shift
  env "$@" GPUCHAR_LIBNVRTC="$work/none" "$program" --quiet >out 2>err || complain "not as without a driver: $*"
  says err "no GPU to measure"; says err "$what"
  local got=0; env "$@" "$program" --require-gpu >out 2>err || got=$?
  [ "$got" = 3 ] || complain "--require-gpu: exit code $got with $*"
  says err "no GPU to measure"; silent out
}
no_gpu "has no function cuDriverGetVersion" "GPUCHAR_LIBCUDA=$fakes/fake_nvml.so"
no_gpu "lacks cuLaunchKernel" "GPUCHAR_LIBCUDA=$fakes/fake_cuda.so" FAKE_HIDE=cuLaunchKernel
no_gpu "cuInit failed" "GPUCHAR_LIBCUDA=$fakes/fake_cuda.so" FAKE_CUDA_INIT=803
no_gpu "does not tell its version" "GPUCHAR_LIBCUDA=$fakes/fake_cuda.so" FAKE_FAIL=cuDriverGetVersion
export FAKE_FAIL=cuDevicePrimaryCtxRetain
GPUCHAR_LIBCUDA=$fakes/fake_cuda.so expect 1 --require-gpu; says err "cuDevicePrimaryCtxRetain failed"
GPUCHAR_LIBCUDA=$fakes/fake_cuda.so expect 1; silent out
unset FAKE_FAIL
# Another library that is not what it is taken for says nothing about the GPU.
GPUCHAR_LIBNVRTC=$fakes/fake_nvml.so expect 1 --device sm_90; says err "has no function nvrtcVersion"
says_not err "no GPU to measure"; says_not out "Recorded"

# ---- what a document says never reaches the terminal as a command to it
esc='\u001b[31m' # and U+009b, which begins one in UTF-8
cat >hostile.json <<END
{"schema": 1, "type": "gpuchar_profile", "device": {"name": "N${esc}\u009b1m\u202e\u2066", "uuid": "U${esc}", "driver_name": "D$esc",
 "power_limit_watts": 1e300, "known": 4294967295}, "results": {}}
END
"$program" --profile hostile.json >out 2>err </dev/null || true
says out "N?[31m?1m??"; says out "U?[31m"; says out "driver D?[31m"; says out "power limit 1e+300 W"
printf '{"schema": 1, "type": "%s", "device": {}, "results": {}}' "T$esc" >hostile.json
expect 1 --profile hostile.json; says err "T?[31m"
for file in out err; do ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' $file || complain "control characters in $file"; done

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
