# SPDX-License-Identifier: Apache-2.0
"""The four model families in plain PyTorch, from their papers: linear layers of two dims, attention by a full matrix,
experts in a loop, the whole logits. `loss_sum` adds up the losses of a batch; whoever trains divides by the number of labels. In bf16,
norms, rotations, softmaxes, routers and losses are worked out in fp32, as is usual."""
import math

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def wide(x):
    """In fp32, or in fp64 if it is."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


class RmsNorm(nn.Module):
    def __init__(self, size, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x):
        scaled = wide(x) / torch.sqrt(wide(x).square().mean(-1, keepdim=True) + self.epsilon)
        return (scaled * self.weight).to(x.dtype)


def kept_share(config, pair, pairs):
    """How much of a pair's frequency is left as it is. Llama 3.1 has a ramp over the turns that a pair makes within the
    original context, YaRN over the pairs between two numbers of turns, which lie on whole pairs."""
    low, high = config["rope_low_freq_factor"], config["rope_high_freq_factor"]
    if config["rope_scaling"] == "llama3":
        turns = config["rope_original_context"] * config["rope_theta"] ** (-pair / pairs) / (2 * math.pi)
        return min(1.0, max(0.0, (turns - low) / (high - low)))
    # theta ^ (-pair / pairs) x context / 2 pi = turns, solved for the pair
    first, last = (pairs * math.log(config["rope_original_context"] / (2 * math.pi * turns), config["rope_theta"])
                   for turns in (high, low))
    first, last = max(math.floor(first), 0), min(math.ceil(last), 2 * pairs - 1)
    return 1 - min(1.0, max(0.0, (pair - first) / (last - first)))


def rope_frequencies(config, size):
    """Radians per position of each pair; slow ones may be divided by a factor."""
    pairs = size // 2
    frequencies = []
    for i in range(pairs):
        kept = kept_share(config, i, pairs)
        frequencies.append(config["rope_theta"] ** (-i / pairs) * (kept + (1 - kept) / config["rope_scaling_factor"]))
    return torch.tensor(frequencies, dtype=torch.float64)


def rotate(x, positions, frequencies):
    """x is batch, head, position, size; element i turns with element i + size/2."""
    angles = positions[:, None, :, None].double() * frequencies.to(x.device)
    left, right = wide(x).chunk(2, dim=-1)
    cos, sin = angles.cos().to(left.dtype), angles.sin().to(left.dtype)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1).to(x.dtype)


def attend(q, k, v, positions, document, scale):
    """Each of q, k and v is batch, head, position, size; gives batch, position, head times size."""
    scores = q @ k.transpose(-1, -2) * scale
    same_document = document[:, :, None] == document[:, None, :]
    earlier = positions[:, None, :] <= positions[:, :, None]
    scores = scores.masked_fill(~(same_document & earlier)[:, None], -math.inf)
    shares = wide(scores).softmax(-1).to(v.dtype)
    return (shares @ v).transpose(1, 2).flatten(2)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.kv_heads = config["heads"], config["kv_heads"]
        self.head_size = config["head_size"]
        width, bias = config["width"], config["bias"]
        self.q = nn.Linear(width, self.heads * self.head_size, bias=bias)
        self.k = nn.Linear(width, self.kv_heads * self.head_size, bias=bias)
        self.v = nn.Linear(width, self.kv_heads * self.head_size, bias=bias)
        self.o = nn.Linear(self.heads * self.head_size, width, bias=bias)
        self.frequencies = rope_frequencies(config, self.head_size) if config["family"] in ("llama", "qwen") else None
        self.norm_over_heads = config["qk_norm_over_heads"]
        if config["qk_norm"]:
            heads = (self.heads, self.kv_heads) if self.norm_over_heads else (1, 1)
            self.q_norm = RmsNorm(heads[0] * self.head_size, config["norm_epsilon"])
            self.k_norm = RmsNorm(heads[1] * self.head_size, config["norm_epsilon"])

    def split(self, x, heads):
        return x.unflatten(-1, (heads, self.head_size)).transpose(1, 2)

    def forward(self, x, positions, document):
        q, k = self.q(x), self.k(x)
        if self.norm_over_heads:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = self.split(q, self.heads), self.split(k, self.kv_heads), self.split(self.v(x), self.kv_heads)
        if hasattr(self, "q_norm") and not self.norm_over_heads:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.frequencies is not None:
            q, k = rotate(q, positions, self.frequencies), rotate(k, positions, self.frequencies)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, dim=1) for t in (k, v))
        return self.o(attend(q, k, v, positions, document, 1 / math.sqrt(self.head_size)))


class LatentAttention(nn.Module):
    """DeepSeek-V2's: keys and values come from one small vector, queries from another; a part of each head is rotated,
    and that of the keys is the same for all heads."""

    def __init__(self, config):
        super().__init__()
        width, heads, rank, value = config["width"], config["heads"], config["kv_rank"], config["value_head_size"]
        rope, self.heads = config["rope_head_size"], heads
        nope, q_in = config["head_size"] - rope, config["q_rank"] or width
        if config["q_rank"]:
            self.q_down, self.q_norm = nn.Linear(width, q_in, bias=False), RmsNorm(q_in, 1e-6)
        self.q, self.q_rope = nn.Linear(q_in, heads * nope, bias=False), nn.Linear(q_in, heads * rope, bias=False)
        self.kv_down, self.kv_norm = nn.Linear(width, rank, bias=False), RmsNorm(rank, 1e-6)
        self.k, self.k_rope = nn.Linear(rank, heads * nope, bias=False), nn.Linear(width, rope, bias=False)
        self.v, self.o = nn.Linear(rank, heads * value, bias=False), nn.Linear(heads * value, width, bias=False)
        self.frequencies = rope_frequencies(config, rope)
        sharper = 1 + 0.1 * config["rope_mscale"] * math.log(config["rope_scaling_factor"])
        self.scale = sharper ** 2 / math.sqrt(nope + rope)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, positions, document):
        of_q = self.q_norm(self.q_down(x)) if hasattr(self, "q_down") else x
        of_kv = self.kv_norm(self.kv_down(x))
        q_rope = rotate(self.split(self.q_rope(of_q)), positions, self.frequencies)
        k_rope = rotate(self.k_rope(x)[:, None], positions, self.frequencies).expand(-1, self.heads, -1, -1)
        q = torch.cat([self.split(self.q(of_q)), q_rope], dim=-1)
        k = torch.cat([self.split(self.k(of_kv)), k_rope], dim=-1)
        return self.o(attend(q, k, self.split(self.v(of_kv)), positions, document, self.scale))


class GptMlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config["width"], config["mlp_size"], bias=config["bias"])
        self.down = nn.Linear(config["mlp_size"], config["width"], bias=config["bias"])
        self.activation = ACTIVATIONS[config["activation"]]

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class GatedMlp(nn.Module):
    def __init__(self, config, size="mlp_size"):
        super().__init__()
        self.gate = nn.Linear(config["width"], config[size], bias=False)
        self.up = nn.Linear(config["width"], config[size], bias=False)
        self.down = nn.Linear(config[size], config["width"], bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Mixture(nn.Module):
    """A router and experts, one after the other. `losses` is what the router adds to the sum of the batch's losses."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.router = nn.Linear(config["width"], config["experts"], bias=False)
        self.experts = nn.ModuleList(GatedMlp(config, "expert_mlp_size") for _ in range(config["experts"]))
        if config["shared_mlp_size"]:
            self.shared = GatedMlp(config, "shared_mlp_size")

    def choose(self, scores):
        """The top_k experts of each token, from the groups whose two best experts score most together."""
        groups, kept = self.config["expert_groups"], self.config["kept_groups"]
        if groups > 1:
            grouped = scores.unflatten(-1, (groups, -1))
            best = grouped.topk(2, dim=-1).values.sum(-1).topk(kept, dim=-1).indices
            eligible = torch.zeros_like(grouped[..., 0]).scatter(-1, best, 1.0)[..., None].expand_as(grouped).flatten(-2)
            scores = scores.masked_fill(eligible == 0, -math.inf)
        return scores.topk(self.config["top_k"], dim=-1).indices

    def route(self, logits):
        score = self.config["router_score"]
        scores = {"softmax": lambda: logits.softmax(-1), "sigmoid": logits.sigmoid, "topk_softmax": lambda: logits}[score]()
        chosen = self.choose(scores.detach())
        gates = scores.gather(-1, chosen)
        if score == "topk_softmax":
            gates = gates.softmax(-1)
        elif self.config["normalised_gates"]:
            gates = gates / gates.sum(-1, keepdim=True)
        self.losses = self.router_losses(logits, scores, chosen)
        return gates * self.config["routed_scale"], chosen

    def router_losses(self, logits, scores, chosen):
        counts = F.one_hot(chosen, self.config["experts"]).sum((1, 2)).to(logits.dtype)
        if self.config["balance_scope"] == "microbatch":
            counts = counts.sum(0, keepdim=True)
        shares = counts / counts.sum(-1, keepdim=True)
        if self.config["router_score"] == "sigmoid":
            scores = scores / scores.sum(-1, keepdim=True)
        else:
            scores = logits.softmax(-1)
        balance = self.config["experts"] * (scores * shares[:, None]).sum()
        z = logits.logsumexp(-1).square().sum()
        return self.config["balance_loss"] * balance + self.config["router_z_loss"] * z

    def forward(self, x):
        gates, chosen = self.route(F.linear(wide(x), wide(self.router.weight)))
        gates, chosen, tokens = gates.to(x.dtype).flatten(0, 1), chosen.flatten(0, 1), x.flatten(0, 1)
        out = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            rows, choice = (chosen == i).nonzero(as_tuple=True)
            out = out.index_add(0, rows, expert(tokens[rows]) * gates[rows, choice, None])
        out = out.view_as(x)
        return out + self.shared(x) if hasattr(self, "shared") else out


