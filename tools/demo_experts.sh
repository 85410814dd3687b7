#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Experts on four ranks, in under a minute: a small mixture learns, its loads even out, and what travels is in the trace.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo-experts
tessera=build/release/tessera

echo "A mixture of 8 experts in 4 layers on four ranks, two experts of each layer on each (ep=4), as threads."
echo "No loss asks for even loads: a bias of each expert that only selects is moved by what was chosen (model.balance_rate)."
"$tessera" train --model tiny-moe --mesh ep=4 --steps 300 --batch 8 --seq 128 --out "$out" --overwrite \
  --set model.balance_loss=0 --set model.balance_rate=0.005 --set plan.dispatch=exchange \
  --set train.log_every=20 --set train.eval_every=0 --trace "$out/trace.json"

echo
python3 tools/show_loads.py "$out"

echo
echo "Do four ranks compute what one would? In fp64, counts of routes compared as integers:"
"$tessera" verify --model tiny-moe --mesh ep=4 --shrink --set plan.dispatch=exchange

cat <<TEXT

Outputs of this run:
  $out/metrics.jsonl   loads of every layer's experts, with the loss
  $out/trace.json      what each rank did in its first steps: open it in https://ui.perfetto.dev
Go on:
  $tessera report $out
  $tessera simulate --cluster dgx-h100 --model mixtral-8x7b --mesh ep=8 --batch 8 \\
    --load measured:$out
  $tessera studio $(dirname "$out")                     # this run and the lesson on experts, in a browser
And read docs/parallelism/expert.md: what moves, when, and how many bytes.
TEXT
