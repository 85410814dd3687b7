#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A clean Debian in a folder: made once by mmdebstrap from the apt sources of this machine and kept as an archive, then unpacked
for each test. Commands run in there as root, with its own /proc."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = [Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d")]


def why_not():
    """Why no clean Debian can be made here; empty where it can."""
    if os.geteuid() != 0:
        return "a chroot needs root"
    for tool, package in (("mmdebstrap", "mmdebstrap"), ("unshare", "util-linux")):
        if not shutil.which(tool):
            return f"{tool} is not installed (tools/setup.sh package has {package})"
    return ""


def debian_sources():
    """This machine's apt sources that are Debian's own: those signed by Debian's keyring, and old lines that name no key."""
    files = [SOURCES[0]] + sorted(SOURCES[1].glob("*")) if SOURCES[1].is_dir() else [SOURCES[0]]
    lines = []
    for file in files:
        if not file.is_file() or file.suffix not in (".list", ".sources"):
            continue
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".sources":
            for block in text.split("\n\n"):
                if "debian-archive-keyring" in block and "Enabled: no" not in block:
                    lines.append("\n".join(line for line in block.splitlines() if not line.startswith("#")) + "\n")
        else:
            lines += [line for line in text.splitlines() if line.startswith("deb ") and "signed-by" not in line]
    return "\n".join(lines)


def archive_of(suite, cache):
    """The archive with the base system of a suite, made when it is not there."""
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / f"debian_{suite}.tar"
    if not archive.exists():
        part = cache / f"debian_{suite}.part.tar"
        sources = debian_sources()
        own = next(line for line in Path("/etc/os-release").read_text().splitlines() if line.startswith("VERSION_CODENAME")).split("=")[1]
        subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", suite, str(part), "-"],
                       input=sources.replace(own, suite), text=True, check=True)
        part.rename(archive)
    return archive


class Chroot:
    def __init__(self, suite, cache):
        self.archive = archive_of(suite, cache)

    def __enter__(self):
        self.root = Path(tempfile.mkdtemp(prefix="tessera_chroot_"))
        subprocess.run(["tar", "-xpf", str(self.archive), "-C", str(self.root)], check=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        (self.root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")  # no services
        (self.root / "usr/sbin/policy-rc.d").chmod(0o755)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)

    def command(self, words, environment=(), binds=()):
        """The command line that runs words in there; what it mounts is gone when it ends."""
        mounts = "mount -t proc proc \"$1/proc\"; mount --rbind /dev \"$1/dev\"; "
        for there, here in binds:
            mounts += f"mkdir -p \"$1{there}\"; mount --bind '{here}' \"$1{there}\"; "
        plain = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
                 "DEBIAN_FRONTEND=noninteractive", *environment]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", mounts + "root=$1; shift; exec chroot \"$root\" \"$@\"",
                "sh", str(self.root), "env", "-i", *plain, *words]

    def run(self, *words, environment=(), binds=(), quiet=True):
        done = subprocess.run(self.command(words, environment, binds), text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE if quiet else sys.stderr, stderr=subprocess.STDOUT if quiet else None)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{(done.stdout or '')[-3000:]}")
        return done.stdout
