#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random faults: processes of a run are killed, stopped and sent signals at random moments, its calls on files fail for a while, its links
are cut or drop packets. A run that ends before its last step is resumed, as a person would. In the end it must have the bits of a
run that nobody disturbed; on the way every save that was reported must be there, exit codes must be those of docs/failures.md, and
no process may be left. The same seed gives the same choices. --load keeps all cores and the disk busy."""
import argparse
import contextlib
import errno
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from chaos_backends import KINDS, backend
from machine_load import load
from network_hosts import end_once
from small_run import STOPPED, Run, alive, environment, last_checkpoint, saved_steps, wait_until, words
from what_was_saved import problem_of_saves

STEPS = 150
MESHES = ["dp=2", "dp=2,pp=2"]
LIMIT_SECONDS = 300  # of one run, with all that is done to it
MORE = ["--set", "run.deadline_seconds=2"]
FILE_FAULTS = [("write", "step-", errno.EIO), ("write", "step-", errno.ENOSPC), ("fsync", "step-", errno.EIO),
               ("rename", "step-", errno.EIO), ("open", "step-", errno.EROFS), ("open", "step-", errno.EMFILE),
               ("opendir", "checkpoints", errno.EIO), ("opendir", "checkpoints", errno.ESTALE), ("readdir", "checkpoints", errno.EIO),
               ("stat", "checkpoints", errno.EIO), ("read", "step-", errno.EIO), ("mapped_read", "step-", errno.EIO),
               ("write", "metrics.jsonl", errno.ENOSPC), ("open", "generation", errno.EIO), ("write", "tensorboard", errno.ENOSPC)]


def send(process, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def answers(process, number):
    """Whether the process has blocked the signal or has a handler for it."""
    try:
        lines = pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in lines if line.startswith(("SigBlk:", "SigCgt:"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


class Chaos:
    """One run and what is done to it."""

    def __init__(self, arguments, where, folder, draw, number):
        self.binary, self.where, self.draw, self.folder = arguments.binary.resolve(), where, draw, folder
        # Of a job of Slurm the ranks are fixed.
        self.mesh, self.every = MESHES[1] if arguments.backend in ("hosts", "slurm") else draw.choice(MESHES), draw.randint(1, 5)
        self.out, self.number = folder / f"run{number}", number
        self.done, self.starts, self.stopped, self.run = [], 0, [], None

    def words(self):
        again = [] if self.starts == 0 else ["--resume"] if saved_steps(self.out) else ["--overwrite"]
        return words(self.binary, self.out, STEPS, self.every, [*MORE, *again], self.mesh)

    def start(self):
        command = self.where.command(self.words())
        self.run = Run(command, self.folder / f"run{self.number}.{self.starts}.log", env=self.where.environment(environment()))
        self.starts += 1
        self.file_faults = self.asked = False

    def actions(self):
        top, ranks, launchers = self.run.process.pid, self.where.ranks(self.run.process.pid), self.where.launchers(self.run.process.pid)
        # Before main's first line no program can answer.
        found = [("signal", [top], signal.SIGUSR1)] if answers(top, signal.SIGUSR1) else []
        found += [("ask", [top], signal.SIGTERM), ("kill", [top], signal.SIGKILL),
                 ("stop", [top], signal.SIGSTOP)]
        found += 3 * [("kill", [self.draw.choice(ranks)], signal.SIGKILL)] if ranks else []
        found += 3 * [("stop", [self.draw.choice(ranks)], signal.SIGSTOP)] if ranks else []
        found += [("kill", [self.draw.choice(launchers)], signal.SIGKILL), ("stop", [self.draw.choice(launchers)], signal.SIGSTOP),
                  ("kill all", [top, *launchers, *ranks], signal.SIGKILL)] if launchers else []
        return found

    def act(self):
        """One thing that goes wrong, and the time that it lasts."""
        if self.where.faults and self.draw.random() < 0.4:
            call, word, error = self.draw.choice(FILE_FAULTS)
            who = self.draw.choice(["supervisor", "children", "all"])
            self.where.faults.set(call, word, error, who)
            self.file_faults = True
            self.done.append(f"{call} {word} {errno.errorcode[error]} {who}")
            if self.draw.random() < 0.5 and (ranks := self.where.ranks(self.run.process.pid)):
                send(self.draw.choice(ranks), signal.SIGKILL)  # so that what fails is met in a restart, too
                self.done[-1] += " and kill"
            time.sleep(self.draw.uniform(0.1, 1.2))
            self.where.faults.clear()
        elif self.draw.random() < 0.3 and self.where.disturb_links(self.draw):
            self.done.append("link")
            time.sleep(self.draw.uniform(0.1, 3))
            self.where.mend()
        else:
            name, processes, number = self.draw.choice(self.actions())
            self.done.append(f"{name} {'top' if processes == [self.run.process.pid] else len(processes)}")
            self.asked = self.asked or number == signal.SIGTERM
            for process in processes:
                send(process, number)
            if number == signal.SIGSTOP and (self.draw.random() < 0.5 or processes == [self.run.process.pid]):
                time.sleep(self.draw.uniform(0.05, 1))
                send(processes[0], signal.SIGCONT)
            elif number == signal.SIGSTOP:
                self.stopped += processes

    def processes_left(self):
        by_words = subprocess.run(["pgrep", "-f", f"{self.out} "], capture_output=True, text=True, check=False).stdout.split()
        return [process for process in [*map(int, by_words), *self.where.left()] if alive(process)]

    def end_problems(self, code):
        """Of a start that ended with this code."""
        allowed = {0, STOPPED, -signal.SIGKILL, 128 + signal.SIGKILL, 128 + signal.SIGTERM}
        # Bad input is what a file that cannot be read looks like.
        allowed |= {2} if self.file_faults else set()
        # A rank failed while the run was about to stop, or was told so by mpirun before it had begun; or nothing had begun yet.
        allowed |= {3, 128 + signal.SIGUSR2, -signal.SIGTERM} if self.asked else set()
        allowed |= {1, 5} if isinstance(self.where, KINDS["slurm"]) else set()  # of salloc; of a job that is gone
        problems = [] if code in allowed else [f"exit code {code}"]
        for process in self.stopped:
            send(process, signal.SIGCONT)
        self.where.clear_away()
        # A launch whose salloc was killed ends when it has had its patience.
        if wait_until(lambda: not self.processes_left(), 90, 0.1) is None:
            problems.append(f"processes are left: {self.processes_left()}")
        saved = problem_of_saves(self.binary, self.out)
        return problems + ([saved] if saved else [])

    def problems(self):
        begin, most_actions = time.monotonic(), self.draw.randint(2, 8)
        self.start()
        while time.monotonic() - begin < LIMIT_SECONDS:
            gap = self.draw.uniform(0.1, 0.8)
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self.run.wait(gap if len(self.done) < most_actions else 60)
                if problems := self.end_problems(code):
                    return problems
                # By its checkpoints: records may be lost where a disk is full.
                if code == 0 and max(saved_steps(self.out), default=0) >= STEPS:
                    return []
                self.start()
                continue
            if len(self.done) < most_actions:
                self.act()
            else:
                for process in self.stopped:
                    send(process, signal.SIGCONT)
        return [f"not ended after {LIMIT_SECONDS} s"]

    def finish(self):
        self.where.mend()
        self.run.end()
        for process in self.processes_left():
            send(process, signal.SIGKILL)


def undisturbed(binary, folder, mesh, every, memory={}):
    if (mesh, every) not in memory:
        out = folder / f"undisturbed_{mesh}_{every}"
        subprocess.run(words(binary, out, STEPS, every, MORE, mesh), env=environment(), check=True, capture_output=True, timeout=300)
        memory[mesh, every] = last_checkpoint(out, STEPS)
    return memory[mesh, every]


def one_run(arguments, where, folder, draw, number):
    """Whether it ended as it should."""
    chaos, begin = Chaos(arguments, where, folder, draw, number), time.monotonic()
    expected = undisturbed(arguments.binary.resolve(), folder, chaos.mesh, chaos.every)
    try:
        problems = chaos.problems()
    except Exception:
        problems = [traceback.format_exc()]
    finally:
        chaos.finish()
    if not problems and last_checkpoint(chaos.out, STEPS) != expected:
        problems = ["other bits than those of the undisturbed run"]
    logs = sorted(folder.glob(f"run{number}.*.log"), key=lambda path: path.stat().st_mtime)
    restarts = sum(path.read_text(encoding="utf-8").count("supervisor: restart ") for path in logs)
    print(f"{number} {chaos.mesh} every {chaos.every}: {'; '.join(problems) or 'as it should'} ({time.monotonic() - begin:.1f} s, "
          f"{chaos.starts} starts, {restarts} restarts): {', '.join(chaos.done)}", flush=True)
    for path in logs if problems else []:
        print(f"-- {path.name}\n{path.read_text(encoding='utf-8')[-6000:]}", flush=True)
    return not problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--backend", choices=KINDS, default="supervise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--load", action="store_true")
    arguments = parser.parse_args()
    if missing := KINDS[arguments.backend].missing():
        print(f"skipped: {missing}")
        return
    held = 0
    signal.signal(signal.SIGTERM, end_once)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = pathlib.Path(temporary)
        with backend(arguments.backend, folder) as where, load(folder) if arguments.load else contextlib.nullcontext():
            for number in range(arguments.count):
                draw = random.Random(f"{arguments.backend} {arguments.seed} {number}")
                held += one_run(arguments, where, folder, draw, number)
    print(f"{held} of {arguments.count} runs ended as they should ({arguments.backend}, seed {arguments.seed})")
    sys.exit(0 if held == arguments.count else 1)


if __name__ == "__main__":
    main()
