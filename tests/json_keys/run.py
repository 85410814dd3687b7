#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pins the keys of --json: others read them. Every command below runs on small shapes, prints one JSON object, and has
exactly these keys, at the top and, where it has any, in each of its results."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CASES = {
    "bench matmul --sizes 32 --batch 1 --seq 8 --dtypes fp32,bf16 --rounds 1 --threads 1 --model tiny": (
        "model batch seq threads peak_flops_per_second results",
        "name m n k a_transposed b_transposed dtype seconds flops_per_second peak_share openblas_seconds "
        "openblas_flops_per_second openblas_peak_share"),
    "bench experts --experts 2 --rows 4 --rounds 1 --threads 1": (
        "threads results", "experts rows n k flops_per_second one_product_flops_per_second ratio"),
    "bench scaling --model tiny --batch 2 --seq 16 --threads 2 --meshes 1;dp=2;tp=2 --steps 1 --rounds 1": (
        "model batch seq microbatches precision device threads tokens results",
        "mesh zero ranks threads_per_rank step_seconds tokens_per_second same_threads_ratio speed_up ideal efficiency "
        "bytes_per_rank loss"),
    "simulate --cluster dgx-h100 --model tiny --mesh dp=2,tp=2 --batch 4 --seq 16": (
        "model cluster calibrated mesh ranks threads_per_rank step_seconds tokens_per_second mfu mfu_full_attention hfu "
        "exposed_communication_seconds bubble_seconds peak_bytes host_bytes fits error_bar unknown results",
        "rank alike compute_seconds exposed_communication_seconds bubble_seconds communication_seconds peak_bytes"),
    "simulate --cluster three-sites --model tiny --mesh island=2,tp=2 --batch 4 --seq 16 --islands-every 10": (
        "model cluster calibrated mesh ranks threads_per_rank step_seconds tokens_per_second mfu mfu_full_attention hfu "
        "exposed_communication_seconds bubble_seconds peak_bytes host_bytes fits error_bar unknown results islands",
        "rank alike compute_seconds exposed_communication_seconds bubble_seconds communication_seconds peak_bytes"),
    "plan --model tiny --ranks 2 --batch 4 --seq 16 --cluster laptop --trials 4 --why-not tp=2": (
        "model cluster calibrated ranks batch seq precision simulated complete dropped recipe results why_not unknown",
        "plan mesh zero microbatch microbatches recompute recompute_every schedule chunks context experts dispatch tp_overlap shard_axes "
        "offload offload_update precision step_seconds mfu tokens_per_second days_per_trillion_tokens peak_bytes host_bytes exposed_communication_seconds bubble_seconds"),
    "plan --model tiny --ranks 2 --batch 4 --seq 16 --cluster laptop --tokens 1M --step-seconds 1 --price 2 --sensitivity": (
        "whole_run sensitivity",),
    "plan --model tiny --ranks 2 --batch 4 --seq 16 --cluster laptop --trials 4 --tokens 1M --compare-ranks 1": (
        "model cluster calibrated ranks batch seq precision simulated complete dropped recipe results why_not unknown whole_run rank_counts",),
    "new --list": ("samples",),
    "new --job pretrain --out new.toml": (
        "model cluster calibrated mesh ranks threads_per_rank step_seconds tokens_per_second mfu mfu_full_attention hfu "
        "exposed_communication_seconds bubble_seconds peak_bytes host_bytes fits unknown results file commands",
        "rank alike compute_seconds exposed_communication_seconds bubble_seconds communication_seconds peak_bytes"),
    "clusters": ("clusters",),
    "clusters tpu-v5e": ("name calibrated ranks device levels efficiencies sources unknown",),
    "report run": (
        "folder source machine plan first_step last_step counted_steps step_seconds median_step_seconds "
        "slowest_step_seconds tokens_per_second all_tokens_per_second mfu mfu_full_attention hfu hardware_flops "
        "recompute_flops split checkpoints evaluations peak_bytes all_peak_bytes first_loss loss held_out_loss stalls "
        "failures results",
        "rule title verdict answer advice"),
    "report trained --clocks": (
        "cluster calibrated step measured_seconds simulated_seconds outside_seconds measured_ranks aligned_slices unaligned results",
        "op name class routine index measured_seconds simulated_seconds difference_seconds measured_slices simulated_slices hidden"),
    "report --compare run run": (
        "a b verdict settings figures results loss",
        "part a_seconds b_seconds explains"),
    "schedule --kind 1f1b --stages 2 --microbatches 4": (
        "kind stages chunks microbatches costs makespan bubble_of_total bubble_of_ideal ranks",
        "idle span peak_activations begin end"),
    "checkpoint convert trained all.safetensors": ("checkpoint step out",),
    "chat trained --temperature 0 --max-tokens 4 --window 64": (
        "turn question text tokens end prompt_tokens computed_tokens left_out first_seconds seconds",),
    "export trained --out model": ("checkpoint out bytes tensors files copied",),
    "import model --out imported": ("out family parameters tensors float16 copied left_out",),
    "jobs planned": ("results", "run job state reason nodes ranks mesh step steps attempts held_seconds predicted_tokens_per_second "
                             "tokens_per_second predicted_goodput goodput left_seconds"),
    "tokenizer decode tokenizer.json tokens.txt": ("text",),
    "tokenize words.txt --out tokens": (
        "out bytes tokens held_out_tokens documents held_out_documents duplicates shards kept_shards vocabulary document_end",),
    "bench data words.txt --tokenizer tokenizer.json --seq 2 --batch 1 --seconds 0.1": (
        "file_bytes text_bytes documents tokens threads unpack_bytes_per_second index_bytes_per_second tokenize_bytes_per_second "
        "tokens_per_second step_tokens_per_second first_step_seconds steps late_steps waited_seconds least_tokens_ahead",),
}


