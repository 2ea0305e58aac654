#!/usr/bin/env bash
# Installs what the build needs on Debian or Ubuntu. Safe to run again: it asks for nothing that is already there.
#
#   scripts/install_deps.sh            what the binary and the CPU plugin need
#   scripts/install_deps.sh --vulkan   also what the Vulkan plugin is built from, and what it runs on
#   scripts/install_deps.sh --dev      all of that, and the tests, the linters and the second compiler
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config git ca-certificates
  libboost-dev          # Boost.DLL, Boost.CRC (headers only)
  libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  libeigen3-dev
)
vulkan=(
  libvulkan-dev glslang-dev spirv-tools  # to build: headers, and the compiler of shaders, which is linked in
  libvulkan1 mesa-vulkan-drivers         # to run: the loader, and Mesa's drivers; lavapipe among them needs no GPU
)
if [[ "${1:-}" == "--vulkan" ]]; then
  packages+=("${vulkan[@]}")
elif [[ "${1:-}" == "--dev" ]]; then
  packages+=("${vulkan[@]}")
  packages+=(vulkan-validationlayers glslc)  # tests of the Vulkan plugin and of its kernels
  packages+=(libgtest-dev libgmock-dev libbenchmark-dev clang clang-format clang-tidy binutils python3)
  packages+=(libdnnl-dev)                # bench/limits: what others' kernels take
  packages+=(libclang-rt-dev)            # clang's fuzzer and sanitizers
  packages+=(dpkg-dev file debootstrap)  # packages, and a clean root to try them in
  packages+=(pocl-opencl-icd ocl-icd-opencl-dev opencl-headers)  # examples/third_party_backend
elif [[ $# -gt 0 ]]; then
  echo "error: unknown option '$1'" >&2
  echo "  try: scripts/install_deps.sh [--vulkan | --dev]" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$state" == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "dependencies: all installed"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "error: this script knows apt-get only" >&2
  echo "  why: missing packages: ${missing[*]}" >&2
  echo "  try: install their equivalents with your package manager (versions are in CONTRIBUTING.md)" >&2
  exit 2
fi
as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "error: not root and no sudo; install by hand: ${missing[*]}" >&2; exit 2; }
  as_root=(sudo)
fi
echo "dependencies: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
# Older releases have clang's runtime in clang's own packages.
if ! apt-cache show libclang-rt-dev >/dev/null 2>&1; then
  mapfile -t missing < <(printf '%s\n' "${missing[@]}" | grep -vx libclang-rt-dev)
fi
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
