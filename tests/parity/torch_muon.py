# SPDX-License-Identifier: Apache-2.0
"""Muon as Jordan's blog post and the Moonlight paper have it: for the matrices of layers the orthogonal matrix next to the
Nesterov direction, by five steps of the Newton-Schulz iteration; AdamW for all other parameters."""
import math

import torch


def orthogonal(matrix, epsilon=1e-7):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix / (matrix.norm() + epsilon)
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.T
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Of weights [out, in]. matched_rms 0: scaled by the root of out / in, at least 1."""

    def __init__(self, weights, momentum, matched_rms, weight_decay):
        super().__init__(weights, {"lr": 0.0, "weight_decay": weight_decay})
        self.momentum, self.matched_rms = momentum, matched_rms

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                buffer = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                buffer.mul_(self.momentum).add_(weight.grad)
                update = orthogonal(weight.grad + self.momentum * buffer)
                out, inputs = weight.shape
                if self.matched_rms:
                    update *= self.matched_rms * math.sqrt(max(out, inputs))
                else:
                    update *= max(1, out / inputs) ** 0.5
                weight.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * update)


def is_layers_matrix(name, weight):
    """Not embeddings, heads, norms, biases and routers."""
    return name.startswith("layers.") and weight.dim() == 2 and ".router." not in name


class MuonAndAdamW:
    """The matrices, out of all parameters of the groups, by Muon."""

    def __init__(self, matrices, settings, adamw_groups):
        known = {id(weight) for weight in matrices}
        for group in adamw_groups:
            group["params"] = [weight for weight in group["params"] if id(weight) not in known]
        self.parts = [Muon(matrices, settings["momentum"], settings["matched_rms"], settings["weight_decay"]),
                      torch.optim.AdamW(adamw_groups, betas=(settings["beta1"], settings["beta2"]),
                                        eps=settings["epsilon"])]

    @property
    def param_groups(self):
        return [group for part in self.parts for group in part.param_groups]

    def step(self):
        for part in self.parts:
            part.step()

    def zero_grad(self):
        for part in self.parts:
            part.zero_grad()
