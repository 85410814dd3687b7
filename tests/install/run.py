#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library as others get it: installs it into a folder, moves that folder, and there builds and runs examples/own_model with
find_package, and the program of docs/library.md with pkg-config's flags alone. Then asks the binary about the run of a model that it does not have."""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Check:
    def __init__(self, build, binary, compiler, folder):
        self.build, self.binary, self.compiler, self.folder = build, binary, compiler, folder
        self.failures = 0
        # The same folders each time, so that a compiler cache knows them.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.prefix = folder / "moved"

    def expect(self, held, what):
        if not held:
            self.failures += 1
            print(f"FAILED: {what}")

    def run(self, *words, status=0, env=None):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, text=True, capture_output=True,
                              env=os.environ | (env or {}), check=False)
        if done.returncode != status:
            sys.exit(f"{shlex.join(map(str, words))}: exit {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def install(self):
        first = self.folder / "first"
        self.run("cmake", "--install", self.build, "--prefix", first, "--component", "development")
        first.rename(self.prefix)
        include = self.prefix / "include"
        self.expect([p.name for p in include.iterdir()] == ["tessera"], "include/ has the folder tessera alone")
        public = {p.name for p in (ROOT / "src/tessera").glob("*.h")}
        self.expect({p.name for p in (include / "tessera").glob("*")} == public | {"internal"},
                    "the public headers are those of src/tessera")
        for header in include.rglob("*.h"):
            for name in re.findall(r'#include "([^"]+)"', header.read_text(encoding="utf-8")):
                self.expect((include / name).exists(), f"{header.name} includes {name}, which is installed")
        listed = set(re.findall(r"`<tessera/(\w+\.h)>`", (ROOT / "docs/library.md").read_text(encoding="utf-8")))
        self.expect(listed == public, f"docs/library.md lists the public headers: {listed ^ public}")
        return self

    def by_cmake(self):
        launcher = shutil.which("ccache")
        self.run("cmake", "-S", ROOT / "examples/own_model", "-B", "own_model", "-G", "Ninja",
                 f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={self.compiler}", "-DCMAKE_CXX_FLAGS=-O0",
                 *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []))
        self.run("cmake", "--build", "own_model")
        text = self.run("own_model/own_model", "runs")
        print(text, end="")
        self.expect(text.count("verify: equal") == 6 and "FAILED" not in text, "every mesh agrees with one rank")
        older = self.run("cmake", "-S", ROOT / "examples/own_model", "-B", "older", "-G", "Ninja",
                         f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON", status=1)
        self.expect("fmt" in older, "what is missing is named")
        return self

    def by_pkg_config(self):
        words = shlex.split(self.run("pkg-config", "--cflags", "--libs", "tessera",
                                     env={"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}))
        page = (ROOT / "docs/library.md").read_text(encoding="utf-8")
        (self.folder / "page.cpp").write_text(page.split("```cpp\n")[1].split("```")[0], encoding="utf-8")
        self.run(self.compiler, "-O0", "page.cpp", "-o", "page", *words)
        self.run("./page")
        return self

    def without_the_model(self):
        shown = self.run(self.binary, "checkpoint", "show", "runs/resumed")
        self.expect("model side_by_side: own" in shown and "layer.2.wq" in shown, "a checkpoint is shown without its model")
        self.run(self.binary, "report", "runs/resumed")
        report = json.loads((self.folder / "runs/resumed/report.json").read_text(encoding="utf-8"))
        self.expect(report["plan"]["model"] == "side_by_side", "its run is reported")
        refused = self.run(self.binary, "train", "runs/resumed/config.toml", status=2)
        self.expect("the model side_by_side is a program's own, and this program does not have it" in refused,
                    f"training it elsewhere is refused: {refused}")
        return self


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--folder", required=True, type=Path)
    args = parser.parse_args()
    check = Check(args.build, args.binary, args.compiler, args.folder)
    check.install().by_cmake().by_pkg_config().without_the_model()
    sys.exit(check.failures > 0)


if __name__ == "__main__":
    main()
