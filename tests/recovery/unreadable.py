#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that a disk no longer gives: named, with the byte, and done without where there is another. Each as a check of its own."""
import array
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import own_mounts
from small_run import LONG, Run, environment, steps_done, train, wait_until, words

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import LeftOut, run_checks  # noqa: E402


def shell(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LeftOut(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def loop_disk(image, mount):
    """An ext4 of its own in a file, while it lasts."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4") or not shutil.which("filefrag"):
        raise LeftOut("a disk that fails needs root, mkfs.ext4 and filefrag")
    mount.mkdir()
    shell("truncate", "-s", "24M", image)
    shell("mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal", image)
    shell("mount", "-o", "loop", image, mount)
    try:
        yield mount
    finally:
        subprocess.run(["umount", "--lazy", str(mount)], check=False)


def first_block(file):
    return int(re.search(r"^\s*0:\s+\d+\.\.\s*\d+:\s+(\d+)\.\.", shell("filefrag", "-v", file), re.MULTILINE).group(1))


def last_block(file):
    return max((int(end) for end in re.findall(r":\s+\d+\.\.\s*(\d+):\s+\d+:", shell("filefrag", "-v", file))), default=0)


def move_behind_all_others(file, folder):
    """Copies it until a copy lies there; the disk is then cut off before that one."""
    end = max(last_block(other) for other in folder.rglob("*") if other.is_file())
    for number in range(100):
        copy = folder / f"copy{number}"
        shutil.copy(file, copy)
        os.sync()
        if first_block(copy) > end:
            os.replace(copy, file)
            return first_block(file)
    raise LeftOut("the file system gives a file no blocks after those of others")


def an_unreadable_sector_is_named_and_the_older_checkpoint_used(binary, folder):
    with loop_disk(folder / "image", folder / "disk") as disk:
        out = disk / "run"
        assert train(binary, out).returncode == 0
        bad = out / "checkpoints" / "step-00000008" / "rank-00001.safetensors"
        end = move_behind_all_others(bad, out)
        os.truncate(folder / "image", (end + 2) * 4096)
        with bad.open("rb") as stream:
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        told = f"cannot read {bad} at byte "
        verified = subprocess.run([str(binary), "checkpoint", "verify", str(out), "--json"], capture_output=True, text=True,
                                  timeout=240, check=False)
        problems = {result["step"]: result["problem"] for result in json.loads(verified.stdout)["results"]}
        assert verified.returncode == 1 and told in problems[8] and "input/output error" in problems[8], problems
        assert not problems[6], problems
        resumed = subprocess.run(words(binary, out, 10, 2, ["--resume"]), env=environment(), capture_output=True, text=True,
                                 timeout=240, check=False)
        assert f"warning: skipping a checkpoint: {told}" in resumed.stderr, resumed.stderr
        assert resumed.returncode == 0 and '"first_step":6' in resumed.stdout.replace(" ", ""), resumed.stdout + resumed.stderr


def data_that_shrink_under_way_are_named(binary, folder):
    tokens = 4_000_000
    shard = folder / "tokens.bin"
    with shard.open("wb") as stream:
        array.array("i", [20240520, 1, tokens, *([0] * 253)]).tofile(stream)
        array.array("H", [i % 251 for i in range(tokens)]).tofile(stream)
    for name, more in (("alone", []), ("supervised", ["--supervise"])):
        whole = 1024 + 2 * tokens
        os.truncate(shard, whole)
        out = folder / name
        run = Run(words(binary, out, LONG, 20, ["--set", f"data.path={shard}", *more]), folder / f"{name}.log")
        try:
            assert wait_until(lambda: steps_done(out) > 3, 120) is not None, run.text()
            os.truncate(shard, 8192)
            named = lambda: re.search(f"error: cannot read {shard} at byte \\d+: ", run.text())
            assert wait_until(named, 120) is not None, run.text()
            if not more:
                assert run.wait() == 3, f"{run.process.returncode}: {run.text()}"
                continue
            # The restart says what is wrong with the whole file, and the run goes on when it is there again.
            assert wait_until(lambda: f"{tokens} tokens need {whole}" in run.text(), 120) is not None, run.text()
            os.truncate(shard, whole)
            at = steps_done(out)
            assert wait_until(lambda: steps_done(out) > at, 120) is not None, run.text()
        finally:
            run.end()


CHECKS = [an_unreadable_sector_is_named_and_the_older_checkpoint_used, data_that_shrink_under_way_are_named]

if __name__ == "__main__":
    own_mounts.enter()
    run_checks(__doc__, CHECKS)
