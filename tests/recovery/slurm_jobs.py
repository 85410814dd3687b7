#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What jobs of `tessera launch --sbatch` do on a Slurm of four nodes of one core, where partitions preempt each other: saved within the
grace time, requeued, continued on the same or on other ranks; three runs of different priority share the four. Steps take a set time
(ranks sleep for as long as the planner says), so that four ranks are faster than two, whatever the machine is busy with. Needs root and
Debian's slurm-wlm and munge."""
import contextlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import slurm
from slurm import on
from small_run import SETTINGS, environment, last_checkpoint, saved_steps, steps_done, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402

NODES = 4
GRACE = 40
PREEMPTION = f"""PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
PartitionName=low Nodes=ALL Default=YES State=UP PriorityTier=1 GraceTime={GRACE}
PartitionName=hard Nodes=ALL State=UP PriorityTier=1 GraceTime=0
PartitionName=cancel Nodes=ALL State=UP PriorityTier=1 PreemptMode=CANCEL GraceTime={GRACE}
PartitionName=mid Nodes=ALL State=UP PriorityTier=2 GraceTime={GRACE}
PartitionName=high Nodes=ALL State=UP PriorityTier=3 PreemptMode=OFF"""
# A device with which the model's step takes a second; `cluster_of` scales it.
CLUSTER = """name = "paced"
calibrated = true
[rules]
algorithm = "fastest"
moves_in_wait = true
[device]
name = "a rank that sleeps"
memory_bytes = {{ value = 1e9, source = "by definition" }}
memory_bandwidth = {{ value = 1e15, source = "by definition" }}
launch_seconds = {{ value = 0, source = "by definition" }}
[device.peak_flops]
fp64 = {{ value = {flops}, source = "by definition" }}
[[level]]
name = "network"
ranks = 4
bandwidth = {{ value = 1e12, source = "by definition" }}
latency_seconds = {{ value = 1e-7, source = "by definition" }}
[[efficiency]]
op = "other"
source = "by definition"
points = [[1, 1, 0, 1.0]]
"""
MODEL = ["--precision", "fp64", "--device", "cpu", "--zero", "0", "--microbatches", "1",
         *(word for setting in SETTINGS for word in ("--set", setting) if "microbatches" not in setting)]
# srun whose ranks take as long for a step as the job's plan says.
PACED = """#!/bin/bash
for word; do case $word in --ntasks=*) ranks=${{word#*=}};; esac; done
pace='import json, sys; print(*(round(1000 * row["step_seconds"]) for row in json.load(open(sys.argv[1]))["curve"]
if row["ranks"] == int(sys.argv[2])))'
TESSERA_FAULT=phase=update,action=wait,milliseconds=$(python3 -c "$pace" {plan} $ranks) exec srun "$@"
"""


