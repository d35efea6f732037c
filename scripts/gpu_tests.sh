#!/usr/bin/env bash
# The tests that need a GPU, packed so that they run on a machine without CMake, compiler or this repository.
# usage: scripts/gpu_tests.sh --pack                          builds and fills build/gpu
#        scripts/gpu_tests.sh --run [--sanitize] [FOLDER]      runs what is there (default: build/gpu)
#   --sanitize   under compute-sanitizer: memcheck, racecheck, synccheck
# Variables: GPU_TESTS_TOOLS (some of those three, default all: about eight minutes), GPU_TESTS_TIMEOUT (seconds for one program, default 300), GPU_TESTS_LOGS (default: FOLDER/logs),
# GPUCHAR_TEST_ROUNDS (how often the guest test opens, measures and closes, default 100).
# The last line counts; tests are skipped, not passed, where there is no GPU. Exit status: 0 when none failed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pack() {
  # shellcheck disable=SC2034 # for common.sh
  tool=gpu_tests need=test install=1
  # shellcheck source=scripts/common.sh
  . "$here/common.sh"
  prepare
  build "$top/build/check" -DGPUCHAR_BUILD_TESTS=ON -DGPUCHAR_BUILD_EXAMPLES=ON
  local to=$top/build/gpu from=$top/build/check source program library path
  rm -rf "$to"
  mkdir -p "$to/tests"
  # The worker lies beside the library, which looks there.
  cp "$from/examples/quick_char" "$from/gpuchar-worker" "$to/"
  for source in "$top"/tests/gpu/*.c; do
    [ -f "$source" ] || continue
    program=$(basename "$source" .c)
    cp "$from/tests/$program" "$to/tests/"
  done
  # Libraries lie beside the programs ($ORIGIN); tests are one folder down.
  for library in libgpuchar.so.0 libjansson.so.4 libcmocka.so.0 liblz4.so.1 libzstd.so.1; do
    for program in "$to/quick_char" "$to"/tests/*; do
      [ -f "$program" ] || continue
      case $program in *.so*) continue ;; esac # links to libraries that were packed a moment ago
      # The packed copy finds its libraries no more: ask the original.
      path=$from/examples/quick_char; [ "$program" = "$to/quick_char" ] || path=$from/tests/${program##*/}
      path=$(ldd "$path" | awk -v name="$library" 'index($1, name) == 1 {print $3; exit}')
      [ -n "$path" ] || continue
      cp -Lf "$path" "$to/$(basename "$path")"
      [ -e "$to/tests/$(basename "$path")" ] || ln -s "../$(basename "$path")" "$to/tests/$(basename "$path")"
    done
  done
  cp "$here/gpu_tests.sh" "$to/"
  say "packed $(find "$to/tests" -type f | wc -l) tests and quick_char in build/gpu ($(du -sh "$to" | cut -f1))"
}

has_gpu() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

passed=0 failed=0 skipped=0
# one NAME SKIP-CODE COMMAND...
one() {
  local name=$1 skip=$2 rc=0 begin=$SECONDS word; shift 2
  local log=$logs/${name//[^a-z0-9_.-]/_}.log
  timeout -k 10 "${GPU_TESTS_TIMEOUT:-300}" "$@" >"$log" 2>&1 </dev/null || rc=$?
  if [ $rc = 0 ]; then word=PASS passed=$((passed + 1))
  elif [ $rc = "$skip" ]; then word=SKIP skipped=$((skipped + 1))
  else word=FAIL failed=$((failed + 1)); fi
  local note=; if [ $rc = 124 ]; then note='  (ran out of time)'; fi
  printf '%-4s  %-44s %4d s%s\n' "$word" "$name" $((SECONDS - begin)) "$note"
  if [ $word = FAIL ]; then tail -n 15 "$log" | sed 's/^/      | /'; fi
}
skip() { printf '%-4s  %-44s %s\n' SKIP "$1" "$2"; skipped=$((skipped + 1)); }

run() {
  local folder=$1 sanitize=$2 programs=() program tool sanitizer candidate
  [ -x "$folder/quick_char" ] || { echo "gpu_tests: no quick_char in $folder: first scripts/gpu_tests.sh --pack" >&2; exit 1; }
  folder=$(cd "$folder" && pwd)
  logs=${GPU_TESTS_LOGS:-$folder/logs}
  mkdir -p "$logs"
  for program in "$folder"/tests/*; do
    case $program in *.so*) ;; *) if [ -f "$program" ]; then programs+=("$program"); fi ;; esac
  done
  if [ "$sanitize" = 0 ]; then
    if has_gpu; then one quick_char 3 "$folder/quick_char" --require-gpu --json "$logs/quick_char.json"; else skip quick_char "no GPU"; fi
    for program in "${programs[@]}"; do
      if has_gpu; then one "${program##*/}" 77 "$program"; else skip "${program##*/}" "no GPU"; fi
    done
  else
    sanitizer=
    for candidate in compute-sanitizer /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda-*/bin/compute-sanitizer; do
      if [ -z "$sanitizer" ] && command -v "$candidate" >/dev/null 2>&1; then sanitizer=$candidate; fi
    done
    # Programs may relax what they demand of time; never what they demand of values.
    export GPUCHAR_TEST_SANITIZER=1
    for tool in ${GPU_TESTS_TOOLS:-memcheck racecheck synccheck}; do
      for program in "$folder/quick_char" "${programs[@]}"; do
        if ! has_gpu; then skip "$tool ${program##*/}" "no GPU"
        elif [ -z "$sanitizer" ]; then skip "$tool ${program##*/}" "no compute-sanitizer"
        # Its lanes exchange words without waiting for each other, to see whether they are together: races on purpose.
        elif [ "$tool ${program##*/}" = "racecheck test_gpu_barrier_class" ]; then skip "$tool ${program##*/}" "races on purpose"
        else
          local arguments=() code=77
          if [ "${program##*/}" = quick_char ]; then arguments=(--require-gpu); code=3; fi
          if [ "$tool ${program##*/}" = "racecheck quick_char" ]; then arguments+=(--only divergence_sweep); fi # for the same reason
          one "$tool ${program##*/}" $code "$sanitizer" --tool "$tool" --error-exitcode 99 "$program" "${arguments[@]}"
        fi
      done
    done
  fi
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $failed = 0 ]
}

case ${1:-} in
  --pack) pack ;;
  --run)
    shift
    sanitize=0
    if [ "${1:-}" = --sanitize ]; then sanitize=1; shift; fi
    folder=${1:-$here/../build/gpu}
    # A packed copy of this script lies in the folder itself.
    if [ $# -eq 0 ] && [ -x "$here/quick_char" ]; then folder=$here; fi
    run "$folder" $sanitize ;;
  *) sed -n '2,8s/^# //p' "$0"; exit 2 ;;
esac
