# SPDX-License-Identifier: Apache-2.0
"""The steps that bench/gpu.py measures, and the tables that it prints of them."""
import statistics

# model, batch, tokens, precision, what is rebuilt: the peer's torch.compile rebuilds what is cheap, too
RUNS = {
    "124m": ("gpt2-124m", 64, 1024, "bf16", "none"),
    "1b": ("llama3-1b", 8, 4096, "bf16", "none"),
    "1b-8k": ("llama3-1b", 4, 8192, "bf16", "none"),
    "1b-32k": ("llama3-1b", 1, 32768, "bf16", "none"),
    "1b-131k": ("llama3-1b", 1, 131072, "bf16", "block_keep_attention"),
    "8b": ("llama3-8b", 2, 4096, "pure_bf16", "cheap"),
    "8b-32k": ("llama3-8b", 1, 32768, "pure_bf16", "block"),
    "qwen3-8b": ("qwen3-8b", 2, 4096, "pure_bf16", "cheap"),
    "8b-fp8": ("llama3-8b", 2, 4096, "pure_fp8", "cheap"),
    "8b-1k": ("llama3-8b", 16, 1024, "pure_bf16", "cheap"),
    "8b-1k-fp8": ("llama3-8b", 16, 1024, "pure_fp8", "cheap"),
    "1b-fp8": ("llama3-1b", 8, 4096, "fp8", "none"),
    "1.5b": ("gpt2-1.5b", 16, 1024, "bf16", "none"),
    "olmoe": ("olmoe-1b-7b", 8, 4096, "pure_bf16", "none"),
    "qwen3-moe": ("qwen3-30b-a3b", 4, 4096, "pure_bf16", "none"),
}
LAYERS = {"qwen3-moe": 8}  # instead of the preset's
PEER_PRECISIONS = ("bf16", "pure_bf16")
BF16_ALONE = ("8b-1k",)  # only fp8 is compared with it
OWN_BF16 = {"8b-fp8": "8b", "8b-1k-fp8": "8b-1k"}  # what fp8 is compared with
# The table that a release must reach: ours / PyTorch, or fp8 / own bf16. Longest first within a part.
GOALS = {
    "1b": (1.05, 1.08), "1b-8k": (1.03, 1.07), "1b-32k": (1.00, 1.06), "1b-131k": (1.00, None),
    "8b": (1.04, 1.06), "8b-32k": (1.02, 1.06), "qwen3-8b": (1.03, 1.06), "8b-fp8": (1.40, 1.50),
    "8b-1k-fp8": (1.45, 1.50),
}
PARTS = (("1b-131k", "1b-32k", "1b-8k", "1b"), ("8b-32k", "8b", "8b-fp8", "8b-1k", "8b-1k-fp8", "qwen3-8b"))
TABLE = (*PARTS[0], *PARTS[1])
DETERMINISTIC_PEER = ("1b-32k",)  # also measured with its own repeatable bits
MOST_STEPS = {"1b-131k": 1, "8b-32k": 2}  # a step takes seconds; of the peer as many come before them
SHOWN = (*GOALS, "8b-1k", "124m", "1.5b", "1b-fp8", "olmoe", "qwen3-moe")  # order of the tables

RATIOS = ["run", "batch x tokens", "tokens/s", "MFU %", "step s", "predicted s", "joules", "bits differ: tokens/s",
          "peer tokens/s", "peer joules", "ratio", "must", "aim", "bits differ", "peer's bits repeat: ratio"]
MEMORY = ["run", "first step s", "planned GB", "on GPU GB", "over plan %", "peer GB", "peer on GPU GB", "peer start s"]


def median_of(results, key):
    values = [result[key] for result in results if result.get(key) is not None]
    return statistics.median(values) if values else None


def figure(results, key, form, by=1.0):
    value = median_of(results, key)
    return "-" if value is None else form.format(value / by)


def ratio(own, other):
    if not own or not other:
        return "-"
    return f"{median_of(own, 'tokens_per_second') / median_of(other, 'tokens_per_second'):.3f}"


def ratio_row(run, results):
    """`results`: by run, lists of measurements by what was measured: ours, free, peer, peer_repeats, simulated."""
    result = results[run]
    own, free, peer = result["ours"], result["free"], result["peer"]
    bf16 = results.get(OWN_BF16.get(run))
    beside, beside_free = (bf16["ours"], bf16["free"] or bf16["ours"]) if bf16 else (peer, peer)
    must, aim = GOALS.get(run, (None, None))
    _, batch, seq, _, _ = RUNS[run]
    return [run, f"{batch} x {seq}", figure(own, "tokens_per_second", "{:.0f}"), figure(own, "mfu", "{:.1f}", 0.01),
            figure(own, "step_seconds", "{:.4f}"), figure(result["simulated"], "step_seconds", "{:.4f}"),
            figure(own, "joules_per_step", "{:.0f}"), figure(free, "tokens_per_second", "{:.0f}"),
            figure(peer, "tokens_per_second", "{:.0f}"), figure(peer, "joules_per_step", "{:.0f}"), ratio(own, beside),
            f"{must:.2f}" if must else "-", f"{aim:.2f}" if aim else "-", ratio(free, beside_free),
            ratio(own, result["peer_repeats"])]


def memory_row(run, results, libraries):
    own, peer = results[run]["ours"], results[run]["peer"]
    over = "-"
    if own:
        planned = median_of(own, "peak_bytes")
        over = f"{(median_of(own, 'device_bytes') - libraries - planned) / planned * 100:.2f}"
    return [run, figure(own, "first_step_seconds", "{:.1f}"), figure(own, "peak_bytes", "{:.2f}", 1e9),
            figure(own, "device_bytes", "{:.2f}", 1e9), over, figure(peer, "peak_bytes", "{:.2f}", 1e9),
            figure(peer, "device_bytes", "{:.2f}", 1e9), figure(peer, "seconds_before_steady", "{:.1f}")]


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def print_tables(results, libraries):
    shown = [run for run in SHOWN if run in results]
    print_table([MEMORY, *(memory_row(run, results, libraries) for run in shown)])
    print()
    print_table([RATIOS, *(ratio_row(run, results) for run in shown)])
