#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pictures read from IR and losses, and which pages have them."""
import unittest
from pathlib import Path

import draw
import mesh
import parallelism


PAGES = Path(__file__).resolve().parents[2] / "docs/parallelism"


class Parallelism(unittest.TestCase):
    def test_every_page_has_a_picture_and_the_line_that_opens_it_in_studio(self):
        for page in PAGES.glob("*.md"):
            self.assertIn(page.name, {of for of, _, _ in parallelism.PLANS.values()})
        for name, (page, picture, plan) in parallelism.PLANS.items():
            text = (PAGES / page).read_text(encoding="utf-8")
            self.assertIn(f"(../pictures/parallelism/{name}.svg)", text)
            self.assertIn(f"tessera studio --open '{parallelism.studio_line(picture, plan)}'", text)

    def test_a_line_is_what_a_person_would_type(self):
        plan = {"--model": "tiny", "--batch": "8", "--seq": "64", "--mesh": "pp=2", "--microbatches": "4", "plan.zero": "1"}
        self.assertEqual(parallelism.studio_line("step", plan), "time/tiny 8x64 bf16 dgx-h100 pp=2 microbatches=4 zero=1")
        self.assertEqual(parallelism.studio_line("bytes", plan), "tiny 8x64 bf16 dgx-h100 pp=2 microbatches=4 zero=1")


class Mesh(unittest.TestCase):
    def test_a_rank_holds_its_piece(self):
        ir = ("mesh dp=2 tp=2\n  batch %tokens: int32[batch=8, seq=4] on(dp=batch) whole [batch=16, seq=4]\n"
              "  state %wq: fp32[d=4, kv_heads=1] on(tp=kv_heads) whole [d=4, kv_heads=2] parameter\n"
              "  state %gate_up: fp32[d=4, mlp=3] on(tp=mlp) whole [d=4, mlp=6] parameter\n"
              "  state %mlp_norm: fp32[d=4] parameter ones\n")
        self.assertEqual(mesh.pieces(ir, {"dp": 1, "tp": 0}), {"tokens": "batch 8-15 of 16", "wq": "kv_heads 0 of 2",
                                                              "gate_up": "mlp 0-2 of 6", "mlp_norm": "whole"})


class Loss(unittest.TestCase):
    def test_another_loss_is_stale_and_another_bit_is_not(self):
        table = {"one rank": {1: 5.0, 2: 4.0}}
        self.assertIsNone(draw.stale_losses(table, {"one rank": {1: 5.0001, 2: 4.0}}))
        self.assertIn("step 2", draw.stale_losses(table, {"one rank": {1: 5.0, 2: 4.1}}))


if __name__ == "__main__":
    unittest.main()