# What the commands above read, made first.
PLAN = {"run_id": "0", "cluster": "laptop", "steps": 10, "tokens_per_step": 32, "node_ranks": 1, "rank_cpus": 1, "min_nodes": 1,
        "max_nodes": 1, "attempts": 1, "grace_seconds": 60, "limit_seconds": 600,
        "curve": [{"nodes": 1, "ranks": 1, "mesh": "dp=1", "plan": "", "problem": "", "settings": {}, "step_seconds": 1,
                   "run_seconds": 10, "long_run_seconds": 11, "goodput": 1, "save_every": 5}]}
FILES = {"words.txt": "the other one and the other", "tokens.txt": "104 105", "planned/job/plan.json": json.dumps(PLAN)}
SETUP = ["simulate --cluster laptop --model tiny --mesh dp=2 --batch 4 --seq 16 --out run",
         "train --model tiny --steps 1 --save-every 1 --batch 2 --seq 16 --set data.story_bytes=65536 --set run.peak_gflops=1 "
         "--set train.eval_every=0 --json --out trained --trace trained/trace.json",
         "tokenizer train words.txt --vocab 260 --out tokenizer.json"]


def differences(found, expected, where):
    expected = set(expected.split())
    return [f"{where} lacks {key}" for key in sorted(expected - found.keys())] + [
        f"{where} has a new key {key}" for key in sorted(found.keys() - expected)]


def check(binary, folder, command, top_keys, result_keys=None):
    done = subprocess.run([binary, *command.split(), "--json"], cwd=folder, input="Why?\n", capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"exit code {done.returncode}: {done.stderr.strip()}"]
    found = json.loads(done.stdout)
    wrong = differences(found, top_keys, "the object")
    if result_keys is None:
        return wrong
    results = found.get("results", found.get("ranks"))
    if not results:
        wrong.append("there are no results")
    for i, result in enumerate(results or []):
        wrong += differences(result, result_keys, f"result {i}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    binary = os.path.abspath(parser.parse_args().binary)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            pathlib.Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
        for command in SETUP:
            subprocess.run([binary, *command.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for command, keys in CASES.items():
            wrong = check(binary, folder, command, *keys)
            failed += bool(wrong)
            for line in wrong:
                print(f"tessera {command}: {line}")
    print(f"{len(CASES) - failed} of {len(CASES)} commands have the pinned keys")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
