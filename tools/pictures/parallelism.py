# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/parallelism and of the README, each drawn by `tessera simulate --svg` for the plan that its page explains,
and the line that opens this plan in Studio."""
import subprocess

LLAMA = {"--model": "llama3-8b", "--batch": "8", "--seq": "8192"}
MIXTURE = {"--model": "qwen3-30b-a3b", "--batch": "8", "--seq": "4096"}
STAGES = LLAMA | {"--mesh": "pp=4", "--microbatches": "8"}
ALL = LLAMA | {"--mesh": "pp=2,fsdp=4,tp=4", "--batch": "32", "--microbatches": "4"}

# By file: its page, which picture, of which plan.
PLANS = {
    "data": ("data.md", "block", LLAMA | {"--mesh": "dp=8"}),
    "sharded": ("sharded.md", "block", LLAMA | {"--mesh": "fsdp=8"}),
    "sharded_bytes": ("sharded.md", "bytes", LLAMA | {"--mesh": "fsdp=8"}),
    "hsdp": ("sharded.md", "mesh", LLAMA | {"--mesh": "dp=2,fsdp=8", "--batch": "16"}),
    "tensor": ("tensor.md", "block", LLAMA | {"--mesh": "tp=8", "--batch": "2"}),
    "sequence": ("sequence.md", "block", LLAMA | {"--mesh": "tp=8", "--batch": "2", "plan.sequence_parallel": "true"}),
    "ring": ("context.md", "block", LLAMA | {"--mesh": "cp=8", "--batch": "1", "--seq": "32768"}),
    "ulysses": ("context.md", "block", LLAMA | {"--mesh": "cp=8", "--batch": "1", "--seq": "32768", "plan.context": "ulysses"}),
    "pipeline": ("pipeline.md", "step", STAGES),
    "pipeline_zb_h1": ("pipeline.md", "step", STAGES | {"plan.schedule": "zb_h1"}),
    "experts": ("expert.md", "block", MIXTURE | {"--mesh": "ep=8"}),
    "exchange": ("expert.md", "block", MIXTURE | {"--mesh": "ep=8", "plan.dispatch": "exchange"}),
    "recompute_none": ("recompute.md", "memory", LLAMA | {"--mesh": "fsdp=8"}),
    "recompute_block": ("recompute.md", "memory", LLAMA | {"--mesh": "fsdp=8", "plan.recompute": "block"}),
    "all_axes": ("README.md", "mesh", ALL),
    "all_axes_step": ("README.md", "step", ALL),
}
TIMELINE = LLAMA | {"--mesh": "pp=4,tp=2", "--microbatches": "8"}
SCREENS = {"mesh": "map", "bytes": "plan"}  # others: Time
CLUSTER = "dgx-h100"


def draw(binary, picture, plan, file):
    words = [word for key, value in plan.items() for word in ([key, value] if key.startswith("--") else ["--set", f"{key}={value}"])]
    subprocess.run([binary, "simulate", "--cluster", CLUSTER, *words, "--picture", picture, "--svg", str(file)], check=True, capture_output=True)


def studio_line(picture, plan):
    """What `tessera studio --open` takes: a screen, and the state as one line."""
    words = [plan["--model"], f"{plan['--batch']}x{plan['--seq']}", "bf16", CLUSTER, plan["--mesh"]]
    words += [f"{key.rpartition('.')[2].lstrip('-')}={value}" for key, value in plan.items() if key == "--microbatches" or "." in key]
    screen = SCREENS.get(picture, "time")
    return ("" if screen == "plan" else f"{screen}/") + " ".join(words)


def draw_all(binary, folder):
    folder.mkdir(exist_ok=True)
    for name, (_, picture, plan) in PLANS.items():
        draw(binary, picture, plan, folder / f"{name}.svg")
