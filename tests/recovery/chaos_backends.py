# SPDX-License-Identifier: Apache-2.0
"""The ways in which the random faults start a run, and the processes that each gives them to disturb."""
import contextlib
import os
import shlex
import shutil
import signal
import subprocess

import errno_faults
import launched
import over_hosts
import slurm
from network_hosts import hosts
from small_run import children, descendants, process_name, wait_until


class Supervise:
    """`train --supervise`: the supervisor, the parent of the ranks, the ranks."""

    def __init__(self, folder):
        self.faults = errno_faults.ErrnoFaults(folder)

    @staticmethod
    def missing():
        return errno_faults.missing()

    def command(self, words):
        return [*words, "--supervise"]

    def environment(self, kept):
        return self.faults.environment(kept)

    def ranks(self, top):
        return [rank for parent in children(top) for rank in children(parent)]

    def launchers(self, top):
        return children(top)

    def disturb_links(self, draw):
        """Whether there are any."""
        return False

    def mend(self):
        self.faults.clear()

    def left(self):
        """Processes of a run that may be anywhere, besides those that its words name."""
        return []

    def clear_away(self):
        """What a start that was killed has left and a person would have to remove."""


class Launch(Supervise):
    """`launch` around mpirun on this machine."""

    @staticmethod
    def missing():
        return errno_faults.missing() or ("" if shutil.which("mpirun") else "mpirun is missing (tools/setup.sh mpi)")

    def command(self, words):
        return [words[0], "launch", "--with", " ".join(launched.MPIRUN), *words[1:]]


class Hosts:
    """`launch` around mpirun over three hosts; links are cut and throttled."""
    faults = None

    def __init__(self, found):
        self.found = found

    missing = staticmethod(over_hosts.missing)

    def command(self, words):
        launch = [words[0], "launch", "--with", shlex.join(over_hosts.mpirun(self.found)), *words[1:]]
        return self.found[0].command(launch)

    def environment(self, kept):
        return kept

    def ranks(self, top):
        return [rank for host in self.found for rank in host.processes("tessera") if rank != top]

    def launchers(self, top):
        return [daemon for name in ("mpirun", "orted") for host in self.found for daemon in host.processes(name)]

    def disturb_links(self, draw):
        host = draw.choice(self.found[1:])
        draw.choice([host.cut, host.throttle])()
        return True

    def mend(self):
        for host in self.found:
            host.mend()

    def left(self):
        return self.ranks(0)

    def clear_away(self):
        pass


class Slurm(Hosts):
    """`launch` around srun in a job of three nodes."""

    missing = staticmethod(slurm.missing)

    def command(self, words):
        # A salloc that is told to end takes the job away, and no srun in it starts again.
        return self.found[0].command([*slurm.SALLOC, words[0], "launch", "--patience", "30", *words[1:]])

    def ranks(self, top):
        return [rank for host in self.found for rank in host.processes("tessera") if rank not in self.launchers(top)]

    def launchers(self, top):
        """launch itself: what is killed of Slurm is Slurm's affair."""
        return [process for process in descendants(top) if process_name(process) == "tessera"]

    def disturb_links(self, draw):
        draw.choice(self.found[1:]).throttle()
        return True

    def clear_away(self):
        """The job of a salloc that was killed, and its launch, which tries for minutes to start ranks in a job that is gone."""
        for process in self.found[0].processes("tessera"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        ask = lambda *words: subprocess.run(self.found[0].command(words), capture_output=True, text=True, check=True).stdout
        ask("scancel", "--user=root")
        assert wait_until(lambda: not ask("squeue", "-h"), 180, 0.3) is not None, "a job does not end"


KINDS = {"supervise": Supervise, "launch": Launch, "hosts": Hosts, "slurm": Slurm}


@contextlib.contextmanager
def backend(kind, folder):
    if kind == "hosts":
        with hosts(3) as found:
            yield Hosts(found)
    elif kind == "slurm":
        with slurm.slurm() as found:
            yield Slurm(found)
    else:
        yield KINDS[kind](folder)
