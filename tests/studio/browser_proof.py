# SPDX-License-Identifier: Apache-2.0
"""Prove on Studio's page: its verdict and its figures are those of `tessera verify`, and a plan that cannot run says why."""
import re
import shlex
import subprocess

from cdp import browser
from studio_server import studio

PLANS = ["llama3-8b 512x8192 bf16 llama3-h100 pp=2,fsdp=2,tp=2 microbatches=4", "qwen3-30b-a3b 16x4096 bf16 dgx-h100 dp=2,ep=2"]
DONE = "document.querySelector('#proof_title')"


def open_at(chromium, server, line):
    page = chromium.open(server.address + "&" + line.replace(" ", "+"))
    page.wait("document.querySelector('#verdict')?.innerText.includes('MFU')", "a verdict")
    return page


def the_verdict_is_that_of_the_command_line(binary, _, plans=PLANS):
    with studio(binary) as server, browser() as chromium:
        for line in plans:
            page = open_at(chromium, server, line)
            page.click("#prove")
            page.wait(DONE, "a proof")
            words = shlex.split(page.text("#proof_command"))
            assert words[:3] == ["tessera", "verify", "--shrink"], words
            told = subprocess.run([str(binary), *words[1:]], capture_output=True, text=True, check=True).stdout
            title, _, *rows = told.splitlines()
            assert page.text("#proof_title") == title, (page.text("#proof_title"), title)
            shown = page.text("#proof table")
            for row in rows[:5]:
                name, error, allowed = re.match(r"  (\w[\w ]*?) +(\S+) +(\S+)", row).groups()
                assert re.search(rf"{name}\s+{re.escape(error)}\s+{re.escape(allowed)}", shown), (row, shown)
            assert page.text("#proof h2").startswith("Equal"), page.text("#proof h2")
            assert not page.problems, page.problems


def the_verdict_of_one_plan(binary, folder):
    the_verdict_is_that_of_the_command_line(binary, folder, PLANS[:1])


def a_mesh_that_is_too_large_is_refused_in_words(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = open_at(chromium, server, "llama3-8b 512x8192 bf16 llama3-h100 fsdp=512")
        page.click("#prove")
        page.wait("document.querySelector('#proof .is_bad')", "a refusal")
        assert "512 ranks, but at most 256" in page.text("#proof h2"), page.text("#proof")


def the_command_opens_a_plan(binary, _):
    with studio(binary, "--open", "time/tiny 16x128 dgx-h100 tp=2 zero=0") as server, browser() as chromium:
        page = chromium.open(server.address)
        page.wait("document.querySelector('#line')?.value.includes('tp=2')", "the plan")
        assert page.evaluate("document.querySelector('#line').value") == "tiny 16x128 dgx-h100 tp=2 zero=0"
        assert page.evaluate("document.querySelector('#screen_time').getAttribute('aria-current')") == "page"


CHECKS = [the_verdict_is_that_of_the_command_line, a_mesh_that_is_too_large_is_refused_in_words, the_command_opens_a_plan]
SAMPLE = [the_verdict_of_one_plan]
