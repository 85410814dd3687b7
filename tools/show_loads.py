#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How evenly tokens chose experts at the first and the last logged step of a run of a mixture, as bars; and what traveled between
ranks, where the run has a trace."""
import json
import sys
from collections import Counter
from pathlib import Path



def loads_of(folder):
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [step for step in map(json.loads, lines) if "expert_loads" in step]


def show(step):
    print(f"step {step['step']}: the fullest expert has {100 * step['load_violation']:.0f} % more than the mean")
    for layer, counts in step["expert_loads"].items():
        mean = sum(counts) / len(counts)
        print(f"  {layer:<8} " + " ".join("▁▂▃▄▅▆▇█"[min(7, int(4 * count / mean))] for count in counts)
              + "   " + " ".join(f"{count / mean:4.2f}" for count in counts))


def main():
    folder = Path(sys.argv[1])
    steps = loads_of(folder)
    if not steps:
        sys.exit(f"{folder}/metrics.jsonl has no loads of experts")
    show(steps[0])
    if len(steps) > 1:
        show(steps[-1])
    trace = folder / "trace.json"
    if trace.exists():
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        names = Counter(event["name"] for event in events if event.get("name", "").startswith(("put_rows", "take_rows")))
        print("in the trace: " + ", ".join(f"{name} {count} times" for name, count in sorted(names.items())))


if __name__ == "__main__":
    main()
