#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts all C, C++ and CUDA sources into the house format; with --check only says which ones are not in it.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[[ ${1:-} != --check ]] || mode=(--dry-run -Werror)
find src tests bench examples fuzz wasm python \( -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.cu' \) -print0 |
  xargs -0 -r clang-format "${mode[@]}"
