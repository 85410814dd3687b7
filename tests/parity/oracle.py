#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Repeats the runs of `tessera_parity` in PyTorch, from the same weights and batches, and compares; with --device cuda both
run on a GPU. With --update it writes the golden numbers instead, which parity_golden_test.cpp reads where there is no
PyTorch. Exits 77 when PyTorch is not installed."""
import argparse
import copy
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing} (make setup-oracle installs Debian's python3-torch)")
    sys.exit(77)

import safetensors_file
import torch_models
import torch_muon
import weight_names

GOLDEN = Path(__file__).resolve().parent / "golden"
# Losses and gradient norms: relative. Gradients of step one and weights after the last: of a tensor's largest entry. In
# fp32 the weights are not bounded: Adam turns rounding into a step where a gradient is zero in theory (GPT-2's key bias).
# bf16 is bounded by its own noise, which is measured: how far PyTorch in bf16 lies from PyTorch in fp32, over ten steps by
# the mean square. Of two runs with that noise one in a thousand pairs is further apart than three times it (the mean
# squares of ten errors each differ by a factor of 8.75 that often).
TOLERANCES = {
    "bf16": {},
    "fp32": {"losses": 1e-5, "norms": 1e-4, "gradients": 1e-4},
    "fp64": {"losses": 1e-9, "norms": 1e-9, "gradients": 1e-9, "weights": 1e-9},
}
NOISES_APART = 3
PROBES = 5


def model_config(metadata):
    """The model's fields with their types: words, true and false, numbers."""
    config = {}
    for key, text in metadata.items():
        if key.startswith("model."):
            try:
                config[key[6:]] = json.loads(text)
            except json.JSONDecodeError:
                config[key[6:]] = text
    return config


class Oracle:
    """One training run in PyTorch. In bf16 it keeps fp32 weights, sums gradients in fp32 and computes with rounded copies."""

    def __init__(self, tensors, metadata, device, dtype, build=torch_models.build):
        self.device = device
        kept = torch.float64 if dtype == "fp64" else torch.float32
        self.tensors, self.settings = tensors, {k: json.loads(v) for k, v in metadata.items() if self.is_number(v)}
        self.shapes = {name[7:]: array.shape for name, array in tensors.items() if name.startswith("weight.")}
        self.model = build(model_config(metadata)).to(device, kept)
        self.load()
        self.used = copy.deepcopy(self.model).to(torch.bfloat16) if dtype == "bf16" else self.model
        decays = [p for p in self.model.parameters() if p.dim() >= 2]
        spared = [p for p in self.model.parameters() if p.dim() < 2]
        groups = [{"params": decays, "weight_decay": self.settings["weight_decay"]},
                  {"params": spared, "weight_decay": 0.0}]
        betas = (self.settings["beta1"], self.settings["beta2"])
        if metadata["optimizer"] == "muon":
            matrices = [p for name, p in self.model.named_parameters() if torch_muon.is_layers_matrix(name, p)]
            self.optimizer = torch_muon.MuonAndAdamW(matrices, self.settings, groups)
        else:
            self.optimizer = torch.optim.AdamW(groups, betas=betas, eps=self.settings["epsilon"])
        self.averages = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        self.losses, self.norms, self.gradients = [], [], {}

    @staticmethod
    def is_number(text):
        try:
            return isinstance(json.loads(text), (int, float))
        except json.JSONDecodeError:
            return False

    def load(self):
        state = {}
        for name in self.shapes:
            state.update(weight_names.to_torch(name, self.tensors[f"weight.{name}"]))
        if "head.weight" not in state and "words.weight" in state:
            state["head.weight"] = state["words.weight"]
        self.model.load_state_dict(state)  # strict: nothing may be missing or left over

    def batches(self, step):
        for microbatch in range(self.settings["microbatches"]):
            prefix = f"batch.{step}.{microbatch}."
            yield {n[len(prefix):]: self.input_of(a) for n, a in self.tensors.items() if n.startswith(prefix)}

    def input_of(self, array):
        tensor = torch.from_numpy(array).to(self.device)
        return tensor.to(next(self.used.parameters()).dtype) if tensor.is_floating_point() else tensor

    def round_weights(self):
        for rounded, weight in zip(self.used.parameters(), self.model.parameters()):
            rounded.data.copy_(weight.data)

    def take_gradients(self):
        """Adds those of the rounded weights to those of the weights."""
        for rounded, weight in zip(self.used.parameters(), self.model.parameters()):
            weight.grad = rounded.grad.to(weight.dtype) + (0 if weight.grad is None else weight.grad)
            rounded.grad = None

    def step(self, step):
        for group in self.optimizer.param_groups:
            group["lr"] = float(self.tensors["learning_rate"][step])
        for parameter in self.model.parameters():
            parameter.grad = None
        batches = list(self.batches(step))
        labels = sum(self.model.label_count(batch) for batch in batches)
        total = 0.0
        rounds = self.used is not self.model
        if rounds:
            self.round_weights()
        for batch in batches:
            loss = self.used.loss_sum(batch) / labels
            (loss + self.used.router_losses() / labels).backward()
            if rounds:
                self.take_gradients()
            total += float(loss)
        self.losses.append(total)
        parameters = dict(self.model.named_parameters())
        if step == 0:
            self.gradients = self.exported({name: p.grad.clone() for name, p in parameters.items()})
        limit = self.settings["clip_norm"] or float("inf")
        self.norms.append(float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit)))
        self.optimizer.step()
        for name, average in self.averages.items():
            average.lerp_(self.model.get_parameter(name).detach(), 1 - self.settings["ema_decay"])

    def exported(self, parameters):
        return {name: weight_names.from_torch(name, shape, parameters) for name, shape in self.shapes.items()}

    def run(self):
        """The last weights."""
        for step in range(self.settings["steps"]):
            self.step(step)
        final = self.exported(dict(self.model.named_parameters()))
        if self.settings["ema_decay"]:
            final.update({f"{name}.average": a for name, a in self.exported(self.averages).items()})
        return final