def make_mlp(config, layer):
    if config["family"] == "gpt":
        return GptMlp(config)
    return Mixture(config) if config["experts"] and layer >= config["dense_layers"] else GatedMlp(config)


def make_norm(config):
    if config["family"] == "gpt":
        return nn.LayerNorm(config["width"], eps=config["norm_epsilon"])
    return RmsNorm(config["width"], config["norm_epsilon"])


class Layer(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.attention_norm, self.mlp_norm = make_norm(config), make_norm(config)
        self.attention = LatentAttention(config) if config["kv_rank"] else Attention(config)
        self.mlp = make_mlp(config, layer)

    def forward(self, x, positions, document):
        x = x + self.attention(self.attention_norm(x), positions, document)
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.words = nn.Embedding(config["vocabulary"], config["width"])
        if config["family"] == "gpt":
            self.places = nn.Embedding(config["context"], config["width"])
        self.layers = nn.ModuleList(Layer(config, layer) for layer in range(config["layers"]))
        self.norm = make_norm(config)
        self.head = nn.Linear(config["width"], config["vocabulary"], bias=False)
        if config["tied"]:
            self.head.weight = self.words.weight

    def loss_sum(self, batch):
        positions, document = batch["positions"].long(), batch["document"].long()
        x = self.words(batch["tokens"].long())
        if hasattr(self, "places"):
            x = x + self.places(positions)
        for layer in self.layers:
            x = layer(x, positions, document)
        logits = self.head(self.norm(x))
        labels = batch["labels"].long().flatten()
        return F.cross_entropy(wide(logits).flatten(0, 1), labels, ignore_index=-1, reduction="sum")

    def router_losses(self):
        """Those of the last batch, added up."""
        return sum(layer.mlp.losses for layer in self.layers if isinstance(layer.mlp, Mixture))

    @staticmethod
    def label_count(batch):
        return int((batch["labels"] != -1).sum())


class DeepMlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        sizes = [config["width"] if i % 2 == 0 else config["mlp_size"] for i in range(config["layers"] + 1)]
        self.layers = nn.ModuleList(nn.Linear(a, b, bias=config["bias"]) for a, b in zip(sizes, sizes[1:]))
        self.activation = ACTIVATIONS[config["activation"]]

    def loss_sum(self, batch):
        x = batch["x"]
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return F.mse_loss(wide(self.layers[-1](x)), wide(batch["target"]), reduction="sum")

    @staticmethod
    def router_losses():
        return 0

    @staticmethod
    def label_count(batch):
        return batch["target"].numel()


def build(config):
    return DeepMlp(config) if config["family"] == "mlp" else Transformer(config)
