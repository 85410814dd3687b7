#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages' files agree with the tree: what the build needs is what tools/setup.sh installs for it, the library's package
needs what its pkg-config file links, the version is CMake's, and each path that a package lists is what `cmake --install` writes."""
import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARIES = {"pcre2-8": "libpcre2-dev", "utf8proc": "libutf8proc-dev", "z": "zlib1g-dev", "zstd": "libzstd-dev", "microhttpd": "libmicrohttpd-dev",
             "zmq": "libzmq3-dev", "tomlplusplus": "libtomlplusplus-dev", "fmt": "libfmt-dev"}
FAILURES = []


def expect(holds, what):
    if not holds:
        FAILURES.append(what)


def stanzas():
    """Fields by package; the source's by the empty name."""
    found = {}
    for stanza in (ROOT / "debian/control").read_text(encoding="utf-8").split("\n\n"):
        fields = {name: value.strip() for name, value in re.findall(r"^([\w-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.M)}
        found[fields.get("Package", "")] = fields
    return found


def names(field):
    return {re.split(r"[ :(]", each.strip())[0] for each in field.split(",") if each.strip()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build
    control = stanzas()
    said = re.search(r"build\) echo (.*?);;", (ROOT / "tools/setup.sh").read_text(encoding="utf-8"), re.S).group(1)
    wanted = set(said.replace("\\", " ").split()) - {"g++", "ccache"}  # build-essential; what a build does not need
    expect(wanted <= names(control[""]["Build-Depends"]), f"debian/control does not build with {wanted - names(control['']['Build-Depends'])}")
    linked = re.search(r"^set\(TESSERA_LINKED (.*)\)", (ROOT / "cmake/install.cmake").read_text(encoding="utf-8"), re.M).group(1).split()
    needed = {LIBRARIES[each] for each in [*linked, "microhttpd", "zmq", "tomlplusplus", "fmt"]}
    expect(needed <= names(control["libtessera-dev"]["Depends"]), f"libtessera-dev lacks {needed - names(control['libtessera-dev']['Depends'])}")

    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copytree(ROOT / "debian", tree / "debian", ignore=shutil.ignore_patterns("tmp", "tessera", "tessera-*", ".debhelper"))
        for file in ("CMakeLists.txt", "CHANGELOG.md"):
            shutil.copy(ROOT / file, tree)
        (tree / "tools").mkdir()
        shutil.copy(ROOT / "tools/debian_changelog.py", tree / "tools")
        subprocess.run([sys.executable, tree / "tools/debian_changelog.py"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        version = re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
        log = (tree / "debian/changelog").read_text(encoding="utf-8")
        expect(log.startswith(f"tessera ({version}) ") and log.rstrip().endswith("Tue, 14 Nov 2023 22:13:20 +0000"), f"debian/changelog: {log}")
        if shutil.which("dpkg-parsechangelog"):
            done = subprocess.run(["dpkg-parsechangelog", "-S", "Version"], cwd=tree, capture_output=True, text=True)
            expect(done.stdout.strip() == version and not done.stderr, f"dpkg-parsechangelog: {done.stdout} {done.stderr}")

    with tempfile.TemporaryDirectory() as folder:
        for part in ("runtime", "documentation"):
            subprocess.run(["cmake", "--install", build, "--component", part, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "DESTDIR": folder})
        files = ["usr" + str(path)[len(folder) + 4:] for path in Path(folder).rglob("*") if path.is_file()]
        listed = [(file.stem, line.split()[0]) for file in (ROOT / "debian").glob("*.install") for line in file.read_text().splitlines()]
        for package, pattern in listed:
            made = [name for name in files if fnmatch.fnmatch(name, pattern) or name.startswith(pattern + "/")]
            by_rules = package == "libtessera-dev" or pattern.endswith(("tessera-mpi", "THIRD_PARTY", ".spdx.json"))
            expect(made or by_rules, f"{package}.install: cmake --install writes no {pattern}")
    print("\n".join(FAILURES) or "all passed")
    sys.exit(1 if FAILURES else 0)


if __name__ == "__main__":
    main()
