#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tessera launch` does in jobs of a Slurm of one node, which this script starts for itself and ends. Needs root and Debian's
slurm-wlm and munge; else it is skipped. Not among the tests of CI."""
import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile

from checks import run_checks
from small_run import LONG, RANKS, Run, environment, last_checkpoint, saved_steps, steps_done, train, wait_until, words

PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "salloc", "scancel"]
CONFIG = """ClusterName=one
SlurmctldHost={host}
SlurmctldPort=16817
SlurmdPort=16818
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName={host} CPUs={ranks} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


@contextlib.contextmanager
def slurm():
    """One node with as many cores as there are ranks, whatever the machine has."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        folder.chmod(0o755)  # the socket of munged must be reached
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        config = folder / "slurm.conf"
        config.write_text(CONFIG.format(host=socket.gethostname().split(".")[0], folder=folder, ranks=RANKS), encoding="utf-8")
        os.environ["SLURM_CONF"] = str(config)
        daemons = [["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
                    f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/munge.seed", f"--log-file={folder}/munge.log"],
                   ["slurmctld", "-D", "-f", config], ["slurmd", "-D", "-f", config]]
        started = []
        try:
            for daemon in daemons:
                started.append(subprocess.Popen([str(word) for word in daemon], stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL))
            idle = lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False).stdout
            assert wait_until(idle, 20, 0.2) is not None, (folder / "slurmctld.log").read_text(encoding="utf-8")
            yield
        finally:
            for daemon in reversed(started):
                daemon.terminate()
                daemon.wait(20)


def launch(binary, out, steps=LONG, every=50000, more=()):
    return ["salloc", "-Q", "-n", str(RANKS), str(binary), "launch", *words(binary, out, steps, every, more)[1:]]


def recovers(binary, folder, action, more=()):
    out, whole = folder / action, folder / "whole"
    done = subprocess.run(launch(binary, out, 8, 2, more), env=environment(f"rank=1,phase=collective,step=6,action={action}"),
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "supervisor: restart 1 of" in done.stderr, done.stderr
    story = (out / "failure.txt").read_text(encoding="utf-8")
    assert "hangs on rank 1, which left nothing: it was killed, stopped" in story.splitlines()[0], story
    assert "waits for rank 1 in" in story, story
    if not whole.exists():
        train(binary, whole)
    assert last_checkpoint(out) == last_checkpoint(whole) != {}, "other bits than those of the undisturbed run"


def a_killed_rank_is_named_and_the_run_recovers(binary, folder):
    recovers(binary, folder, "kill")


def a_stopped_rank_is_named_and_the_run_recovers(binary, folder):
    recovers(binary, folder, "stop", ["--set", "run.deadline_seconds=1"])


def signals_of_scancel_save(binary, folder):
    out = folder / "signals"
    run = Run(launch(binary, out), folder / "signals.log")
    cancel = lambda name: subprocess.run(["scancel", f"--signal={name}", "--user=root"], check=True)
    try:
        assert wait_until(lambda: steps_done(out) >= 3, 30) is not None, run.text()
        cancel("USR1")
        assert wait_until(lambda: len(saved_steps(out)) == 1, 10) is not None, f"USR1 saved nothing: {run.text()}"
        at = steps_done(out)
        assert wait_until(lambda: steps_done(out) > at, 10) is not None, "the run ended with USR1"
        cancel("TERM")
        assert run.wait(20) == 0, run.text()
        assert saved_steps(out)[-1] == steps_done(out), f"{saved_steps(out)} at step {steps_done(out)}"
        assert not (out / "failure.txt").exists() and not (out / "story").exists(), "a story is told of a run that was stopped"
    finally:
        run.end()


def launch_hands_on_its_own_signal_to_stop(binary, folder):
    out = folder / "stopped"
    run = Run(launch(binary, out), folder / "stopped.log")
    try:
        assert wait_until(lambda: steps_done(out) >= 3, 30) is not None, run.text()
        run.process.send_signal(signal.SIGTERM)  # salloc hands it on
        assert run.wait(20) is not None
        assert saved_steps(out) and saved_steps(out)[-1] == steps_done(out), f"{saved_steps(out)} at step {steps_done(out)}"
    finally:
        run.end()


def missing():
    if os.geteuid() != 0:
        return "a Slurm of one's own needs root"
    lacking = [program for program in PROGRAMS if not shutil.which(program)]
    return f"{', '.join(lacking)} missing (apt-get install slurm-wlm munge)" if lacking else ""


if __name__ == "__main__":
    with slurm() if not missing() else contextlib.nullcontext():
        run_checks(__doc__, [a_killed_rank_is_named_and_the_run_recovers, a_stopped_rank_is_named_and_the_run_recovers,
                             signals_of_scancel_save, launch_hands_on_its_own_signal_to_stop], missing())
