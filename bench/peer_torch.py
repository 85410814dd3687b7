#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer: one GPT training step in PyTorch, the same maths as `tessera bench step` (gradients, norm, clipping, AdamW),
in the fastest form that Debian's version offers. Prints one JSON object. Run by the system's python3, which has torch."""
import argparse
import json
import math
import os
import statistics
import sys
import time

PRESETS = {
    "gpt2-124m": {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "context": 1024},
    "gpt2-350m": {"layers": 24, "width": 1024, "heads": 16, "vocabulary": 50257, "context": 1024},
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=PRESETS, default="gpt2-124m")
    for key in ("layers", "width", "heads", "vocabulary", "context"):
        parser.add_argument(f"--{key}", type=int, help="instead of the preset's")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--attention", choices=("bmm", "library", "both"), default="both",
                        help="written out, torch's own, or whichever is faster (default)")
    parser.add_argument("--profile", action="store_true", help="torch's own table of ops, on standard error")
    arguments = parser.parse_args()
    arguments.config = {key: getattr(arguments, key) or value for key, value in PRESETS[arguments.model].items()}
    return arguments


ARGUMENTS = parse_arguments()
# Both thread pools that torch uses read these when it is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

LIBRARY_ATTENTION = getattr(F, "scaled_dot_product_attention", None) or getattr(
    F, "_scaled_dot_product_attention", None)


def attention_by_bmm(q, k, v, mask):
    """q, k, v: [batch * heads, seq, size]; mask: 0 where visible, else -inf; scaling and mask ride on the matmul."""
    scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=1 / math.sqrt(q.shape[-1]))
    return scores.softmax(-1) @ v


def attention_by_library(q, k, v, _mask):
    y = LIBRARY_ATTENTION(q, k, v, is_causal=True)
    return y[0] if isinstance(y, tuple) else y


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["width"]
        self.heads = config["heads"]
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, mask, attention):
        batch, seq, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, seq, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).reshape(3, batch * self.heads, seq, -1).unbind(0)
        y = attention(q, k, v, mask).view(batch, self.heads, seq, -1).transpose(1, 2).reshape(batch, seq, width)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(config["vocabulary"], config["width"])
        self.positions = nn.Embedding(config["context"], config["width"])
        self.blocks = nn.ModuleList([Block(config) for _ in range(config["layers"])])
        self.norm = nn.LayerNorm(config["width"])
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, labels, attention):
        seq = tokens.shape[1]
        mask = torch.full((1, seq, seq), -math.inf).triu(1)
        x = self.table(tokens) + self.positions.weight[:seq]
        for block in self.blocks:
            x = block(x, mask, attention)
        logits = F.linear(self.norm(x).flatten(0, 1), self.table.weight)
        return F.cross_entropy(logits, labels.flatten())


class Trainer:
    def __init__(self, config, batch, seq):
        torch.manual_seed(1)
        self.model = Gpt(config)
        self.parameters = list(self.model.parameters())
        decayed = [p for p in self.parameters if p.dim() > 1]
        spared = [p for p in self.parameters if p.dim() == 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.1}, {"params": spared, "weight_decay": 0.0}],
            lr=1e-4, betas=(0.9, 0.95), foreach=False)
        self.tokens = torch.randint(config["vocabulary"], (batch, seq))
        self.labels = torch.randint(config["vocabulary"], (batch, seq))

    def clip(self, most):
        """clip_grad_norm_ without its extra pass where nothing is to be clipped."""
        gradients = [p.grad for p in self.parameters]
        norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
        if norm > most:
            torch._foreach_mul_(gradients, most / norm)

    def step(self, attention):
        begin = time.perf_counter()
        loss = self.model(self.tokens, self.labels, attention)
        loss.backward()
        self.clip(1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        value = loss.item()
        return time.perf_counter() - begin, value


def choose_attention(trainer):
    ways = {"bmm": attention_by_bmm, "library": attention_by_library}
    if LIBRARY_ATTENTION is None:
        del ways["library"]
    if ARGUMENTS.attention != "both":
        return ARGUMENTS.attention, ways[ARGUMENTS.attention]
    trainer.step(attention_by_bmm)  # pages, and the optimizer's state
    seconds = {name: min(trainer.step(way)[0] for _ in range(2)) for name, way in ways.items()}
    fastest = min(seconds, key=seconds.get)
    return fastest, ways[fastest]


def main():
    torch.set_num_threads(ARGUMENTS.threads)
    torch.set_flush_denormal(True)
    trainer = Trainer(ARGUMENTS.config, ARGUMENTS.batch, ARGUMENTS.seq)
    name, attention = choose_attention(trainer)
    trainer.step(attention)
    if ARGUMENTS.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            trainer.step(attention)
        print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=20), file=sys.stderr)
    steps = [trainer.step(attention) for _ in range(ARGUMENTS.steps)]
    seconds = [step[0] for step in steps]
    median = statistics.median(seconds)
    print(json.dumps({
        "peer": f"PyTorch {torch.__version__}", "attention": name, "batch": ARGUMENTS.batch, "seq": ARGUMENTS.seq,
        "threads": ARGUMENTS.threads, "step_seconds": median, "all_step_seconds": seconds,
        "tokens_per_second": ARGUMENTS.batch * ARGUMENTS.seq / median, "loss": steps[-1][1]}))


if __name__ == "__main__":
    main()