def worst_row(ours, oracle, mean_square):
    errors = numpy.abs(numpy.asarray(ours) - oracle) / numpy.abs(oracle)
    worst = int(errors.argmax())  # argmax finds a NaN first
    return float(numpy.sqrt(numpy.square(errors).mean()) if mean_square else errors[worst]), f"step {worst}"


def worst_tensor(ours, oracle):
    """Largest error of any tensor, and its name: max|a-b| over its largest entry, or over a hundredth of the largest
    entry of any of its kind where that is more (some gradients are zero in theory)."""
    if set(ours) != set(oracle):
        raise SystemExit(f"names differ: {sorted(set(ours) ^ set(oracle))}")
    largest = max(numpy.abs(array).max() for array in oracle.values())
    errors = {}
    for name, array in oracle.items():
        scale = max(numpy.abs(array).max(), 0.01 * largest)
        errors[name] = float(numpy.abs(ours[name].astype(numpy.float64) - array).max() / scale)
    worst = max(errors, key=lambda name: (math.isnan(errors[name]), errors[name]))
    return errors[worst], worst


def named(tensors, prefix):
    return {name[len(prefix):]: array for name, array in tensors.items() if name.startswith(prefix)}


def distances(losses, norms, gradients, oracle, dtype):
    return {
        "losses": worst_row(losses, oracle.losses, dtype == "bf16"),
        "norms": worst_row(norms, oracle.norms, dtype == "bf16"),
        "gradients": worst_tensor(gradients, oracle.gradients),
    }


def noise_of(tensors, metadata, device, oracle):
    """Tolerances of a run in bf16: the distances of PyTorch's own from its run in fp32."""
    exact = Oracle(tensors, metadata, device, "fp32")
    exact.run()
    noise = distances(oracle.losses, oracle.norms, oracle.gradients, exact, "bf16")
    return {kind: NOISES_APART * error for kind, (error, _) in noise.items()}


def judge(tensors, metadata, oracle, tolerances):
    final = oracle.run()
    rows = distances(tensors["loss"], tensors["gradient_norm"], named(tensors, "gradient."), oracle,
                     metadata["dtype"])
    rows["weights"] = worst_tensor(named(tensors, "final."), final)
    tolerances = tolerances or noise_of(tensors, metadata, oracle.device, oracle)
    fine = True
    for kind, (error, where) in rows.items():
        tolerance = tolerances.get(kind)
        passed = tolerance is None or error <= tolerance  # a NaN does not pass
        fine &= passed
        limit = f"<= {tolerance:.2g}" if tolerance else "(not bounded)"
        verdict = "" if passed else "FAILED "
        print(f"{metadata['case']:9} {metadata['dtype']} {kind:9} {error:.2e} {limit:14} {verdict}{where}")
    return fine


def compare(tensors, metadata, device):
    oracle = Oracle(tensors, metadata, device, metadata["dtype"])
    return judge(tensors, metadata, oracle, TOLERANCES[metadata["dtype"]])


def golden_of(tensors, metadata):
    oracle = Oracle(tensors, metadata, "cpu", metadata["dtype"])
    oracle.run()
    gradients = {}
    for name, array in sorted(oracle.gradients.items()):
        flat = array.reshape(-1)
        at = sorted({int(numpy.abs(flat).argmax()), *(i * (flat.size - 1) // (PROBES - 1) for i in range(PROBES))})
        gradients[name] = {"max_abs": float(numpy.abs(flat).max()), "sum": float(flat.sum()),
                           "probes": [[i, float(flat[i])] for i in at]}
    return {"losses": oracle.losses, "gradient_norms": oracle.norms, "gradients": gradients}


def write_golden(golden, path):
    """One line per tensor, so that a diff reads well."""
    lines = [f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in golden["gradients"].items()]
    rows = [f'  "{key}": {json.dumps(golden[key])}' for key in ("losses", "gradient_norms")]
    rows.append('  "gradients": {\n' + ",\n".join(lines) + "\n  }")
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"wrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tessera_parity", help="the test executable")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--dtype", choices=sorted(TOLERANCES), help="only this dtype")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="that both run on")
    parser.add_argument("--update", action="store_true", help="write the golden numbers (from fp64)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the models are tiny
    cases = arguments.case or subprocess.check_output([arguments.tessera_parity, "--list"], text=True).split()
    dtypes = ["fp64"] if arguments.update else [arguments.dtype] if arguments.dtype else sorted(TOLERANCES)
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            for dtype in dtypes:
                path = Path(folder) / f"{case}_{dtype}.safetensors"
                subprocess.run([arguments.tessera_parity, case, dtype, str(path), arguments.device], check=True)
                tensors, metadata = safetensors_file.read(path)
                if arguments.update:
                    write_golden(golden_of(tensors, metadata), GOLDEN / f"{case}.json")
                else:
                    fine &= compare(tensors, metadata, arguments.device)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
