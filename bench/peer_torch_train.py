#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer in training: GPT-2 in PyTorch from the first weights, the samples and the learning rates of a run of tessera
(`checkpoint convert --weights fp32`, tessera_samples, metrics.jsonl). bf16 autocast over fp32 weights, or fp32 with matrix
products in tf32, eight times as exact as bf16; fused AdamW, clipping, torch.compile. Writes metrics.jsonl with step, loss,
grad_norm, lr; prints one JSON object."""
import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "parity"))
import safetensors_file  # noqa: E402
import weight_names  # noqa: E402
from peer_torch_gpu import GPT2, Transformer  # noqa: E402

HEADER_BYTES = 1024
RENAMED = {"words": "table", "places": "positions", "attention.o": "out", "mlp.up": "up", "mlp.down": "down"}
SKIPPED_STEPS = 20  # of the speed: torch.compile is at work


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--samples", type=Path, required=True)
    parser.add_argument("--rates", type=Path, required=True, help="metrics.jsonl of the run: a step for each line")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for metrics.jsonl")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=("bf16", "tf32", "fp32"), default="bf16")
    parser.add_argument("--no-compile", action="store_true")
    return parser.parse_args()


def renamed(name):
    """The peer's name of a parameter of the oracle's: blocks.0.up.weight of layers.0.mlp.up.weight."""
    owner, leaf = name.rsplit(".", 1)
    block = ""
    if owner.startswith("layers."):
        _, number, owner = owner.split(".", 2)
        block = f"blocks.{number}."
    return f"{block}{RENAMED.get(owner, owner)}.{leaf}"


def state_of(tensors):
    """The peer's state_dict: queries, keys and values are one matrix there, the head is the table."""
    oracle = dict(pair for name, array in tensors.items() for pair in weight_names.to_torch(name, array))
    state = {}
    for name, tensor in oracle.items():
        if ".attention.q." in name:
            parts = [oracle[name.replace(".q.", f".{part}.")] for part in "qkv"]
            state[renamed(name.replace("attention.q", "qkv"))] = torch.cat(parts)
        elif ".attention.k." not in name and ".attention.v." not in name:
            state[renamed(name)] = tensor
    state["head.weight"] = state["table.weight"]
    return state


def model_of(tensors, seq):
    width, kv_heads, group, _ = tensors["layer.0.wq"].shape
    config = {**GPT2, "width": width, "heads": kv_heads * group,
              "layers": sum(name.endswith(".wq") for name in tensors),
              "vocabulary": tensors["embedding.table"].shape[0],
              "context": tensors["embedding.position_table"].shape[0]}
    model = Transformer(config, seq)
    model.load_state_dict(state_of(tensors))
    return model


def batches(arguments, steps):
    """Tokens and labels of each step."""
    flat = numpy.fromfile(arguments.samples, dtype=numpy.uint16, offset=HEADER_BYTES)
    windows = flat.reshape(-1, arguments.seq + 1).astype(numpy.int64)
    for step in range(steps):
        rows = torch.from_numpy(windows[step * arguments.batch:(step + 1) * arguments.batch]).to(arguments.device)
        yield rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def optimizer_of(parameters, fused):
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.95), eps=1e-8, **({"fused": True} if fused else {}))


def train(arguments, model, rates):
    """A row for each step."""
    parameters = list(model.parameters())
    optimizer = optimizer_of(parameters, arguments.device == "cuda")
    forward = model if arguments.no_compile else torch.compile(model)
    rows = []
    for rate, (tokens, labels) in zip(rates, batches(arguments, len(rates))):
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate
        with torch.autocast(arguments.device, torch.bfloat16, enabled=arguments.precision == "bf16"):
            loss = forward(tokens, labels)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        rows.append({"step": len(rows) + 1, "loss": loss.item(), "grad_norm": norm.item(), "lr": rate,
                     "step_seconds": time.perf_counter() - begin})
    return rows


def main():
    arguments = parse_arguments()
    if arguments.precision == "tf32":
        torch.set_float32_matmul_precision("high")
    tensors, _ = safetensors_file.read(arguments.weights)
    model = model_of(tensors, arguments.seq).to(arguments.device)
    rates = [json.loads(line)["lr"] for line in arguments.rates.read_text(encoding="utf-8").splitlines()]
    rows = train(arguments, model, rates)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    seconds = statistics.median(row["step_seconds"] for row in rows[SKIPPED_STEPS:] or rows)
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "steps": len(rows), "loss": rows[-1]["loss"],
                      "tokens_per_second": arguments.batch * arguments.seq / seconds}))


if __name__ == "__main__":
    main()
