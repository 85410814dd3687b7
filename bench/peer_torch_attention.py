#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention and its gradient on a GPU beside PyTorch's scaled_dot_product_attention, one table: milliseconds and TFLOP/s of the
pairs that the mask leaves. Runs build/cuda/tessera_attention_bench with the arguments and times PyTorch at the sizes that it prints. PyTorch's columns are the better of its two kernels and which it was; flash also in its deterministic mode, whose bits
repeat. It has no mask by documents: there its documents are rows of a larger batch, the best that they could be."""
import re
import subprocess
import sys
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

MODELS = {"GPT-2 124M": (12, 12, 64, 64), "Llama 1B": (32, 8, 64, 64), "Llama 8B": (32, 8, 128, 128),
          "64": (32, 8, 64, 64), "128": (32, 8, 128, 128), "192/128": (32, 32, 192, 128)}
TOKENS = {"Llama 1B, 8 documents": (8, 4096), "Llama 8B, 8 documents": (2, 4096)}
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
LONG_MS = 100  # what takes longer is timed once


def milliseconds(run):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(rounds):
        begin.record()
        for _ in range(rounds):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / rounds

    run()
    once = timed(1)
    return once if once > LONG_MS else timed(5)


class Shape:
    def __init__(self, name):
        heads, kv_heads, e, value_e = MODELS[name.split(",")[0]]
        sizes = re.search(r"(\d+) x (\d+)", name)
        batch, seq = map(int, sizes.groups()) if sizes else TOKENS[name]
        documents = 8 if name.endswith("8 documents") else 1
        batch, seq = batch * documents, seq // documents

        def made(count, size):
            return torch.randn(batch, seq, count, size, device="cuda", dtype=torch.bfloat16).transpose(1, 2)

        self.grouped = heads != kv_heads
        self.tensors = [made(heads, e).requires_grad_(), made(kv_heads, e).requires_grad_(), made(kv_heads, value_e).requires_grad_()]
        self.dout = made(heads, value_e)
        pairs = batch * heads * seq * seq / 2
        self.flops = (pairs * 2 * (e + value_e), pairs * (6 * e + 4 * value_e))

    def forward(self):
        return scaled_dot_product_attention(*self.tensors, is_causal=True, enable_gqa=self.grouped)

    # Of the forward and the backward, or None where the backend refuses.
    def times(self, backend, repeatable):
        torch.use_deterministic_algorithms(repeatable)
        try:
            with sdpa_kernel(BACKENDS[backend]):
                before = milliseconds(self.forward)
                out = self.forward()
                return before, milliseconds(lambda: torch.autograd.grad(out, self.tensors, self.dout, retain_graph=True))
        except RuntimeError:
            return None
        finally:
            torch.use_deterministic_algorithms(False)


def cell(ms, flops, name=""):
    return f"{ms:.3f} {flops / ms * 1e-9:.0f} {name}".strip()


def peer_cells(name):
    shape = Shape(name)
    times = {backend: shape.times(backend, False) for backend in BACKENDS}
    times = {backend: each for backend, each in times.items() if each}
    cells = []
    for i in (0, 1):
        best = min(times, key=lambda backend: times[backend][i], default=None)
        cells.append(cell(times[best][i], shape.flops[i], best) if best else "-")
    repeated = shape.times("flash", True)
    return cells + [cell(repeated[1], shape.flops[1]) if repeated else "-"]


def main():
    bench = Path(__file__).resolve().parent.parent / "build/cuda/tessera_attention_bench"
    lines = subprocess.run([bench, *sys.argv[1:]], check=True, capture_output=True, text=True).stdout.splitlines()
    print(f"{lines[0]}; PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    titles = ("forward", "backward", "in any order", "PyTorch: forward", "backward, any order", "repeatable")
    print(f"{'':<28}" + "".join(f" {title:>20}" for title in titles))
    for line in lines[2:]:
        name, ours = line[:28].strip(), re.split(r"\s{2,}", line[28:].strip())
        print(f"{name:<28}" + "".join(f" {each:>20}" for each in ours + peer_cells(name)), flush=True)


if __name__ == "__main__":
    main()
