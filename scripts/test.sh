#!/usr/bin/env bash
# Everything that must be green before a change goes in. On a fresh clone it installs what is missing first.
#
#   scripts/test.sh                 deps, release, lint, quick, vulkan, slow, fuzz, packages, asan-build, asan
#   scripts/test.sh --only STAGE    one of them, or tidy
#
#   deps         install the packages that are missing
#   release      configure and build everything, warnings are errors
#   lint         clang-format and the tree's own rules
#   quick        all quick tests of the release build
#   vulkan       the tests of the Vulkan backend, on Mesa's lavapipe with the validation layers
#   slow         all slow tests of the release build: what an author does with an installed sdk
#   fuzz         builds the fuzz targets and runs each for 50 s (scripts/fuzz.sh runs them longer)
#   packages     makes the Debian packages and tries them in a clean root; only root can
#   asan-build   the same with AddressSanitizer and UBSan
#   asan         all quick tests of that build
#   tidy         clang with clang-tidy over everything; takes minutes, so only when asked for
#
# The last lines are CTest's summary of the last stage.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly ALL_STAGES=(deps release lint quick vulkan slow fuzz packages asan-build asan)
jobs=$(nproc)

usage_error() {
  echo "error: $1" >&2
  echo "  try: scripts/test.sh [--only $(IFS='|'; echo "${ALL_STAGES[*]}|tidy")]" >&2
  exit 2
}

build() {  # PRESET
  cmake --preset "$1"
  cmake --build --preset "$1" --parallel "$jobs"
}

# Fails when a test fails, when there is none, and when all of a label's tests were skipped.
run_tests() {  # PRESET LABEL STAGE_THAT_BUILDS
  local folder=build/$1
  if [[ ! -d $folder ]]; then
    echo "error: there is nothing to test in $folder" >&2
    echo "  try: scripts/test.sh --only $3" >&2
    exit 2
  fi
  ctest --preset "$1" --label-regex "^$2\$" --no-tests=error --parallel "$jobs" --output-junit "$2.xml"
  python3 tests/lint/check_ran.py "$folder/$2.xml" "$2"
}

stage_deps() { scripts/install_deps.sh --dev; }
stage_release() { build release; }
stage_lint() {
  git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp' |
    while read -r file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
    xargs -0 --no-run-if-empty --max-procs="$jobs" --max-args=20 clang-format --dry-run --Werror
  python3 tests/lint/check_tree.py --no-headers  # each header alone is a quick test
}
stage_quick() { run_tests release quick release; }
stage_vulkan() { run_tests release vulkan release; }
stage_slow() { run_tests release slow release; }
stage_fuzz() { scripts/fuzz.sh --seconds 50; }
stage_packages() { tests/packages/run.sh build/release; }
stage_asan-build() { build asan; }
stage_asan() { run_tests asan quick asan-build; }
stage_tidy() { build lint; }

run_stage() {
  echo "== $1"
  local start=$SECONDS
  "stage_$1"
  # CTest tells its own time, and its summary shall stay the last thing that is printed.
  [[ $1 == asan ]] || echo "== $1: $((SECONDS - start)) s"
}

stages=("${ALL_STAGES[@]}")
if [[ $# -gt 0 ]]; then
  [[ $1 == --only ]] || usage_error "unknown option '$1'"
  [[ $# -eq 2 ]] || usage_error "--only takes one stage"
  [[ " ${ALL_STAGES[*]} tidy " == *" $2 "* ]] || usage_error "unknown stage '$2'"
  stages=("$2")
fi
for stage in "${stages[@]}"; do run_stage "$stage"; done
