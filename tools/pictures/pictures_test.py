#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pictures read from traces, IR and losses."""
import unittest

import draw
import mesh
import timeline


def kernel(routine, microbatch, start, duration, rank=0):
    return {"name": "matmul", "ph": "X", "pid": rank, "tid": 0, "ts": start, "dur": duration,
            "args": {"block": "layer.0", "routine": routine, "microbatch": microbatch}}


def routine(name, microbatch, start, duration):
    """A slice around kernels, "forward layer.2, microbatch 1"."""
    return kernel(name, microbatch, start, duration) | {"name": f"{name} layer.0, microbatch {microbatch}", "cat": "routine"}


class Timeline(unittest.TestCase):
    def test_kernels_of_one_microbatch_are_one_box(self):
        events = [kernel("forward", 0, 0, 1000), kernel("forward", 0, 1000, 1000), kernel("forward", 1, 2000, 1000)]
        self.assertEqual([tuple(box) for box in timeline.boxes(events)[0]], [("forward", 0, 0, 2), ("forward", 1, 2, 3)])

    def test_waiting_for_another_stage_is_a_gap(self):
        events = [kernel("stream_in_done", 0, 0, 5000), kernel("forward", 0, 5000, 1000)]
        self.assertEqual([tuple(box) for box in timeline.boxes(events)[0]], [("forward", 0, 5, 6)])

    def test_slices_of_routines_come_before_kernels(self):
        events = [kernel("forward", 0, 0, 1000), routine("forward", 0, 0, 1200),
                  routine("forward", 0, 1200, 800), routine("norm", 0, 2000, 1000)]
        self.assertEqual([tuple(box) for box in timeline.boxes(events)[0]], [("forward", 0, 0, 2), ("update", 0, 2, 3)])

    def test_a_row_names_its_stage_and_ranks(self):
        self.assertEqual(timeline.rank_name("rank 2 pp=1 tp=0 and 1 identical"), "pp=1: ranks 2-3")
        self.assertEqual(timeline.rank_name("rank 3 pp=3"), "pp=3: rank 3")


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
