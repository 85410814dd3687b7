#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything about a machine with 2 to 8 GPUs in one call: checks (binary, MPI, NCCL, links), collectives by size, plans over NCCL
against one rank, and scaling of a real model; one table is printed last, logs go to a folder. With --ranks-share-gpu all ranks run
on one GPU over sockets, and with --device cpu over MPI without any: both try the script itself and say nothing about speed."""
import argparse
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send"]
TOLERANCE = 1e-9  # of a loss in fp64, over the loss


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "cuda" / "tessera")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ROOT / "out")) / "several_gpus")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--ranks", type=int, default=0, help="0: a rank for each GPU, up to 8")
    parser.add_argument("--ranks-share-gpu", action="store_true", help="all on the first GPU: NCCL takes each rank for a machine")
    parser.add_argument("--model", default="", help="of scaling; default: llama3-1b where a GPU has 60 GB or more, else gpt2-124m")
    parser.add_argument("--batch", type=int, default=0, help="samples per rank in scaling; default: 8, or 4 of a large model")
    parser.add_argument("--seq", type=int, default=0, help="tokens per sample in scaling; default: 1024, or 4096 of a large model")
    parser.add_argument("--steps", type=int, default=20, help="of each run of scaling")
    parser.add_argument("--sizes", default="1MB,16MB,64MB,256MB,1GB", help="bytes of a rank's largest buffer in collectives")
    parser.add_argument("--quick", action="store_true", help="a tiny model and small buffers, few plans and meshes: tries every part")
    parser.add_argument("--mpirun", default="mpirun", help="with flags of its own, such as a host file")
    parser.add_argument("--only", nargs="+", choices=("checks", "collectives", "verify", "scaling"),
                        default=["checks", "collectives", "verify", "scaling"])
    parser.add_argument("--seconds", type=int, default=300, help="most that one command may take")
    return parser.parse_args()


class Machine:
    """How a job of ranks is started here, and where its output goes."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.gpus = gpu_names() if arguments.device == "cuda" else []
        self.ranks = arguments.ranks or min(8, len(self.gpus))
        libraries = [str(arguments.binary.resolve().parent / "lib"), os.environ.get("LD_LIBRARY_PATH", ""), "/usr/local/cuda/lib64"]
        self.environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(part for part in libraries if part)}

    def shares(self):
        return self.arguments.ranks_share_gpu and self.arguments.device == "cuda"

    def job(self, ranks, words):
        """The command line for so many ranks of `tessera words`."""
        start = shlex.split(self.arguments.mpirun)
        if os.geteuid() == 0:
            start.append("--allow-run-as-root")
        start += ["--oversubscribe", "--bind-to", "none", "-x", "LD_LIBRARY_PATH"]
        command = [str(self.arguments.binary), *words]
        if not self.shares():
            return [*start, "-np", str(ranks), *command]
        for rank in range(ranks):
            apart = ["-x", f"NCCL_HOSTID=machine{rank}", "-x", "NCCL_SOCKET_IFNAME=lo", "-x", "NCCL_IB_DISABLE=1"]
            start += [*([":"] if rank else []), "-np", "1", *apart, *command]
        return start

    def run(self, name, command):
        """Standard output, or None where it failed; both streams are kept in a log."""
        log = self.arguments.out / f"{name}.log"
        try:
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False,
                                  timeout=self.arguments.seconds)
            output, errors, code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as late:
            output, errors, code = as_text(late.stdout), as_text(late.stderr) + f"\nended after {late.timeout} s", 124
        except OSError as problem:
            output, errors, code = "", str(problem), 127
        log.write_text(f"{shlex.join(map(str, command))}\n{output}{errors}", encoding="utf-8")
        if code == 0:
            return output
        last = [line for line in errors.splitlines() if line.startswith(("error:", "internal error:"))] or errors.splitlines()
        print(f"--- {name} failed ({code}), see {log}: {last[0] if last else ''}", flush=True)
        return None


def as_text(stream):
    return stream.decode(errors="replace") if isinstance(stream, bytes) else stream or ""


def lines_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return []


def gpu_names():
    return lines_of(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])


