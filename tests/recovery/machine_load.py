# SPDX-License-Identifier: Apache-2.0
"""Keeps all cores and the disk of a folder busy."""
import contextlib
import os
import subprocess
import sys

BUSY = "while True: pass"
FLUSHING = """import os, sys
while True:
    with open(sys.argv[1], "wb") as file:
        file.write(bytes(32 << 20))
        file.flush()
        os.fsync(file.fileno())
"""


@contextlib.contextmanager
def load(folder):
    others = [[BUSY]] * os.cpu_count() + [[FLUSHING, str(folder / "flushed")]]
    processes = [subprocess.Popen([sys.executable, "-c", *code]) for code in others]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
