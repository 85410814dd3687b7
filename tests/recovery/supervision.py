#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a supervised run does with signals and with ranks that die, hang or wake up too late, each as a check of its own."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

from small_run import LONG, STOPPED, Run, alive, children, environment, last_checkpoint, saved_steps, state, steps_done, train, wait_until, words

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402


def ready(run, out, supervised=True, step=3, save=True):
    """Once some steps are done, and one is saved."""
    saved = lambda: not save or saved_steps(out)
    assert wait_until(lambda: steps_done(out) >= step and saved() and run.ranks(supervised), 120) is not None, run.text()
    return run.ranks(supervised)


def a_death_is_seen_and_the_run_goes_on(binary, folder):
    out = folder / "death"
    run = Run(words(binary, out, LONG, 2, ["--supervise"]), folder / "death.log")
    try:
        ranks = ready(run, out)
        os.kill(ranks[2], signal.SIGKILL)
        begin = time.monotonic()
        seen = wait_until(lambda: "rank 2 was ended by signal 9" in run.text(), 120)
        before = steps_done(out)
        assert wait_until(lambda: run.ranks() and run.ranks() != ranks, 120) is not None, run.text()
        first = wait_until(lambda: "restart 1" in run.text() and steps_done(out) > before, 120)
        total = time.monotonic() - begin
        assert seen is not None and first is not None, run.text()
        print(f"  a death was seen after {seen:.3f} s, the first new step was done after {total:.2f} s")
    finally:
        run.end()


def nobody_is_left_when_the_supervisor_is_killed(binary, folder):
    out = folder / "orphans"
    run = Run(words(binary, out, LONG, 2, ["--supervise"]), folder / "orphans.log")
    try:
        ranks = ready(run, out)
        everyone = ranks + children(run.process.pid)
    finally:
        run.end()
    assert wait_until(lambda: not any(alive(process) for process in everyone), 120) is not None, "some live on"


def a_stopped_rank_is_named_and_the_run_recovers(binary, folder):
    out = folder / "stopped"
    done = train(binary, out, fault="rank=1,phase=collective,step=6,action=stop",
                 more=["--supervise", "--set", "run.deadline_seconds=3"])
    report = (out / "failure.txt").read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "rank 1, which is stopped" in report or "no reply from rank 1" in report.splitlines()[0], report
    assert "rank 1 is stopped" in report, report
    assert "waits for rank 1 in" in report, report
    undisturbed = folder / "undisturbed"
    train(binary, undisturbed)
    assert last_checkpoint(out) == last_checkpoint(undisturbed), "other bits than those of the undisturbed run"


def a_rank_that_is_lost_in_the_last_save_is_no_lack_of_room(binary, folder):
    done = train(binary, folder / "last_save", fault="rank=1,phase=rename,step=8,action=stop",
                 more=["--supervise", "--set", "run.deadline_seconds=3"])
    assert done.returncode == 0 and "supervisor: restart 1" in done.stderr, done.stderr
    assert "no reply from rank 1 for 3 s" in done.stderr, done.stderr
    assert "CHECKPOINT OF STEP" not in done.stderr and "make room" not in done.stderr, done.stderr


def a_hanging_thread_is_named(binary, folder):
    out = folder / "thread"
    done = train(binary, out, fault="rank=1,phase=collective,step=3,action=hang", more=["--set", "run.deadline_seconds=3"])
    assert done.returncode == 3, done.stderr
    assert "no reply from rank 1 for 3 s" in done.stderr or "hangs on rank 1" in done.stderr, done.stderr
    assert steps_done(out) == 2, steps_done(out)
    report = (out / "failure.txt").read_text(encoding="utf-8")
    assert report.splitlines()[0] in done.stderr, f"{report} is not about {done.stderr}"
    assert "waits for rank 1 in" in report and "rank 1 waits for nobody" in report, report
    assert "rank 1 runs, at step 2\n" in report, report


def a_stale_run_cannot_write(binary, folder):
    out = folder / "stale"
    stale = Run(words(binary, out, LONG, 2, ["--processes"]), folder / "stale.log",
                fault="rank=0,phase=manifest,step=6,action=stop")
    newer = None
    try:
        stopped = lambda: stale.ranks(False) and state(stale.ranks(False)[0]) == "T"
        assert wait_until(stopped, 120) is not None, stale.text()
        first = stale.ranks(False)[0]
        newer = Run(words(binary, out, LONG, 2, ["--processes", "--resume"]), folder / "newer.log")
        assert wait_until(lambda: steps_done(out) > 12, 120) is not None, newer.text()
        os.kill(first, signal.SIGCONT)
        assert stale.wait(120) == 2, stale.text()
        assert "a newer start of this run has taken over" in stale.text(), stale.text()
        now = steps_done(out)
        assert wait_until(lambda: steps_done(out) > now, 120) is not None, "the newer run no longer goes on"
    finally:
        stale.end()
        if newer:
            newer.end()


def signals_save(binary, folder):
    out = folder / "signals"
    run = Run(words(binary, out, LONG, 50000, ["--supervise"]), folder / "signals.log")
    try:
        ready(run, out, save=False)
        saved = lambda: saved_steps(out)
        run.process.send_signal(signal.SIGUSR1)
        assert wait_until(lambda: len(saved()) == 1, 120) is not None, f"SIGUSR1 saved {saved()}: {run.text()}"
        at = steps_done(out)
        assert wait_until(lambda: steps_done(out) > at, 120) is not None, "the run ended with SIGUSR1"
        run.process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        assert run.wait(120) == STOPPED, run.text()
        print(f"  SIGTERM: saved and ended after {time.monotonic() - begin:.2f} s")
        assert saved()[-1] == steps_done(out), f"{saved()} at step {steps_done(out)}"
    finally:
        run.end()


