#!/usr/bin/env bash
# Runs the fuzzers of the machine code reader (clang's libFuzzer, with address and undefined-behaviour sanitizers).
# usage: scripts/fuzz.sh [SECONDS [TARGET...]]      SECONDS for each, 600; TARGET: reader, decoder, container, graph; all
#        scripts/fuzz.sh --minimise                 tests/fuzz/corpus becomes the least of fresh seeds that covers the same
# What is found on the way stays in build/fuzz-corpus and is used the next time. An input that breaks something is kept in
# build/fuzz-found. Exit status: 0 when nothing broke.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;; esac
minimise=0; if [ "${1:-}" = --minimise ]; then minimise=1; shift; fi
seconds=${1:-600}; shift || true
[[ $seconds =~ ^[0-9]+$ ]] || { echo "fuzz: $seconds is no number of seconds" >&2; exit 2; }
mkdir -p build/fuzz-found
log=build/fuzz.log
{ cmake --preset fuzz && cmake --build build/fuzz --parallel "$(nproc)" --target help; } >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
mapfile -t all < <(sed -nE 's/^fuzz_([a-z]+): phony$/\1/p' "$log" | sort -u)
targets=("$@"); if [ ${#targets[@]} = 0 ]; then targets=("${all[@]}"); fi
cmake --build build/fuzz --parallel "$(nproc)" --target "${targets[@]/#/fuzz_}" >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 1; }

# A leak is a fault; a slow input or one that takes much memory too.
options=(-timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1)
if [ $minimise = 1 ]; then
  rm -rf build/fuzz-seeds
  python3 tests/fuzz/make_corpus.py build/fuzz-seeds
  for target in "${targets[@]}"; do
    [ "$target" != graph ] || continue
    rm -rf "tests/fuzz/corpus/$target"; mkdir -p "tests/fuzz/corpus/$target"
    "build/fuzz/tests/fuzz/fuzz_$target" "${options[@]}" -merge=1 "tests/fuzz/corpus/$target" "build/fuzz-seeds/$target" >"$log" 2>&1
  done
  du -sb tests/fuzz/corpus/*
  exit 0
fi
# The graph is made of cubins too.
seeds_of() { case $1 in graph) echo tests/fuzz/corpus/reader ;; *) echo "tests/fuzz/corpus/$1" ;; esac; }
bad=0
for target in "${targets[@]}"; do
  kept=build/fuzz-corpus/$target; mkdir -p "$kept"
  if "build/fuzz/tests/fuzz/fuzz_$target" "${options[@]}" -max_total_time="$seconds" "-artifact_prefix=build/fuzz-found/$target-" \
    "$kept" "$(seeds_of "$target")" >"build/fuzz-$target.log" 2>&1; then
    runs=$(sed -nE 's/^stat::number_of_executed_units: +//p' "build/fuzz-$target.log")
    echo "fuzz: $target: ${runs:-?} inputs in $seconds s, $(grep -oE 'cov: [0-9]+' "build/fuzz-$target.log" | tail -n 1), nothing broke"
  else
    bad=1
    echo "fuzz: $target: BROKEN, see build/fuzz-$target.log:"
    grep -E 'ERROR|SUMMARY|runtime error|does not hold|Test unit written' "build/fuzz-$target.log" | head -n 8
  fi
done
exit $bad
