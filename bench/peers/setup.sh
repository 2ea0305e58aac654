#!/usr/bin/env bash
# Makes bench/peers/.venv with the systems that bench/compare.py times beside ours. Safe to run again.
#
#   bench/peers/setup.sh [FOLDER]
#
# About 600 MB to fetch, 2 GB on disk, a minute. Packages come without what they depend on and the list below is whole: PyTorch's
# wheel would bring gigabytes of CUDA libraries that a processor benchmark never calls (cuda_stand_ins.py).
# torch.compile needs g++ and Python's headers; RLtools needs g++ and OpenBLAS (libopenblas-dev).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/.venv}

python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  echo "error: $(python3 --version) is too old for these packages" >&2
  echo "  try: Python 3.10 or newer" >&2
  exit 2
}
[[ -x $venv/bin/python ]] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
  torch filelock 'typing-extensions>=4.13' 'setuptools>=77' sympy mpmath networkx jinja2 markupsafe fsspec \
  numpy gymnasium cloudpickle farama-notifications stable-baselines3 rltools pybind11 tqdm
"$venv/bin/python" "$here/cuda_stand_ins.py" "$("$venv/bin/python" -c '
import importlib.util, pathlib
print(pathlib.Path(importlib.util.find_spec("torch").origin).parent / "lib")')"
"$venv/bin/python" -c '
import gymnasium, numpy, stable_baselines3, torch
print(f"peers: torch {torch.__version__}, stable-baselines3 {stable_baselines3.__version__}, "
      f"gymnasium {gymnasium.__version__}, numpy {numpy.__version__}")'
if ! ldconfig -p | grep -q libopenblas; then
  echo "peers: no OpenBLAS, which RLtools is timed with: apt-get install libopenblas-dev" >&2
fi
command -v g++ >/dev/null || echo "peers: no g++, without which RLtools and torch.compile are left out" >&2
