#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of what is in a program (SPDX 2.3, tessera.spdx.json), and the licences of code that is part of it (THIRD_PARTY), from
what its build really read and linked: headers from ninja's record, archives from the link line, shared libraries from the program.
Names and versions are those of the Debian packages that hold these files. With --bundled, shared libraries are shipped, too."""
import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = re.compile(r"/(tessera|tessera_kernels|tessera_cli)\.dir/")
# The C and C++ libraries and the kernel's headers: what any compiled program has, under exceptions for compiled code.
TOOLCHAIN = re.compile(r"(libc6|libc6-dev|libstdc\+\+.*|libgcc.*|linux-libc-dev|libcrypt.*|cpp-.*|gcc-.*)$")
LICENCES = {"expat": "MIT", "mit": "MIT", "bsd-3-clause": "BSD-3-Clause", "bsd-2-clause": "BSD-2-Clause", "apache-2.0": "Apache-2.0",
            "apache-2": "Apache-2.0", "bsl-1.0": "BSL-1.0", "bsl-1": "BSL-1.0", "lgpl-2.1+": "LGPL-2.1-or-later",
            "lgpl-3+": "LGPL-3.0-or-later", "lgpl-2+": "LGPL-2.0-or-later", "gpl-2+": "GPL-2.0-or-later", "isc": "ISC",
            "zlib": "Zlib", "public-domain": "LicenseRef-public-domain"}
STATIC, HEADERS, SHARED = "STATIC_LINK", "its headers are compiled in", "DYNAMIC_LINK"


def said_by(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


def version():
    return re.search(r"project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def headers_of(build):
    """System headers that the program's objects were compiled from."""
    found, counts = set(), False
    for line in said_by("ninja", "-t", "deps", cwd=build).splitlines():
        if line and not line.startswith(" "):
            counts = bool(OBJECTS.search(line))
        elif counts and line.strip().startswith("/usr/"):
            found.add(os.path.normpath(line.strip()))
    return found


def archives_of(build):
    link = said_by("ninja", "-t", "commands", "tessera_cli", cwd=build).splitlines()
    return {word for line in link for word in re.findall(r"(/usr/\S+\.a)\b", line)}


def shared_of(program):
    """Paths of the shared libraries that the program names itself, and of those that these need."""
    direct = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said_by("readelf", "-d", program)))
    found = dict(re.findall(r"(\S+) => (/\S+)", said_by("ldd", program)))
    return {found[name] for name in direct if name in found}, set(found.values())


def packages_of(paths):
    """Package by path, as dpkg knows it; /lib and /usr/lib are one folder."""
    spelt = {}
    for path in paths:
        real = os.path.realpath(path)
        for each in (path, real, re.sub(r"^/usr/lib", "/lib", real), re.sub(r"^/lib", "/usr/lib", path)):
            spelt.setdefault(each, path)
    answers = {}
    names = sorted(spelt)
    for at in range(0, len(names), 500):
        done = subprocess.run(["dpkg", "-S", *names[at:at + 500]], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            owner, _, path = line.partition(": ")
            if path in spelt and not owner.startswith("diversion"):
                answers[spelt[path]] = owner.split(",")[0].split(":")[0]
    missing = sorted(set(paths) - set(answers))
    if missing:
        sys.exit(f"error: no package holds {', '.join(missing[:3])}\n help: a list of what is in the program can be made on Debian alone")
    return answers


def licence_of(package):
    """The licence of `Files: *` in the package's copyright file, by its SPDX name, where the file says it."""
    file = Path("/usr/share/doc") / package / "copyright"
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    for paragraph in re.split(r"\n\s*\n", text):
        if re.search(r"^Files:\s*\*", paragraph, re.M):
            name = re.search(r"^License:\s*(\S+)\s*$", paragraph, re.M)
            return LICENCES.get(name.group(1).lower(), "NOASSERTION") if name else "NOASSERTION"
    return "NOASSERTION"


def facts_of(packages):
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Homepage}\n"
    rows = (line.split("\t") for line in said_by("dpkg-query", "-W", "-f", form, *sorted(packages)).splitlines())
    return {row[0]: row for row in rows}


