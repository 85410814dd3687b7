#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of src/ in the order of src/README.md: a file includes only its own folder and those before it. Kernels in ops/ count
as exec/; what runs programs never sees how they were made; tests may include anything."""
import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
ORDER = re.findall(r"^\| `(\w+)/` \|", (SRC / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
NEVER = {runner: {"passes", "compiler"} for runner in ("comm", "exec", "checkpoint", "sim")}
KERNEL = re.compile(r"^ops/.*_(cpu|cuda)\.\w+$")
TEST = re.compile(r"_(test|samples|bench)\.(cpp|h)$|/testing/")
DATA = {"ops/op_list.def"}  # the list of names; the enum in ir/ is made from it


def layer(name):
    return "exec" if KERNEL.match(name) else name.split("/")[0]


def problem(name, included):
    """Why the file `name` may not include `included`, or None; both are paths below src/."""
    own, other = layer(name), layer(included)
    if included in DATA or own == other or TEST.search(name):
        return None
    if other not in ORDER:
        return f"'{other}' is not a folder of src/: include with the folder's name, as in \"ir/graph.h\""
    if ORDER.index(other) > ORDER.index(own):
        return f"{own}/ comes before {other}/ and may not include it"
    if other in NEVER.get(own, ()):
        return f"{own}/ runs programs and may not know {other}/"
    return None


def main():
    broken = 0
    for path in sorted(SRC.rglob("*")):
        name = path.relative_to(SRC).as_posix()
        if path.suffix not in (".h", ".cpp", ".cu"):
            continue
        if layer(name) not in ORDER:
            print(f"src/{name}:1: '{layer(name)}' is not in the table of folders (src/README.md)")
            broken += 1
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            what = match and problem(name, match.group(1))
            if what:
                print(f"src/{name}:{number}: {what}")
                broken += 1
    if broken:
        sys.exit(f"{broken} includes against the order: {' < '.join(ORDER)}")


if __name__ == "__main__":
    main()
