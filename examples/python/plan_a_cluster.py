#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches for the fastest way to train Llama 3 8B on 64 H100, asks why another plan lost, and writes the best as a config."""
import tessera

plan = tessera.plan(cluster="llama3-h100", model="llama3-8b", ranks=64, batch=512, seq=8192)
print(f"{plan.simulated} plans simulated; the best:")
for each in plan.results[:3]:
    print(f"  {each.step_seconds:6.2f} s  MFU {each.mfu:.3f}  {each.peak_bytes / 1e9:5.1f} GB  {each.plan}")

lost = plan.why_not("dp=8,tp=8 recompute=block")
print(f"why not {lost.plan}: {lost.reason}")

plan.save("best.toml")  # tessera train best.toml, or tessera.train("best.toml")
again = tessera.simulate("best.toml", cluster="llama3-h100")
assert again.step_seconds == plan.best.step_seconds
plan.picture().save("plans.svg")
