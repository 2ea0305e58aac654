#!/usr/bin/env bash
# How long `thrust train ppo CartPole-v1` takes from the start of the process to the end of its first update, on a backend that
# compiles kernels: with empty caches, and again with full ones. Best of three each.
#
#   bench/vulkan_start.sh THRUST [BACKEND]     BACKEND: vulkan:llvmpipe
#
# The caches are the backend's and the driver's; both follow XDG_CACHE_HOME, which is a folder of this script's own.
set -euo pipefail
[[ $# -ge 1 && $# -le 2 ]] || { echo "error: usage: $0 THRUST [BACKEND]" >&2; exit 2; }
thrust=$(realpath "$1")
backend=${2:-vulkan:llvmpipe}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One rollout and one update: the settings of CartPole-v1 collect 8 environments times 32 steps.
first_update() {  # CACHE
  rm -rf "$work/run"
  local start end
  start=$(date +%s%N)
  XDG_CACHE_HOME=$1 "$thrust" train ppo CartPole-v1 --backend "$backend" --total-timesteps 256 --run-dir "$work/run" \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  end=$(date +%s%N)
  echo $(((end - start) / 1000000))
}

best_cold=
best_warm=
for _ in 1 2 3; do
  rm -rf "$work/cache"
  cold=$(first_update "$work/cache")
  warm=$(first_update "$work/cache")
  if [[ -z $best_cold || $cold -lt $best_cold ]]; then best_cold=$cold; fi
  if [[ -z $best_warm || $warm -lt $best_warm ]]; then best_warm=$warm; fi
done
echo "$backend, PPO CartPole-v1, start of the process to the end of the run of one update:"
echo "  empty caches: $best_cold ms"
echo "  full caches:  $best_warm ms"
