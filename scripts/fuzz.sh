#!/usr/bin/env bash
# Builds the fuzz targets (preset fuzz: clang, libFuzzer, AddressSanitizer, UBSan) and runs them, two at a time.
#
#   scripts/fuzz.sh                        every target for a minute
#   scripts/fuzz.sh TARGET --seconds 600   one, for ten
#
# What it learns stays in build/fuzz/corpus/TARGET and is where the next run starts. On a finding it says where the input
# lies and how to run it again, and exits with 1. An input that found something goes to tests/fuzz/corpus/TARGET, with the
# change that mends it: from then on every test run tries it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t TARGETS < <(sed -n 's/^thrt_add_fuzz_target(\([a-z_]*\))$/\1/p' tests/fuzz/CMakeLists.txt)
readonly TARGETS
readonly AT_ONCE=2
folder=build/fuzz
seconds=60
chosen=()

usage_error() {
  echo "error: $1" >&2
  echo "  try: scripts/fuzz.sh [$(IFS='|'; echo "${TARGETS[*]}")] [--seconds N]" >&2
  exit 2
}

while [[ $# -gt 0 ]]; do
  if [[ $1 == --seconds ]]; then
    [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage_error "--seconds takes a whole number"
    seconds=$2
    shift 2
  else
    [[ " ${TARGETS[*]} " == *" $1 "* ]] || usage_error "unknown target '$1'"
    chosen+=("$1")
    shift
  fi
done
[[ ${#chosen[@]} -gt 0 ]] || chosen=("${TARGETS[@]}")

run_target() {  # TARGET; its output goes to build/fuzz/TARGET.log
  local seeds=("$folder/tests/fuzz/seeds/$1")
  [[ ! -d tests/fuzz/corpus/$1 ]] || seeds+=("tests/fuzz/corpus/$1")
  mkdir -p "$folder/corpus/$1" "$folder/findings/$1"
  # An input that takes ten seconds is a finding too.
  "$folder/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$folder/findings/$1/" "$folder/corpus/$1" "${seeds[@]}" >"$folder/$1.log" 2>&1
}

report() {  # TARGET STATUS
  local runs coverage
  runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$folder/$1.log")
  coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$folder/$1.log" | tail -1)
  if [[ $2 -eq 0 ]]; then
    echo "$1: ${runs:-0} runs, ${coverage:-0} edges, nothing found"
    return
  fi
  local input
  input=$(sed -n 's/.*Test unit written to //p' "$folder/$1.log" | tail -1)
  echo "error: fuzz_$1 found something" >&2
  sed -n '/ERROR:\|runtime error:\|^wrong:\|^SUMMARY:/s/^/  why: /p' "$folder/$1.log" | head -4 >&2
  echo "  try: $folder/fuzz/fuzz_$1 ${input:-(no input was written; see $folder/$1.log)}" >&2
}

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --parallel "$(nproc)"

failed=0
while [[ ${#chosen[@]} -gt 0 ]]; do
  batch=("${chosen[@]:0:AT_ONCE}")
  chosen=("${chosen[@]:AT_ONCE}")
  pids=()
  for target in "${batch[@]}"; do
    run_target "$target" &
    pids+=($!)
  done
  for i in "${!batch[@]}"; do
    status=0
    wait "${pids[$i]}" || status=$?
    report "${batch[$i]}" "$status"
    [[ $status -eq 0 ]] || failed=1
  done
done
exit "$failed"
