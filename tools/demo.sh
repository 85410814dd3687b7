#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: trains a small transformer on made-up stories and shows what it learned to write; then trains it on a mesh
# of four ranks and proves that they compute what one would.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo
mesh_out=out/demo-mesh
mesh=dp=2,tp=2
tessera=build/release/tessera

echo "Training a transformer of 0.85M parameters on built-in stories, for about two minutes on two cores."
"$tessera" train --model tiny --steps 900 --save-every 300 --out "$out" --overwrite \
  --set train.sample_every=450 --set train.eval_every=150 --set train.log_every=25

echo
echo "What it writes now, from a prompt of its own:"
"$tessera" generate "$out" --prompt "Once upon a time there was" --tokens 300 --temperature 0.6

echo
echo "The same model on a mesh of four ranks ($mesh): half of the batch and half of the weights each, as threads."
"$tessera" train --model tiny --mesh "$mesh" --steps 150 --out "$mesh_out" --overwrite \
  --set train.eval_every=75 --set train.log_every=25 --trace "$mesh_out/trace.json"

echo
echo "Do four ranks compute what one would? A small model of the same family, in fp64:"
"$tessera" verify --mesh "$mesh" --shrink

cat <<TEXT

Outputs of this run:
  $out/metrics.jsonl     loss, gradient norm, speed and memory of every step
  $out/config.toml       every setting; change it and give it to: $tessera train FILE
  $out/checkpoints/      weights and optimizer state (safetensors)
  $mesh_out/             metrics and config of the run on the mesh
  $mesh_out/trace.json   what each rank did in its first steps: open it in https://ui.perfetto.dev
Go on:
  $tessera generate $out --prompt "It was a sunny day." --temperature 0.8
  $tessera train --resume --out $out --steps 1500 --save-every 300 $out/config.toml
  $tessera compile --model gpt2-124m      where the bytes of a larger model would go
  $tessera compile --mesh $mesh --dump-after localize      what each rank does
  docs/parallelism/README.md             the kinds of parallelism, and what moves when
TEXT
