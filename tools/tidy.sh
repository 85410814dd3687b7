#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy over every source of the release build, two files at a time. Tests are left to the compiler's warnings.
set -euo pipefail
cd "$(dirname "$0")/.."
find src examples -name '*.cpp' -not -name '*_test.cpp' -not -name '*_samples.cpp' -print0 |
  xargs -0 -r -P "$(nproc)" -n 4 clang-tidy -p build/release --quiet
