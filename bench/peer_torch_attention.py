#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention and its gradient on a GPU, at the sizes of attention_cuda.cpp."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

# name, batch, tokens, heads, heads of keys, head size
SHAPES = [("GPT-2 124M, 64 x 1024", 64, 1024, 12, 12, 64), ("Llama 1B, 8 x 4096", 8, 4096, 32, 8, 64),
          ("Llama 8B, 2 x 4096", 2, 4096, 32, 8, 128)]


def milliseconds(run, rounds=10):
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
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            def forward():
                return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=heads != kv_heads)

            with sdpa_kernel(backend):
                before = milliseconds(forward)
                out = forward()
                after = milliseconds(lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True))
            print(f"{name:<28} {backend.name:<18} {before:7.3f} ms {after:7.3f} ms", flush=True)


if __name__ == "__main__":
    main()
