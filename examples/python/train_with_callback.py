#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the tiny model on two ranks, prints some steps, and stops when the loss is low enough."""
import tessera

GOOD_ENOUGH = 3.2


def on_step(step: tessera.Step) -> bool:
    """Called after each step, on the thread that trains. False ends the run."""
    if step.step % 5 == 0:
        print(f"step {step.step:3}  loss {step.loss:.3f}  gradient norm {step.grad_norm:.3f}  "
              f"{step.tokens_per_second:,.0f} tokens/s")
    return step.loss > GOOD_ENOUGH


run = tessera.train(model="tiny", mesh="dp=2", batch=8, seq=64, steps=60, save_every=60, out="out/callback",
                    overwrite=True, on_step=on_step, set={"train.learning_rate": 4e-3, "train.warmup_steps": 5})
print(f"{run.summary.steps} steps, loss {run.losses[0]:.3f} -> {run.losses[-1]:.3f}, "
      f"stopped by {run.summary.get('stopped_by', 'the number of steps')}")
assert run.losses[-1] < run.losses[0] - 0.5
assert run.checkpoint().step == run.step
