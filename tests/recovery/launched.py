#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tessera launch` around mpirun does with ranks that die, hang or go astray and with signals, each as a check of its own."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from small_run import (LONG, RANKS, STOPPED, Run, alive, children, environment, last_checkpoint, saved_steps, steps_done, train,
                       wait_until, words)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import LeftOut, run_checks  # noqa: E402

# More ranks than cores, and root, are for tests.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def launch(binary, out, steps=None, every=None, more=(), launcher=MPIRUN):
    given = {key: value for key, value in (("steps", steps), ("every", every)) if value}
    return [str(binary), "launch", "--with", " ".join(launcher), *words(binary, out, more=more, **given)[1:]]


def launched(binary, out, fault, more=()):
    return subprocess.run(launch(binary, out, more=more), env=environment(fault), capture_output=True, text=True, timeout=240,
                          check=False)


def undisturbed(binary, folder):
    out = folder / "undisturbed"
    if not out.exists():
        train(binary, out)
    return last_checkpoint(out)


def a_killed_rank_is_named_and_the_run_recovers(binary, folder):
    """In a step, where others wait for it in a collective, and at its end, where they wait for it alone."""
    for phase, step, waits in (("collective", 6, "waits for rank 1 in"), ("exit", 8, "waits for nobody")):
        out = folder / f"killed_{phase}"
        done = launched(binary, out, f"rank=1,phase={phase},step={step},action=kill")
        assert done.returncode == 0, done.stderr
        report = (out / "failure.txt").read_text(encoding="utf-8")
        assert "hangs on rank 1, which wrote no report: it was killed" in report.splitlines()[0], report
        assert waits in report and "rank 1 wrote no report" in report, report
        assert last_checkpoint(out) == undisturbed(binary, folder), "other bits than those of the undisturbed run"
        assert not list(out.glob("rank_reports*")), "reports of ranks are left"


def a_stopped_rank_is_named_and_the_run_recovers(binary, folder):
    out = folder / "stopped"
    done = launched(binary, out, "rank=1,phase=collective,step=6,action=stop", ["--set", "run.deadline_seconds=3"])
    assert done.returncode == 0, done.stderr
    report = (out / "failure.txt").read_text(encoding="utf-8")
    assert "for 3 s" in report.splitlines()[0] and "hangs on rank 1, which wrote no report" in report.splitlines()[0], report
    assert "waits for rank 1 in" in report, report
    assert last_checkpoint(out) == undisturbed(binary, folder), "other bits than those of the undisturbed run"


def a_rank_that_does_not_end_is_named(binary, folder):
    """Behind its last collective nobody waits for it in one: over MPI, and with ranks that share memory."""
    fault, more = "rank=3,phase=exit,step=8,action=", ["--set", "run.deadline_seconds=3"]
    mpi = launched(binary, folder / "end_mpi", fault + "stop", more)
    local = train(binary, folder / "end_local", fault + "hang", [*more, "--supervise"])
    for done, out, told in ((mpi, folder / "end_mpi", "rank 3 failed: it does not end, 3 s after this one"),
                            (local, folder / "end_local", "rank 3 does not end, 3 s after the first that did")):
        assert done.returncode == 0, done.stderr
        report = (out / "failure.txt").read_text(encoding="utf-8")
        assert told in report.splitlines()[0] and told in done.stderr, report
        assert last_checkpoint(out) == undisturbed(binary, folder), "other bits than those of the undisturbed run"


def launcher_of(run, ranks=RANKS):
    """The process of mpirun, once its ranks are there."""
    under_way = lambda: any(len(children(process)) == ranks for process in children(run.process.pid))
    assert wait_until(under_way, 120) is not None, run.text()
    return children(run.process.pid)[0]


def a_launcher_that_does_not_end_is_killed(binary, folder):
    """mpirun is stopped: it neither sees that a rank dies nor ends when the others have told so and ended."""
    out = folder / "launcher_stopped"
    run = Run(launch(binary, out, LONG, 1000, ["--set", "run.deadline_seconds=3"]), folder / "launcher_stopped.log")
    try:
        mpirun = launcher_of(run)
        assert wait_until(lambda: steps_done(out) >= 3, 120) is not None, run.text()
        os.kill(mpirun, signal.SIGSTOP)
        os.kill(children(mpirun)[1], signal.SIGKILL)
        assert wait_until(lambda: "restart 1 of" in run.text(), 120) is not None, run.text()
        assert "did not end when its ranks had ended, and was killed" in run.text(), run.text()
        report = (out / "failure.txt").read_text(encoding="utf-8")
        assert "rank 1" in report.splitlines()[0], report
        assert not alive(mpirun)
        again = launcher_of(run)
        assert again != mpirun
        os.kill(again, signal.SIGSTOP)  # nor does it hand on a signal now
        run.process.send_signal(signal.SIGTERM)
        time.sleep(1.5)
        ranks = children(again)
        run.process.send_signal(signal.SIGTERM)
        assert run.wait(20) == 128 + signal.SIGTERM, run.text()
        assert not any(alive(process) for process in [again, *ranks]), "a second signal left processes"
    finally:
        run.end()


