#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of mixtures of experts on a CPU: one training step in PyTorch of a Llama-like model whose experts run in a loop, with
index_select and index_add, as Debian's version offers nothing grouped. The same maths as `tessera bench step`: gradients, norm,
clipping, AdamW, balance loss. Prints one JSON object. Run by the system's python3, which has torch."""
import argparse
import json
import math
import os
import statistics
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for key in ("layers", "width", "heads", "kv-heads", "vocabulary", "experts", "top-k", "expert-mlp-size"):
        parser.add_argument(f"--{key}", type=int, required=True)
    parser.add_argument("--normalised-gates", type=int, choices=(0, 1), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, default=3)
    return parser.parse_args()


ARGUMENTS = parse_arguments()
# Both thread pools that torch uses read these when it is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class RmsNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


def rotate(x, turns):
    """x: [batch, heads, seq, size] with the two halves of a head as pairs; turns: [seq, size / 2], complex."""
    first, second = x.chunk(2, -1)
    cosine, sine = turns
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


class Attention(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.heads, self.kv_heads, self.size = a.heads, a.kv_heads, a.width // a.heads
        self.qkv = nn.Linear(a.width, (a.heads + 2 * a.kv_heads) * self.size, bias=False)
        self.out = nn.Linear(a.width, a.width, bias=False)
        self.q_norm, self.k_norm = RmsNorm(self.size), RmsNorm(self.size)

    def forward(self, x, turns, mask):
        batch, seq, width = x.shape
        qkv = self.qkv(x).view(batch, seq, -1, self.size).transpose(1, 2)
        q, k, v = qkv.split((self.heads, self.kv_heads, self.kv_heads), 1)
        q, k = rotate(self.q_norm(q), turns), rotate(self.k_norm(k), turns)
        group = self.heads // self.kv_heads
        q = q.reshape(batch * self.kv_heads, group * seq, self.size)
        k, v = (y.reshape(batch * self.kv_heads, seq, self.size) for y in (k, v))
        scores = torch.baddbmm(mask.repeat(1, group, 1), q, k.transpose(1, 2), alpha=1 / math.sqrt(self.size))
        y = (scores.softmax(-1) @ v).view(batch, self.heads, seq, self.size).transpose(1, 2)
        return self.out(y.reshape(batch, seq, width))


class Mixture(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.top_k, self.normalised = a.top_k, a.normalised_gates
        self.router = nn.Linear(a.width, a.experts, bias=False)
        self.gate_up = nn.ParameterList(nn.Parameter(torch.empty(2 * a.expert_mlp_size, a.width)) for _ in range(a.experts))
        self.down = nn.ParameterList(nn.Parameter(torch.empty(a.width, a.expert_mlp_size)) for _ in range(a.experts))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        scores = self.router(tokens).softmax(-1)
        gates, chosen = scores.topk(self.top_k, -1)
        if self.normalised:
            gates = gates / gates.sum(-1, keepdim=True)
        counts = torch.bincount(chosen.flatten(), minlength=len(self.down))
        order = chosen.flatten().argsort(stable=True)
        out = torch.zeros_like(tokens)
        for expert, rows in enumerate(order.split(counts.tolist())):
            if rows.numel() == 0:
                continue
            source = rows // self.top_k
            gate, up = F.linear(tokens.index_select(0, source), self.gate_up[expert]).chunk(2, -1)
            y = F.linear(F.silu(gate) * up, self.down[expert])
            out.index_add_(0, source, y * gates.flatten().index_select(0, rows)[:, None])
        self.balance = len(self.down) / (self.top_k * len(tokens)) * (counts * scores.mean(0)).sum()
        return out.view_as(x)


class Model(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.table = nn.Embedding(a.vocabulary, a.width)
        self.layers = nn.ModuleList(
            nn.ModuleList((RmsNorm(a.width), Attention(a), RmsNorm(a.width), Mixture(a))) for _ in range(a.layers))
        self.norm, self.head = RmsNorm(a.width), nn.Linear(a.width, a.vocabulary, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        size = a.width // a.heads
        angles = torch.arange(a.seq)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
        self.turns = angles.cos(), angles.sin()
        self.mask = torch.full((1, a.seq, a.seq), -math.inf).triu(1)

    def forward(self, tokens, labels):
        x = self.table(tokens)
        balance = 0
        for attention_norm, attention, norm, mixture in self.layers:
            x = x + attention(attention_norm(x), self.turns, self.mask)
            x = x + mixture(norm(x))
            balance = balance + mixture.balance
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten()) + 0.01 * balance


def main():
    torch.set_num_threads(ARGUMENTS.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    model = Model(ARGUMENTS)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, foreach=False)
    tokens, labels = (torch.randint(ARGUMENTS.vocabulary, (ARGUMENTS.batch, ARGUMENTS.seq)) for _ in range(2))

    def step():
        begin = time.perf_counter()
        loss = model(tokens, labels)
        loss.backward()
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = torch.stack(torch._foreach_norm(gradients)).norm().item()
        if norm > 1:
            torch._foreach_mul_(gradients, 1 / norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return time.perf_counter() - begin, loss.item()

    step()
    steps = [step() for _ in range(ARGUMENTS.steps)]
    median = statistics.median(seconds for seconds, _ in steps)
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "step_seconds": median, "loss": steps[-1][1],
                      "tokens_per_second": ARGUMENTS.batch * ARGUMENTS.seq / median}))


if __name__ == "__main__":
    main()
