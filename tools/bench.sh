#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Speed as ratios within one run: the step of GPT-2 124M against its floor at three shapes, then the micro-benchmarks.
set -euo pipefail
cd "$(dirname "$0")/.."
for shape in "4 64" "4 256" "2 1024"; do
  read -r batch seq <<<"$shape"
  build/release/tessera bench step --model gpt2-124m --batch "$batch" --seq "$seq"
done
if [[ -x build/release/tessera_bench ]]; then
  build/release/tessera_bench
fi
