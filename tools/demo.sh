#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: trains a small transformer on made-up stories and shows what it learned to write.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo
tessera=build/release/tessera

echo "Training a transformer of 0.85M parameters on built-in stories, for about two minutes on two cores."
"$tessera" train --model tiny --steps 900 --save-every 300 --out "$out" --overwrite \
  --set train.sample_every=450 --set train.eval_every=150 --set train.log_every=25

echo
echo "What it writes now, from a prompt of its own:"
"$tessera" generate "$out" --prompt "Once upon a time there was" --tokens 300 --temperature 0.6

cat <<TEXT

Outputs of this run:
  $out/metrics.jsonl     loss, gradient norm, speed and memory of every step
  $out/config.toml       every setting; change it and give it to: $tessera train FILE
  $out/checkpoints/      weights and optimizer state (safetensors)
Go on:
  $tessera generate $out --prompt "It was a sunny day." --temperature 0.8
  $tessera train --resume --out $out --steps 1500 --save-every 300 $out/config.toml
  $tessera compile --model gpt2-124m      where the bytes of a larger model would go
TEXT