def used_by(build, program):
    """Package -> how it is used; an archive or header counts more than a shared library of the same package."""
    direct, every = shared_of(program)
    ways = [(every, SHARED), (headers_of(build), HEADERS), (archives_of(build), STATIC)]
    if not ways[1][0]:
        sys.exit(f"error: {build} has no record of headers\n help: build tessera_cli there first, with ninja")
    owners = packages_of(set().union(*(paths for paths, _ in ways)))
    used = {}
    for paths, way in ways:
        for path in paths:
            used.setdefault(owners[path], set()).add(way)
    named = {owners[path] for path in direct}
    return used, named


def document(used, named, bundled):
    facts = facts_of(used)
    packages = [{"SPDXID": "SPDXRef-tessera", "name": "tessera", "versionInfo": version(), "downloadLocation": "NOASSERTION",
                 "licenseDeclared": "Apache-2.0", "licenseConcluded": "Apache-2.0", "copyrightText": "2026 The Tessera authors",
                 "filesAnalyzed": False, "primaryPackagePurpose": "APPLICATION"}]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-tessera"}]
    for name in sorted(used):
        _, number, architecture, source, homepage = facts[name]
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
        packages.append({"SPDXID": identifier, "name": name, "versionInfo": number, "supplier": "Organization: Debian",
                         "downloadLocation": "NOASSERTION", "homepage": homepage or "NOASSERTION", "sourceInfo": f"source package {source}",
                         "licenseDeclared": licence_of(name), "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
                         "filesAnalyzed": False, "externalRefs": [{
                             "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                             "referenceLocator": f"pkg:deb/debian/{name.replace('+', '%2B')}@{number.replace('+', '%2B')}?arch={architecture}"}]})
        for way in sorted(used[name]):
            kind = "DEPENDS_ON" if way == HEADERS or (way == SHARED and name not in named) else way
            relation = {"spdxElementId": "SPDXRef-tessera", "relationshipType": kind, "relatedSpdxElement": identifier}
            comment = way if way == HEADERS else "of a library that it links" if kind == "DEPENDS_ON" else ""
            if way == SHARED and bundled and not TOOLCHAIN.match(name):
                comment = "shipped beside the program"
            relations.append(relation | ({"comment": comment} if comment else {}))
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", 0)) or int(datetime.datetime.now().timestamp())
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()[:16]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tessera-{version()}",
            "documentNamespace": f"https://spdx.org/spdxdocs/tessera-{version()}-{digest}",
            "creationInfo": {"created": created, "creators": ["Tool: tessera-tools-sbom"]}, "packages": packages, "relationships": relations}


def third_party(used, bundled):
    """The copyright files of what is part of the program, one for each source package."""
    ways = {STATIC, HEADERS} | ({SHARED} if bundled else set())
    inside = [name for name in sorted(used) if used[name] & ways and (bundled or not TOOLCHAIN.match(name))]
    text = "Code of the following Debian packages is part of this program. Their licences:\n"
    written = set()
    for name in inside:
        file = Path("/usr/share/doc") / name / "copyright"
        said = file.read_text(encoding="utf-8", errors="replace") if file.exists() else "see the package's source\n"
        text += f"\n{'=' * 100}\n{name}\n{'=' * 100}\n"
        text += "as above, of another package of the same source\n" if said in written else said
        written.add(said)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="the folder that cmake built the program in")
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for tessera.spdx.json and THIRD_PARTY")
    parser.add_argument("--bundled", action="store_true", help="shared libraries are shipped beside the program")
    given = parser.parse_args()
    used, named = used_by(given.build, given.program)
    given.out.mkdir(parents=True, exist_ok=True)
    listed = document(used, named, given.bundled)
    (given.out / "tessera.spdx.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    (given.out / "THIRD_PARTY").write_text(third_party(used, given.bundled), encoding="utf-8")


if __name__ == "__main__":
    main()
