# SPDX-License-Identifier: Apache-2.0
"""The files of Studio's page: the binary has those of web/, without comments and spaces that mean nothing, and all of them are small."""
import pathlib
import sys

from studio_server import studio

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
for folder in ("tools", "wasm"):
    sys.path.insert(0, str(ROOT / folder))
import strip_page
import write_page

MOST_BYTES = 250_000


def the_page_of_the_binary_is_that_of_the_folder(binary, _):
    """But for what does not travel: tests, comments, spaces."""
    web, travelling = write_page.WEB, [file for file in write_page.page_files() if write_page.is_in_binary(file)]
    files = [file for file in web.rglob("*") if file.is_file() and file.suffix in (".html", ".css", ".js", ".svg", ".png", ".json")]
    with studio(binary) as own, studio(binary, "--assets", web) as folder:
        for file in files:
            path = "/" + file.relative_to(web).as_posix()
            replies = own.request("GET", path), folder.request("GET", path)
            assert [reply.status for reply in replies] == [200 if file in travelling else 404, 200], (path, replies)
            assert replies[1].body == file.read_bytes(), path
            if file in travelling:
                assert replies[0].body == strip_page.travelling(file), f"{path} of the binary is not the one of web/"
                assert replies[0].headers["content-type"] == replies[1].headers["content-type"], path
        assert travelling


def all_files_are_within_their_budget(_, __):
    sizes = {file.name: len(strip_page.travelling(file)) for file in write_page.page_files() if write_page.is_in_binary(file)}
    largest = sorted(sizes.items(), key=lambda entry: -entry[1])[:5]
    assert sum(sizes.values()) <= MOST_BYTES, f"{sum(sizes.values())} bytes, more than {MOST_BYTES}; the largest: {largest}"


CHECKS = [the_page_of_the_binary_is_that_of_the_folder, all_files_are_within_their_budget]
SAMPLE = CHECKS
