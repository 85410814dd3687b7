#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tessera launch` does in jobs of a Slurm of three nodes, which this script starts for itself and ends: ranks that are killed or
stopped on another node, a node that is cut off, signals. Nodes are network namespaces: needs root and Debian's slurm-wlm and munge."""
import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile

import network_hosts
from network_hosts import SUBNET, hosts
from small_run import LONG, RANKS, STOPPED, Run, environment, last_checkpoint, saved_steps, steps_done, train, wait_until, words

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402

PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "salloc", "scancel"]
CONFIG = """ClusterName=three
SlurmctldHost=host0
SlurmctldPort=16817
SlurmdPort=16818
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={own}/munge.socket
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={own}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={own}/spool
TmpFS={own}
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SlurmdTimeout=60
KillWait=5
TCPTimeout=2
MessageTimeout=5
ReturnToService=2
{nodes}
{more}
"""
ONE_PARTITION = "PartitionName=all Nodes=ALL Default=YES State=UP"
SALLOC = ["salloc", "-Q", "--no-kill", "--exclusive", "-N3", "-n", str(RANKS)]
# Ranks of different nodes have the network alone between them.
MPI = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": SUBNET, "PMIX_MCA_psec": "native"}


def configure(folder, found, cores, more):
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    nodes = "\n".join(f"NodeName={host.name} NodeAddr={host.address} CPUs={cores} State=UNKNOWN" for host in found)
    (folder / "slurm.conf").write_text(CONFIG.format(folder=folder, own=found[0].own, nodes=nodes, more=more), encoding="utf-8")
    os.environ.update(MPI, SLURM_CONF=str(folder / "slurm.conf"))
    return key


@contextlib.contextmanager
def slurm(nodes=3, cores=2, more=ONE_PARTITION):
    """Nodes of so many cores each, whatever the machine has; gives their hosts. `more`: partitions, and what else its config says."""
    with hosts(nodes) as found, tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        folder.chmod(0o755)  # the socket of munged must be reached
        key = configure(folder, found, cores, more)
        own = found[0].own
        munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={own}/munge.socket",
                 f"--pid-file={own}/munge.pid", f"--seed-file={own}/munge.seed", f"--log-file={own}/munge.log"]
        daemons = [*((host, munge) for host in found), (found[0], ["slurmctld", "-D"]),
                   *((host, ["slurmd", "-D", "-N", host.name]) for host in found)]
        started = []
        try:
            for host, daemon in daemons:
                started.append(host.start(daemon, folder / "daemons.log"))
            told = lambda: subprocess.run(found[0].command(["sinfo", "-h", "-o", "%T %D"]), capture_output=True, text=True, check=False)
            assert wait_until(lambda: f"idle {nodes}" in told().stdout, 120, 0.2) is not None, (folder / "slurmctld.log").read_text()
            yield found
        finally:
            for daemon in reversed(started):
                daemon.terminate()
            for daemon in started:
                daemon.wait(20)


def launch(found, binary, out, steps=LONG, every=50000, more=()):
    """Two ranks on the first node, and one on each other."""
    return found[0].command([*SALLOC, str(binary.resolve()), "launch", *words(binary, out, steps, every, more)[1:]])


def has_the_bits_of_one_machine(binary, folder, out):
    if not (folder / "whole").exists():
        train(binary, folder / "whole")
    assert last_checkpoint(out) == last_checkpoint(folder / "whole") != {}, "other bits than those of one machine"


def a_run_has_the_bits_of_one_machine(found, binary, folder):
    done = subprocess.run(launch(found, binary, folder / "clean", 8, 2), env=environment(), capture_output=True, text=True,
                          timeout=240, check=False)
    assert done.returncode == 0 and "supervisor:" not in done.stderr, done.stderr
    has_the_bits_of_one_machine(binary, folder, folder / "clean")


