#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thirty steps of `tessera train` from a folder of weights and token shards, on one rank and on meshes: losses, gradient
norms, learning rates, held-out losses and the last weights are PyTorch's. They are golden (golden.json); where PyTorch is
installed they are computed again and compared as well (--update writes them)."""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

import cases

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden.json"
# Relative, in fp64: thirty steps of AdamW carry rounding on, to about 1e-13.
TOLERANCE = 1e-9


def live_golden():
    try:
        import torch_training
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases.write_inputs(folder)
        return {case: torch_training.golden(case, folder) for case in cases.CASES}


def close(found, expected):
    return math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def differences(found, expected, where):
    """Where two trees of numbers differ."""
    if isinstance(expected, dict):
        if found.keys() != expected.keys():
            return [f"{where}: {sorted(found.keys() ^ expected.keys())} are not in both"]
        return [d for key in expected for d in differences(found[key], expected[key], f"{where} {key}")]
    if isinstance(expected, list):
        if len(found) != len(expected):
            return [f"{where}: {len(found)} numbers, want {len(expected)}"]
        return [d for i, pair in enumerate(zip(found, expected)) for d in differences(*pair, f"{where}[{i}]")]
    return [] if close(found, expected) else [f"{where}: {found!r}, want {expected!r}"]


def toml(settings):
    lines = []
    for key, value in settings.items():
        if isinstance(value, dict):
            lines += [f"{key}.{json.dumps(name)} = {weight}" for name, weight in value.items()]
        else:
            lines.append(f"{key} = {value if value in ('true', 'false') else json.dumps(value)}")
    return "\n".join(lines) + "\n"


def digest(data):
    """As torch_training.digest."""
    values = struct.unpack(f"<{len(data) // 8}d", data)
    return [sum(values), sum(v * v for v in values), sum(v * math.sin(i) for i, v in enumerate(values, 1))]


class Check:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def tessera(self, *words):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tessera {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")

    def run(self, case, mesh):
        """What the run's folder says, as golden.json has it."""
        out = f"{case}-{mesh or 'one'}"
        settings = {**cases.settings_of(case), **cases.MESHES[mesh], "checkpoint.every": cases.STEPS, "run.peak_gflops": 1,
                    "train.threads": 1}
        (self.folder / f"{out}.toml").write_text(toml(settings))
        on = ("--mesh", mesh) if mesh else ()
        self.tessera("train", f"{out}.toml", "--init-from", cases.CASES[case][0], "--out", out, "--json", *on)
        lines = [json.loads(line) for line in (self.folder / out / "metrics.jsonl").read_text().splitlines()]
        tokens = [line["tokens"] for line in lines]
        assert tokens == [step * cases.BATCH * cases.SEQ for step in range(1, cases.STEPS + 1)], tokens
        averaged = ("--averaged",) if "train.ema_decay" in settings else ()
        self.tessera("export", out, "--out", f"{out}-weights", *averaged)
        weights = cases.folders.read_folder(self.folder / f"{out}-weights")
        return {"losses": [line["loss"] for line in lines], "gradient_norms": [line["grad_norm"] for line in lines],
                "learning_rates": [line["lr"] for line in lines],
                "held_out_losses": [line["held_out_loss"] for line in lines if "held_out_loss" in line],
                "weights": {name: digest(data) for name, (_, _, data) in weights.items()}}


def nearest_bf16(number):
    """The upper half of an fp32, rounded to the nearest, of two as near the even one."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def check_masters(check):
    """Of a run in bf16 an export in fp32 has the master weights; without a dtype, the rounded ones."""
    (check.folder / "bf16.toml").write_text(toml({**cases.settings_of("cosine"), "train.precision": "bf16", "train.steps": 3,
                                                  "checkpoint.every": 3, "train.eval_every": 0, "run.peak_gflops": 1}))
    check.tessera("train", "bf16.toml", "--init-from", "llama", "--out", "bf16", "--json")
    check.tessera("export", "bf16", "--out", "rounded")
    check.tessera("export", "bf16", "--out", "exact", "--dtype", "fp32")
    rounded, exact = (cases.folders.read_folder(check.folder / name) for name in ("rounded", "exact"))
    finer = 0
    for name, (dtype, _, data) in rounded.items():
        numbers = cases.folders.decode(exact[name][2], exact[name][0])
        halves = struct.unpack(f"<{len(data) // 2}H", data)
        assert (dtype, exact[name][0]) == ("BF16", "F32"), (name, dtype, exact[name][0])
        assert halves == tuple(map(nearest_bf16, numbers)), f"{name} is not its master rounded"
        finer += sum(number != whole for number, whole in zip(numbers, cases.folders.decode(data, dtype)))
    assert finer > 100, "the export in fp32 has nothing that bf16 has not"


def check_first_averages(check):
    """The moving average begins with the weights that a run draws: where they do not change, it is them."""
    model = {"model.preset": "tiny", "model.layers": 1, "model.width": 16, "model.heads": 2, "model.kv_heads": 2,
             "model.head_size": 8, "model.mlp_size": 24, "model.vocabulary": 40}
    (check.folder / "still.toml").write_text(toml({**cases.settings_of("wsd"), **model, "train.learning_rate": 0, "train.steps": 2,
                                                   "checkpoint.every": 2, "train.eval_every": 0, "run.peak_gflops": 1}))
    check.tessera("train", "still.toml", "--out", "still", "--json")
    check.tessera("export", "still", "--out", "weights")
    check.tessera("export", "still", "--out", "averages", "--averaged")
    weights, averages = ({name: digest(data) for name, (_, _, data) in cases.folders.read_folder(check.folder / name).items()}
                         for name in ("weights", "averages"))
    assert not differences(averages, weights, "averages"), differences(averages, weights, "averages")[:3]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--binary", type=pathlib.Path)
    options.add_argument("--update", action="store_true")
    given = options.parse_args()
    live = live_golden()
    if given.update:
        GOLDEN.write_text(json.dumps(live, indent=1) + "\n")
        return 0
    golden = json.loads(GOLDEN.read_text())
    wrong = differences(live, golden, "PyTorch") if live else []
    runs = 0
    with tempfile.TemporaryDirectory() as folder:
        check = Check(given.binary.resolve(), pathlib.Path(folder))
        cases.write_inputs(check.folder)
        for case, (_, _, meshes) in cases.CASES.items():
            for mesh in meshes:
                wrong += differences(check.run(case, mesh), golden[case], f"{case} on {mesh or 'one rank'}:")
                runs += 1
        check_masters(check)
        check_first_averages(check)
    for line in wrong[:40]:
        print("FAILED " + line)
    print(f"{runs} runs, {len(wrong)} numbers differ" + ("" if live else "; PyTorch is not installed"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
