#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run whose experts first have too little room repeats a step, and then has the losses, norms and weights, to the bit, of
one with room for the worst case: with ranks as threads, as processes, and over MPI."""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KEYS = {"model.layers": 2, "model.width": 64, "model.heads": 4, "train.microbatches": 2, "train.threads": 1,
        "run.peak_gflops": 100}
STEPS = 4


def train(binary, folder, mesh, room, backend):
    mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", "4"] if backend == "mpi" else []
    command = mpirun + [binary, "train", "--model", "tiny-moe", "--steps", str(STEPS), "--batch", "8", "--seq", "32",
                        "--save-every", str(STEPS), "--mesh", mesh, "--out", str(folder)]
    command += ["--processes"] if backend == "processes" else []
    for key, value in (KEYS | {"plan.expert_room": room}).items():
        command += ["--set", f"{key}={value}"]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    weights = {path.name: path.read_bytes() for path in folder.glob("checkpoints/*/rank-*.safetensors")}
    repeats = sum(json.loads(line)["event"] == "expert_room" for line in (folder / "events.jsonl").read_text().splitlines())
    return [(line["step"], line["loss"], line["grad_norm"]) for line in lines], weights, repeats


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    binary = parser.parse_args().binary
    backends = ["threads", "processes"] + (["mpi"] if shutil.which("mpirun") else [])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="expert_room.") as folder:
        for mesh in ("pp=2,ep=2", "dp=2,ep=2"):
            wanted, weights, repeats = train(binary, Path(folder) / f"{mesh}_worst", mesh, "worst", "threads")
            assert len(wanted) == STEPS and len(weights) == 4 and repeats == 0
            for backend in backends:
                got = train(binary, Path(folder) / f"{mesh}_{backend}", mesh, "1", backend)
                same = got[:2] == (wanted, weights) and got[2] > 0
                failed += not same
                print(f"{mesh}, {backend}: {got[2]} repeats, {'the same bits' if same else 'NOT THE SAME'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