def a_launcher_that_starts_nothing_is_no_failure_of_the_run(binary, folder):
    """As ORTE and srun do while a switch or a node is away: it is tried again, and told in words."""
    out, starts, script = folder / "outage", folder / "outage.starts", folder / "flaky_mpirun"
    script.write_text(f"""#!/bin/sh
echo x >> {starts}
test $(wc -l < {starts}) -gt 3 || {{ echo "ORTE was unable to reliably start one or more daemons." >&2; exit 1; }}
exec {" ".join(MPIRUN)} "$@"
""", encoding="utf-8")
    script.chmod(0o755)
    command = launch(binary, out, launcher=[str(script)])
    done = subprocess.run([*command[:2], "--restarts", "0", *command[2:]], env=environment(), capture_output=True, text=True,
                          timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("flaky_mpirun ended with exit code 1 before any rank had begun") == 3, done.stderr
    assert "restart" not in done.stderr and last_checkpoint(out) == undisturbed(binary, folder), done.stderr


def a_killed_mpirun_leaves_no_shared_memory(binary, folder):
    out = folder / "segments"
    run = Run(launch(binary, out, LONG, 1000), folder / "segments.log")
    mapped = lambda process: {line.split()[-1] for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines()
                              if "/dev/shm/vader_segment." in line}
    try:
        mpirun = launcher_of(run)
        assert wait_until(lambda: steps_done(out) >= 3, 120) is not None, run.text()
        segments = mapped(children(mpirun)[0])
        os.kill(mpirun, signal.SIGKILL)
        assert wait_until(lambda: "restart 1 of" in run.text(), 120) is not None, run.text()
        assert segments and not any(os.path.exists(segment) for segment in segments), f"left: {segments}"
    finally:
        run.end()


def signals_save(binary, folder):
    out = folder / "signals"
    run = Run(launch(binary, out, LONG, 50000), folder / "signals.log")
    try:
        assert wait_until(lambda: steps_done(out) >= 3, 120) is not None, run.text()
        run.process.send_signal(signal.SIGUSR1)
        assert wait_until(lambda: len(saved_steps(out)) == 1, 120) is not None, f"SIGUSR1 saved nothing: {run.text()}"
        at = steps_done(out)
        assert wait_until(lambda: steps_done(out) > at, 120) is not None, "the run ended with SIGUSR1"
        run.process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        assert run.wait(20) == STOPPED, run.text()
        print(f"  SIGTERM: saved and ended after {time.monotonic() - begin:.2f} s")
        assert saved_steps(out)[-1] == steps_done(out), f"{saved_steps(out)} at step {steps_done(out)}"
        assert "restart" not in run.text(), run.text()
        assert not (out / "failure.txt").exists() and not (out / "rank_reports").exists(), "a failure report of a run that was stopped"
    finally:
        run.end()


def a_skipped_step_is_named_at_once(binary, folder):
    """Ranks over MPI, and ranks that share memory."""
    fault = "rank=2,phase=step,step=6,action=skip"
    mpi = subprocess.run([*MPIRUN, "-np", str(RANKS), *words(binary, folder / "skip_mpi")], env=environment(fault),
                         capture_output=True, text=True, timeout=240, check=False)
    local = train(binary, folder / "skip_local", fault, ["--processes"])
    for done, out in ((mpi, folder / "skip_mpi"), (local, folder / "skip_local")):
        assert done.returncode == 3, f"{done.returncode}: {done.stderr}"
        report = (out / "failure.txt").read_text(encoding="utf-8")
        assert "rank 2 is at step 6 without it, but this rank is at step 5" in report.splitlines()[0], report
        assert "no reply" not in done.stderr, done.stderr


def another_config_or_binary_is_named_at_the_start(binary, folder):
    given = words(binary, folder / "start")
    other = folder / "other_tessera"
    other.write_bytes(binary.read_bytes() + b"rebuilt")
    other.chmod(0o755)
    for odd, told in (([*given, "--set", "train.seed=2"],
                       "rank 2 was started with another config than rank 0: [train] seed = 2, not seed = "),
                      ([str(other), *given[1:]], "rank 2 runs another tessera than rank 0")):
        begin = time.monotonic()
        done = subprocess.run([*MPIRUN, "-np", "2", *given, ":", "-np", "1", *odd, ":", "-np", "1", *given],
                              env=environment(), capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 2 and told in done.stderr, f"{done.returncode}: {done.stderr}"
        print(f"  named and ended after {time.monotonic() - begin:.2f} s: {told}...")


def ranks_without_a_shared_folder_are_named_before_the_first_step(binary, folder):
    """As on machines of which each has a disk of its own: two ranks have another file system where the run's folder is."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        raise LeftOut("a file system for one rank alone needs root, for unshare -m")
    parent = folder / "unshared"
    parent.mkdir()
    wrapper = folder / "wrapper.sh"
    wrapper.write_text(f'''case $OMPI_COMM_WORLD_RANK in
  1|3) exec unshare -m sh -c 'mount -t tmpfs none {parent} && mkdir {parent}/run && exec "$@"' sh "$@" ;;
esac
exec "$@"
''', encoding="utf-8")
    done = subprocess.run([*MPIRUN, "-np", str(RANKS), "sh", str(wrapper), *words(binary, parent / "run")], env=environment(),
                          capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 2, f"{done.returncode}: {done.stdout} {done.stderr}"
    assert f"{parent / 'run'} is not one folder for all ranks" in done.stderr, done.stderr
    assert "ranks 1, 3 (on " in done.stderr, done.stderr
    assert steps_done(parent / "run") == 0 and not saved_steps(parent / "run"), "it has begun to train"


CHECKS = [a_killed_rank_is_named_and_the_run_recovers, a_stopped_rank_is_named_and_the_run_recovers,
          a_rank_that_does_not_end_is_named, a_launcher_that_does_not_end_is_killed,
          a_launcher_that_starts_nothing_is_no_failure_of_the_run, a_killed_mpirun_leaves_no_shared_memory, signals_save,
          a_skipped_step_is_named_at_once, another_config_or_binary_is_named_at_the_start,
          ranks_without_a_shared_folder_are_named_before_the_first_step]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS, "" if shutil.which("mpirun") else "mpirun is missing (tools/setup.sh mpi)")
