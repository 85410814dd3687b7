#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A notebook as a script: each part between `# %%` is a cell, and what a cell ends with is what a notebook would draw."""
# %% Four ranks compute what one would: fp64, a small model of the family
import tessera

check = tessera.verify(model="llama3-8b", mesh="dp=2,tp=2", shrink=True)
print(check.verdict, f"loss {check.loss_error:.1e}, gradients {check.gradient_error:.1e}")
assert check, check.verdict

# %% What lies where
compiled = tessera.compile(model="tiny", mesh="fsdp=2,tp=2", batch=8, seq=64)
print({kind: f"{size / 1e6:.2f} MB" for kind, size in compiled.bytes.items()})
held = compiled.placements("layer.0.wq")
for rank, box in enumerate(held.in_use.of_rank):
    part = held.in_use.boxes[box]
    print(f"rank {rank} uses {part.count} of {[dim.size for dim in held.tensor.dims]} from {part.first} on")

# %% The programs, as text, and the IR after a pass
print(compiled.ir(after="localize").splitlines()[0])

# %% A timeline: a notebook draws it
step = tessera.simulate(cluster="dgx-h100", model="llama3-8b", mesh="pp=4,tp=2", batch=8, seq=8192, microbatches=8)
step  # pylint: disable=pointless-statement

# %% Ranks in their nodes, memory over time, pipeline schedules
pictures = {
    "mesh.svg": step.picture("mesh"),
    "memory.svg": step.picture("memory"),
    "schedules.svg": tessera.schedule_picture(["1f1b", "zb_h1"], stages=4, microbatches=8),
    "cluster.svg": tessera.cluster_picture("dgx-h100"),
}
for name, picture in pictures.items():
    picture.save(name)

# %% Mistakes are exceptions that say what would work
try:
    tessera.simulate(cluster="dgx-h100", model="gpt2-124m", mesh="tp=8", batch=8)
except tessera.UserError as error:
    print(error.message, "|", error.help)
