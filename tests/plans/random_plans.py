#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random legal plans against one rank: each is drawn from a seed and its number, run by `tessera verify`, and counted as
equal, wrong, refused, crashed or hung. Each that is not equal is printed with the command that repeats it."""
import argparse
import collections
import json
import math
import random
import shlex
import subprocess
import sys
import time

LOOPS = ("interleaved_1f1b", "looped_bfs")
SCHEDULES = ("gpipe", "1f1b", "zb_h1", "zb_h2", "zb_v") + LOOPS
PRESETS = ("mlp", "gpt2-124m", "llama3-8b", "qwen3-0.6b", "tiny")
MIXTURE = "tiny-moe"  # below fp64 its routes are forced: rounding would choose another expert
MOST_RANKS = 16
BLOCKS_PER_CHUNK = 4


def draw_mesh(draw, preset):
    """Sizes by axis, in the order of the mesh."""
    axes = ["pp", "dp", "fsdp", "ep", "tp"] + ([] if preset == "mlp" else ["cp"])
    draw.shuffle(axes)
    sizes = {axis: 1 for axis in axes}
    for axis in draw.sample(axes, draw.randint(1, len(axes))):
        room = MOST_RANKS // math.prod(sizes.values())
        sizes[axis] = draw.choice([size for size in (2, 2, 3, 4, 8) if size <= room] or [1])
    return sizes


def draw_model(draw, preset, sizes):
    """Small sizes that the mesh divides, most of them not a power of two."""
    tp, cp = sizes["tp"], sizes.get("cp", 1)
    settings = {"model.mlp_size": tp * draw.choice([12, 16, 20])}
    if preset == "mlp":
        return settings | {"model.width": draw.choice([16, 20])}, False
    ulysses = cp > 1 and draw.random() < 0.4
    grouped = not preset.startswith("gpt2") and draw.random() < 0.6
    kv_heads = draw.choice([1, 2, 3]) if grouped and not ulysses else tp * draw.choice([1, 2])
    group = draw.choice([2, 3]) if grouped else 1
    if ulysses:
        kv_heads = tp * cp
    shared = math.gcd(tp, kv_heads)
    group = math.lcm(group, tp // shared) if tp > shared else group
    if preset.startswith("gpt2") and tp > shared:
        kv_heads, group = tp, 1
    heads = kv_heads * group
    head_size = draw.choice([4, 6]) if heads >= 4 else 8
    settings |= {"model.heads": heads, "model.kv_heads": kv_heads, "model.head_size": head_size,
                 "model.width": heads * head_size, "model.vocabulary": draw.choice([29, 31, 32, 37]), "model.context": 96}
    return settings, ulysses


def draw_experts(draw, sizes, heads, kv_heads):
    """Their number is a multiple of the ranks that share them."""
    axes = draw.choice(["ep", "ep", "ep+tp", "cp+tp", "tp"])
    ranks = math.prod(sizes[axis] for axis in axes.split("+"))
    settings = {"plan.experts": axes, "model.experts": ranks * draw.choice([1, 2, 3]) if ranks > 1 else 6,
                "model.expert_mlp_size": sizes["tp"] * draw.choice([4, 5]), "model.balance_loss": draw.choice([0, 0.1])}
    settings["model.top_k"] = draw.randint(1, min(3, settings["model.experts"]))
    if draw.random() < 0.5:  # DeepSeek-V3's kind
        groups = 2 if settings["model.experts"] % 2 == 0 else 1
        settings |= {"model.shared_mlp_size": sizes["tp"] * draw.choice([3, 8]), "model.dense_layers": draw.choice([0, 1, 2]),
                     "model.router_score": "sigmoid", "model.routed_scale": 2.5, "model.expert_groups": groups}
        if heads == kv_heads:
            settings |= {"model.family": "llama", "model.qk_norm": "false", "model.kv_rank": draw.choice([3, 8]),
                         "model.q_rank": draw.choice([0, 5]), "model.rope_head_size": 2, "model.value_head_size": 3}
        settings["model.top_k"] = min(settings["model.top_k"], settings["model.experts"] // groups)
    return settings


def draw_offload(draw, settings):
    """Weights in shards need zero 3; recomputed blocks keep nothing that could go."""
    whole = settings.get("plan.zero") in (1, 2)
    states = draw.choice(["none", "moments", "states"] + ([] if whole else ["parameters"]))
    recomputed = settings.get("plan.recompute") in ("block", "every")
    kinds = [states] + draw.choice([[], ["gradients"]]) + ([] if recomputed else draw.choice([[], ["activations"]]))
    settings["plan.offload"] = ",".join(kinds)
    if states != "none":
        settings["plan.offload_update"] = draw.choice(["device", "host"])


def draw_plan(draw, precision):
    preset = draw.choice(PRESETS + (MIXTURE, MIXTURE))
    sizes = draw_mesh(draw, preset)
    settings, ulysses = draw_model(draw, preset, sizes)
    pp, tp, cp = sizes["pp"], sizes["tp"], sizes.get("cp", 1)
    replicas = sizes["dp"] * sizes["fsdp"] * sizes["ep"]
    schedule = draw.choice(SCHEDULES) if pp > 1 else "1f1b"
    chunks = 2 if schedule == "zb_v" else draw.choice([1, 2]) if schedule in LOOPS else 1
    microbatches = draw.choice([1, 2, 3, 4, 5])
    settings |= {"model.preset": preset, "model.layers": BLOCKS_PER_CHUNK * pp * chunks + draw.randint(0, 2),
                 "train.microbatches": microbatches, "train.batch": microbatches * replicas * draw.choice([1, 1, 2]),
                 "train.seed": draw.randint(1, 1000)}
    if preset != "mlp":
        piece = math.lcm(2 * cp, cp * tp)
        settings["train.seq"] = piece * max(1, draw.choice([6, 12]) // piece)
    if pp > 1:
        settings |= {"plan.schedule": schedule, "plan.chunks": chunks}
    if replicas > 1:
        settings["plan.zero"] = draw.choice([1, 2, 3] if sizes["fsdp"] > 1 else [0, 1, 2, 3])
    if cp > 1:
        settings["plan.context"] = "ulysses" if ulysses else "ring"
    axes = list(sizes)
    if preset == MIXTURE:
        settings |= draw_experts(draw, sizes, settings["model.heads"], settings["model.kv_heads"])
        axes.sort(key=lambda axis: axis == "ep")  # tokens are gathered over it while they stay split over the others
        axes.sort(key=lambda axis: axis == "tp")
    if tp > 1 and preset != "mlp":
        settings["plan.sequence_parallel"] = draw.choice(["true", "false"])
        if settings["plan.sequence_parallel"] == "true" and axes.index("tp") < axes.index("cp"):
            at = axes.index("tp"), axes.index("cp")  # cp comes first where both split the sequence
            axes[at[0]], axes[at[1]] = "cp", "tp"
    recompute = draw.choice(["none", "none", "cheap", "attention", "block_keep_attention", "block", "every"])
    if recompute != "none" and not (preset == "mlp" and "attention" in recompute):
        settings["plan.recompute"] = recompute
    if recompute == "every":
        settings["plan.recompute_every"] = draw.choice([0, 2, 3])
    if draw.random() < 0.3:
        draw_offload(draw, settings)
    if draw.random() < 0.2:
        settings["plan.reduce_dtype"] = draw.choice(["bf16", "fp32"])
    if draw.random() < 0.3:
        settings["train.ema_decay"] = 0.9
    if preset == MIXTURE:  # tp splits tokens with sequence parallelism alone
        splits_tokens = tp == 1 or "tp" not in settings["plan.experts"] or settings["plan.sequence_parallel"] == "true"
        settings["plan.dispatch"] = draw.choice(["gather", "exchange"]) if splits_tokens else "gather"
    if draw.random() < 0.4:
        settings["train.optimizer"] = "muon"
    if draw.random() < 0.3:
        pattern, optimizer = draw.choice(["layer.*", "layer.*.w*", "*norm*", "layer.*.*d*"]), draw.choice(["adamw", "muon", "sgd"])
        if preset != "mlp" or "w" in pattern or pattern == "layer.*":
            settings |= {f"train.group.{pattern}.learning_rate_factor": draw.choice([0, 0.5, 1]),
                         f"train.group.{pattern}.optimizer": optimizer}
    mesh = ",".join(f"{axis}={sizes[axis]}" for axis in axes if sizes[axis] > 1)
    command = ["--mesh", mesh, "--precision", precision]
    if preset == MIXTURE and precision != "fp64":
        command += ["--routing", "forced"]
    for key in sorted(settings):
        command += ["--set", f"{key}={settings[key]}"]
    return command


def verify(binary, command, seconds):
    """What became of it, and the report or the last words."""
    try:
        done = subprocess.run([binary, "verify", "--json"] + command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "hung", f"no end within {seconds} s"
    if done.returncode in (0, 1) and done.stdout.startswith("{"):
        report = json.loads(done.stdout)
        return ("equal" if report["equal"] else "wrong"), report
    words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return ("refused" if done.returncode == 2 else "crashed"), words[0]


def shares(report):
    """How much of what is allowed was used."""
    return {what: report[f"{what}_error"] / report[f"{what}_allowed"]
            for what in ("loss", "grad_norm", "gradient", "parameter") if report[f"{what}_allowed"] > 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plans", type=int, default=30)
    parser.add_argument("--first", type=int, default=0, help="number of the first plan")
    parser.add_argument("--precisions", default="fp64,fp32,bf16", help="in turn")
    parser.add_argument("--seconds", type=float, default=300, help="for one plan; longer is hung")
    parser.add_argument("--verbose", action="store_true", help="a line for every plan")
    arguments = parser.parse_args()
    precisions = arguments.precisions.split(",")
    counts, reasons, most = collections.Counter(), collections.Counter(), {}
    begin = time.time()
    for number in range(arguments.first, arguments.first + arguments.plans):
        precision = precisions[number % len(precisions)]
        command = draw_plan(random.Random(f"{arguments.seed}/{number}"), precision)
        what, found = verify(arguments.binary, command, arguments.seconds)
        counts[what] += 1
        if what == "refused":
            reasons[found] += 1
        if what == "equal":
            for name, share in shares(found).items():
                most[precision, name] = max(most.get((precision, name), (0, 0)), (share, number))
        if what != "equal" or arguments.verbose:
            print(f"plan {number} {what}: tessera verify {shlex.join(command)}", flush=True)
            if what != "equal":
                print(f"  {found}", flush=True)
    for reason, times in reasons.most_common():
        print(f"{times} refused: {reason}")
    for (precision, name), (share, number) in sorted(most.items()):
        print(f"{precision} {name}: at most {share:.2g} of what is allowed (plan {number})")
    kinds = ("equal", "wrong", "refused", "crashed", "hung")
    print(", ".join(f"{counts[kind]} {kind}" for kind in kinds) + f"; {time.time() - begin:.0f} s")
    sys.exit(0 if counts["equal"] + counts["refused"] == arguments.plans and counts["refused"] * 10 <= arguments.plans else 1)


if __name__ == "__main__":
    main()
