#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps whose states or activations rest on the host, beside the step that they are compared with: tokens/s, the ratio, and what
the simulator says of both. By default what one H200 with 125 GB of host memory should reach; --small runs a tiny model on CPU
ranks, to try the script. No peer: PyTorch and DeepSpeed offload by engines of their own, which are not here."""
import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EIGHT = ["--model", "llama3-8b", "--batch", "32", "--microbatches", "16", "--seq", "4096", "--recompute", "cheap"]
LONG = ["--model", "llama3-1b", "--batch", "1", "--seq", "131072", "--precision", "bf16"]
TINY = ["--model", "tiny", "--batch", "16", "--microbatches", "4", "--seq", "64"]


def offload(kind, update="device"):
    return ["--set", f"plan.offload={kind}", "--set", f"plan.offload_update={update}"]


# Name, arguments, what the ratio must be; the first of a group is what the others are compared with.
GROUPS = {
    "states": [
        ("pure_bf16", [*EIGHT, "--precision", "pure_bf16"], None),
        ("bf16, moments", [*EIGHT, "--precision", "bf16", *offload("moments")], 0.85),
        ("bf16, states", [*EIGHT, "--precision", "bf16", *offload("states")], 0.80),
        ("bf16, states, host", [*EIGHT, "--precision", "bf16", *offload("states", "host")], None),
    ],
    "activations": [
        ("block", [*LONG, "--recompute", "block"], None),
        ("cheap, activations", [*LONG, "--recompute", "cheap", *offload("activations")], 1.10),
    ],
}
SMALL = {
    "states": [("fp32", TINY, None), ("moments", [*TINY, *offload("moments")], None),
               ("states, host", [*TINY, *offload("states", "host")], None)],
    "activations": [("block", [*TINY, "--recompute", "block"], None),
                    ("activations", [*TINY, *offload("activations")], None)],
}


def ask(command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def measured(given, arguments):
    return ask([given.binary, "bench", "step", "--device", given.device, "--steps", str(given.steps), "--json", *arguments])


def predicted(given, arguments):
    return ask([given.binary, "simulate", "--cluster", given.cluster, "--json", *arguments])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Example: python3 bench/offload.py --only states")
    parser.add_argument("--binary", default=str(ROOT / "build/cuda/tessera"))
    parser.add_argument("--cluster", default="h200", help="for the simulator: a name or a file")
    parser.add_argument("--steps", type=int, default=2, help="measured steps of each")
    parser.add_argument("--only", choices=list(GROUPS), help="one group")
    parser.add_argument("--small", action="store_true", help="a tiny model on CPU ranks, on the cluster laptop")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    given = parser.parse_args()
    given.device = "cpu" if given.small else "cuda"
    if given.small:
        given.cluster = "laptop"
    return given


def main():
    given = parse_arguments()
    groups = SMALL if given.small else GROUPS
    figures = {}
    print(f"{'':<20} {'tokens/s':>9} {'ratio':>6} {'must':>5} {'step s':>8} {'predicted':>9} {'ratio':>6} {'device GB':>9} {'host GB':>8}")
    for group, rows in groups.items():
        if given.only not in (None, group):
            continue
        base = None
        for name, arguments, must in rows:
            own, sim = measured(given, arguments), predicted(given, arguments)
            base = base or (own["tokens_per_second"], sim["tokens_per_second"])
            ratio, foreseen = own["tokens_per_second"] / base[0], sim["tokens_per_second"] / base[1]
            figures[f"{group}: {name}"] = {"tokens_per_second": own["tokens_per_second"], "ratio": ratio, "predicted_ratio": foreseen}
            print(f"{name:<20} {own['tokens_per_second']:>9.0f} {ratio:>6.3f} {must or '-':>5} {own['step_seconds']:>8.4f} "
                  f"{sim['step_seconds']:>9.4f} {foreseen:>6.3f} {sim['peak_bytes'] / 1e9:>9.1f} {sim['host_bytes'] / 1e9:>8.1f}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
