#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: trains a small transformer on made-up stories and shows what it learned to write; then trains it on meshes
# of four and eight ranks, proves that they compute what one would, simulates a step on 16,384 GPUs, and reports on both.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo
mesh_out=out/demo-mesh
mesh=dp=2,tp=2
pipeline_out=out/demo-pipeline
pipeline=pp=2,dp=2,tp=2
simulated_out=out/demo-405b
tessera=build/release/tessera

echo "Training a transformer of 0.85M parameters on built-in stories, for about two minutes on two cores."
"$tessera" train --model tiny --steps 900 --save-every 300 --out "$out" --overwrite \
  --set train.sample_every=100 --set train.eval_every=150 --set train.log_every=25

echo
echo "What it writes now, from another opening:"
"$tessera" generate "$out" --prompt "One sunny day" --tokens 300 --temperature 0.4

echo
echo "The same model on a mesh of four ranks ($mesh): half of the batch and half of the weights each, as threads."
"$tessera" train --model tiny --mesh "$mesh" --steps 150 --out "$mesh_out" --overwrite \
  --set train.eval_every=75 --set train.log_every=25 --trace "$mesh_out/trace.json"

echo
echo "Do four ranks compute what one would? A small model of the same family, in fp64:"
"$tessera" verify --mesh "$mesh" --shrink

echo
mkdir -p "$pipeline_out"
echo "The schedule that two stages of a pipeline will run with four microbatches:"
"$tessera" schedule --kind 1f1b --stages 2 --microbatches 4 --svg "$pipeline_out/schedule.svg"

echo
echo "Eight ranks ($pipeline): two stages, each on two halves of the batch and two halves of the weights."
"$tessera" train --model tiny --mesh "$pipeline" --microbatches 4 --steps 30 --out "$pipeline_out" \
  --overwrite --set train.eval_every=0 --set train.log_every=10 --trace "$pipeline_out/trace.json"
"$tessera" verify --mesh "$pipeline" --shrink --microbatches 4

echo
echo "The same programs for Llama 3 405B on 16,384 GPUs, with just enough recomputation to fit 80 GB,
walked on the cost model of a cluster (some seconds):"
"$tessera" simulate --cluster llama3-h100 --model llama3-405b --mesh dp=128,pp=16,tp=8 --seq 8192 \
  --batch 2048 --microbatches 16 --precision bf16 --zero 1 --schedule interleaved_1f1b --set plan.chunks=8 \
  --set plan.sequence_parallel=true --recompute fit --set plan.memory=80GB --out "$simulated_out" | sed -n 1,8p

echo
echo "Where the time of the eight ranks went, and of the simulated ones, and what to try:"
"$tessera" report "$pipeline_out"
echo
"$tessera" report "$simulated_out"

cat <<TEXT

Outputs of this run:
  $out/metrics.jsonl           loss, gradient norm, speed and memory of every step
  $out/config.toml             every setting; change it and give it to: $tessera train FILE
  $out/checkpoints/            weights and optimizer state (safetensors)
  $mesh_out/                   metrics and config of the run on the mesh
  $mesh_out/trace.json         what each rank did in its first steps: open it in https://ui.perfetto.dev
  $pipeline_out/               the run on the 2 x 2 x 2 mesh: metrics, config, trace.json
  $pipeline_out/schedule.svg   its schedule, drawn
  $pipeline_out/report.html    its report, with plots; report.md and report.json beside it
  $simulated_out/report.html        the same of the simulated 405B step on 16,384 GPUs
Go on:
  $tessera generate $out --prompt "It was a sunny day." --temperature 0.8
  $tessera train $out/config.toml --resume --out $out --steps 1500 --save-every 300
  $tessera compile --model gpt2-124m                          # where the bytes of a larger model would go
  $tessera report --compare $mesh_out $pipeline_out   # what the difference is made of
  $tessera compile --mesh $mesh --dump-after localize     # what each rank does
And read docs/parallelism/README.md: the kinds of parallelism, and what moves when.
See these runs (those with a trace beside their own simulation, on the screen Time), any plan, and every kind of parallelism step by step in a browser:
  $tessera studio $(dirname "$out")
TEXT
