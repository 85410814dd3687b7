#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of what is in the program (tools/sbom.py) has every library that the program names, the archives and headers that are
compiled in, only identifiers that it defines, and is the same each time."""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FAILURES = []


def expect(holds, what):
    if not holds:
        FAILURES.append(what)


def listed(binary, folder, *more):
    subprocess.run([sys.executable, ROOT / "tools/sbom.py", "--build", binary.parent, "--program", binary, "--out", folder, *more], check=True,
                   env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return (Path(folder) / "tessera.spdx.json").read_text(encoding="utf-8"), (Path(folder) / "THIRD_PARTY").read_text(encoding="utf-8")


def check_links(binary, document):
    """Beside readelf: each library that the program names belongs to a package of the list that it links."""
    named = re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout)
    linked = {each["relatedSpdxElement"] for each in document["relationships"] if each["relationshipType"] == "DYNAMIC_LINK"}
    packages = {each["SPDXID"]: each["name"] for each in document["packages"]}
    files = "\n".join(subprocess.run(["dpkg", "-L", packages[each]], capture_output=True, text=True, check=True).stdout for each in linked)
    for library in named:
        expect(f"/{library}\n" in files + "\n", f"{library} is linked, but of no package in the list")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True)
    binary = parser.parse_args().binary.resolve()
    for tool in ("dpkg", "ninja", "readelf"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            return
    with tempfile.TemporaryDirectory() as folder:
        text, licences = listed(binary, folder)
        document = json.loads(text)
        expect(text == listed(binary, folder)[0], "a second list differs")
        for key in ("SPDXID", "spdxVersion", "dataLicense", "name", "documentNamespace", "creationInfo", "packages", "relationships"):
            expect(document.get(key), f"{key} is missing")
        expect(document["creationInfo"]["created"] == "2023-11-14T22:13:20Z", "it was not created at SOURCE_DATE_EPOCH")
        known = {each["SPDXID"] for each in document["packages"]} | {"SPDXRef-DOCUMENT"}
        expect(len(known) == len(document["packages"]) + 1, "an identifier is not unique")
        for each in document["relationships"]:
            expect({each["spdxElementId"], each["relatedSpdxElement"]} <= known, f"unknown identifier in {each}")
        for each in document["packages"]:
            expect(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each["SPDXID"]), f"{each['SPDXID']} is no identifier")
            expect(each["versionInfo"] and each["downloadLocation"], f"{each['name']} lacks a field")
        ways = {(each["relatedSpdxElement"], each["relationshipType"]) for each in document["relationships"]}
        for name, way in (("libpcre2-dev", "STATIC_LINK"), ("libutf8proc-dev", "STATIC_LINK"), ("libcli11-dev", "DEPENDS_ON"),
                          ("nlohmann-json3-dev", "DEPENDS_ON"), ("libhwy-dev", "DEPENDS_ON"), ("libxxhash-dev", "DEPENDS_ON")):
            expect((f"SPDXRef-{name}", way) in ways, f"{name} is not listed as {way}")
        expect("gtest" not in text, "what only tests use is listed")
        check_links(binary, document)
        expect("utf8proc" in licences and "PCRE" in licences and "libstdc" not in licences, "THIRD_PARTY lacks licences, or has the compiler's")
        expect("libstdc++" in listed(binary, folder, "--bundled")[1], "a bundle's THIRD_PARTY lacks libstdc++")
    print("\n".join(FAILURES) or "all passed")
    sys.exit(1 if FAILURES else 0)


if __name__ == "__main__":
    main()
