# SPDX-License-Identifier: Apache-2.0
"""A small training run of four ranks as a process to disturb: its ranks, what it says, what it leaves."""
import os
import pathlib
import subprocess
import time

STEPS, EVERY, RANKS = 8, 2, 4
LONG = 100000  # steps that nobody waits for
STOPPED = 7  # the exit code of a run that was asked to stop, and saved
MESH = "dp=2,pp=2"
SETTINGS = ["model.layers=2", "model.width=32", "model.heads=2", "model.kv_heads=2", "model.mlp_size=32", "train.batch=4",
            "train.microbatches=2", "train.seq=16", "train.ema_decay=0.9", "train.threads=1", "data.story_bytes=65536",
            "train.eval_every=0", "run.peak_gflops=100"]


def words(binary, out, steps=STEPS, every=EVERY, more=(), mesh=MESH):
    return [str(binary), "train", "--mesh", mesh, "--steps", str(steps), "--save-every", str(every), "--out", str(out),
            *(word for setting in SETTINGS for word in ("--set", setting)), "--json", *more]


def environment(fault=""):
    kept = {key: value for key, value in os.environ.items() if key != "TESSERA_FAULT"}
    return {**kept, "TESSERA_FAULT": fault} if fault else kept


def train(binary, out, fault="", more=(), steps=STEPS):
    return subprocess.run(words(binary, out, steps, more=more), env=environment(fault), capture_output=True, text=True, timeout=300,
                          check=False)


def last_checkpoint(out, step=STEPS):
    folder = pathlib.Path(out) / "checkpoints" / f"step-{step:08}"
    return {file.name: file.read_bytes() for file in sorted(folder.glob("rank-*.safetensors"))}


def saved_steps(out):
    return sorted(int(folder.name[5:]) for folder in (pathlib.Path(out) / "checkpoints").glob("step-????????"))


def children(process):
    """In the order they were started."""
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def descendants(process):
    found = children(process)
    for child in found:
        found.extend(children(child))
    return found


def process_name(process):
    try:
        return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def state(process):
    """"R", "S", "T" for stopped, "Z"; empty where there is none."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return ""


def alive(process):
    return state(process) not in ("", "Z")


def wait_until(holds, seconds, step=0.005):
    """Seconds until it held; None where it did not."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        if holds():
            return time.monotonic() - begin
        time.sleep(step)
    return None


class Run:
    """A run under way, with its standard error in a file."""

    def __init__(self, command, log, fault="", env=None):
        self.log = pathlib.Path(log)
        with self.log.open("w", encoding="utf-8") as stream:
            self.process = subprocess.Popen(command, env=env or environment(fault), stdout=subprocess.DEVNULL, stderr=stream)

    def ranks(self, supervised=True):
        """The processes of all ranks, by rank; none while some are missing."""
        leaders = children(self.process.pid) if supervised else [self.process.pid]
        ranks = children(leaders[0]) if leaders else []
        return ranks if len(ranks) == RANKS else []

    def wait(self, seconds=120):
        return self.process.wait(seconds)

    def text(self):
        return self.log.read_text(encoding="utf-8")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def steps_done(out):
    """The last step that metrics.jsonl has; 0 where there is none."""
    try:
        lines = (pathlib.Path(out) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    for line in reversed(lines):
        if line.startswith('{"step":') and line.endswith("}"):
            return int(line[len('{"step":'):line.index(",")])
    return 0
