#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tessera launch` does with mpirun over three hosts that have TCP alone between them: ranks and daemons of another host that are
killed, a link that is cut or drops packets. Hosts are network namespaces: needs root, else it is skipped."""
import os
import pathlib
import shlex
import shutil
import signal
import sys

import network_hosts
from network_hosts import SUBNET, hosts
from small_run import LONG, STOPPED, Run, last_checkpoint, steps_done, train, wait_until, words

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import run_checks  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RANKS_OF_HOST = [2, 1, 1]
CONSTANT = ["--set", "train.schedule=constant"]  # a step is the same however many there will be


def mpirun(found):
    agent = f"{sys.executable} {HERE / 'host_daemon.py'} call"
    slots = ",".join(f"{host.address}:{count}" for host, count in zip(found, RANKS_OF_HOST))
    settings = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": "1", "btl": "tcp,self", "btl_tcp_if_include": SUBNET,
                "oob_tcp_if_include": SUBNET}
    return ["mpirun", "--allow-run-as-root", "--host", slots,
            *(word for key, value in settings.items() for word in ("--mca", key, value))]


def launch(found, binary, out, more=(), **given):
    command = [str(binary.resolve()), "launch", "--with", shlex.join(mpirun(found)), *words(binary, out, more=more, **given)[1:]]
    return found[0].command(command)


def undisturbed(binary, folder):
    if not (folder / "undisturbed").exists():
        train(binary, folder / "undisturbed")
    return last_checkpoint(folder / "undisturbed")


def under_way(run, out, found, step=3):
    there = lambda: steps_done(out) >= step and all(host.processes("tessera") for host in found)
    assert wait_until(there, 120, 0.02) is not None, run.text()


def ends_with_the_bits_of_one_machine(run, binary, folder, out):
    assert run.wait(120) == 0, run.text()
    assert last_checkpoint(out) == undisturbed(binary, folder) != {}, "other bits than those of one machine"


def a_run_has_the_bits_of_one_machine(binary, folder):
    with hosts(3) as found:
        out = folder / "clean"
        run = Run(launch(found, binary, out), folder / "clean.log")
        try:
            ends_with_the_bits_of_one_machine(run, binary, folder, out)
            assert "supervisor:" not in run.text(), run.text()
        finally:
            run.end()


def disturbed(binary, folder, name, disturb, told, deadline=10):
    """A long run is disturbed, goes on from its newest checkpoint, is asked to stop, and has the bits of one
    machine."""
    with hosts(3) as found:
        out = folder / name
        run = Run(launch(found, binary, out, steps=LONG, every=5, more=[*CONSTANT, "--set", f"run.deadline_seconds={deadline}"]),
                  folder / f"{name}.log")
        try:
            under_way(run, out, found, step=6)
            disturb(found, out, run)
            assert wait_until(lambda: "restart 1 of" in run.text(), 120, 0.05) is not None, run.text()
            for host in found:
                host.mend()
            at = steps_done(out)
            assert wait_until(lambda: steps_done(out) > at + 5, 90, 0.05) is not None, run.text()
            report = (out / "failure.txt").read_text(encoding="utf-8")
            assert told in report.splitlines()[0], report
            run.process.send_signal(signal.SIGTERM)
            assert run.wait(30) == STOPPED, run.text()
            steps = steps_done(out)
            train(binary, folder / f"{name}_whole", more=CONSTANT, steps=steps)
            assert last_checkpoint(out, steps) == last_checkpoint(folder / f"{name}_whole", steps) != {}, "other bits"
        finally:
            run.end()


def a_killed_rank_of_another_host_is_named_and_the_run_recovers(binary, folder):
    disturbed(binary, folder, "rank", lambda found, out, run: os.kill(found[1].processes("tessera")[0], signal.SIGKILL),
              "hangs on rank 2, which wrote no report")


def a_killed_daemon_of_another_host_is_survived(binary, folder):
    disturbed(binary, folder, "daemon", lambda found, out, run: os.kill(found[1].processes("orted")[0], signal.SIGKILL), "rank ")


def a_host_that_is_cut_off_is_named_and_the_run_recovers(binary, folder):
    """While it is away no rank can be started: that is tried again until it is back."""
    def cut(found, out, run):
        found[2].cut()
        assert wait_until(lambda: (out / "failure.txt").exists(), 120) is not None, run.text()
        assert wait_until(lambda: "before any rank had begun" in run.text(), 120) is not None, run.text()

    disturbed(binary, folder, "cut", cut, "rank 3", deadline=2)


def a_link_that_drops_packets_changes_nothing(binary, folder):
    """Now one, now another: messages of several collectives then come at once, late and in any order."""
    out, whole, steps = folder / "slow", folder / "slow_whole", 150
    with hosts(3) as found:
        run = Run(launch(found, binary, out, steps=steps, every=50), folder / "slow.log")
        dropped, host = 0, found[1]
        try:
            for second in range(60):
                host = found[1 + second % 2]
                host.throttle()
                ended = wait_until(lambda: run.process.poll() is not None, 1, 0.05) is not None
                dropped += host.dropped()
                host.mend()
                if ended:
                    break
            assert run.wait(120) == 0 and "supervisor:" not in run.text() and dropped > 0, f"{dropped} dropped: {run.text()}"
        finally:
            run.end()
    train(binary, whole, steps=steps)
    assert last_checkpoint(out, steps) == last_checkpoint(whole, steps) != {}, "other bits than those of one machine"
    print(f"  {dropped} packets were dropped")


def missing():
    return network_hosts.missing() or ("" if shutil.which("mpirun") else "mpirun is missing (tools/setup.sh mpi)")


if __name__ == "__main__":
    run_checks(__doc__, [a_run_has_the_bits_of_one_machine, a_link_that_drops_packets_changes_nothing,
                         a_killed_rank_of_another_host_is_named_and_the_run_recovers, a_killed_daemon_of_another_host_is_survived,
                         a_host_that_is_cut_off_is_named_and_the_run_recovers], missing())