def told(host, *words):
    done = subprocess.run(host.command(words), env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@contextlib.contextmanager
def without_the_pause(host):
    """Slurm lets a job that it requeues wait for two minutes, here for three seconds: at once, nodes would take the job's new start for
    the old one, which they have just ended ("Job credential revoked")."""
    over = threading.Event()

    def release():
        while not over.wait(0.5):
            listed = subprocess.run(host.command(["squeue", "-h", "-t", "PD", "-o", "%i %r"]), capture_output=True, text=True, check=False)
            waiting = re.findall(r"^(\d\S*) BeginTime$", listed.stdout, re.M)
            if waiting:
                over.wait(3)
            for job in waiting:
                subprocess.run(host.command(["scontrol", "update", f"JobId={job}", "StartTime=now"]), capture_output=True, check=False)
    thread = threading.Thread(target=release)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        subprocess.run(host.command(["scancel", "--user=root"]), capture_output=True, check=False)
        wait_until(lambda: not told(host, "squeue", "-h"), 60, 0.5)


def cluster_of(host, binary, folder, work):
    """A description of the paced ranks for the planner: one takes `work` milliseconds for a step."""
    file = folder / f"paced-{work}.toml"
    flops = 1e9
    for _ in range(2):
        file.write_text(CLUSTER.format(flops=flops), encoding="utf-8")
        step = json.loads(told(host, binary, "simulate", "--cluster", file, "--mesh", "dp=1", "--json",
                               *(word for word in MODEL if word not in ("--device", "cpu"))))["step_seconds"]
        flops *= step / (work / 1000)
    return file


def job_plan(out):
    return out / "job" / "plan.json"


class Job:
    def __init__(self, host, binary, folder, name, work, steps, partition, nodes, more=(), train=()):
        self.host, self.binary, self.out, self.steps = host, binary.resolve(), folder / name, steps
        pace = folder / f"{name}.srun"
        pace.write_text(PACED.format(plan=job_plan(self.out)), encoding="utf-8")
        pace.chmod(0o755)
        words = [self.binary, "launch", "--sbatch", "--with", pace, "--cluster", cluster_of(host, self.binary, folder, work),
                 "--nodes", nodes, "--node-ranks", "1", "--grace", str(GRACE), "--name", name, "--sbatch-options", f"-p {partition}",
                 *more, "train", *MODEL, "--steps", str(steps), "--save-every", "1000", "--out", self.out, "--json", *train]
        words[words.index("--grace") + 1] += "s"
        self.submitted = time.time()
        self.id = re.search(r"Submitted batch job (\d+)", told(host, *words)).group(1)

    def plan(self):
        return json.loads(job_plan(self.out).read_text(encoding="utf-8"))

    def attempts(self):
        """Pairs of lines: begin, and end where there is one."""
        lines = [json.loads(line) for line in (self.out / "job" / "attempts.jsonl").read_text(encoding="utf-8").splitlines()]
        begins = [i for i, line in enumerate(lines) if line["event"] == "begin"]
        return [(lines[i], lines[i + 1] if i + 1 < len(lines) and lines[i + 1]["event"] == "end" else None) for i in begins]

    def text(self):
        file = self.out / "job" / "output.txt"
        queue = told(self.host, "squeue", "-o", "%i %j %T %r %D %S")
        return (file.read_text(encoding="utf-8") if file.exists() else "no output") + queue

    def is_over(self):
        file = self.out / "job" / "attempts.jsonl"
        return file.exists() and (ends := [end for _, end in self.attempts() if end]) and ends[-1]["ended"] == "complete"

    def wait(self, seconds=240):
        assert wait_until(self.is_over, seconds, 0.2) is not None, self.text()

    def at_step(self, step, seconds=60):
        assert wait_until(lambda: steps_done(self.out) >= step, seconds, 0.05) is not None, self.text()

    def losses(self):
        lines = (self.out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["loss"] for line in lines if "loss" in line]

    def state(self):
        listed = json.loads(told(self.host, self.binary, "jobs", self.out.parent, "--json"))["results"]
        return next(each for each in listed if each["run"] == str(self.out))


def rival(host, folder, nodes, seconds):
    """A job of somebody else, who may preempt all others."""
    script = folder / "rival.sh"
    script.write_text(f"#!/bin/bash\nsleep {seconds}\n", encoding="utf-8")
    return told(host, "sbatch", "-p", "high", f"--nodes={nodes}", "--mincpus=1", "-o", "/dev/null", script)


def whole(host, binary, folder, ranks, steps):
    """The same run, undisturbed and outside of Slurm."""
    out = folder / f"whole-{ranks}-{steps}"
    if not out.exists():
        told(host, binary.resolve(), "train", *MODEL, "--mesh", f"dp={ranks}", "--steps", str(steps), "--save-every", "1000", "--out", out,
             "--json")
    return out


def saved_in_time(job):
    """Each attempt that was stopped has saved its last step, and the next one goes on from there at once."""
    assert "supervisor:" not in job.text(), job.text()
    attempts = job.attempts()
    for (_, end), (begin, _) in zip(attempts, attempts[1:]):
        assert end and end["ended"] == "stopped" and end["step"] > 0, f"{attempts}\n{job.text()}"
        assert begin["step"] == end["step"], f"{attempts}\n{job.text()}"
    events = (job.out / "events.jsonl").read_text(encoding="utf-8")
    assert "dropped_steps" not in events, events


def preempted(host, binary, folder, name, partition):
    """Two ranks make room for a job of three nodes and continue after it; gives the job."""
    with without_the_pause(host):
        job = Job(host, binary, folder, name, 200, 40, partition, "2", train=["--mesh", "dp=2"])
        job.at_step(10)
        rival(host, folder, NODES - 1, 2)
        job.wait()
    attempts = job.attempts()
    assert len(attempts) == 2 and [begin["ranks"] for begin, _ in attempts] == [2, 2], job.text()
    assert attempts[1][0]["step"] >= 10, job.text()
    assert last_checkpoint(job.out, 40) == last_checkpoint(whole(host, binary, folder, 2, 40), 40) != {}, "other bits"
    return job


def a_preempted_job_goes_on_with_the_same_bits(found, binary, folder):
    saved_in_time(preempted(found[0], binary, folder, "bits", "low"))


def a_job_that_is_preempted_without_grace_goes_on_with_the_same_bits(found, binary, folder):
    """It has KillWait, 5 s, after SIGTERM; a step of it takes 0.1 s."""
    preempted(found[0], binary, folder, "hard", "hard")


def a_job_that_would_be_cancelled_queues_itself_again(found, binary, folder):
    saved_in_time(preempted(found[0], binary, folder, "cancel", "cancel"))


def a_preempted_job_whose_ranks_alone_are_told_goes_on(found, binary, folder):
    """Without preempt_send_user_signal Slurm sends SIGTERM to the ranks, and nothing to the job."""
    config = pathlib.Path(os.environ["SLURM_CONF"])
    before = config.read_text(encoding="utf-8")
    config.write_text(before.replace("SlurmctldParameters=preempt_send_user_signal\n", ""), encoding="utf-8")
    told(found[0], "scontrol", "reconfigure")
    try:
        saved_in_time(preempted(found[0], binary, folder, "told", "low"))
    finally:
        config.write_text(before, encoding="utf-8")
        told(found[0], "scontrol", "reconfigure")


def a_preempted_job_goes_on_on_other_ranks(found, binary, folder):
    host = found[0]
    with without_the_pause(host):
        job = Job(host, binary, folder, "ranks", 400, 80, "low", "1-4")
        job.at_step(10)
        rival(host, folder, 2, 60)
        job.wait()
        assert [begin["ranks"] for begin, _ in job.attempts()] == [4, 2], job.text()
        saved_in_time(job)
        undisturbed = [json.loads(line)["loss"] for line in (whole(host, binary, folder, 4, 80) / "metrics.jsonl").read_text().splitlines()
                       if "loss" in line]
        worst = max(abs(a - b) / abs(b) for a, b in zip(job.losses(), undisturbed))
        assert len(job.losses()) == len(undisturbed) and worst < 1e-9, f"losses differ by {worst:.1e}"
        assert job.losses() != undisturbed, "two ranks sum in another order than four"


def a_job_whose_node_fails_goes_on(found, binary, folder):
    """On those that are left, or on all: the node comes back by itself."""
    host = found[0]
    with without_the_pause(host):
        job = Job(host, binary, folder, "node", 400, 60, "low", "1-4")
        job.at_step(10)
        told(host, "scontrol", "update", f"NodeName={found[3].name}", "State=DOWN", "Reason=test")
        job.wait()
        begins = [begin for begin, _ in job.attempts()]
        # There is no plan for three.
        assert len(begins) == 2 and begins[0]["ranks"] == 4 and begins[1]["ranks"] in (2, 4), job.text()
        assert begins[1]["step"] >= 10, job.text()


def the_time_limit_ends_an_attempt_and_the_next_goes_on(found, binary, folder):
    host = found[0]
    with without_the_pause(host):
        job = Job(host, binary, folder, "array", 400, 900, "high", "4", more=["--limit", "7m"], train=["--mesh", "dp=4"])
        assert job.plan()["attempts"] > 1, job.plan()
        job.at_step(10)
        # Less than the grace time is left at once.
        told(host, "scontrol", "update", f"JobId={job.id}_1", "TimeLimit=1")
        assert wait_until(lambda: len(job.attempts()) == 2, 60, 0.2) is not None, job.text()
        first = job.attempts()[0][1]
        assert first["ended"] == "stopped" and job.attempts()[1][0]["step"] == first["step"] > 0, job.text()
        assert "the next attempt of the array continues" in job.text()


def jobs_says_how_they_stand(found, binary, folder):
    host = found[0]
    with without_the_pause(host):
        job = Job(host, binary, folder, "stand", 400, 100, "low", "2-4")
        job.at_step(30)
        state = job.state()
        assert state["state"] == "running" and state["ranks"] == 4 and state["steps"] == 100, state
        assert abs(state["tokens_per_second"] / state["predicted_tokens_per_second"] - 1) < 0.3, state
        assert 0 < state["left_seconds"] < 20 and 0 < state["goodput"] <= 1, state
        job.wait()
        assert job.state()["state"] == "complete" and job.state()["step"] == 100, job.state()
        assert "100/100" in told(host, binary, "jobs", folder)


class Expected:
    """When runs end that share the nodes, by their speed curves alone: starts, saves and queues take no time."""

    def __init__(self, runs):
        self.left = {run["name"]: run["steps"] for run in runs}
        self.runs, self.nodes, self.ends = {run["name"]: run for run in runs}, {}, {}

    def free(self):
        return NODES - sum(self.nodes.values())

    def start(self, waiting):
        """The most important first; each takes what it can get, and takes it from less important ones."""
        for name in sorted(waiting, key=lambda name: -self.runs[name]["priority"]):
            run = self.runs[name]
            for victim in sorted(self.nodes, key=lambda other: self.runs[other]["priority"]):
                if self.free() < run["least"] and self.runs[victim]["priority"] < run["priority"]:
                    del self.nodes[victim]
            if self.free() >= run["least"]:
                self.nodes[name] = min(run["most"], self.free())

    def advance(self, seconds):
        for name, nodes in self.nodes.items():
            self.left[name] -= seconds / self.runs[name]["step_seconds"][nodes]

    def ends_after(self):
        now = 0
        while len(self.ends) < len(self.runs):
            waiting = [name for name, run in self.runs.items() if run["at"] <= now and name not in self.nodes and name not in self.ends]
            self.start(waiting)
            self.start([name for name in self.runs if self.runs[name]["at"] <= now and name not in self.nodes and name not in self.ends])
            ends = [now + self.left[name] * self.runs[name]["step_seconds"][nodes] for name, nodes in self.nodes.items()]
            then = min([*ends, *(run["at"] for run in self.runs.values() if run["at"] > now)], default=math.inf)
            self.advance(then - now)
            now = then
            for name in [name for name in self.nodes if self.left[name] < 1e-9]:
                del self.nodes[name]
                self.ends[name] = now
        return self.ends


def three_runs_share_four_ranks_by_priority(found, binary, folder):
    host = found[0]
    with without_the_pause(host):
        begin = time.time()
        runs = []
        for priority, (name, nodes, steps) in enumerate([("low", "1-4", 240), ("mid", "2", 144), ("high", "4", 144)]):
            job = Job(host, binary, folder, name, 1500, steps, name, nodes)
            runs.append({"name": name, "priority": priority, "steps": steps, "at": job.submitted - begin, "job": job,
                         "least": job.plan()["min_nodes"], "most": job.plan()["max_nodes"],
                         "step_seconds": {row["nodes"]: row["step_seconds"] for row in job.plan()["curve"]}})
            job.at_step(steps // 8)
        for run in runs:
            run["job"].wait(400)
        expected = Expected(runs).ends_after()
        measured = {run["name"]: run["job"].attempts()[-1][1]["unix_time"] - begin for run in runs}
        for run in runs:
            name = run["name"]
            run["ratio"] = (measured[name] - run["at"]) / (expected[name] - run["at"])
            print(f"  {name}: {measured[name] - run['at']:.0f} s from its submission, by the speed curves {expected[name] - run['at']:.0f} s "
                  f"({100 * run['ratio'] - 100:+.0f} %); ranks {[first['ranks'] for first, _ in run['job'].attempts()]}", flush=True)
        assert sorted(measured, key=measured.get) == ["high", "mid", "low"] == sorted(expected, key=expected.get), measured
        for run in runs:
            assert abs(run["ratio"] - 1) < 0.15, run["name"]
            saved_in_time(run["job"])


CHECKS = [a_preempted_job_goes_on_with_the_same_bits, a_job_that_is_preempted_without_grace_goes_on_with_the_same_bits,
          a_job_that_would_be_cancelled_queues_itself_again, a_preempted_job_whose_ranks_alone_are_told_goes_on,
          a_preempted_job_goes_on_on_other_ranks, a_job_whose_node_fails_goes_on, the_time_limit_ends_an_attempt_and_the_next_goes_on,
          jobs_says_how_they_stand, three_runs_share_four_ranks_by_priority]

if __name__ == "__main__":
    lacking = slurm.missing()
    with contextlib.nullcontext() if lacking else slurm.slurm(NODES, 1, PREEMPTION) as nodes:
        run_checks(__doc__, [on(nodes, check) for check in CHECKS], lacking)
