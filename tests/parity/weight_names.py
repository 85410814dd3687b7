# SPDX-License-Identifier: Apache-2.0
"""Which PyTorch parameters a named tensor of Tessera is, and how to lay one out as the other. A Tessera weight has its
input dims first, then its output dims; PyTorch's has two dims, output first."""
import numpy
import torch

# Name within a layer -> (PyTorch parameters, number of input dims; 0: a vector).
LAYER = {
    "attention_norm": (["attention_norm.weight"], 0),
    "attention_norm_bias": (["attention_norm.bias"], 0),
    "wq": (["attention.q.weight"], 1),
    "wk": (["attention.k.weight"], 1),
    "wv": (["attention.v.weight"], 1),
    "wo": (["attention.o.weight"], 3),
    "bq": (["attention.q.bias"], 0),
    "bk": (["attention.k.bias"], 0),
    "bv": (["attention.v.bias"], 0),
    "bo": (["attention.o.bias"], 0),
    "q_norm": (["attention.q_norm.weight"], 0),
    "k_norm": (["attention.k_norm.weight"], 0),
    "wq_down": (["attention.q_down.weight"], 1),
    "wq_rope": (["attention.q_rope.weight"], 1),
    "wkv_down": (["attention.kv_down.weight"], 1),
    "kv_norm": (["attention.kv_norm.weight"], 0),
    "wk_rope": (["attention.k_rope.weight"], 1),
    "mlp_norm": (["mlp_norm.weight"], 0),
    "mlp_norm_bias": (["mlp_norm.bias"], 0),
    "gate_up": (["mlp.gate.weight", "mlp.up.weight"], 1),
    "up": (["mlp.up.weight"], 1),
    "up_bias": (["mlp.up.bias"], 0),
    "down": (["mlp.down.weight"], 1),
    "down_bias": (["mlp.down.bias"], 0),
    "router": (["mlp.router.weight"], 1),
    "expert_gate_up": (["mlp.experts.{}.gate.weight", "mlp.experts.{}.up.weight"], 1),
    "expert_down": (["mlp.experts.{}.down.weight"], 1),
    "shared_gate_up": (["mlp.shared.gate.weight", "mlp.shared.up.weight"], 1),
    "shared_down": (["mlp.shared.down.weight"], 1),
    "w": (["weight"], 1),
    "bias": (["bias"], 0),
}
# A table [words, width] is the same in both.
WHOLE = {
    "embedding.table": "words.weight",
    "embedding.position_table": "places.weight",
    "head.table": "head.weight",
    "head.norm": "norm.weight",
    "head.norm_bias": "norm.bias",
}


def find(name):
    """(PyTorch names, number of input dims or None where the layouts agree)."""
    if name in WHOLE:
        return [WHOLE[name]], None
    _, layer, leaf = name.split(".")
    names, inputs = LAYER[leaf]
    return [f"layers.{layer}.{each}" for each in names], inputs


def of_expert(name, expert):
    """Weights of experts have them as their outermost dim; PyTorch has a module for each."""
    names, inputs = find(name)
    return [each.format(expert) for each in names], inputs


def to_torch(name, array, expert=None):
    """[(PyTorch name, tensor)]"""
    if ".expert_" in name and expert is None:
        return [pair for e, part in enumerate(array) for pair in to_torch(name, part, e)]
    names, inputs = of_expert(name, expert)
    tensor = torch.from_numpy(array)
    if inputs == 0:
        return [(names[0], tensor.flatten())]
    if inputs is None:
        return [(names[0], tensor)]
    parts = tensor.unbind(inputs) if len(names) > 1 else [tensor]
    return [(each, part.flatten(0, inputs - 1).flatten(1).T.contiguous()) for each, part in zip(names, parts)]


def from_torch(name, shape, parameters, expert=None):
    """The array that Tessera would have; `parameters` maps PyTorch names to tensors."""
    if ".expert_" in name and expert is None:
        return numpy.stack([from_torch(name, shape[1:], parameters, e) for e in range(shape[0])])
    names, inputs = of_expert(name, expert)
    parts = [parameters[each].detach().cpu().numpy() for each in names]
    if not inputs:
        return parts[0].reshape(shape)
    return numpy.stack([part.T for part in parts], axis=1).reshape(shape)
