#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes debian/changelog: the version is that of CMakeLists.txt, the date SOURCE_DATE_EPOCH or that of the last commit, so that a
version is written in one place and a package's files have the same date wherever it is built. Prints that date in seconds."""
import datetime
import email.utils
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def date():
    """Seconds: of SOURCE_DATE_EPOCH, of the last commit, or, without git, of the newest change to CHANGELOG.md."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0 and done.stdout.strip():
        return int(done.stdout)
    return int((ROOT / "CHANGELOG.md").stat().st_mtime)


def maintainer():
    return re.search(r"^Maintainer: (.+)$", (ROOT / "debian/control").read_text(encoding="utf-8"), re.M).group(1)


def main():
    version = re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
    seconds = date()
    stamp = email.utils.format_datetime(datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc))
    text = f"tessera ({version}) unstable; urgency=medium\n\n  * Release {version}: see CHANGELOG.md.\n\n -- {maintainer()}  {stamp}\n"
    file = ROOT / "debian/changelog"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
    print(seconds)


if __name__ == "__main__":
    main()
