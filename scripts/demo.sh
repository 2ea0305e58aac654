#!/usr/bin/env bash
# From a fresh clone to a trained agent: installs what is missing, builds the binary and the CPU backend, trains PPO on
# CartPole-v1 and evaluates the result. Ends with the mean return; fails when it is under the mark of a solved task.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly MARK=475  # of 500: Gymnasium's reward threshold of CartPole-v1
readonly EPISODES=100

scripts/install_deps.sh
cmake --preset demo
cmake --build --preset demo

thrust=build/demo/bin/thrust
run_dir=runs/demo-$(date +%Y%m%d-%H%M%S)
"$thrust" train ppo CartPole-v1 --backend cpu --total-timesteps 100000 --run-dir "$run_dir"

result=$("$thrust" eval "$run_dir" --episodes "$EPISODES" --json)
mean=$(grep -oE '"mean_return": *-?[0-9.]+([eE][-+]?[0-9]+)?' <<<"$result" | sed 's/.*: *//')
if [[ -z "$mean" ]]; then
  echo "error: 'thrust eval' reported no mean_return" >&2
  echo "  why: it printed: $result" >&2
  exit 1
fi
echo "CartPole-v1: mean return $mean over $EPISODES greedy episodes (solved: $MARK or more); the run is in $run_dir"
if ! awk -v mean="$mean" -v mark="$MARK" 'BEGIN { exit !(mean + 0 >= mark) }'; then
  echo "error: the agent did not reach a mean return of $MARK" >&2
  echo "  try: look at $run_dir/progress.csv, or train with another --seed" >&2
  exit 1
fi
