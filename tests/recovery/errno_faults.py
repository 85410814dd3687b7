# SPDX-License-Identifier: Apache-2.0
"""I/O errors on purpose, switched on and off while a run is under way:

    faults = ErrnoFaults(folder)
    run = subprocess.Popen(command, env=faults.environment())
    faults.set("opendir", "checkpoints", errno.EIO, who="supervisor")
    faults.clear()
    assert faults.struck("opendir")

A call fails in processes that were started with that environment, on paths that contain the word, from the next such call on.
`who` is "supervisor" (the first process of the command), "children" (all that it starts) or "all". The calls: open, opendir, readdir,
read, write, fsync, rename, stat, mkdir, unlink, mmap, and mapped_read, which raises SIGBUS where mapped memory is read."""
import os
import pathlib
import shutil
import subprocess

CALLS = ["open", "opendir", "readdir", "read", "write", "fsync", "rename", "stat", "mkdir", "unlink", "mmap", "mapped_read"]


def missing():
    """What is needed to build the library and is not there; empty: nothing."""
    return "" if shutil.which("cc") else "a C compiler is missing (tools/setup.sh build)"


class ErrnoFaults:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "errno_faults"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.control, self.library = self.folder / "control", self.folder / "errno_injector.so"
        source = pathlib.Path(__file__).with_name("errno_injector.c")
        if not self.library.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wno-nonnull-compare", "-o", self.library, source, "-ldl"], check=True)
        self.lines = []
        self.clear()

    def environment(self, base=None):
        """Of the command whose first process is the supervisor."""
        kept = {key: value for key, value in (os.environ if base is None else base).items() if key != "ERRNO_FAULTS_SUPERVISOR"}
        options = ":".join(filter(None, [kept.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
        return {**kept, "LD_PRELOAD": str(self.library), "ERRNO_FAULTS": str(self.control), "ASAN_OPTIONS": options}

    def set(self, call, word, error, who="all"):
        """Adds a fault to those that are on."""
        assert call in CALLS and who in ("supervisor", "children", "all") and word and " " not in word, (call, word, who)
        self.lines.append(f"{call} {word} {error} {who}\n")
        self._write()

    def clear(self):
        self.lines = []
        self._write()

    def struck(self, call=""):
        """Lines `call path process`, one for each call that was made to fail."""
        try:
            lines = self.control.with_name("control.struck").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [line for line in lines if line.startswith(call)]

    def _write(self):
        new = self.control.with_name("control.new")  # nobody reads half a file
        new.write_text("".join(self.lines), encoding="utf-8")
        new.replace(self.control)
