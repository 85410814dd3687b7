#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generation on one GPU beside what it allows and beside transformers with a static cache, in one run: the first token of a long
prompt against the matmul rate, later tokens against the rate of a copy. One table comes last, with what each figure must be.
--small runs a tiny model on the CPU without the peer, to try the script."""
import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from offload import ROOT, ask, say
from run import table

BEGIN = time.monotonic()
MARGIN = 5


@dataclass
class Row:
    model: str
    prompt: int
    texts: int
    seconds: int  # it is not begun with less left
    least_later: float = 0  # of the copy's rate, that it must reach
    most_first: float = 0  # times the prefill's lower bound, that it may take


ROWS = [Row("llama3-8b", 4096, 1, 60, 0.75, 1.2), Row("llama3-8b", 512, 16, 50), Row("llama3-1b", 4096, 1, 40)]
SMALL = [Row("tiny", 32, 1, 1), Row("tiny", 32, 2, 1)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "cuda", help="folder of what make cuda builds")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--in-all", type=float, default=590, help="seconds after which nothing runs any more")
    parser.add_argument("--no-peer", action="store_true", help="ours alone")
    parser.add_argument("--small", action="store_true", help="a tiny model on the CPU, without the peer")
    parser.add_argument("--json", type=Path, help="also write all figures here")
    return parser.parse_args()


def measure(given, row):
    """Figures of ours and of the peer, or why there are none."""
    left = lambda: given.in_all - MARGIN - (time.monotonic() - BEGIN)
    size = ["--model", row.model, "--prompt-tokens", row.prompt, "--tokens", given.tokens, "--texts", row.texts]
    if left() < row.seconds:
        return None, None, "left out: no time was left"
    say(f"{row.model}, {row.texts} x {row.prompt}")
    device = ["--device", "cpu", "--precision", "fp32"] if given.small else ["--device", "cuda", "--precision", "bf16"]
    ours, why = ask([given.bin / "tessera", "bench", "generate", *size, *device, "--json"], left())
    if given.small or given.no_peer or left() < row.seconds:
        return ours, None, why
    peer, peer_why = ask([sys.executable, "bench/peer_transformers_generate.py", *size], left())
    return ours, peer, why or (peer_why and f"transformers: {peer_why}")


def cells(row, ours, peer, why):
    name = f"{row.model}, {row.texts} x {row.prompt}"
    if not ours:
        return [name, *"-" * 7, why]
    first = ours["first_token_seconds"] / ours["first_token_bound_seconds"]
    later = ours["later_token_bound_seconds"] / ours["later_token_seconds"]
    short = [text for text, holds in ((f"must be at most {row.most_first}", not row.most_first or first <= row.most_first),
                                      (f"must be at least {row.least_later}", later >= row.least_later)) if not holds]
    beside = [f"{peer[key] / ours[key]:.2f}" if peer else "-" for key in ("first_token_seconds", "later_token_seconds")]
    return [name, f"{1e3 * ours['first_token_seconds']:.1f}", f"{first:.2f}", beside[0], f"{1e3 * ours['later_token_seconds']:.3f}",
            f"{later:.2f}", beside[1], f"{ours['tokens_per_second']:.1f}", "; ".join([*short, *([why] if why else [])]) or "ok"]


def main():
    given = parse_arguments()
    found = [(row, *measure(given, row)) for row in (SMALL if given.small else ROWS)]
    if given.json:
        given.json.write_text(json.dumps([{**vars(row), "ours": ours, "transformers": peer, "why": why} for row, ours, peer, why in found],
                                         indent=1), encoding="utf-8")
    lines = [["model, texts x prompt", "first ms", "/ bound", "x faster", "later ms", "of copy", "x faster", "tokens/s", ""],
             *(cells(*each) for each in found)]
    print(table(lines))
    sys.exit(0 if all(ours for _, ours, _, _ in found) else 1)


if __name__ == "__main__":
    main()
