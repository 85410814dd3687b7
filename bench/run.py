#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed as ratios within one run: GPT-2 124M's training step beside its floor and beside PyTorch, in turns at each
shape, and the time from starting the binary to the first step of the demo model. The table comes last."""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / "bench" / "peer_torch.py"
STARTUPS = 7
COLUMNS = ["batch x seq", "step s", "floor s", "floor ratio", "tokens/s", "MFU", "peer tokens/s", "ours / peer",
           "planned GB", "resident GB"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--model", default="gpt2-124m")
    parser.add_argument("--shapes", nargs="+", default=["4x64", "4x256", "2x1024"], metavar="BATCHxSEQ")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of ours and the peer, one after the other")
    parser.add_argument("--steps", type=int, default=4, help="steps measured per round")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peer-steps", type=int, help="steps of the peer measured per round (default: as many as ours)")
    parser.add_argument("--peer-python", default="/usr/bin/python3", help="a python3 that has torch")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-cpu.md")
    arguments = parser.parse_args()
    arguments.peer_steps = arguments.peer_steps or arguments.steps
    return arguments


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_json(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)}\n{done.stderr}failed with exit code {done.returncode}")
    return json.loads(done.stdout)


def peer_is_there(arguments):
    if arguments.no_peer:
        return False
    try:
        found = subprocess.run([arguments.peer_python, "-c", "import torch"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return found.returncode == 0


def measure_shape(arguments, shape, with_peer):
    batch, seq = shape.split("x")
    options = ["--model", arguments.model, "--batch", batch, "--seq", seq, "--threads", arguments.threads]
    peer_options = [*options, "--steps", arguments.peer_steps]
    ours, peer = [], []
    for turn in range(arguments.rounds):
        say(f"{shape}, round {turn + 1} of {arguments.rounds}")
        ours.append(run_json([arguments.binary, "bench", "step", *options, "--steps", arguments.steps, "--json"]))
        say(f"  ours {ours[-1]['step_seconds']:.3f} s, floor {ours[-1]['floor_seconds']:.3f} s")
        if with_peer:
            # The first round tries every way to write attention; the others keep the fastest.
            attention = peer[0]["attention"] if peer else "both"
            peer.append(run_json([arguments.peer_python, PEER, *peer_options, "--attention", attention]))
            say(f"  peer {peer[-1]['step_seconds']:.3f} s with attention by {peer[-1]['attention']}")
    return summarise(shape, ours, peer)


def median_of(runs, key):
    return statistics.median(run[key] for run in runs)


def summarise(shape, ours, peer):
    """Medians over rounds. The ratio to the peer is taken round by round, where both ran side by side."""
    row = {"shape": shape}
    for key in ("step_seconds", "floor_seconds", "floor_ratio", "tokens_per_second", "mfu"):
        row[key] = median_of(ours, key)
    row["peak_bytes"] = max(run["peak_bytes"] for run in ours)
    row["resident_bytes"] = max(run["resident_bytes"] for run in ours)
    if peer:
        row["peer"] = peer[0]["peer"]
        row["peer_tokens_per_second"] = median_of(peer, "tokens_per_second")
        row["peer_ratio"] = statistics.median(
            a["tokens_per_second"] / b["tokens_per_second"] for a, b in zip(ours, peer))
    return row


def measure_startup(binary, threads):
    """Seconds from starting the binary to the first line of metrics.jsonl, which is written when the first step has
    ended, and of that step itself. The run is a whole demo, because the last step of a shorter one would also measure
    a held-out loss."""
    with tempfile.TemporaryDirectory() as folder:
        metrics = Path(folder) / "out" / "metrics.jsonl"
        command = [binary, "train", "--out", metrics.parent, "--json", "--set", f"train.threads={threads}"]
        begin = time.perf_counter()
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL) as process:
            while not (metrics.exists() and metrics.read_text(encoding="utf-8").count("\n")):
                if process.poll() is not None:
                    sys.exit("tessera train ended without a line in metrics.jsonl")
                time.sleep(0.0005)
            seconds = time.perf_counter() - begin
            process.terminate()
        step = json.loads(metrics.read_text(encoding="utf-8").splitlines()[0])["step_seconds"]
        return seconds, step


def cells(row):
    with_peer = "peer_ratio" in row
    return [row["shape"].replace("x", " x "), f"{row['step_seconds']:.3f}", f"{row['floor_seconds']:.3f}",
            f"{row['floor_ratio']:.3f}", f"{row['tokens_per_second']:.1f}", f"{row['mfu']:.3f}",
            f"{row['peer_tokens_per_second']:.1f}" if with_peer else "-",
            f"{row['peer_ratio']:.2f}" if with_peer else "-", f"{row['peak_bytes'] / 1e9:.2f}",
            f"{row['resident_bytes'] / 1e9:.2f}"]


def table(lines):
    """Lines of texts, the first of them the heads of the columns, as Markdown: the first column names, the others count."""
    lines = [lines[0], ["---"] + ["---:"] * (len(lines[0]) - 1), *lines[1:]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("| " + " | ".join(text.ljust(width) if i == 0 else text.rjust(width)
                                       for i, (text, width) in enumerate(zip(line, widths))) + " |" for line in lines)


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def report(arguments, rows, startup):
    peer = next((row["peer"] for row in rows if "peer" in row), "not run")
    return "\n".join([
        f"{arguments.model}, fp32, AdamW, norm and clipping included; {arguments.threads} threads; {cpu_name()}",
        f"peer: {peer}; medians of {arguments.rounds} rounds of {arguments.steps} steps "
        f"(of the peer {arguments.peer_steps}), ours and the peer in turns",
        "", table([COLUMNS, *[cells(row) for row in rows]]), "",
        f"from starting the binary to the end of the demo model's first step: {startup[0]:.3f} s, of which the step "
        f"takes {startup[1]:.3f} s (medians of {STARTUPS})"])


def write_results(name, title, text):
    """What was measured, with its command and commit, in a dated file."""
    path = ROOT / "bench" / "results" / f"{datetime.date.today().isoformat()}-{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"# {title}, at {commit()}\n\n`{' '.join(sys.argv)}`\n\n{text}\n", encoding="utf-8")
    say(f"written to {path.relative_to(ROOT)}")


def main():
    arguments = parse_arguments()
    with_peer = peer_is_there(arguments)
    if not with_peer and not arguments.no_peer:
        say(f"the peer is left out: {arguments.peer_python} has no torch (tools/setup.sh oracle)")
    startups = [measure_startup(arguments.binary, arguments.threads) for _ in range(STARTUPS)]
    startup = [statistics.median(column) for column in zip(*startups)]
    text = report(arguments, [measure_shape(arguments, shape, with_peer) for shape in arguments.shapes], startup)
    print(text)
    if arguments.write:
        write_results("cpu", "Speed on a CPU", text)


if __name__ == "__main__":
    main()