def recovers(found, binary, folder, action, more=()):
    """Rank 2 is the one of the second node."""
    out = folder / action
    done = subprocess.run(launch(found, binary, out, 8, 2, more), env=environment(f"rank=2,phase=collective,step=6,action={action}"),
                          capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0 and "supervisor: restart 1 of" in done.stderr, done.stderr
    report = (out / "failure.txt").read_text(encoding="utf-8")
    assert "hangs on rank 2, which wrote no report: it was killed, stopped" in report.splitlines()[0], report
    assert "waits for rank 2 in" in report, report
    has_the_bits_of_one_machine(binary, folder, out)


def a_killed_rank_of_another_node_is_named_and_the_run_recovers(found, binary, folder):
    recovers(found, binary, folder, "kill")


def a_stopped_rank_of_another_node_is_named_and_the_run_recovers(found, binary, folder):
    recovers(found, binary, folder, "stop", ["--set", "run.deadline_seconds=3"])


def a_node_that_is_cut_off_is_named_and_the_run_recovers(found, binary, folder):
    """While it is away srun waits for it; the job keeps it when it is back in time, with --no-kill in any case."""
    out = folder / "cut"
    run = Run(launch(found, binary, out, every=5, more=["--set", "run.deadline_seconds=2"]), folder / "cut.log")
    try:
        assert wait_until(lambda: steps_done(out) >= 6, 120) is not None, run.text()
        found[2].cut()
        assert wait_until(lambda: (out / "failure.txt").exists(), 120) is not None, run.text()
        assert "rank 3" in (out / "failure.txt").read_text(encoding="utf-8").splitlines()[0], run.text()
        assert wait_until(lambda: "restart 1 of" in run.text(), 120) is not None, run.text()
        found[2].mend()
        at = steps_done(out)
        assert wait_until(lambda: steps_done(out) > at + 5, 120, 0.1) is not None, run.text()
        run.process.send_signal(signal.SIGTERM)
        run.wait(120)
    finally:
        found[2].mend()
        run.end()


def signals_of_scancel_save(found, binary, folder):
    out = folder / "signals"
    run = Run(launch(found, binary, out), folder / "signals.log")
    cancel = lambda name: subprocess.run(found[0].command(["scancel", f"--signal={name}", "--user=root"]), check=True)
    try:
        assert wait_until(lambda: steps_done(out) >= 3, 120) is not None, run.text()
        cancel("USR1")
        assert wait_until(lambda: len(saved_steps(out)) == 1, 120) is not None, f"USR1 saved nothing: {run.text()}"
        at = steps_done(out)
        assert wait_until(lambda: steps_done(out) > at, 120) is not None, "the run ended with USR1"
        cancel("TERM")
        assert run.wait(20) == STOPPED, run.text()
        assert saved_steps(out)[-1] == steps_done(out), f"{saved_steps(out)} at step {steps_done(out)}"
        assert not (out / "failure.txt").exists() and not (out / "rank_reports").exists(), "a failure report of a run that was stopped"
    finally:
        run.end()


def launch_hands_on_its_own_signal_to_stop(found, binary, folder):
    out = folder / "stopped"
    run = Run(launch(found, binary, out), folder / "stopped.log")
    try:
        assert wait_until(lambda: steps_done(out) >= 3, 120) is not None, run.text()
        run.process.send_signal(signal.SIGTERM)  # salloc hands it on
        assert run.wait(20) is not None
        assert saved_steps(out) and saved_steps(out)[-1] == steps_done(out), f"{saved_steps(out)} at step {steps_done(out)}"
    finally:
        run.end()


CHECKS = [a_run_has_the_bits_of_one_machine, a_killed_rank_of_another_node_is_named_and_the_run_recovers,
          a_stopped_rank_of_another_node_is_named_and_the_run_recovers, signals_of_scancel_save,
          launch_hands_on_its_own_signal_to_stop, a_node_that_is_cut_off_is_named_and_the_run_recovers]


def missing():
    lacking = [program for program in PROGRAMS if not shutil.which(program)]
    return network_hosts.missing() or (f"{', '.join(lacking)} missing (tools/setup.sh hosts)" if lacking else "")


def on(found, check):
    bound = lambda binary, folder: check(found, binary, folder)
    bound.__name__ = check.__name__
    return bound


if __name__ == "__main__":
    lacking = missing()
    with contextlib.nullcontext() if lacking else slurm() as nodes:
        run_checks(__doc__, [on(nodes, check) for check in CHECKS], lacking)
