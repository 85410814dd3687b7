#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts in examples/slurm are what `tessera launch --sbatch` writes: the command in each, with --dry-run, gives that file, but
for the figures that follow from predictions. `tessera jobs` finds no runs where it may not look. With --update it rewrites them."""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples" / "slurm"


def command_of(text):
    return next(line[2:] for line in text.splitlines() if line.startswith("# tessera launch --sbatch"))


def run(binary, folder, words):
    path = f"{binary.parent}:{os.environ['PATH']}"
    done = subprocess.run([str(binary), *words], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files_below(folder):
    return sorted(folder.rglob("*"))


def written(binary, text, folder):
    """What the command in a script writes now, where the sample configs are, and a checkpoint of the run that it resumes."""
    words = shlex.split(command_of(text))
    words.insert(words.index("--sbatch") + 1, "--dry-run")
    shutil.copytree(ROOT / "examples" / "configs", folder / "examples" / "configs")
    if "--resume" in words:
        out = re.search(r"^#SBATCH --output=(.*)/job/output.txt$", text, re.M).group(1)
        run(binary, folder, ["train", "--steps", "1", "--batch", "2", "--seq", "8", "--save-every", "1", "--out", out, "--json"])
    before = files_below(folder)
    script = run(binary, folder, words[1:])
    assert files_below(folder) == before, "--dry-run wrote something"
    return script


def without_predictions(text):
    text = re.sub(r"(# nodes  ranks .*\n)(# .*\n)+", r"\1", text)
    return re.sub(r"^(#SBATCH --(time|signal|array)=)\S+", r"\1", text, flags=re.M)


def jobs_passes_over_what_it_cannot_look_at(binary, folder):
    """As another user's folder: here one whose plan is a link that leads nowhere."""
    (folder / "runs" / "closed").mkdir(parents=True)
    (folder / "runs" / "closed" / "job").symlink_to("job")
    (folder / "runs" / "around").symlink_to(".")
    told = run(binary, folder, ["jobs", "runs"])
    assert told == "no jobs: none in Slurm's queue, and none in runs\n", told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jobs_passes_over_what_it_cannot_look_at(arguments.binary.resolve(), pathlib.Path(folder))
    files, stale = sorted(EXAMPLES.glob("*.sbatch")), 0
    assert files, f"no scripts in {EXAMPLES}"
    for file in files:
        text = file.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            now = written(arguments.binary.resolve(), text, pathlib.Path(folder))
        if not arguments.update and without_predictions(now) == without_predictions(text):
            continue
        if arguments.update:
            file.write_text(now, encoding="utf-8")
            continue
        stale += 1
        print("".join(difflib.unified_diff(text.splitlines(True), now.splitlines(True), str(file), "as written now")))
    sys.exit(f"{stale} stale scripts: run this with --update" if stale else 0)


if __name__ == "__main__":
    main()
