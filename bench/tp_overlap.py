#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What plan.tp_overlap = ring hides of tensor-parallel traffic: two hosts (network namespaces, needs root) with one rank each, joined
by a slow link; steps with off and ring in turns, what the simulator says of both, and from traces what share of the hops' time lies
under matmuls. The table comes last."""
import argparse
import json
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "recovery"))

import network_hosts  # noqa: E402
from over_hosts import SUBNET  # noqa: E402

SETTINGS = ["plan.sequence_parallel=true", "train.threads=1", "train.eval_every=0", "run.peak_gflops=100", "data.story_bytes=65536",
            "train.log_every=1", "checkpoint.every=0"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--megabits", type=float, default=800, help="of the link, each way, per second")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both, one after the other")
    parser.add_argument("--steps", type=int, default=5, help="measured per round; two more come first")
    parser.add_argument("--cluster", type=Path, help="a calibrated file of this machine; else it is measured first")
    return parser.parse_args()


def model(arguments, overlap):
    width = arguments.width
    keys = [*SETTINGS, f"model.layers={arguments.layers}", f"model.width={width}", f"model.heads={width // 64}",
            f"model.kv_heads={width // 64}", f"model.mlp_size={width * 3}", f"train.batch={arguments.batch}",
            f"train.seq={arguments.seq}", f"plan.tp_overlap={overlap}"]
    return ["--mesh", "tp=2", *(word for key in keys for word in ("--set", key))]


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def narrow(host, megabits):
    """What comes to this host waits in a queue that is long enough to drop little."""
    run(["tc", "-n", host.switch, "qdisc", "add", "dev", host.port, "root", "tbf", "rate", f"{megabits}mbit", "burst", "64kb",
         "limit", "4mb"])


def train(arguments, found, overlap, out, trace):
    agent = f"{sys.executable} {ROOT / 'tests' / 'recovery' / 'host_daemon.py'} call"
    settings = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": "1", "btl": "tcp,self", "btl_tcp_if_include": SUBNET,
                "oob_tcp_if_include": SUBNET}
    command = ["mpirun", "--allow-run-as-root", "--host", ",".join(f"{host.address}:1" for host in found),
               *(word for key, value in settings.items() for word in ("--mca", key, value)), arguments.binary.resolve(), "train",
               *model(arguments, overlap), "--steps", arguments.steps + 2, "--out", out, "--json",
               *(["--trace", trace] if trace else [])]
    run(found[0].command(command))
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line["step_seconds"] for line in lines if "step_seconds" in line][2:]


def hidden_share(trace):
    """Of rank 0's transfers: the share of their time in which a matmul ran."""
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    of_rank = [e for e in events if e.get("ph") == "X" and e.get("pid") == 0]
    is_transfer = lambda e: re.match(r"(shift|all_gather|reduce_scatter)\b", e["name"]) and e.get("tid") != 0
    matmuls = [(e["ts"], e["ts"] + e["dur"]) for e in of_rank if e.get("tid") == 0 and e["name"].startswith("matmul")]
    whole = under = 0
    for e in filter(is_transfer, of_rank):
        begin, end = e["ts"], e["ts"] + e["dur"]
        whole += end - begin
        under += sum(max(0, min(end, last) - max(begin, first)) for first, last in matmuls)
    return under / whole if whole else 0


def cluster_of_hosts(arguments, folder):
    """This machine's kernels, with the link between the ranks."""
    measured = arguments.cluster or folder / "machine.toml"
    if not arguments.cluster:
        run([arguments.binary, "bench", "calibrate", "--quick", "--threads", "2", "--out", measured])
    sections = re.split(r"\n(?=\[)", measured.read_text(encoding="utf-8"))
    kept = [part for part in sections if not part.startswith(("[[collective]]", "[[level]]"))]
    text = "\n".join(kept).replace("moves_in_wait = true", "moves_in_wait = false")
    rate = arguments.megabits * 1e6 / 8
    text += (f'\n[[level]]\nname = "link"\nranks = 2\nbandwidth = {{ value = {rate}, source = "tc tbf" }}\n'
             'latency_seconds = { value = 1e-4, source = "assumed" }\n')
    file = folder / "hosts.toml"
    file.write_text(text, encoding="utf-8")
    return file


def main():
    arguments = parse_arguments()
    if told := network_hosts.missing():
        sys.exit(told)
    seconds, shares, predicted = {"off": [], "ring": []}, {}, {}
    with tempfile.TemporaryDirectory() as temporary, network_hosts.hosts(2) as found:
        folder = Path(temporary)
        file = cluster_of_hosts(arguments, folder)
        for overlap in seconds:
            told = json.loads(run([arguments.binary, "simulate", "--cluster", file, *model(arguments, overlap), "--json"]))
            predicted[overlap] = told
        for host in found:
            narrow(host, arguments.megabits)
        for turn in range(arguments.rounds):
            for overlap, all_seconds in seconds.items():
                trace = folder / f"{overlap}.json" if turn == 0 else None
                steps = train(arguments, found, overlap, folder / f"{overlap}{turn}", trace)
                if trace:
                    shares[overlap] = hidden_share(trace)
                else:
                    all_seconds += steps
                print(f"round {turn} {overlap}: {' '.join(f'{each:.3f}' for each in steps)}"
                      f"{' (traced, not counted)' if trace else ''}", file=sys.stderr, flush=True)
    print(f"\ntp=2, {arguments.layers} layers of {arguments.width}, {arguments.batch} x {arguments.seq} tokens, "
          f"{arguments.megabits:g} Mbit/s\n")
    print(f"{'':6} {'step s':>8} {'simulated s':>12} {'exposed s':>10} {'under matmuls':>14}")
    for overlap, all_seconds in seconds.items():
        told = predicted[overlap]
        print(f"{overlap:6} {statistics.median(all_seconds):8.3f} {told['step_seconds']:12.3f} "
              f"{told['exposed_communication_seconds']:10.3f} {shares[overlap]:14.0%}")
    ratio = statistics.median(seconds["ring"]) / statistics.median(seconds["off"])
    print(f"\nring / off: {ratio:.3f} measured, {predicted['ring']['step_seconds'] / predicted['off']['step_seconds']:.3f} simulated")


if __name__ == "__main__":
    main()