def gpu_bytes():
    sizes = lines_of(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"])
    return min((float(size) * 2**20 for size in sizes), default=0)


def links_between_gpus(topology, ranks):
    """How each pair of GPUs is linked by `nvidia-smi topo -m`: {"NV18": 6}."""
    kinds = {}
    for line in topology:
        row = re.sub(r"\x1b\[[0-9;]*m", "", line).split()
        is_head = len(row) > 1 and row[1].startswith("GPU")
        if is_head or not row or not re.fullmatch(r"GPU\d+", row[0]) or len(row) < ranks + 1:
            continue
        own = int(row[0][3:])
        for other, kind in enumerate(row[1:ranks + 1]):
            if other > own and own < ranks:
                kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


class Table:
    """What was found, printed last."""

    def __init__(self):
        self.rows, self.failed = [], 0

    def add(self, part, what, result, ok=True):
        self.rows.append((part, what, "ok" if ok else "FAILED", result))
        self.failed += not ok
        print(f"{part:<12} {what:<34} {result}", flush=True)

    def show(self, title):
        print(f"\n{title}\n{'part':<12} {'what':<34} {'':<7} result")
        for part, what, status, result in self.rows:
            print(f"{part:<12} {what:<34} {status:<7} {result}")


def check_machine(machine, table):
    arguments = machine.arguments
    version = machine.run("version", [str(arguments.binary), "--version"])
    table.add("checks", "binary", (version or "does not run").strip().splitlines()[0], version is not None)
    mpi = lines_of([*shlex.split(arguments.mpirun)[:1], "--version"])
    table.add("checks", "mpirun", mpi[0] if mpi else "not found", bool(mpi))
    if arguments.device == "cpu":
        return
    enough = bool(machine.gpus) and (machine.shares() or len(machine.gpus) >= machine.ranks)
    names = ", ".join(f"{machine.gpus.count(name)} x {name}" for name in dict.fromkeys(machine.gpus))
    table.add("checks", "GPUs", names or "none found", enough)
    topology = lines_of(["nvidia-smi", "topo", "-m"])
    (arguments.out / "topology.log").write_text("\n".join(topology), encoding="utf-8")
    kinds = links_between_gpus(topology, len(machine.gpus))
    table.add("checks", "links between pairs of GPUs", ", ".join(f"{count} x {kind}" for kind, count in kinds.items()) or "one GPU")
    access = lines_of(["nvidia-smi", "topo", "-p2p", "r"])
    (arguments.out / "peer_access.log").write_text("\n".join(access), encoding="utf-8")
    kinds = links_between_gpus(access, len(machine.gpus))
    missing = sum(count for kind, count in kinds.items() if kind != "OK")
    table.add("checks", "peer access", f"{sum(kinds.values()) - missing} of {sum(kinds.values())} pairs" if kinds else "one GPU")
    places = machine.run("places", [str(arguments.binary), "topology"])
    table.add("checks", "what tessera sees", "see places.log", places is not None)


def bench_collectives(machine, table):
    arguments = machine.arguments
    backend = "mpi" if arguments.device == "cpu" else "nccl"
    sizes = "64KB,1MB" if arguments.quick else arguments.sizes
    for ranks in sorted({2, machine.ranks}):
        if ranks > machine.ranks:
            continue
        words = ["bench", "collectives", "--backend", backend, "--kinds", ",".join(KINDS), "--sizes", sizes, "--dtype", "bf16", "--json"]
        output = machine.run(f"collectives_{ranks}", machine.job(ranks, words))
        results = json.loads(output)["results"] if output else []
        for kind in KINDS:
            mine = [each for each in results if each["collective"] == kind]
            rates = "  ".join(f"{size_text(each['bytes'])} {each['bus_bytes_per_second'] / 1e9:.1f}" for each in mine)
            small = f"; {1e6 * mine[0]['seconds']:.0f} us" if mine else ""
            table.add("collectives", f"{kind}, {ranks} ranks, bus GB/s", (rates + small) if mine else "see the log", bool(mine))


def size_text(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.0f}{unit}"
    return f"{count}B"


def plans_for(ranks):
    """Plans of so many ranks: each kind of parallelism alone, then two of them together."""
    plans = {f"dp={ranks}": [], f"fsdp={ranks}": ["plan.zero=3"], f"pp={ranks}": ["train.microbatches=4", f"model.layers={max(4, ranks)}"],
             f"cp={ranks}": [], "tp=2": ["plan.sequence_parallel=true"]}
    if ranks >= 4 and ranks % 2 == 0:
        plans[f"dp={ranks // 2},tp=2"] = []
        plans[f"pp=2,fsdp={ranks // 2}"] = ["plan.zero=2", "train.microbatches=2"]
    return plans


def ranks_of(mesh):
    ranks = 1
    for axis in mesh.split(","):
        ranks *= int(axis.split("=")[1])
    return ranks


def train_words(machine, folder, mesh, settings, steps):
    words = ["train", "--device", machine.arguments.device, "--overwrite", "--steps", str(steps), "--mesh", mesh, "--out", str(folder)]
    quiet = ["train.eval_every=0", "train.sample_every=0", "train.log_every=1000"]
    return [*words, *(word for setting in [*quiet, *settings] for word in ("--set", setting))]


def metrics_of(folder):
    try:
        lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [each for each in map(json.loads, lines) if "step_seconds" in each]


def verify_plans(machine, table):
    """In fp64 the losses of a plan are those of one rank, so its gradients and updates are, too."""
    steps, out = 6, machine.arguments.out
    plans = list(plans_for(machine.ranks).items())
    for mesh, settings in plans[:3] if machine.arguments.quick else plans:
        base = ["model.preset=tiny", "train.precision=fp64", f"train.batch={4 * machine.ranks}", "train.seq=128", "run.peak_gflops=1",
                *settings]
        if machine.arguments.device == "cpu":
            base.append("train.threads=1")
        name = "verify_" + re.sub(r"\W", "_", mesh)
        alone = [each for each in base if not each.startswith(("plan.", "mesh"))]
        one = machine.run(name + "_one", [str(machine.arguments.binary),
                                          *train_words(machine, out / (name + "_one"), "dp=1", alone, steps)])
        job = machine.run(name, machine.job(ranks_of(mesh), train_words(machine, out / name, mesh, base, steps)))
        ours, theirs = ([each["loss"] for each in metrics_of(out / folder)] for folder in (name, name + "_one"))
        if one is None or job is None or len(ours) != steps or len(theirs) != steps:
            table.add("verify", mesh, "a run failed", False)
            continue
        worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
        table.add("verify", mesh, f"losses of {steps} steps in fp64 differ from one rank's by {worst:.1e}", worst <= TOLERANCE)


def scaling_model(machine):
    """Model, samples per rank and tokens per sample."""
    arguments = machine.arguments
    if arguments.quick:
        return "tiny", arguments.batch or 4, arguments.seq or 128
    large = arguments.device == "cuda" and gpu_bytes() > 60e9 and not machine.shares()
    model = arguments.model or ("llama3-1b" if large else "gpt2-124m")
    return model, arguments.batch or (4 if large else 8), arguments.seq or (4096 if large else 1024)


def scaled_meshes(model, most):
    """A rank alone, then 2, 4, ... ranks and all of them, in each way that the model's heads and layers allow."""
    heads, layers = {"gpt2-124m": (12, 12), "tiny": (4, 4)}.get(model, (32, 16))
    counts = [2**power for power in range(1, 4) if 2**power < most] + ([most] if most > 1 else [])
    meshes = [("dp=1", [])]
    for ranks in counts:
        meshes += [(f"dp={ranks}", []), (f"fsdp={ranks}", ["plan.zero=3"])]
        if heads % ranks == 0:
            meshes.append((f"tp={ranks}", ["plan.sequence_parallel=true"]))
        if layers >= ranks:
            meshes.append((f"pp={ranks}", [f"train.microbatches={4 * ranks}"]))
    return meshes


def bench_scaling(machine, table):
    """Tokens per rank stay the same, so a perfect link would give each mesh as many times the speed as it has ranks."""
    model, batch, seq = scaling_model(machine)
    steps = 6 if machine.arguments.quick else machine.arguments.steps
    precision = "fp32" if machine.arguments.device == "cpu" else "bf16"
    alone = None
    meshes = scaled_meshes(model, machine.ranks)
    for mesh, settings in meshes[:2] if machine.arguments.quick else meshes:
        ranks = ranks_of(mesh)
        name = "scaling_" + re.sub(r"\W", "_", mesh)
        base = [f"model.preset={model}", f"train.precision={precision}", f"train.batch={batch * ranks * (4 if 'pp=' in mesh else 1)}",
                f"train.seq={seq}", *(["run.peak_gflops=1"] if machine.arguments.device == "cpu" else []), *settings]
        words = train_words(machine, machine.arguments.out / name, mesh, base, steps)
        command = machine.job(ranks, words) if ranks > 1 else [str(machine.arguments.binary), *words]
        output = machine.run(name, command)
        lines = metrics_of(machine.arguments.out / name)[3:]
        if output is None or not lines:
            table.add("scaling", f"{model}, {mesh}", "it failed: see the log", False)
            continue
        seconds = statistics.median(each["step_seconds"] for each in lines)
        tokens = base_tokens(base) / seconds
        alone = alone or tokens
        waits = statistics.median(each.get("exposed_communication_seconds", 0) + each.get("bubble_seconds", 0) for each in lines)
        table.add("scaling", f"{model}, {mesh}", f"{tokens:>10,.0f} tokens/s  {tokens / alone:5.2f} x one rank  "
                  f"efficiency {tokens / alone / ranks:5.2f}  waits {100 * waits / seconds:4.1f} %")


def base_tokens(settings):
    values = dict(setting.split("=", 1) for setting in settings)
    return int(values["train.batch"]) * int(values["train.seq"])


def main():
    arguments = parse_arguments()
    if not arguments.binary.exists() or not shutil.which(shlex.split(arguments.mpirun)[0]):
        missing = arguments.binary if not arguments.binary.exists() else shlex.split(arguments.mpirun)[0]
        print(f"error: {missing} is not there\n help: make cuda builds the binary (--binary); tools/setup.sh mpi installs Open MPI",
              file=sys.stderr)
        return 2
    arguments.binary = arguments.binary.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    machine = Machine(arguments)
    if machine.ranks < 2:
        print(f"error: {machine.ranks or 'no'} GPU{'' if machine.ranks == 1 else 's'} found, but several are measured\n"
              " help: --ranks 2 --ranks-share-gpu tries the script on one GPU, --device cpu --ranks 2 without any", file=sys.stderr)
        return 2
    begin, table = time.monotonic(), Table()
    parts = {"checks": check_machine, "collectives": bench_collectives, "verify": verify_plans, "scaling": bench_scaling}
    for part in arguments.only:
        parts[part](machine, table)
    how = "over MPI on the CPU" if arguments.device == "cpu" else "sharing one GPU" if machine.shares() else "with a GPU each"
    table.show(f"{machine.ranks} ranks {how}, {time.monotonic() - begin:.0f} s; logs: {arguments.out}")
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