def a_run_that_is_stopped_says_so(binary, folder):
    """Ranks as threads and as processes: a script that goes on after success does not go on."""
    for name, more in (("threads", []), ("processes", ["--processes"])):
        out = folder / f"stopped_{name}"
        run = Run(words(binary, out, LONG, 50000, more), folder / f"stopped_{name}.log")
        try:
            assert wait_until(lambda: steps_done(out) >= 3, 30) is not None, run.text()
            run.process.send_signal(signal.SIGINT)
            assert run.wait(10) == STOPPED, run.text()
            assert saved_steps(out) == [steps_done(out)], f"saved {saved_steps(out)} at step {steps_done(out)}"
        finally:
            run.end()


def a_terminal_that_is_gone_saves(binary, folder):
    """As an ssh that breaks off: SIGHUP, and nobody takes what is printed. Under nohup it goes on."""
    out = folder / "hangup"
    command = [word for word in words(binary, out, LONG, 50000, ["--supervise"]) if word != "--json"]
    process, terminal = pty.fork()
    if process == 0:
        os.execv(command[0], command)
    os.set_blocking(terminal, False)

    def steps():
        try:
            os.read(terminal, 1 << 16)
        except BlockingIOError:
            pass
        return steps_done(out)

    assert wait_until(lambda: steps() >= 3, 120) is not None, "no step was done"
    os.close(terminal)
    ended = wait_until(lambda: os.waitpid(process, os.WNOHANG)[0] == process, 120)
    if ended is None:
        os.kill(process, signal.SIGKILL)
    assert ended is not None, "it does not end"
    assert saved_steps(out) == [steps_done(out)], f"saved {saved_steps(out)} at step {steps_done(out)}"
    run = Run(["nohup", *words(binary, folder / "nohup", LONG, 50000, ["--supervise"])], folder / "nohup.log")
    try:
        assert wait_until(lambda: steps_done(folder / "nohup") >= 3, 120) is not None, run.text()
        run.process.send_signal(signal.SIGHUP)
        at = steps_done(folder / "nohup")
        assert wait_until(lambda: steps_done(folder / "nohup") > at + 20, 120) is not None, "the run ended with SIGHUP"
    finally:
        run.end()


def a_signal_before_the_first_moment_is_answered(binary, folder):
    """To stop, sent before the program has begun: it ends as one that is told to stop, not by the signal."""
    def asked_already():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        os.kill(os.getpid(), signal.SIGUSR2)

    for name, more in (("alone", []), ("processes", ["--processes"]), ("supervised", ["--supervise"])):
        out = folder / f"early_{name}"
        done = subprocess.run(words(binary, out, LONG, 50000, more), env=environment(), capture_output=True, text=True,
                              timeout=240, check=False, preexec_fn=asked_already)
        assert done.returncode == STOPPED, f"{name}: {done.returncode} {done.stderr}"
        assert steps_done(out) == 0, f"{name}: it went on to step {steps_done(out)}"


def data_that_cannot_be_read_for_a_while_is_waited_for(binary, folder):
    """As a file server that is away takes it with it: the same words worked before."""
    out, data = folder / "data", folder / "data.txt"
    data.write_text("the quick brown fox jumps over the lazy dog\n" * 500, encoding="utf-8")
    run = Run(words(binary, out, LONG, 2, ["--supervise", "--set", f"data.path={data}"]), folder / "data.log")
    try:
        ranks = ready(run, out)
        away = data.rename(folder / "away.txt")
        os.kill(ranks[0], signal.SIGKILL)
        assert wait_until(lambda: "ended with exit code 2 before any rank had begun" in run.text(), 120) is not None, run.text()
        away.rename(data)
        at = steps_done(out)
        assert wait_until(lambda: steps_done(out) > at, 120) is not None, run.text()
    finally:
        run.end()


def fewer_ranks_take_over(binary, folder):
    """Where a run fails again and again, and nobody says which ranks are there."""
    out = folder / "fewer"
    more = ["--supervise", "--least-ranks", "2", "--patience", "0", "--zero", "1"]
    command = words(binary, out, LONG, 50000, more)
    at = command.index("--mesh")
    command[at:at + 2] = [f"--mesh={command[at + 1]}"]  # both it and --zero 1 must go, as one word or as two
    run = Run(command, folder / "fewer.log")
    try:
        deadline = time.monotonic() + 240
        while "one of 4 ranks is taken to be lost" not in run.text():
            assert time.monotonic() < deadline, run.text()
            for process in run.ranks()[:1]:
                os.kill(process, signal.SIGKILL)
            time.sleep(0.05)
        continued = lambda: re.search(r"continuing on (\d) ranks instead of 4", run.text())
        assert wait_until(lambda: continued() and "restart 3" in run.text(), 120) is not None, run.text()
        left = int(continued().group(1))
        fewer = lambda: any(len(children(leader)) == left for leader in children(run.process.pid))
        assert left in (2, 3) and wait_until(lambda: fewer() and steps_done(out) >= 3, 120) is not None, run.text()
    finally:
        run.end()


CHECKS = [a_death_is_seen_and_the_run_goes_on, nobody_is_left_when_the_supervisor_is_killed,
          a_stopped_rank_is_named_and_the_run_recovers, a_rank_that_is_lost_in_the_last_save_is_no_lack_of_room,
          a_hanging_thread_is_named,
          a_stale_run_cannot_write, signals_save, a_run_that_is_stopped_says_so, a_terminal_that_is_gone_saves,
          a_signal_before_the_first_moment_is_answered, data_that_cannot_be_read_for_a_while_is_waited_for, fewer_ranks_take_over]


if __name__ == "__main__":
    run_checks(__doc__, CHECKS)
