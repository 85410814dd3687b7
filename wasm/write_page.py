#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the folder of Studio without a server: the page of web/, the program, and an index.html that says so. Any web server can
host it; nothing in it names a host or a path above itself."""
import argparse
import gzip
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import strip_page

WEB = pathlib.Path(__file__).resolve().parent.parent / "web"
# As the server's header, which a folder cannot send; frames are not governed by a tag. Compiling WebAssembly is allowed in addition.
POLICY = ("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types tessera-worker")
HEAD = f"""<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="tessera-answers" content="wasm">
<link rel="preload" href="tessera.wasm" as="fetch" crossorigin>
"""
NOTE = """  <p class="note" id="no_server"><span>Compiler, simulator and planner run here, in your browser. Runs, and proofs by execution, need Tessera on
    your machine: <code>tessera studio</code>.</span></p>
"""


def page_files():
    """What travels. The binary holds all but those that a page without a server alone needs."""
    kinds = {".html", ".css", ".js", ".json", ".svg", ".png"}
    return sorted(file for file in WEB.rglob("*") if file.suffix in kinds and not file.stem.endswith("_test") and file.name not in ("jsconfig.json", "tsconfig.json"))


def is_in_binary(file):
    return not file.name.startswith(("wasm_", "absent_"))


def insert(text, part, before):
    assert text.count(before) == 1, f"index.html has {text.count(before)} times {before!r}"
    return text.replace(before, part + before)


def index_page():
    text = (WEB / "index.html").read_text()
    return insert(insert(text, HEAD, '<meta name="viewport"'), NOTE, "</header>")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path, help="the folder of tessera.js and tessera.wasm")
    parser.add_argument("folder", type=pathlib.Path, help="what to write; what is there is removed")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    for file in page_files():
        target = arguments.folder / file.relative_to(WEB)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(strip_page.travelling(file))
    for name in ("tessera.js", "tessera.wasm"):
        shutil.copyfile(arguments.program / name, arguments.folder / name)
    (arguments.folder / "index.html").write_text(index_page())
    files = [file.read_bytes() for file in arguments.folder.rglob("*") if file.is_file()]
    print(f"{arguments.folder}: {len(files)} files, {sum(map(len, files)) / 1e3:.0f} kB, {sum(len(gzip.compress(data, 9)) for data in files) / 1e3:.0f} kB compressed")
    print(f"to see it: python3 -m http.server --bind 127.0.0.1 --directory {arguments.folder}")


if __name__ == "__main__":
    main()
