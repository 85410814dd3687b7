# SPDX-License-Identifier: Apache-2.0
"""Random questions of every kind that a page without a server answers: runs, right and wrong, from a seed."""
import random

# Those of a run, but for searches.
KINDS = ("try", "slices", "ir", "program", "placements", "memory_at", "neighbours", "schedule")
MODELS = ("tiny", "tiny-moe", "gpt2-124m", "llama3-1b", "llama3-8b", "llama3-70b", "qwen3-8b", "olmoe-1b-7b", "mixtral-8x7b")
CLUSTERS = ("laptop", "dgx-h100", "dgx-a100", "llama3-h100", "h200")
AXES = ("pp", "dp", "fsdp", "ep", "cp", "tp")
SCHEDULES = ("gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zb_v", "looped_bfs", "none_such")


def random_mesh(choose, most):
    sizes = {}
    for axis in AXES:
        size = choose.choice((1, 1, 1, 2, 2, 4, 8, 3 if choose.random() < 0.1 else 2))
        if size > 1 and most // size >= 1:
            sizes[axis] = size
            most //= size
    return ",".join(f"{axis}={size}" for axis, size in sizes.items()) or "dp=1"


def random_run(choose, most=64):
    """Most can be compiled; of the others the compiler says why not."""
    settings = {"mesh": random_mesh(choose, most), "train.batch": str(choose.choice((32, 64, 128, 512))), "train.seq": str(choose.choice((128, 128, 1024, 8192))),
                "train.microbatches": str(choose.choice((1, 2, 4, 8)))}
    for key, values in (("plan.zero", ("0", "1", "2", "3")), ("plan.recompute", ("none", "full", "selective")), ("plan.schedule", SCHEDULES),
                        ("plan.chunks", ("1", "2")), ("train.precision", ("fp32", "bf16", "fp8", "pure_bf16")), ("plan.sequence_parallel", ("true", "false")),
                        ("plan.context", ("ring", "ulysses")), ("model.layers", ("4", "6"))):
        if choose.random() < 0.3:
            settings[key] = choose.choice(values)
    return {"model": choose.choice(MODELS), "cluster": choose.choice(CLUSTERS), "set": settings}


def random_fields(choose, kind):
    if kind == "schedule":
        return {"stages": choose.choice((2, 3, 4, 8)), "microbatches": choose.choice((4, 8, 16))}
    if kind in ("search", "why_not"):  # small ones: a search tries hundreds of plans
        run = {"model": choose.choice(("tiny", "gpt2-124m", "tiny-moe")), "cluster": choose.choice(CLUSTERS), "set": {"train.batch": "16"}}
        fields = {"run": run, "ranks": choose.choice((2, 4)), "trials": 20}
        return {**fields, "plan": "dp=2 zero=1"} if kind == "why_not" else fields
    fields = {"run": random_run(choose)}
    if kind == "slices":
        fields["blocks"] = choose.random() < 0.5
    if kind == "memory_at":
        fields["curve"] = choose.random() < 0.5
    if kind == "placements" and choose.random() < 0.7:
        fields["tensor"] = choose.choice(("embedding.table", "layer.0.wq", "layer.1.gate_up", "nothing"))
    if kind == "ir" and choose.random() < 0.7:
        fields["passes"] = choose.sample(("model", "localize", "recompute", "overlap", "plan_memory"), 2)
    return fields


def questions(count, seed, lessons):
    """(kind, fields), as many as asked for."""
    choose = random.Random(seed)
    fixed = [("keys", {}), ("presets", {}), ("clusters", {}), ("lessons", {}), ("try", {}), ("try", {"run": 3}), ("ir", {"nothing": 1})]
    fixed += [("lesson", {"lesson": lesson}) for lesson in lessons]
    kinds = KINDS * 4 + ("search", "why_not")
    return fixed + [(kind, random_fields(choose, kind)) for kind in choose.choices(kinds, k=count - len(fixed))]
