#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles every file of CPU kernels for NEON, without running anything: Debian's g++-aarch64-linux-gnu.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=${1:-aarch64-linux-gnu-g++}
if ! command -v "$compiler" >/dev/null; then
  echo "error: $compiler is not installed" >&2
  echo " help: as root, run: apt-get install --no-install-recommends g++-aarch64-linux-gnu" >&2
  exit 2
fi
# fmt and Highway are headers: those of this machine serve.
headers=$(mktemp -d)
trap 'rm -r "$headers"' EXIT
ln -s /usr/include/fmt /usr/include/hwy "$headers"
mapfile -t files < <(git ls-files 'src/*.cpp' | xargs grep -l '^#define HWY_TARGET_INCLUDE' | grep -v _test.cpp)
for file in "${files[@]}"; do
  echo "$file"
  "$compiler" -std=c++20 -O1 -fsyntax-only -DFMT_HEADER_ONLY -I src -isystem "$headers" "$file"
done
