#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a wheel of the package from a build: a zip file as PEP 427 wants it. Needs nothing but Python, and the same files
give the same bytes. Usage: make_wheel.py --package build/release/python/tessera --out build/wheel"""
import argparse
import base64
import hashlib
import re
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
SUFFIXES = {".py", ".pyi", ".so", ".typed"}


def version():
    """That of the project."""
    return re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def metadata(number):
    """What pip shows and checks. Debian's libraries that the module is linked with are not in it."""
    head = (f"Metadata-Version: 2.1\nName: tessera\nVersion: {number}\n"
            "Summary: Compiler and runtime for training transformers: train, simulate, plan, compile and verify\n"
            "License: Apache-2.0\nRequires-Python: >=3.11\nRequires-Dist: numpy\n"
            "Description-Content-Type: text/markdown\n\n")
    return head + (ROOT / "docs/python.md").read_text(encoding="utf-8")


def wheel_of(package, number, platform):
    """Names in the wheel with their bytes, the record last."""
    info = f"tessera-{number}.dist-info"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    files = {f"tessera/{each.name}": each.read_bytes() for each in sorted(package.iterdir()) if each.suffix in SUFFIXES}
    if f"tessera/_core{suffix}" not in files:
        sys.exit(f"error: {package} has no _core{suffix}\n help: build the module with this Python: make python")
    files[f"{info}/METADATA"] = metadata(number).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: tessera\nRoot-Is-Purelib: false\n"
                              f"Tag: {TAG}-{TAG}-{platform}\n").encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, default=ROOT / "build/release/python/tessera")
    parser.add_argument("--out", type=Path, default=ROOT / "build/wheel")
    arguments = parser.parse_args()
    number = version()
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"tessera-{number}-{TAG}-{TAG}-{platform}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in wheel_of(arguments.package, number, platform).items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    main()
