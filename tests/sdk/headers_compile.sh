#!/bin/sh
# headers_compile.sh INCLUDE: compiles each header alone: the C headers as C11, C17, C++17 and C++20 with -Wpadded, with gcc and,
# where it is installed, clang; the C++ ones as C++20 with clang (with gcc, tests/lint/check_tree.py does). Any warning fails.
set -eu
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict="-Wall -Wextra -Wpedantic -Werror -I$include -fsyntax-only"

compile() {  # compile COMPILER LANGUAGE-OPTIONS HEADER
  printf '#include <%s>\n' "$3" >"$work/unit"
  "$1" $2 $strict "$work/unit" || { echo "failed: $1 $2 $3" >&2; exit 1; }
}

printf 'gcc g++\nclang clang++\n' >"$work/compilers"
while read -r c cxx; do
  if ! command -v "$cxx" >/dev/null; then
    echo "skipped: no $cxx"
    continue
  fi
  for header in thrt/abi.h thrt/describe.h thrt/philox.h; do
    for std in c11 c17; do compile "$c" "-x c -std=$std -Wpadded" $header; done
    for std in c++17 c++20; do compile "$cxx" "-x c++ -std=$std -Wpadded" $header; done
  done
  # ops.def has an include of its own: twice, with another expansion, in one unit.
  printf '#include <thrt/abi.h>\n#define THRT_OP(ID, ...) int op_##ID;\n#include <thrt/ops.def>\n#undef THRT_OP\n' >"$work/unit"
  "$c" -x c -std=c11 $strict "$work/unit"
  [ "$cxx" = clang++ ] || continue
  (cd "$include" && find thrt -name '*.hpp') | sort >"$work/headers"
  while read -r header; do
    case $header in *_impl.hpp) continue ;; esac
    compile "$cxx" "-x c++ -std=c++20 -Wshadow -Wnon-virtual-dtor" "$header"
  done <"$work/headers"
done <"$work/compilers"
