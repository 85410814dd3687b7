#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation of the Linux kernel, from Debian's package linux-doc-6.1 (37 MB to download), as text to learn from and as
conversations: a section's heading is asked about, its first paragraph is the answer. Writes OUT/text.jsonl and the
conversations. The package is downloaded and unpacked below OUT, not installed; one that is installed is read where it is."""
import argparse
import gzip
import json
import re
import subprocess
from pathlib import Path

PACKAGE = "linux-doc-6.1"
DOCUMENTATION = f"usr/share/doc/{PACKAGE}/Documentation"
KINDS = {"", ".rst", ".txt"}  # files below ABI have no ending
UNDERLINE = re.compile(r'^([=\-~^"*#+])\1{3,}\s*$')
QUESTIONS = ("What is {}?", "Tell me about {}.", "What do you know about {}?", "Can you explain {}?")
MOST_CHARACTERS = 1200  # of an answer


def find_documentation(out):
    installed = Path("/") / DOCUMENTATION
    if installed.is_dir():
        return installed
    unpacked = out / "package" / DOCUMENTATION
    if not unpacked.is_dir():
        out.mkdir(parents=True, exist_ok=True)
        if not list(out.glob(f"{PACKAGE}_*.deb")):
            subprocess.run(["apt-get", "download", "-q", PACKAGE], cwd=out, check=True)
        package = sorted(out.glob(f"{PACKAGE}_*.deb"))[-1]
        subprocess.run(["dpkg-deb", "-x", package, out / "package"], check=True)
    return unpacked


def documents(folder):
    """(Name, text) of each, in the order of the names; translations are left out."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder)).removesuffix(".gz")
        if not path.is_file() or path.is_symlink() or name.startswith("translations/") or Path(name).suffix not in KINDS:
            continue
        data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
        text = data.decode("utf-8", errors="replace").strip()
        if text:
            yield name, text


def plain(text):
    """A paragraph on one line, without the marks of reStructuredText."""
    text = re.sub(r":[a-z:]+:`([^`<]*?)\s*(<[^`]*>)?`", r"\1", " ".join(text.split()))
    return re.sub(r"[`*]{1,2}([^`*]+)[`*]{1,2}", r"\1", text)


def sections(text):
    """(Heading, first paragraph), where that is prose."""
    lines = text.splitlines()
    for i in range(1, len(lines) - 2):
        heading = lines[i - 1].strip()
        if (not UNDERLINE.match(lines[i]) or not 3 < len(heading) < 80 or heading.endswith("?")
                or UNDERLINE.match(lines[i - 1])):
            continue
        rest = "\n".join(lines[i + 1:i + 60]).strip("\n")
        paragraph = rest.split("\n\n")[0]
        if not paragraph[:1].isupper() or not 60 < len(paragraph) <= MOST_CHARACTERS or not paragraph.endswith("."):
            continue
        yield plain(heading), plain(paragraph)


def write(folder, text_file, chat_file):
    count = {"documents": 0, "bytes": 0, "conversations": 0}
    seen = set()
    with open(text_file, "w", encoding="utf-8") as texts, open(chat_file, "w", encoding="utf-8") as chats:
        for name, text in documents(folder):
            texts.write(json.dumps({"text": text, "file": name}) + "\n")
            count["documents"] += 1
            count["bytes"] += len(text.encode())
            for heading, answer in sections(text) if not name.startswith("ABI/") else ():
                if heading in seen:  # "Introduction" is of every second document
                    continue
                seen.add(heading)
                question = QUESTIONS[len(seen) % len(QUESTIONS)].format(heading)
                chats.write(json.dumps({"messages": [{"role": "user", "content": question},
                                                     {"role": "assistant", "content": answer}], "topic": "linux"}) + "\n")
                count["conversations"] += 1
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/speedrun-cuda/linux"))
    parser.add_argument("--chats", type=Path, help="file of the conversations; default: OUT/chats.jsonl")
    parser.add_argument("--folder", type=Path, help="a folder Documentation to read instead")
    options = parser.parse_args()
    folder = options.folder or find_documentation(options.out)
    options.out.mkdir(parents=True, exist_ok=True)
    chats = options.chats or options.out / "chats.jsonl"
    count = write(folder, options.out / "text.jsonl", chats)
    print(f"{options.out}: {count['documents']} documents of {count['bytes']} bytes, {count['conversations']} conversations")


if __name__ == "__main__":
    main()
