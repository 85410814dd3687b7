#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Digests of losses and final weights of fixed runs, to show that a change of the code changes no bit of any result.

    python3 tests/bits/same_bits.py --binary OLD --out before.txt
    python3 tests/bits/same_bits.py --binary NEW --against before.txt

Bits depend on the processor and the compiler, so both sides are made on one machine; nothing is stored."""
import argparse
import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SMALL = {"model.layers": 4, "model.width": 64, "model.heads": 4, "train.batch": 8, "train.seq": 32, "train.steps": 4,
         "train.microbatches": 2}


def case(name, mesh="", backend="threads", **keys):
    return {"name": name, "mesh": mesh, "backend": backend, "keys": {k.replace("__", "."): v for k, v in keys.items()}}


def cases():
    made = [case("one rank")]
    for precision in ("fp64", "bf16", "pure_bf16", "fp8", "pure_fp8"):
        made.append(case(f"one rank, {precision}", train__precision=precision))
    for preset in ("gpt2-124m", "llama3-8b", "qwen3-0.6b"):
        for mesh in ("", "tp=2"):
            made.append(case(f"{preset} cut down, {mesh or 'one rank'}", mesh, model__preset=preset, model__vocabulary=320,
                             model__kv_heads=0 if preset.startswith("gpt2") else 2, model__head_size=16, model__mlp_size=128,
                             model__context=64))
    made.append(case("mlp", "dp=2", model__preset="mlp", train__seq=1))
    meshes = ["dp=2", "fsdp=2", "tp=2", "cp=2", "pp=2", "dp=2,fsdp=2", "fsdp=2,tp=2", "cp=2,tp=2", "pp=2,tp=2", "pp=2,fsdp=2",
              "pp=2,dp=2,tp=2"]
    for mesh in meshes:
        made.append(case(f"{mesh}", mesh))
    for mesh in ("fsdp=2,tp=2", "pp=2,fsdp=2", "dp=2,cp=2"):
        for precision in ("bf16", "pure_bf16"):
            made.append(case(f"{mesh}, {precision}", mesh, train__precision=precision))
    for zero in ("1", "2", "3"):
        made.append(case(f"dp=2, zero {zero}", "dp=2", plan__zero=zero))
        made.append(case(f"pp=2,dp=2, zero {zero}", "pp=2,dp=2", plan__zero=zero))
    for kind in ("gpipe", "1f1b", "interleaved_1f1b", "looped_bfs", "zb_h1", "zb_h2", "zb_v"):
        chunks = {"plan__chunks": 2} if kind in ("interleaved_1f1b", "looped_bfs") else {}
        made.append(case(f"pp=2, {kind}", "pp=2", plan__schedule=kind, train__microbatches=4, **chunks))
    made.append(case("tp=2, sequence parallel", "tp=2", plan__sequence_parallel="true"))
    made.append(case("cp=2, ulysses", "cp=2", plan__context="ulysses"))
    made.append(case("fsdp=2, recompute block", "fsdp=2", plan__recompute="block"))
    made.append(case("pp=2, recompute attention", "pp=2", plan__recompute="attention"))
    made.append(case("dp=2, gradients in bf16", "dp=2", plan__reduce_dtype="bf16", train__precision="bf16"))
    for backend in ("processes", "mpi"):
        for mesh in ("dp=2,tp=2", "fsdp=2,cp=2", "pp=2,fsdp=2"):
            made.append(case(f"{mesh}, {backend}", mesh, backend))
    return made


def gpu_cases():
    """Ranks share one GPU as threads; a run over NCCL has the bits of its topology alone and is left out."""
    made = [case(f"one rank, {precision}", train__precision=precision)
            for precision in ("fp32", "bf16", "pure_bf16", "fp8", "pure_fp8", "fp64")]
    made += [case(f"{mesh}, bf16", mesh, train__precision="bf16")
             for mesh in ("dp=2", "fsdp=2,tp=2", "cp=2", "pp=2", "pp=2,fsdp=2")]
    made.append(case("gpt2-124m cut down", model__preset="gpt2-124m", model__vocabulary=320, model__context=64))
    for each in made:
        each["keys"]["run.device"] = "cuda"
    return made


def weights_digest(folder):
    """Of every tensor of the newest checkpoint, by name, whichever file holds which part."""
    steps = sorted(folder.glob("checkpoints/step-*"), key=lambda path: int(path.name.split("-")[1]))
    found = []
    for path in sorted(steps[-1].glob("*.safetensors")):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        for name, entry in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                found.append((path.name, name, hashlib.sha256(data[8 + size + begin:8 + size + end]).hexdigest()))
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


def run(binary, each, folder):
    ranks = 1
    for part in filter(None, each["mesh"].split(",")):
        ranks *= int(part.split("=")[1])
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", str(ranks)] if each["backend"] == "mpi" else []
    command += [binary, "train", "--out", str(folder), "--save-every", "4"]
    command += ["--mesh", each["mesh"]] if each["mesh"] else []
    command += ["--processes"] if each["backend"] == "processes" else []
    for key, value in (SMALL | each["keys"]).items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ''}"
    losses = [(line["step"], line["loss"], line["grad_norm"]) for line in
              map(json.loads, (folder / "metrics.jsonl").read_text().splitlines()) if "loss" in line]
    return f"{hashlib.sha256(repr(losses).encode()).hexdigest()[:16]} {weights_digest(folder)[:16]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", help="write the digests here")
    parser.add_argument("--against", help="compare with digests that --out wrote")
    options = parser.parse_args()
    before = dict(line.split("\t") for line in Path(options.against).read_text().splitlines()) if options.against else {}
    lines, differing = [], 0
    for each in (gpu_cases() if options.device == "cuda" else cases()):
        folder = Path(tempfile.mkdtemp(prefix="same_bits."))
        try:
            digest = run(options.binary, each, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        lines.append(f"{each['name']}\t{digest}")
        differs = options.against and before.get(each["name"]) != digest
        differing += bool(differs)
        print(f"{each['name']:40} {digest}{'  DIFFERS from ' + str(before.get(each['name'])) if differs else ''}", flush=True)
    if options.out:
        Path(options.out).write_text("\n".join(lines) + "\n")
    if options.against:
        print(f"{len(lines)} runs, {differing} differ")
        sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
