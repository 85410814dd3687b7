#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what a run has written, with NumPy: its losses, and the weights of its checkpoint without copies."""
import numpy as np
import tessera

run = tessera.train(model="tiny", batch=8, seq=64, steps=30, save_every=30, out="out/read", overwrite=True,
                    set={"train.eval_every": 10, "train.eval_batches": 2})

metrics = run.metrics()  # or tessera.metrics("out/read"), in another program
known = ~np.isnan(metrics.held_out_loss)
print("loss", metrics.loss[:3], "...", metrics.loss[-1])
print("held out at steps", metrics.step[known], metrics.held_out_loss[known])
print("time in compute:", f"{np.mean(metrics.compute_seconds / metrics.step_seconds):.0%}")

checkpoint = tessera.load_checkpoint("out/read")
weights = {name: array for name, array in checkpoint.items() if "." not in name.removeprefix("layer.").partition(".")[2]}
print(f"{checkpoint}, {sum(array.size for array in weights.values()):,} numbers in {len(weights)} weights")
for name in list(weights)[:4]:
    array = weights[name]
    print(f"  {name:16} {str(array.shape):18} rms {np.sqrt(np.mean(np.square(array))):.4f}  "
          f"{'a view of its file' if checkpoint.is_mapped(name) else 'a copy'}")
assert all(checkpoint.is_mapped(name) for name in checkpoint)
