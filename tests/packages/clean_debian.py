#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages on a clean Debian: `apt install ./tessera_*.deb`, then `tessera train` trains; the seconds of both are printed, the
download of what it depends on apart. Then MPI's package trains over mpirun, a program is built against the library's, and the
tarball runs on a system that has nothing but the base. --suite takes another release, for the tarball alone."""
import argparse
import re
import shutil
import sys
import time
from pathlib import Path

from chroot import Chroot, why_not

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = """#include <tessera/tessera.h>
int main() { return tessera::presets().empty() ? 1 : 0; }
"""
FAILURES = []


def expect(holds, what):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        FAILURES.append(what)


def timed(what, act):
    start = time.monotonic()
    answer = act()
    seconds = time.monotonic() - start
    print(f"{seconds:7.1f} s  {what}", flush=True)
    return seconds, answer


def tarball_runs(root, packages):
    tarball = next(packages.glob("tessera-*.tar.gz"), None)
    if tarball is None:
        print("no tarball: left out")
        return
    shutil.copy(tarball, root.root / "tmp")
    root.run("sh", "-c", f"mkdir -p /opt/tessera; cd /opt/tessera; gzip -d < /tmp/{tarball.name} | tar -x --strip-components=1")
    said = root.run("/opt/tessera/bin/tessera", "train", "--steps", "20", "--out", "/tmp/tarball", "--seq", "64")
    expect("20" in said, "the tarball trains where no package is installed")
    said = root.run("/opt/tessera/bin/tessera", "studio", "--ask", "plan", "--help")
    expect("Usage" in said, "its libraries are found")


def plain_package(root, packages, limit):
    file = next(packages.glob("tessera_*.deb"))
    for each in packages.glob("*.deb"):
        shutil.copy(each, root.root / "tmp")
    timed("refresh apt's lists", lambda: root.run("apt-get", "update"))
    timed("download what tessera depends on",
          lambda: root.run("apt-get", "install", "-y", "--no-install-recommends", "--download-only", f"/tmp/{file.name}"))
    install, _ = timed("apt install ./tessera_*.deb", lambda: root.run("apt", "install", "-y", "--no-install-recommends", f"/tmp/{file.name}"))
    train, said = timed("tessera train --steps 100", lambda: root.run("tessera", "train", "--steps", "100", "--out", "/tmp/run"))
    losses = [float(loss) for loss in re.findall(r"loss\s+([\d.]+)", said)]
    expect(len(losses) > 1 and losses[-1] < losses[0], f"it trains: loss {losses[0] if losses else '?'} -> {losses[-1] if losses else '?'}")
    total = install + train
    print(f"{total:7.1f} s  install and train")
    if limit:
        expect(total <= limit, f"within {limit:g} s")
    expect((root.root / "usr/share/bash-completion/completions/tessera").exists(), "completion is there")
    version = re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    expect(root.run("tessera", "--version").startswith(version), f"it is version {version}")
    installed = root.run("dpkg-query", "-W", "-f", "${Package}\\n").split()
    expect(not [name for name in installed if "openmpi" in name], "without MPI")


def other_packages(root):
    root.run("sh", "-c", "apt-get install -y --no-install-recommends /tmp/tessera-mpi_*.deb /tmp/libtessera-dev_*.deb /tmp/tessera-doc_*.deb "
             "g++ pkg-config")
    said = root.run("mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "tessera-mpi", "train", "--mesh", "dp=2", "--steps", "10",
                    "--out", "/tmp/mpi")
    expect("dp=2" in said, "tessera-mpi trains over mpirun")
    (root.root / "tmp/own.cpp").write_text(PROGRAM)
    root.run("sh", "-c", "cd /tmp && g++ -O0 own.cpp -o own $(pkg-config --cflags --libs --static tessera) && ./own")
    expect(True, "a program is built against libtessera-dev, and runs")
    expect((root.root / "usr/share/doc/tessera-doc/docs/install.md").exists(), "the pages are there")
    root.run("sh", "-c", "apt-get purge -y tessera tessera-mpi libtessera-dev tessera-doc")
    left = root.run("sh", "-c", "find / -xdev -name '*tessera*' -not -path '/proc/*' -not -path '/tmp/*' -not -path '/opt/*'").split()
    expect(not left, f"nothing is left after apt purge {left[:3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, default=ROOT / "build/packages")
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--only", choices=["tarball", "plain", "all"], default="all")
    parser.add_argument("--limit", type=float, help="seconds that installing and training may take; only on a machine that is idle")
    given = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return
    with Chroot(given.suite, ROOT / "build/chroots") as root:
        if given.only != "plain":
            tarball_runs(root, given.packages)
        if given.only != "tarball":
            plain_package(root, given.packages, given.limit)
        if given.only == "all":
            other_packages(root)
    sys.exit(1 if FAILURES else 0)


if __name__ == "__main__":
    main()
