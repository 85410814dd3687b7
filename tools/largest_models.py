#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The largest model of each family that fits a GPU with each kind of offload: a table in Markdown from `compile --memory`, with
bytes of the device and of the host. Example: tools/largest_models.py --host-memory 2TB -- --batch 1 --seq 8192"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("none", "moments", "states", "parameters", "parameters,gradients", "parameters,gradients,activations")
# A member of each, and tokens of a sample.
FAMILIES = {"GPT-2": ("gpt2-124m", 1024), "Llama, Mixtral, DeepSeek": ("llama3-1b", 4096), "Qwen 3, dots": ("qwen3-8b", 4096)}
RUN = ["--batch", "1", "--precision", "bf16", "--recompute", "cheap"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--memory", default="141GB", help="of a GPU")
    parser.add_argument("--host-memory", default="", help="of the host, for each GPU; no limit unless given")
    parser.add_argument("options", nargs="*", help=f"of the run, after --; default: {' '.join(RUN)} and --seq by family")
    return parser.parse_args()


def text_of(size):
    return f"{size / 1e9:.3g}"


def largest(given, preset, seq, kind):
    """Of the family that fits, that with the most bytes in both memories."""
    host = ["--host-memory", given.host_memory] if given.host_memory else []
    options = given.options or [*RUN, "--seq", seq]
    command = [given.binary, "compile", "--json", "--model", preset, "--memory", given.memory, *host, *options, "--set", f"plan.offload={kind}"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    fitting = [member for member in json.loads(done.stdout).get("family", []) if member["fits"]]
    if not fitting:
        return "-"
    member = max(fitting, key=lambda each: each["peak_bytes"] + each["host_bytes"])
    host = f" + {text_of(member['host_bytes'])}" if member["host_bytes"] else ""
    return f"{member['preset']}: {text_of(member['peak_bytes'])}{host}"


def main():
    given = parse_arguments()
    print("| family | " + " | ".join(f"`{kind}`" for kind in KINDS) + " |")
    print("|---" * (len(KINDS) + 1) + "|")
    for family, (preset, seq) in FAMILIES.items():
        print(f"| {family} | " + " | ".join(largest(given, preset, seq, kind) for kind in KINDS) + " |")


if __name__ == "__main__":
    main()
