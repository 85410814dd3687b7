# SPDX-License-Identifier: Apache-2.0
"""Hosts on one machine: network namespaces with names and addresses of their own, joined by a bridge in a namespace of its own.
Nothing of it is in the machine's own network: no interface, no route, no address. All of it goes when the tests end."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from small_run import wait_until

PROGRAMS = ["ip", "tc", "nsenter", "unshare"]
SUBNET = "10.213.0.0/24"
# In the network of a host: with its name, the names of the others, and a folder `own` that each of them sees as its own.
AS_HOST = 'mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/$1" "$0/own" && hostname "$1" && shift && exec "$@"'


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def missing():
    """What hosts need and is not there; empty: nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    lacking = [program for program in PROGRAMS if not shutil.which(program)]
    if lacking:
        return f"{', '.join(lacking)} missing (tools/setup.sh hosts)"
    probe = f"tessera-probe-{os.getpid()}"
    made = ip("netns", "add", probe, check=False)
    joined = ip("-n", probe, "link", "add", "bridge", "type", "bridge", check=False) if made.returncode == 0 else made
    ip("netns", "del", probe, check=False)
    return f"network namespaces or bridges cannot be made here: {joined.stderr.strip()}" if joined.returncode else ""


class Host:
    def __init__(self, number, prefix, folder):
        self.name, self.address, self.port = f"host{number}", f"10.213.0.{number + 1}", f"port{number}"
        self.space, self.switch, self.folder, self.own = f"{prefix}-{number}", f"{prefix}-switch", folder, folder / "own"

    def join(self):
        ip("netns", "add", self.space)
        ip("-n", self.switch, "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("-n", self.switch, "link", "set", self.port, "master", "bridge", "up")
        ip("-n", self.space, "addr", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.space, "link", "set", "eth0", "up")
        ip("-n", self.space, "link", "set", "lo", "up")

    def command(self, words):
        """The words as a command of this host; its process is that of the words."""
        return ["nsenter", f"--net=/run/netns/{self.space}", "unshare", "--uts", "--mount", "sh", "-c", AS_HOST,
                str(self.folder), self.name, *(str(word) for word in words)]

    def start(self, words, log):
        with open(log, "ab") as stream:
            return subprocess.Popen(self.command(words), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)

    def processes(self, program=""):
        """Of a program, or all; oldest first."""
        found = []
        for process in ip("netns", "pids", self.space, check=False).stdout.split():
            with contextlib.suppress(OSError):
                if program in ("", pathlib.Path(f"/proc/{process}/comm").read_text().strip()):
                    found.append(int(process))
        return sorted(found)

    def cut(self):
        ip("-n", self.switch, "link", "set", self.port, "down")

    def mend(self):
        ip("-n", self.switch, "link", "set", self.port, "up")
        subprocess.run(["tc", "-n", self.switch, "qdisc", "del", "dev", self.port, "root"], check=False, capture_output=True)

    def throttle(self, megabits=5):
        """What comes to this host passes a queue of a few packets; what does not fit is dropped, and TCP sends it again."""
        subprocess.run(["tc", "-n", self.switch, "qdisc", "add", "dev", self.port, "root", "tbf", "rate", f"{megabits}mbit",
                        "burst", "4kb", "limit", "4kb"], check=True, capture_output=True)

    def dropped(self):
        told = subprocess.run(["tc", "-s", "-n", self.switch, "qdisc", "show", "dev", self.port], check=True, capture_output=True,
                              text=True).stdout
        return int(told.split("dropped ")[1].split(",")[0])


def kill_all(found):
    """Until no process of the hosts is left, for ten seconds at most."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (left := [process for host in found for process in host.processes()]):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def end_once(number, _):
    signal.signal(number, signal.SIG_IGN)  # it may come twice, and what is to be cleared away must be
    sys.exit(128 + number)


@contextlib.contextmanager
def hosts(count):
    """That many hosts, each with a daemon that runs what others send it. They go when the test is asked to stop, too."""
    signal.signal(signal.SIGTERM, end_once)
    prefix = f"tessera{os.getpid()}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        folder.chmod(0o755)
        found, daemons = [Host(number, prefix, folder) for number in range(count)], []
        names = "".join(f"{host.address} {host.name}\n" for host in found)
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}", encoding="utf-8")
        for name in ["own", *(host.name for host in found)]:
            (folder / name).mkdir()
        try:
            ip("netns", "add", f"{prefix}-switch")
            ip("-n", f"{prefix}-switch", "link", "add", "bridge", "type", "bridge")
            ip("-n", f"{prefix}-switch", "link", "set", "bridge", "up")
            for host in found:
                host.join()
                serve = [sys.executable, pathlib.Path(__file__).with_name("host_daemon.py"), "serve", host.address]
                daemons.append(host.start(serve, folder / f"{host.name}.log"))
            listens = lambda host: subprocess.run(
                host.command([sys.executable, serve[1], "call", host.address, "true"]), check=False, capture_output=True).returncode == 0
            assert all(wait_until(lambda: listens(host), 120, 0.1) is not None for host in found), "a host does not answer"
            yield found
        finally:
            kill_all(found)
            for daemon in daemons:
                daemon.wait()
            for space in [*(host.space for host in found), f"{prefix}-switch"]:
                ip("netns", "del", space, check=False)
