#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates Llama 3 8B on one node of eight H100 under several meshes, and compares time, memory and what is waited for."""
import tessera

MESHES = ["fsdp=8", "dp=2,fsdp=4", "fsdp=4,tp=2", "tp=8", "pp=4,fsdp=2"]

print(f"{'mesh':14}{'step s':>8}{'MFU':>8}{'peak GB':>9}{'exposed s':>11}{'bubble s':>10}")
fastest = None
for mesh in MESHES:
    step = tessera.simulate(cluster="dgx-h100", model="llama3-8b", mesh=mesh, batch=16, seq=8192, microbatches=8 if "pp" in mesh else 1,
                            recompute="block")
    print(f"{mesh:14}{step.step_seconds:8.3f}{step.mfu:8.3f}{step.peak_bytes / 1e9:9.1f}"
          f"{step.exposed_communication_seconds:11.3f}{step.bubble_seconds:10.3f}{'' if step.fits else '  does not fit'}")
    if step.fits and (fastest is None or step.step_seconds < fastest.step_seconds):
        fastest = step

assert fastest is not None
print("fastest:", fastest.title)
fastest.picture("mesh").save("mesh.svg")  # in a notebook: fastest.picture("mesh")
fastest.save_trace("step.json")  # for ui.perfetto.dev
