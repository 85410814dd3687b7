#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` of what users run: the program works from where it is put, its man pages and completion are its own, dates are
those of SOURCE_DATE_EPOCH, and nothing of the build's folder is named."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FAILURES = []


def expect(holds, what):
    if not holds:
        FAILURES.append(what)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        subprocess.run(["cmake", "--install", str(build), "--component", "runtime", "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": folder, "SOURCE_DATE_EPOCH": "1700000000"})
        share = stage / "usr/share"
        program = stage / "usr/bin/tessera"
        version = re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        expect(said.split()[0] == version, f"--version says {said.strip()}, but the project is {version}")
        pages = sorted((share / "man/man1").glob("*.1"))
        listed = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout.partition("Subcommands:")[2]
        commands = re.findall(r"^  ([a-z]+) ", listed.partition("Examples:")[0], flags=re.M)
        expect({page.name for page in pages} == {"tessera.1"} | {f"tessera-{each}.1" for each in commands}, f"man pages are {len(pages)}")
        expect(all(f'"2023-11-14" "tessera {version}"' in page.read_text() for page in pages), "pages have another date or version")
        for shell, path in (("bash", "bash-completion/completions/tessera"), ("zsh", "zsh/site-functions/_tessera"),
                            ("fish", "fish/vendor_completions.d/tessera.fish")):
            own = subprocess.run([program, "docs", "completion", shell], capture_output=True, text=True, check=True).stdout
            file = share / path
            expect(file.exists() and file.read_text(encoding="utf-8") == own, f"{path} is not what the program writes")
        wanted = {path.name for path in (ROOT / "clusters").glob("*.toml")}
        expect({path.name for path in (share / "tessera/clusters").glob("*.toml")} == wanted, "clusters are missing")
        examples = share / "doc/tessera/examples"
        expect((examples / "slurm").is_dir() and (examples / "median_of_three.cpp").exists(), "examples are missing")
        expect((share / "doc/tessera/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes(), "the licence is missing")
        for file in (path for path in share.rglob("*") if path.is_file()):
            expect(str(build).encode() not in file.read_bytes(), f"{file.relative_to(stage)} names the folder of the build")
    print("\n".join(FAILURES) or "all passed")
    sys.exit(1 if FAILURES else 0)


if __name__ == "__main__":
    main()
