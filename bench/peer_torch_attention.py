#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention and its gradient on a GPU, at the sizes of attention_cuda.cpp: milliseconds and
TFLOP/s by the causal count. Flash also in its deterministic mode, whose bits repeat."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

# name, batch, tokens, heads, heads of keys, head size
SHAPES = [("GPT-2 124M, 64 x 1024", 64, 1024, 12, 12, 64), ("Llama 1B, 8 x 4096", 8, 4096, 32, 8, 64),
          ("Llama 8B, 2 x 4096", 2, 4096, 32, 8, 128)]
SHAPES += [(f"heads of {e}, {batch} x {seq}", batch, seq, 32, 8, e) for e in (64, 128) for batch, seq in ((4, 4096), (1, 16384), (1, 32768))]
WAYS = [(SDPBackend.FLASH_ATTENTION, False), (SDPBackend.FLASH_ATTENTION, True), (SDPBackend.CUDNN_ATTENTION, False)]


def milliseconds(run, rounds=5):
    for _ in range(3):
        run()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(rounds):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / rounds


def main():
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}: forward, backward")
    for name, batch, seq, heads, kv_heads, e in SHAPES:
        def made(count):
            return torch.randn(batch, seq, count, e, device="cuda", dtype=torch.bfloat16).transpose(1, 2)

        q, k, v = (made(count).requires_grad_() for count in (heads, kv_heads, kv_heads))
        dout = made(heads)
        for backend, repeatable in WAYS:
            torch.use_deterministic_algorithms(repeatable)
            def forward():
                return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv_heads)

            with sdpa_kernel(backend):
                before = milliseconds(forward)
                out = forward()
                after = milliseconds(lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True))
            flops = 2 * batch * heads * seq * seq * e
            print(f"{name:<28} {backend.name + (', repeatable' if repeatable else ''):<28} {before:8.3f} {flops / before * 1e-9:5.0f} "
                  f"{after:8.3f} {2.5 * flops / after * 1e-9:5.0f}", flush=True)


if __name__ == "__main__":
    main()
