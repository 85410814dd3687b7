#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of Studio that the documentation shows, eight screens of true plans and runs, in Chromium:
tests/studio/pictures.py --binary build/release/tessera --runs out --out docs/pictures"""
import argparse
import pathlib

from browser_plan import fragment
from cdp import browser
from studio_server import studio

SMALL = "llama3-8b 512x8192 bf16 llama3-h100 pp=4,fsdp=8,tp=2 microbatches=32"
SHORT = "llama3-8b 512x8192 bf16 llama3-h100 pp=4,fsdp=8,tp=2 microbatches=8 recompute=block"
LARGE = "llama3-405b 2048x8192 bf16 llama3-h100 pp=16,dp=8,fsdp=16,tp=8 microbatches=16 recompute=block"
PRICES = "document.querySelector('#tp_down')?.innerText.includes('GB') ?? false"
TIMELINE = "import('/time_screen.js').then(({timeline_picture}) => (timeline_picture()?.frame_milliseconds ?? 0) > 0)"

# Name, theme, screen, line, what is there when the picture is complete, what is done before.
PICTURES = [
    ("studio_plan", "light", "plan", SMALL, PRICES, ""),
    ("studio_search", "dark", "plan", "llama3-8b 512x8192 bf16 llama3-h100 fsdp=32,tp=2 microbatches=16", "document.querySelector('.why')?.innerText.includes('slower') ?? false",
     "document.querySelector('#search_start').click()"),
    ("studio_map", "light", "map", SMALL, "document.querySelector('.piece') !== null && document.querySelector('.ir_line') !== null", ""),
    ("studio_shards", "dark", "map", SMALL, "document.querySelector('.piece') !== null && document.querySelector('.ir_line') !== null", "document.querySelector('#when_at_rest').click()"),
    ("studio_time", "light", "time", SHORT, TIMELINE, ""),
    ("studio_16384_ranks", "dark", "time", LARGE, TIMELINE, "document.querySelector('#view_kind').click()"),
    ("studio_run", "light", "run", "tiny 16x128 fp32 laptop", "document.querySelector('.findings li') !== null", ""),
    ("studio_learn", "dark", "learn", "tiny 16x128 fp32 laptop", "document.querySelector('#rank_columns li') !== null", ""),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=pathlib.Path, help="folder of runs for the picture of them; without it there is none")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="a word of the names of those to take")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with studio(arguments.binary.resolve(), *([arguments.runs] if arguments.runs else [])) as server, browser() as chromium:
        for name, theme, screen, line, complete, act in PICTURES:
            if arguments.only not in name or (screen == "run" and not arguments.runs):
                continue
            page = chromium.open()
            page.theme(theme)
            page.go(f"{server.address}&{screen}/{fragment(line)}")
            page.wait("document.querySelector('#verdict')?.innerText.includes('MFU') ?? false", "a verdict")
            if screen != "run":  # which is followed for as long as it is open
                page.settle(1)
            if act:
                page.evaluate(f"{act}; 0")
            page.wait(complete, name)
            page.evaluate("new Promise(done => setTimeout(done, 1500))")
            if name == "studio_search":
                page.evaluate("document.querySelector('#search').scrollIntoView({block: 'start'}); scrollBy(0, -140)")
            page.screenshot(arguments.out / f"{name}.png")
            page.close()
            print(arguments.out / f"{name}.png")


if __name__ == "__main__":
    main()
