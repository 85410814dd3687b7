#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts all C++ and CUDA sources into the house format; with --check only says which ones are not in it.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[[ ${1:-} != --check ]] || mode=(--dry-run -Werror)
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu' |
  while read -r file; do [[ ! -f $file ]] || echo "$file"; done)
[[ ${#files[@]} -eq 0 ]] || clang-format "${mode[@]}" "${files[@]}"
