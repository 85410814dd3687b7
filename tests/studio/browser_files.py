# SPDX-License-Identifier: Apache-2.0
"""The files of Studio's page: the binary has those of web/, without comments and indentation, and all of them are small."""
import pathlib
import sys

from studio_server import studio

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
for folder in ("tools", "wasm"):
    sys.path.insert(0, str(ROOT / folder))
import strip_page
import write_page

MOST_BYTES = 250_000


def the_binary_has_the_files_of_the_folder(binary, _):
    with studio(binary) as server:
        for file in write_page.page_files():
            reply = server.request("GET", f"/{file.relative_to(write_page.WEB)}")
            assert reply.status == 200, (file, reply)
            assert reply.body == strip_page.travelling(file), f"{file.name} of the binary is not the one of web/"


def a_folder_is_served_as_it_is(binary, _):
    with studio(binary, "--assets", write_page.WEB) as server:
        for name in ("dom.js", "style.css", "index.html"):
            assert server.request("GET", f"/{name}").body == (write_page.WEB / name).read_bytes(), name


def all_files_are_within_their_budget(_, __):
    sizes = {file.name: len(strip_page.travelling(file)) for file in write_page.page_files()}
    largest = sorted(sizes.items(), key=lambda entry: -entry[1])[:5]
    assert sum(sizes.values()) <= MOST_BYTES, f"{sum(sizes.values())} bytes, more than {MOST_BYTES}; the largest: {largest}"


CHECKS = [the_binary_has_the_files_of_the_folder, a_folder_is_served_as_it_is, all_files_are_within_their_budget]
SAMPLE = CHECKS
