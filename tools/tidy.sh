#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy over every source of the release build, two files at a time. Tests are left to the compiler's warnings.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- 'src/*.cpp' 'examples/*.cpp' |
  grep -vE '_(test|samples)\.cpp$')
[[ ${#files[@]} -gt 0 ]] || exit 0
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 4 clang-tidy -p build/release --quiet 2> >(grep -v 'warnings generated' >&2)
