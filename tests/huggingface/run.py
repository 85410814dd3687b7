#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models in folders of Hugging Face's: each one's loss is that of the same maths in PyTorch, with and without an import,
on one rank and on a mesh; imported and exported again every tensor has its bits. The losses are golden
(golden.json); where PyTorch is installed they are computed again and compared as well (--update writes them)."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import folders

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden.json"
TOLERANCE = 1e-5  # fp32 against double, relative


def live_losses():
    try:
        import torch_losses
    except ImportError:
        return None
    return {name: torch_losses.loss(name) for name in folders.MODELS}


class Check:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.failed = binary, folder, 0

    def tessera(self, *words):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tessera {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def claim(self, holds, text):
        if not holds:
            self.failed += 1
            print("FAILED " + text)

    def close(self, found, expected, text):
        self.claim(abs(found - expected) <= TOLERANCE * abs(expected), f"{text}: {found}, want {expected}")

    def loss(self, model, name, *more):
        (self.folder / "tokens.json").write_text(json.dumps(folders.batch_of(name)))
        words = ("evaluate", model, "tokens.json", "--precision", "fp32", "--batch", 4, "--json", *more)
        return json.loads(self.tessera(*words))["loss"]

    def model(self, name, expected):
        folders.write_folder(name, self.folder / name)
        self.close(self.loss(name, name), expected, f"{name}: loss of the folder")
        told = self.tessera("import", name, "--out", f"{name}-run")
        self.claim(("float16 was converted to fp32" in told) == (folders.MODELS[name][1] == "F16"), f"{name}: import says {told}")
        left_out = json.loads(self.tessera("import", name, "--out", f"{name}.safetensors", "--json"))["left_out"]
        self.claim(left_out == len(folders.further_tensors(name)), f"{name}: {left_out} tensors are left out")
        shown = json.loads(self.tessera("checkpoint", "show", f"{name}-run", "--json"))
        self.claim(shown["model"] == "custom" and name.startswith(shown["family"]), f"{name}: shown as {shown['model']}")
        self.close(self.loss(f"{name}-run", name), expected, f"{name}: loss of the import")
        self.close(self.loss(f"{name}-run", name, "--mesh", "pp=2", "--set", "train.microbatches=2"), expected,
                   f"{name}: loss of the import on pp=2")
        self.tessera("export", f"{name}-run", "--out", f"{name}-back", "--shard-size", "20KB")
        self.close(self.loss(f"{name}-back", name), expected, f"{name}: loss of the export")
        self.same_bits(name)

    def widened(self, dtype, shape, data):
        """float16 comes back as float32."""
        return ("F32", shape, folders.encode(folders.decode(data, dtype), "F32")) if dtype == "F16" else (dtype, shape, data)

    def same_bits(self, name):
        before = {key: self.widened(*tensor) for key, tensor in folders.tensors_of(name).items()}
        if folders.MODELS[name][3]:
            before = {f"transformer.{key}": tensor for key, tensor in before.items()}
        after = folders.read_folder(self.folder / f"{name}-back")
        self.claim(before.keys() == after.keys(), f"{name}: exported tensors {sorted(before.keys() ^ after.keys())}")
        for key in before.keys() & after.keys():
            self.claim(before[key] == after[key], f"{name}: {key} has other bits, dtype or shape")
        self.claim((self.folder / f"{name}-back" / "model.safetensors.index.json").exists(), f"{name}: export in several files")
        self.claim((self.folder / f"{name}-back" / "tokenizer.json").exists(), f"{name}: the tokenizer comes along")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--binary", type=pathlib.Path)
    options.add_argument("--update", action="store_true")
    given = options.parse_args()
    live = live_losses()
    if given.update:
        if not live:
            sys.exit("PyTorch is not installed: it computes the losses (tools/setup.sh oracle)")
        GOLDEN.write_text(json.dumps(live, indent=2) + "\n")
        return 0
    golden = json.loads(GOLDEN.read_text())
    with tempfile.TemporaryDirectory() as folder:
        check = Check(given.binary.resolve(), pathlib.Path(folder))
        check.claim(golden.keys() == folders.MODELS.keys(), "golden.json has other models: run with --update")
        for name, expected in golden.items():
            if live:
                check.claim(abs(live[name] - expected) < 1e-9, f"{name}: PyTorch says {live[name]}, golden.json {expected}")
            check.model(name, expected)
    print(f"{len(golden)} models, {check.failed} failed claims" + ("" if live else "; PyTorch is not installed"))
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
