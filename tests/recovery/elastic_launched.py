#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elastic ranks under mpirun, on this machine and over hosts, and in a job of Slurm: ranks, a host and a node go and come back, and the run
continues on what is there with the losses of a run that nobody disturbed, to 1e-9 in fp64. Hosts and nodes are network namespaces."""
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

import over_hosts
import slurm
from elastic import losses
from launched import MPIRUN
from network_hosts import hosts
from small_run import LONG, STOPPED, Run, environment, process_name, descendants, steps_done, wait_until, words
from what_was_saved import events_of, problem_of_saves

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import LeftOut, run_checks  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
NUMBERS = ["--set", "train.schedule=constant", "--set", "train.precision=fp64", "--set", "train.ema_decay=0"]
POLICY = {"least_ranks": 2, "shrink_after_seconds": 0.2, "grow_after_seconds": 1, "cluster": HERE / "elastic_cluster.toml"}


def launch(binary, out, launcher, deadline=20, **more):
    policy = [word for key, value in {**POLICY, **more}.items() for word in ("--set", f"elastic.{key}={value}")]
    return [str(binary.resolve()), "launch", "--with", shlex.join(launcher),
            *words(binary, out, LONG, 5, [*NUMBERS, "--set", f"run.deadline_seconds={deadline}", *policy])[1:]]


def continues(run, out, told, seconds=120):
    """On other ranks, with steps of its own."""
    assert wait_until(lambda: told in run.text(), seconds, 0.05) is not None, f"{told}: {run.text()}"
    at = steps_done(out)
    assert wait_until(lambda: steps_done(out) > at + 6, seconds, 0.05) is not None, run.text()


def ends_with_the_losses_of_one_rank(run, binary, folder, out):
    run.process.send_signal(signal.SIGTERM)
    assert run.wait(120) == STOPPED, run.text()
    steps, whole = steps_done(out), folder / f"{out.name}_whole"
    subprocess.run(words(binary, whole, steps, 0, NUMBERS, mesh="dp=1"), env=environment(), check=True, capture_output=True, timeout=120)
    measured, expected = losses(out), losses(whole)
    assert measured.keys() == expected.keys(), f"{len(measured)} steps, not {len(expected)}"
    worst = max(abs(measured[step] - expected[step]) / abs(expected[step]) for step in expected)
    assert worst < 1e-9, f"a loss differs by {worst}"
    assert not problem_of_saves(binary, out), problem_of_saves(binary, out)
    assert "predicted" in run.text(), f"no goodput: {run.text()}"
    meshes = [event["mesh"] for event in events_of(out) if event["event"] == "start_ended"]
    print(f"  {steps} steps on {' '.join(meshes)}, largest difference of a loss {worst:.1e}")


def slots_of_a_hostfile_go_and_come_back(binary, folder):
    if not shutil.which("mpirun"):
        raise LeftOut("mpirun is missing (tools/setup.sh mpi)")
    out, file = folder / "slots", folder / "cluster"
    file.write_text("localhost slots=4\n", encoding="utf-8")
    run = Run(launch(binary, out, [*MPIRUN, "--hostfile", str(file)]), folder / "slots.log")
    try:
        assert wait_until(lambda: steps_done(out) >= 6, 120, 0.02) is not None, run.text()
        file.write_text("localhost slots=3\n", encoding="utf-8")
        ranks = [process for process in descendants(run.process.pid) if process_name(process) == "tessera"]
        os.kill(ranks[-1], signal.SIGKILL)
        continues(run, out, "instead of 4")
        file.write_text("localhost slots=4\n", encoding="utf-8")
        continues(run, out, "continuing on 4 ranks")
        ends_with_the_losses_of_one_rank(run, binary, folder, out)
    finally:
        run.end()


def a_host_that_is_cut_off_is_done_without(binary, folder):
    """Whether a host is there is what its probe says."""
    if lacking := over_hosts.missing():
        raise LeftOut(lacking)
    out, probe = folder / "cut", f"{sys.executable} {HERE / 'host_daemon.py'} call {{host}} true"
    with hosts(3) as found:
        run = Run(found[0].command(launch(binary, out, over_hosts.mpirun(found), deadline=2, probe=probe)), folder / "cut.log")
        try:
            over_hosts.under_way(run, out, found, step=6)
            found[2].cut()
            continues(run, out, "instead of 4")
            assert not found[2].processes("tessera") or found[1].processes("tessera"), "it runs on the wrong hosts"
            found[2].mend()
            continues(run, out, "continuing on 4 ranks")
            ends_with_the_losses_of_one_rank(run, binary, folder, out)
        finally:
            found[2].mend()
            run.end()


def a_node_of_slurm_that_is_down_is_done_without(binary, folder):
    """The job keeps its other nodes, with --no-kill. The node that Slurm took down is no longer the job's."""
    in_slurm(binary, folder / "down", comes_back=False)


def a_node_of_slurm_that_is_cut_off_is_done_without_and_comes_back(binary, folder):
    in_slurm(binary, folder / "cut_node", comes_back=True)


def in_slurm(binary, folder, comes_back):
    if lacking := slurm.missing():
        raise LeftOut(lacking)
    folder.mkdir()
    out = folder / "run"
    with slurm.slurm() as found:
        ask = lambda *asked: subprocess.run(found[0].command(asked), check=True, capture_output=True, text=True).stdout
        command = launch(binary, out, ["srun"], deadline=2)
        run = Run(found[0].command([*slurm.SALLOC, *command]), folder / "log")
        try:
            assert wait_until(lambda: steps_done(out) >= 6, 120, 0.05) is not None, run.text()
            if comes_back:
                found[2].cut()
            else:
                ask("scontrol", "update", "nodename=host2", "state=down", "reason=test")
            continues(run, out, "instead of 4", 240)
            if comes_back:
                found[2].mend()
                continues(run, out, "continuing on 4 ranks", 240)
            launcher = next(process for process in descendants(run.process.pid) if process_name(process) == "tessera")
            os.kill(launcher, signal.SIGTERM)
            assert run.wait(120) is not None
            run.process.send_signal = lambda number: None
            ends_with_the_losses_of_one_rank(run, binary, folder, out)
        finally:
            found[2].mend()
            run.end()


CHECKS = [slots_of_a_hostfile_go_and_come_back, a_host_that_is_cut_off_is_done_without, a_node_of_slurm_that_is_down_is_done_without,
          a_node_of_slurm_that_is_cut_off_is_done_without_and_comes_back]

if __name__ == "__main__":
    run_checks(__doc__, CHECKS)
