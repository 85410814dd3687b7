#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The errno injector does what it says: every call fails, on the paths, in the processes and for the time that it is told."""
import errno
import pathlib
import signal
import subprocess
import sys
import tempfile

import errno_faults

# One call each, with the path as the first argument; prints the errno it failed with, or 0.
CALLS = {
    "open": "os.open(p, os.O_RDONLY)",
    "opendir": "os.listdir(d)",
    "readdir": "os.listdir(d)",
    "read": "os.read(os.open(p, os.O_RDONLY), 1)",
    "write": "os.write(os.open(p, os.O_WRONLY), b'x')",
    "fsync": "os.fsync(os.open(p, os.O_WRONLY))",
    "rename": "os.rename(p, p + '2')",
    "stat": "os.stat(p)",
    "mkdir": "os.mkdir(p + '3')",
    "unlink": "os.unlink(p)",
    "mmap": "mmap.mmap(os.open(p, os.O_RDONLY), 0, prot=mmap.PROT_READ)",
    "mapped_read": "mmap.mmap(os.open(p, os.O_RDONLY), 0, prot=mmap.PROT_READ)[0]",
}
SCRIPT = """import mmap, os, sys
p, d = sys.argv[1], os.path.dirname(sys.argv[1])
if sys.argv[2] == 'children' and os.fork() > 0:
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]) % 256)
try:
    {call}
except OSError as error:
    sys.exit(error.errno)
"""


def result(faults, call, path, who):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"some bytes")
    for made in path.parent.glob("file3"):
        made.rmdir()
    return subprocess.run([sys.executable, "-ISc", SCRIPT.format(call=CALLS[call]), path, who], env=faults.environment(),
                          check=False).returncode


def main():
    if errno_faults.missing():
        print(f"skipped: {errno_faults.missing()}")
        return
    assert list(CALLS) == errno_faults.CALLS
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        faults = errno_faults.ErrnoFaults(folder)
        victim, other = folder / "victims" / "file", folder / "others" / "file"
        for call in CALLS:
            fails = -signal.SIGBUS if call == "mapped_read" else errno.EIO
            faults.set(call, "victims", errno.EIO, who="supervisor")
            assert result(faults, call, victim, "supervisor") == fails, call
            assert result(faults, call, other, "supervisor") == 0, f"{call} on another path"
            if call in ("open", "mapped_read"):
                assert result(faults, call, victim, "children") == 0, f"{call} in a child"
                faults.clear()
                faults.set(call, "victims", errno.EIO, who="children")
                assert result(faults, call, victim, "children") == fails % 256, f"{call} in a child"
            assert faults.struck(call), call
            faults.clear()
            assert result(faults, call, victim, "supervisor") == 0, f"{call} when it is switched off"
    print(f"{len(CALLS)} calls fail when they are told to")


if __name__ == "__main__":
    main()
