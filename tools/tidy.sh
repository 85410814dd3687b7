#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy over every source of the release build, each alone and without the precompiled header, so that a forgotten
# include shows. Tests are left to the compiler's warnings, and so is what only the CUDA build compiles.
set -euo pipefail
cd "$(dirname "$0")/.."
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
cmake --preset release -B "$database" -DTESSERA_PRECOMPILE=OFF -DTESSERA_UNITY=OFF -DTESSERA_PYTHON=ON --log-level=WARNING >/dev/null
# clang lacks GCC's shuffle; what is read here is not run, so any value of its type will do. Compiler warnings are GCC's
# task: clang's own are shown and not fatal.
gcc_only=('--extra-arg=-D__builtin_shuffle(first,...)=(first)' --extra-arg=-Wno-unknown-pragmas --extra-arg=-Wno-unused-variable
  --extra-arg=-Wno-error)
find src examples python -name '*.cpp' -not -name '*_test.cpp' -not -name '*_samples.cpp' -not -path 'src/exec/cuda/*' -not -path 'src/comm/nccl/*' \
  -not -name toml_library.cpp -print0 |
  xargs -0 -r -P "$(nproc)" -n 4 clang-tidy -p "$database" --quiet "${gcc_only[@]}" 2>&1 |
  { grep -vE '^[0-9]+ warnings? generated' || true; }
