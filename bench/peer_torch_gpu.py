#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer on a GPU: a training step of GPT-2, Llama 3, Qwen 3 or a mixture of experts in PyTorch with torch.compile,
scaled-dot-product attention, grouped products of experts, fused AdamW and clipping, the same maths as `tessera bench step
--device cuda`. bf16: autocast over fp32 weights;
pure_bf16: weights, gradients and moments in bf16. Prints one JSON object, with the seconds before the first steady
step, the peak of what tensors took, what the driver says is in use at the end, and joules.

torch.compile compiles a region of a few layers once and runs it for all of them: a whole model of 32 layers takes
minutes to compile. Recomputation is inside the region, so that the compiler rebuilds only what a gradient reads."""
import argparse
import json
import os
import statistics
import sys
import time

BEGIN = time.perf_counter()
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # which repeatable bits need
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch  # noqa: E402
from nvml_energy import GpuEnergy  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils import checkpoint as rebuilding  # noqa: E402

GPT2 = {"family": "gpt", "kv_heads": 0, "mlp": 0, "vocabulary": 50257, "context": 1024, "tied": True}
LLAMA = {"family": "llama", "kv_heads": 8, "vocabulary": 128256, "context": 131072}
MIXTURE = {"family": "llama", "tied": False}
PRESETS = {
    "gpt2-124m": {**GPT2, "layers": 12, "width": 768, "heads": 12},
    "gpt2-350m": {**GPT2, "layers": 24, "width": 1024, "heads": 16},
    "gpt2-1.5b": {**GPT2, "layers": 48, "width": 1600, "heads": 25},
    "llama3-1b": {**LLAMA, "layers": 16, "width": 2048, "heads": 32, "mlp": 8192, "tied": True},
    "llama3-3b": {**LLAMA, "layers": 28, "width": 3072, "heads": 24, "mlp": 8192, "tied": True},
    "llama3-8b": {**LLAMA, "layers": 32, "width": 4096, "heads": 32, "mlp": 14336, "tied": False},
    "qwen3-8b": {**LLAMA, "layers": 36, "width": 4096, "heads": 32, "head_size": 128, "mlp": 12288, "tied": False,
                 "vocabulary": 151936, "context": 40960, "qk_norm": "head"},
    "olmoe-1b-7b": {**MIXTURE, "layers": 16, "width": 2048, "heads": 16, "kv_heads": 16, "vocabulary": 50304, "qk_norm": "width",
                    "experts": 64, "top_k": 8, "mlp": 1024, "normalised": False,
                    "balance_loss": 0.01 / 16, "z_loss": 0.001 / 16},
    "qwen3-30b-a3b": {**MIXTURE, "layers": 48, "width": 2048, "heads": 32, "kv_heads": 4, "head_size": 128,
                      "vocabulary": 151936, "qk_norm": "head", "experts": 128, "top_k": 8, "mlp": 768, "normalised": True,
                      "balance_loss": 0.001, "z_loss": 0.0},
}


ATTENTION = [getattr(torch.ops.aten, f"_scaled_dot_product_{kind}_attention").default
             for kind in ("flash", "cudnn", "efficient")]


def rebuild_all_but_attention(_context, op, *_operands, **_options):
    policy = rebuilding.CheckpointPolicy
    return policy.MUST_SAVE if op in ATTENTION else policy.PREFER_RECOMPUTE


def keeping_attention():
    return rebuilding.create_selective_checkpoint_contexts(rebuild_all_but_attention)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=PRESETS, default="gpt2-124m")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--layers", type=int, help="instead of the preset's")
    parser.add_argument("--precision", choices=("bf16", "pure_bf16"), default="bf16")
    parser.add_argument("--recompute", choices=("none", "block", "block_keep_attention"), default="none",
                        help="what a layer's backward rebuilds")
    parser.add_argument("--region", type=int, default=1, help="layers compiled as one; 0: the whole model")
    parser.add_argument("--deterministic", action="store_true", help="the same bits on every run: flash attention")
    parser.add_argument("--wait", action="store_true", help="imports PyTorch, then waits for a line before using the GPU")
    parser.add_argument("--warmup", type=int, default=5, help="steps before those measured, the compilation among them")
    parser.add_argument("--steps", type=int, default=10)
    return parser.parse_args()


class GptBlock(nn.Module):
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

    def forward(self, x, _cosine, _sine):
        batch, seq, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, seq, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, seq, width))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


def rotated(x, cosine, sine):
    a, b = x.float().chunk(2, -1)
    return torch.cat((a * cosine - b * sine, b * cosine + a * sine), -1).to(x.dtype)


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate = nn.Linear(config["width"], config["mlp"], bias=False)
        self.up = nn.Linear(config["width"], config["mlp"], bias=False)
        self.down = nn.Linear(config["mlp"], config["width"], bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Mixture(nn.Module):
    """Rows sorted by expert, grouped products, and each token's rows fetched back and added."""

    def __init__(self, config):
        super().__init__()
        self.experts, self.top_k, self.normalised = config["experts"], config["top_k"], config["normalised"]
        self.balance_loss, self.z_loss = config["balance_loss"], config["z_loss"]
        self.router = nn.Linear(config["width"], self.experts, bias=False)
        self.gate_up = nn.Parameter(torch.empty(self.experts, config["width"], 2 * config["mlp"]))
        self.down = nn.Parameter(torch.empty(self.experts, config["mlp"], config["width"]))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        logits = self.router(tokens).float()
        scores = logits.softmax(-1)
        gates, chosen = scores.topk(self.top_k, -1)
        if self.normalised:
            gates = gates / gates.sum(-1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)
        counts = torch.histc(chosen.flatten().float(), self.experts, 0, self.experts)
        ends = counts.cumsum(0).to(torch.int32)
        gate, up = torch._grouped_mm(tokens[order // self.top_k], self.gate_up, offs=ends).chunk(2, -1)
        y = torch._grouped_mm(F.silu(gate) * up, self.down, offs=ends)
        place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        out = (y[place].view(-1, self.top_k, y.shape[-1]) * gates[:, :, None]).sum(1).to(x.dtype)
        loss = self.balance_loss * self.experts / (self.top_k * len(tokens)) * (counts * scores.mean(0)).sum()
        if self.z_loss > 0:
            loss = loss + self.z_loss * logits.logsumexp(-1).square().mean()
        return out.view_as(x), loss


class LlamaBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, self.heads, self.kv_heads = config["width"], config["heads"], config["kv_heads"]
        size = config.get("head_size", width // self.heads)
        self.attention_norm = nn.RMSNorm(width, eps=1e-5)
        self.q = nn.Linear(width, self.heads * size, bias=False)
        self.k = nn.Linear(width, self.kv_heads * size, bias=False)
        self.v = nn.Linear(width, self.kv_heads * size, bias=False)
        self.out = nn.Linear(self.heads * size, width, bias=False)
        self.qk_norm = config.get("qk_norm")
        if self.qk_norm:
            per_head = self.qk_norm == "head"
            self.q_norm = nn.RMSNorm(size if per_head else self.heads * size, eps=1e-5)
            self.k_norm = nn.RMSNorm(size if per_head else self.kv_heads * size, eps=1e-5)
        self.mlp_norm = nn.RMSNorm(width, eps=1e-5)
        self.mlp = Mixture(config) if "experts" in config else Mlp(config)

    def heads_of(self, x, heads, norm):
        batch, seq, _ = x.shape
        if self.qk_norm == "width" and norm:
            x = norm(x)
        x = x.view(batch, seq, heads, -1)
        if self.qk_norm == "head" and norm:
            x = norm(x)
        return x.transpose(1, 2)

    def forward(self, x, cosine, sine):
        batch, seq, _ = x.shape
        n = self.attention_norm(x)
        q = self.heads_of(self.q(n), self.heads, self.q_norm if self.qk_norm else None)
        k = self.heads_of(self.k(n), self.kv_heads, self.k_norm if self.qk_norm else None)
        v = self.heads_of(self.v(n), self.kv_heads, None)
        q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, seq, -1))
        y = self.mlp(self.mlp_norm(x))
        if isinstance(y, tuple):
            return x + y[0], y[1]
        return x + y


class Region(nn.Module):
    """Layers that are compiled as one. Returns the stream, and with it the experts' losses where there are experts."""

    def __init__(self, blocks, recompute):
        super().__init__()
        self.blocks, self.recompute = nn.ModuleList(blocks), recompute

    def forward(self, x, cosine, sine):
        loss = None
        for block in self.blocks:
            if self.recompute == "none":
                x = block(x, cosine, sine)
            elif self.recompute == "block":
                x = rebuilding.checkpoint(block, x, cosine, sine, use_reentrant=False, preserve_rng_state=False)
            else:
                x = rebuilding.checkpoint(block, x, cosine, sine, use_reentrant=False, preserve_rng_state=False,
                                          context_fn=keeping_attention)
            if isinstance(x, tuple):
                x, added = x
                loss = added if loss is None else loss + added
        return x if loss is None else (x, loss)


class Head(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["width"]
        self.norm = nn.LayerNorm(width) if config["family"] == "gpt" else nn.RMSNorm(width, eps=1e-5)
        self.linear = nn.Linear(width, config["vocabulary"], bias=False)

    def forward(self, x, labels):
        return F.cross_entropy(self.linear(self.norm(x)).flatten(0, 1).float(), labels.flatten())


class Transformer(nn.Module):
    def __init__(self, config, arguments):
        super().__init__()
        width, self.is_gpt, layers = config["width"], config["family"] == "gpt", config["layers"]
        self.table = nn.Embedding(config["vocabulary"], width)
        if self.is_gpt:
            self.positions = nn.Embedding(config["context"], width)
        block = GptBlock if self.is_gpt else LlamaBlock
        size = arguments.region or layers
        if layers % size != 0:
            size = 1
        self.regions = nn.ModuleList([Region([block(config) for _ in range(size)], arguments.recompute)
                                      for _ in range(layers // size)])
        self.head = Head(config)
        if config["tied"]:
            self.head.linear.weight = self.table.weight
        half = config.get("head_size", width // config["heads"]) // 2
        angles = torch.arange(arguments.seq)[:, None] * 500000.0 ** (-torch.arange(half) / half)[None]
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, labels):
        x = self.table(tokens)
        if self.is_gpt:
            x = x + self.positions.weight[:tokens.shape[1]]
        loss = 0.0
        for region in self.regions:
            x = region(x, self.cosine, self.sine)
            if isinstance(x, tuple):
                x, added = x
                loss = loss + added
        return self.head(x, labels) + loss

    def compiled(self, whole):
        if whole:
            return torch.compile(self, dynamic=False)
        for part in (*self.regions, self.head):
            part.compile(dynamic=False)
        return self


class Trainer:
    def __init__(self, arguments, config):
        torch.manual_seed(1)
        self.autocast = arguments.precision == "bf16"
        with torch.device("cuda"):
            torch.set_default_dtype(torch.float32 if self.autocast else torch.bfloat16)
            model = Transformer(config, arguments)
            torch.set_default_dtype(torch.float32)
            self.tokens = torch.randint(config["vocabulary"], (arguments.batch, arguments.seq))
            self.labels = torch.randint(config["vocabulary"], (arguments.batch, arguments.seq))
        model.cosine, model.sine = model.cosine.float(), model.sine.float()
        self.parameters = list(model.parameters())
        decayed = [p for p in self.parameters if p.dim() > 1]
        spared = [p for p in self.parameters if p.dim() == 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": 0.1}, {"params": spared, "weight_decay": 0.0}],
            lr=1e-4, betas=(0.9, 0.95), fused=True)
        self.model = model.compiled(arguments.region == 0)

    def step(self):
        with torch.autocast("cuda", torch.bfloat16, enabled=self.autocast):
            loss = self.model(self.tokens, self.labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss


def be_deterministic():
    torch.use_deterministic_algorithms(True)
    for allow in (torch.backends.cuda.enable_cudnn_sdp, torch.backends.cuda.enable_mem_efficient_sdp,
                  torch.backends.cuda.enable_math_sdp):
        allow(False)


def main():
    arguments = parse_arguments()
    if arguments.wait and not sys.stdin.readline():
        sys.exit("error: nobody waits for this any more")
    begin = time.perf_counter() if arguments.wait else BEGIN
    if not torch.cuda.is_available():
        sys.exit("error: PyTorch finds no GPU here")
    torch.set_float32_matmul_precision("high")
    if arguments.deterministic:
        be_deterministic()
    config = dict(PRESETS[arguments.model])
    config["layers"] = arguments.layers or config["layers"]
    trainer = Trainer(arguments, config)
    for _ in range(arguments.warmup):
        loss = trainer.step()
    torch.cuda.synchronize()
    before = time.perf_counter() - begin
    energy = GpuEnergy(torch.cuda.get_device_properties(0).uuid)
    seconds, joules = [], energy.joules()
    for _ in range(arguments.steps):
        begin = time.perf_counter()
        loss = trainer.step()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    spent = energy.since(joules)
    median = statistics.median(seconds)
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({
        "peer": f"PyTorch {torch.__version__}", "model": arguments.model, "batch": arguments.batch,
        "seq": arguments.seq, "precision": arguments.precision, "recompute": arguments.recompute,
        "deterministic": arguments.deterministic, "step_seconds": median, "all_step_seconds": seconds,
        "tokens_per_second": arguments.batch * arguments.seq / median, "loss": loss.item(),
        "seconds_before_steady": before, "peak_bytes": torch.cuda.max_memory_allocated(),
        "device_bytes": total - free, "joules_per_step": spent and spent / arguments.steps,
        "watts": spent and spent / sum(seconds)}))


if __name__ == "__main__":
    main()
