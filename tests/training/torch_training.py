# SPDX-License-Identifier: Apache-2.0
"""The runs of cases.py in PyTorch, in double: its own reading of weights and shards, windows and order (sample_order.py),
models and Lion from the papers, optimizers of torch.optim and learning rates. It shares no code with Tessera."""
import json
import math
import pathlib
import struct
import sys

import torch
from torch.nn import functional as F

import cases
import sample_order

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "parity"))
import torch_muon  # noqa: E402


def load_weights(folder):
    content = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    weights = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = torch.tensor(struct.unpack(f"<{(end - begin) // 4}f", content[begin:end]), dtype=torch.float64)
        weights[name] = values.reshape(entry["shape"]).requires_grad_()
    return weights


def attend(q, k, v, batch):
    """Each [batch, heads, positions, size]; a token sees those before it in its own document."""
    document = batch["document"]
    seq = document.shape[1]
    seen = (document[:, :, None] == document[:, None, :]) & torch.ones(seq, seq, dtype=torch.bool).tril()
    scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(~seen[:, None], -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


def heads_of(x, size):
    return x.unflatten(-1, (-1, size)).transpose(1, 2)


def gpt2_logits(config, w, batch):
    d = config["n_embd"]

    def norm(x, name):
        return F.layer_norm(x, (d,), w[f"transformer.{name}.weight"], w[f"transformer.{name}.bias"],
                            config["layer_norm_epsilon"])

    def conv1d(x, name):
        return x @ w[f"transformer.{name}.weight"] + w[f"transformer.{name}.bias"]

    x = w["transformer.wte.weight"][batch["tokens"]] + w["transformer.wpe.weight"][batch["positions"]]
    for i in range(config["n_layer"]):
        q, k, v = (heads_of(part, d // config["n_head"])
                   for part in conv1d(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(d, dim=-1))
        x = x + conv1d(attend(q, k, v, batch), f"h.{i}.attn.c_proj")
        inner = F.gelu(conv1d(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        x = x + conv1d(inner, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["transformer.wte.weight"].T


def rotate(x, positions, base):
    """Element i turns with element i + size/2."""
    size = x.shape[-1]
    frequencies = torch.tensor([base ** (-2 * i / size) for i in range(size // 2)], dtype=torch.float64)
    angles = positions[:, None, :, None] * frequencies
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], dim=-1)


def llama_logits(config, w, batch):
    size = config["hidden_size"] // config["num_attention_heads"]
    group = config["num_attention_heads"] // config["num_key_value_heads"]

    def norm(x, name):
        return w[f"model.{name}.weight"] * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + config["rms_norm_eps"])

    def linear(x, name):
        return x @ w[f"model.{name}.weight"].T

    x = w["model.embed_tokens.weight"][batch["tokens"]]
    for i in range(config["num_hidden_layers"]):
        layer = f"layers.{i}"
        y = norm(x, f"{layer}.input_layernorm")
        q, k, v = (heads_of(linear(y, f"{layer}.self_attn.{part}_proj"), size) for part in "qkv")
        q, k = (rotate(part, batch["positions"], config["rope_theta"]) for part in (q, k))
        k, v = (part.repeat_interleave(group, dim=1) for part in (k, v))
        x = x + linear(attend(q, k, v, batch), f"{layer}.self_attn.o_proj")
        y = norm(x, f"{layer}.post_attention_layernorm")
        x = x + linear(F.silu(linear(y, f"{layer}.mlp.gate_proj")) * linear(y, f"{layer}.mlp.up_proj"),
                       f"{layer}.mlp.down_proj")
    return norm(x, "norm") @ w["lm_head.weight"].T


def learning_rate(settings, step):
    """Of the step with that number, counted from 1."""
    peak, low, steps = settings["train.learning_rate"], settings["train.min_learning_rate"], settings["train.steps"]
    warmup, schedule = settings["train.warmup_steps"], settings["train.schedule"]
    if step <= warmup:
        return peak * step / warmup
    done = (step - 1 - warmup) / (steps - warmup)  # of the steps after the warm-up, before this one
    if schedule == "cosine":
        share = (1 + math.cos(math.pi * done)) / 2
    elif schedule == "linear":
        share = 1 - done
    elif schedule == "wsd":
        begin = max(warmup, steps - round(settings["train.decay_fraction"] * steps))
        share = min(1, 1 - (step - 1 - begin) / (steps - begin))
    else:
        share = 1
    return peak * (low + (1 - low) * share)


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Symbolic Discovery of Optimization Algorithms (Chen et al.)."""

    def __init__(self, groups, betas):
        super().__init__(groups, {"lr": 0.0, "weight_decay": 0.0})
        self.betas = betas

    @torch.no_grad()
    def step(self):
        beta1, beta2 = self.betas
        for group in self.param_groups:
            for weight in group["params"]:
                mean = self.state[weight].setdefault("mean", torch.zeros_like(weight))
                direction = (beta1 * mean + (1 - beta1) * weight.grad).sign()
                weight.sub_(group["lr"] * (direction + group["weight_decay"] * weight))
                mean.mul_(beta2).add_(weight.grad, alpha=1 - beta2)


class DecoupledSgd(torch.optim.SGD):
    """PyTorch adds the decay to the gradient; here it is taken of the weights, as AdamW does."""

    @torch.no_grad()
    def step(self):
        decays = [group["weight_decay"] for group in self.param_groups]
        for group in self.param_groups:
            for weight in group["params"]:
                weight.mul_(1 - group["lr"] * group["weight_decay"])
            group["weight_decay"] = 0
        super().step()
        for group, decay in zip(self.param_groups, decays):
            group["weight_decay"] = decay


def make_optimizer(settings, groups, weights):
    betas = (settings["train.beta1"], settings["train.beta2"])
    kind = settings.get("train.optimizer", "adamw")
    if kind == "sgd":
        return DecoupledSgd(groups, lr=0.0, momentum=settings["train.momentum"])
    if kind == "lion":
        return Lion(groups, betas)
    if kind == "muon":
        matrices = [w for name, w in weights.items() if w.dim() > 1 and name.startswith("model.layers.")]
        return torch_muon.MuonAndAdamW(matrices, {key[6:]: value for key, value in settings.items()}, groups)
    return torch.optim.AdamW(groups, betas=betas, eps=settings["train.epsilon"])


class Run:
    def __init__(self, case, folder):
        model = cases.CASES[case][0]
        self.settings, self.config = cases.settings_of(case), cases.MODELS[model]
        self.logits = {"llama": llama_logits, "gpt2": gpt2_logits}[model]
        self.weights = load_weights(folder / model)
        self.averages = {name: weight.detach().clone() for name, weight in self.weights.items()}
        self.data = sample_order.open_data(self.settings, folder)
        decayed = [w for w in self.weights.values() if w.dim() > 1]
        others = [w for w in self.weights.values() if w.dim() == 1]
        self.optimizer = make_optimizer(self.settings,
                                        [{"params": decayed, "weight_decay": self.settings["train.weight_decay"]},
                                         {"params": others, "weight_decay": 0.0}], self.weights)

    def batch(self, first, count, held_out=False):
        masked = self.settings.get("data.document_mask") == "true"
        rows = [sample_order.row_of(self.data.sample(first + i, held_out), masked) for i in range(count)]
        return {field: torch.tensor([row[field] for row in rows]) for field in rows[0]}

    def loss_sum(self, batch):
        logits = self.logits(self.config, self.weights, batch)
        return F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-1, reduction="sum")

    def step(self, number):
        """(loss, gradient norm, learning rate)"""
        rows = self.settings["train.batch"]
        batch = self.batch((number - 1) * rows, rows)
        loss = self.loss_sum(batch) / (batch["labels"] >= 0).sum()
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.weights.values(), self.settings["train.clip_norm"] or math.inf)
        rate = learning_rate(self.settings, number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        decay = self.settings.get("train.ema_decay", 0)
        for name, average in self.averages.items():
            average.mul_(decay).add_(self.weights[name].detach(), alpha=1 - decay)
        return loss.item(), norm.item(), rate

    def held_out_loss(self):
        rows = self.settings["train.batch"]
        batch = self.batch(0, rows * self.settings["train.eval_batches"], True)
        with torch.no_grad():
            return (self.loss_sum(batch) / (batch["labels"] >= 0).sum()).item()


def digest(values):
    """A few numbers that any other tensor would differ in."""
    flat = values.detach().flatten()
    weights = torch.arange(1, len(flat) + 1, dtype=torch.float64).sin()
    return [flat.sum().item(), flat.square().sum().item(), (flat * weights).sum().item()]


def golden(case, folder):
    torch.set_num_threads(1)
    run = Run(case, folder)
    steps = [run.step(number) for number in range(1, 11)]
    held_out = [run.held_out_loss()]
    for tens in (1, 2):
        steps += [run.step(number) for number in range(10 * tens + 1, 10 * tens + 11)]
        held_out.append(run.held_out_loss())
    kept = run.averages if run.settings.get("train.ema_decay") else run.weights
    return {"losses": [s[0] for s in steps], "gradient_norms": [s[1] for s in steps], "learning_rates": [s[2] for s in steps],
            "held_out_losses": held_out, "weights": {name: digest(w) for name, w in kept.items()}}
