# SPDX-License-Identifier: Apache-2.0
"""One training step on a pipeline, drawn from `tessera simulate --trace`: a row per rank of the trace, a box for each
forward and backward of a microbatch, and a gap where the rank is idle."""
import re
from collections import namedtuple

from canvas import Canvas

Box = namedtuple("Box", "routine microbatch start end")
KINDS = {"forward": "a", "backward": "b", "norm": "c", "update": "c"}
LEFT, TOP, ROW, HEIGHT, WIDTH = 112, 64, 34, 24, 900


def slices(events):
    """(rank, routine, microbatch, start, end) of a trace in milliseconds: of the slices around routines where the trace has
    them, else of the kernels. Both name their routine and microbatch."""
    timed = [event for event in events if event["ph"] == "X"]
    found = [event for event in timed if event.get("cat") == "routine"] or [event for event in timed if event["tid"] == 0]
    for event in found:
        about = event["args"]
        yield event["pid"], about["routine"], about["microbatch"], event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3


def boxes(events):
    """By rank, its boxes in time: slices of one routine and microbatch that follow each other are one box."""
    rows = {}
    for rank, routine, microbatch, start, end in sorted(slices(events), key=lambda one: (one[0], one[3])):
        if routine not in KINDS:
            continue
        row = rows.setdefault(rank, [])
        kind = "update" if KINDS[routine] == "c" else routine
        last = row[-1] if row else None
        if last and (last.routine, last.microbatch) == (kind, microbatch) and start - last.end < 0.05:
            row[-1] = last._replace(end=max(last.end, end))
        else:
            row.append(Box(kind, microbatch, start, end))
    return rows


def rank_name(process):
    """`rank 2 pp=1 tp=0 and 1 identical` as `pp=1: ranks 2-3`."""
    rank, stage = re.match(r"rank (\d+) pp=(\d+)", process).groups()
    others = re.search(r"and (\d+) identical", process)
    last = int(rank) + int(others[1]) if others else int(rank)
    return f"pp={stage}: ranks {rank}-{last}" if others else f"pp={stage}: rank {rank}"


def draw(events, simulation):
    rows = boxes(events)
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    step = simulation["step_seconds"] * 1e3
    scale = (WIDTH - LEFT - 14) / step
    bottom = TOP + ROW * len(rows)
    title = "One step of Llama 3 8B with the 1F1B schedule, 8 microbatches"
    canvas = Canvas(WIDTH, bottom + 26, title)
    canvas.text(14, 24, title, "head")
    bubble = simulation["bubble_seconds"] / simulation["step_seconds"]
    canvas.text(14, 44, f"mesh {simulation['mesh']} on 8 simulated H100: {step:.0f} ms, idle in the bubble {bubble:.0%}", "soft")
    for x, kind, words in ((WIDTH - 330, "a", "forward"), (WIDTH - 250, "b", "backward"), (WIDTH - 160, "c", "optimizer")):
        canvas.box(x, 34, 12, 12, kind)
        canvas.text(x + 17, 44, words, "soft")
    canvas.text(WIDTH - 72, 44, "gap: idle", "soft")
    for number, rank in enumerate(rows):
        y = TOP + ROW * number
        canvas.text(14, y + 16, rank_name(names[rank]), "soft")
        canvas.line(LEFT, y + HEIGHT + 4, WIDTH - 14, y + HEIGHT + 4)
        for box in rows[rank]:
            x, width = LEFT + box.start * scale, (box.end - box.start) * scale
            canvas.box(x, y, max(width - 1, 0.8), HEIGHT, KINDS[box.routine])
            if box.routine != "update" and width > 9:
                canvas.text(x + width / 2, y + 16, str(box.microbatch), "box")
    for tick in range(0, int(step) + 1, 50):
        canvas.text(LEFT + tick * scale, bottom + 14, f"{tick} ms", "soft" if tick == 0 else "soft mid")
    return canvas.svg()
