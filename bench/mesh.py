#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of a mesh as ratios within one run: GPT-2 124M on two ranks beside one rank with as many threads and beside
PyTorch's DDP with Gloo, and all_reduce beside Open MPI, Gloo and the machine's copy bandwidth. Tables come last."""
import argparse
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from run import ROOT, cpu_name, peer_is_there, run_json, say, table, write_results

HERE = ROOT / "bench"
STEP_AIMS = {"one rank, as many threads": 0.93, "DDP": 1.7}
COPIES = 3  # of the buffer per rank: the time in which copy bandwidth moves them is the yardstick
COPY_AIM = 0.6


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "tessera")
    parser.add_argument("--model", default="gpt2-124m")
    parser.add_argument("--batch", type=int, default=2, help="samples per step over all ranks")
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--ranks", type=int, default=2, help="of the training step, one thread each")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of ours and the peers")
    parser.add_argument("--steps", type=int, default=3, help="steps measured per round")
    parser.add_argument("--all-reduce-ranks", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--size", default="64MB", help="of a rank's buffer in all_reduce")
    parser.add_argument("--calls", type=int, default=20, help="all_reduces of a peer per round")
    parser.add_argument("--peer-python", default="/usr/bin/python3", help="a python3 that has torch")
    parser.add_argument("--no-peer", action="store_true", help="leave PyTorch, Open MPI and Gloo out")
    parser.add_argument("--no-step", action="store_true", help="measure all_reduce alone")
    parser.add_argument("--write", action="store_true", help="also write bench/results/<date>-mesh.md")
    return parser.parse_args()


def measure_step(arguments, with_peer):
    """One entry per round: tokens per second of the mesh, of one rank, and of the peer where it is there."""
    shape = ["--model", arguments.model, "--batch", arguments.batch, "--seq", arguments.seq, "--steps", arguments.steps]
    rounds = []
    for turn in range(arguments.rounds):
        say(f"training step, round {turn + 1} of {arguments.rounds}")
        ours = run_json([arguments.binary, "bench", "scaling", *shape, "--threads", arguments.ranks, "--rounds", 1,
                         "--meshes", f"dp={arguments.ranks}", "--json"])
        one, mesh = ours["results"][0], ours["results"][-1]
        found = {"mesh": mesh["tokens_per_second"], "one rank": one["tokens_per_second"],
                 "mesh bytes": mesh["bytes_per_rank"], "one rank bytes": one["bytes_per_rank"]}
        say(f"  dp={arguments.ranks} {found['mesh']:.1f} tokens/s, one rank {found['one rank']:.1f}")
        if with_peer:
            peer = run_json([arguments.peer_python, HERE / "peer_torch_ddp.py", *shape, "--ranks", arguments.ranks,
                             "--threads", 1])
            found.update({"DDP": peer["tokens_per_second"], "peer": peer["peer"]})
            say(f"  DDP {found['DDP']:.1f} tokens/s")
        rounds.append(found)
    return rounds


def compile_peer(folder, compiler, source, *libraries):
    """The path of the program, or None and the reason."""
    if shutil.which(compiler) is None:
        return None, f"there is no {compiler}"
    program = Path(folder) / Path(source).stem
    done = subprocess.run([compiler, "-O2", "-std=c++17", str(HERE / source), "-o", str(program), *libraries],
                          capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error" in line] or [f"{compiler} failed"]
    return (program, None) if done.returncode == 0 else (None, errors[0])


def all_reduce_peers(arguments, folder):
    """Peer name to a function of (ranks, bytes) that measures it once; what is missing is said and left out."""
    if arguments.no_peer:
        return {}, ["peers of all_reduce: not run, as asked"]
    peers, missing = {}, []
    mpi, why = compile_peer(folder, "mpicxx", "peer_mpi.cpp")
    if mpi and shutil.which("mpirun"):
        peers["Open MPI"] = lambda ranks, size: run_json(
            ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", ranks, mpi, size,
             arguments.calls])
    else:
        missing.append(f"Open MPI is missing: {why or 'there is no mpirun'} (tools/setup.sh mpi)")
    gloo, why = compile_peer(folder, "g++", "peer_gloo.cpp", "-lgloo", "-pthread")

    def run_gloo(ranks, size):
        with tempfile.TemporaryDirectory(dir=folder) as meeting:
            return run_json([gloo, ranks, size, arguments.calls, meeting])
    if gloo:
        peers["Gloo"] = run_gloo
    else:
        missing.append(f"Gloo is missing: {why} (tools/setup.sh bench)")
    return peers, missing


def measure_all_reduce(arguments, ranks, peers):
    """One entry per round: seconds of ours, of every peer, and of the copies."""
    rounds = []
    for turn in range(arguments.rounds):
        say(f"all_reduce over {ranks} ranks, round {turn + 1} of {arguments.rounds}")
        ours = run_json([arguments.binary, "bench", "collectives", "--backend", "local", "--ranks", ranks, "--kinds",
                         "all_reduce", "--sizes", arguments.size, "--json"])
        result = ours["results"][0]
        found = {"ours": result["seconds"], "bytes": result["bytes"],
                 "copies": COPIES * result["bytes"] * ranks / ours["copy_bytes_per_second"]}
        for name, measure in peers.items():
            peer = measure(ranks, result["bytes"])
            found[name] = peer["seconds"]
        say("  " + ", ".join(f"{name} {found[name] * 1e3:.2f} ms" for name in ("ours", "copies", *peers)))
        rounds.append(found)
    return rounds


def median_ratio(rounds, over, under):
    """Taken round by round, where both ran side by side."""
    return statistics.median(found[over] / found[under] for found in rounds)


def median_of(rounds, key):
    return statistics.median(found[key] for found in rounds)


def step_table(arguments, rounds):
    ours = f"{median_of(rounds, 'mesh'):.1f}"
    lines = [[f"dp={arguments.ranks}, one thread each, against", "ours tokens/s", "its tokens/s", "ours / its", "aim"]]
    for name, key in (("one rank, as many threads", "one rank"), ("DDP", "DDP")):
        if key in rounds[0]:
            lines.append([name, ours, f"{median_of(rounds, key):.1f}", f"{median_ratio(rounds, 'mesh', key):.3f}",
                          f"{STEP_AIMS[name]:.2f}"])
    return table(lines)


def all_reduce_table(measured):
    lines = [["ranks", "all_reduce against", "ours ms", "its ms", "its / ours", "aim"]]
    for ranks, rounds in measured.items():
        for name in (key for key in rounds[0] if key not in ("ours", "bytes")):
            label = f"{COPIES} copies per rank" if name == "copies" else name
            lines.append([str(ranks), label, f"{median_of(rounds, 'ours') * 1e3:.2f}",
                          f"{median_of(rounds, name) * 1e3:.2f}", f"{median_ratio(rounds, name, 'ours'):.2f}",
                          f"{COPY_AIM if name == 'copies' else 1:.2f}"])
    return table(lines)


def report(arguments, steps, reduces, notes):
    lines = [f"{cpu_name()}; medians of {arguments.rounds} rounds, ours and the peers in turns; ratios within a round"]
    if steps:
        lines += ["", f"{arguments.model}, fp32, AdamW, {arguments.batch} x {arguments.seq} tokens per step in all, "
                  f"{arguments.steps} steps per round; planned {steps[0]['mesh bytes'] / 1e9:.2f} GB per rank, one rank "
                  f"{steps[0]['one rank bytes'] / 1e9:.2f} GB; peer: {steps[0].get('peer', 'not run')}",
                  "", step_table(arguments, steps)]
    if reduces:
        size = next(iter(reduces.values()))[0]["bytes"]
        lines += ["", f"all_reduce of {size} bytes of fp32, in place, ranks of this machine", "",
                  all_reduce_table(reduces)]
    return "\n".join(lines + ["", *notes] if notes else lines)


def main():
    arguments = parse_arguments()
    notes = []
    with_torch = peer_is_there(arguments)
    if not with_torch and not arguments.no_step:
        notes.append("DDP: not run, as asked" if arguments.no_peer else
                     f"DDP is missing: {arguments.peer_python} has no torch (tools/setup.sh oracle)")
    steps = [] if arguments.no_step else measure_step(arguments, with_torch)
    with tempfile.TemporaryDirectory() as folder:
        peers, missing = all_reduce_peers(arguments, folder) if arguments.all_reduce_ranks else ({}, [])
        reduces = {ranks: measure_all_reduce(arguments, ranks, peers) for ranks in arguments.all_reduce_ranks}
    text = report(arguments, steps, reduces, notes + missing)
    print(text)
    if arguments.write:
        write_results("mesh", "Speed of a mesh on a CPU", text)


if __name__ == "__main__":
    main()
