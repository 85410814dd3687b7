#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs what `cmake --install` puts where into tessera-<version>-linux-<machine>.tar.gz, for systems without our packages: every
shared library but glibc's lies beside the program and is found there from any folder. Bits depend on the build and on
SOURCE_DATE_EPOCH alone."""
import argparse
import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from debian_changelog import ROOT, date

# Parts of glibc: the system's own, since name services and the loader belong to them.
GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|pthread|dl|rt|resolv|util|anl))\.so\.\d+$")


def bundle(program, libraries):
    """The shared libraries that the program needs, and those that these need, with a search path beside themselves."""
    libraries.mkdir(parents=True)
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    if "not found" in said:
        sys.exit(f"error: {program} lacks libraries:\n{said}")
    for name, path in re.findall(r"(\S+) => (/\S+)", said):
        if not GLIBC.match(name):
            shutil.copyfile(path, libraries / name)
            subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", libraries / name], check=True)
    subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/../lib/tessera", program], check=True)


def pack(folder, tarball, seconds):
    """In the order of names, of one date, one owner and two modes."""
    with open(tarball, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w",
                                                                                                    format=tarfile.GNU_FORMAT) as tar:
        for path in sorted([folder, *folder.rglob("*")]):
            entry = tar.gettarinfo(path, path.relative_to(folder.parent).as_posix())
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = seconds, 0, 0, "root", "root"
            entry.mode = 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644
            with open(path, "rb") if path.is_file() else open(os.devnull, "rb") as content:
                tar.addfile(entry, content if path.is_file() else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    seconds = date()
    version = re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
    name = f"tessera-{version}-linux-{platform.machine()}"
    os.environ["SOURCE_DATE_EPOCH"] = str(seconds)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        for part in ("runtime", "documentation"):
            subprocess.run(["cmake", "--install", given.build, "--component", part, "--strip", "--prefix", folder], check=True,
                           stdout=subprocess.DEVNULL)
        docs = folder / "share/doc/tessera"
        subprocess.run([sys.executable, ROOT / "tools/sbom.py", "--build", given.build, "--program", given.build / "tessera", "--out", docs,
                        "--bundled"], check=True)
        bundle(folder / "bin/tessera", folder / "lib/tessera")
        given.out.mkdir(parents=True, exist_ok=True)
        pack(folder, given.out / f"{name}.tar.gz", seconds)
    print(given.out / f"{name}.tar.gz")


if __name__ == "__main__":
    main()
