# SPDX-License-Identifier: Apache-2.0
"""A mesh of ranks with what each one holds, drawn from the IR that `tessera compile --dump-after localize` prints and the
collectives that `tessera compile --json` counts."""
import re

from canvas import Canvas

AXIS = re.compile(r"(\w+)=(\d+)")
VALUE = re.compile(r"^  (?:batch|state) %(\w+): \w+\[([^\]]*)\](?: on\(([^)]*)\))?(?: whole \[([^\]]*)\])?", re.M)
SHOWN = {"tokens": "data", "wq": "attention", "gate_up": "mlp", "mlp_norm": "norms"}  # one value of each kind
WIDE, TALL, LEFT, TOP, BETWEEN, BELOW = 260, 100, 64, 64, 150, 44


def pieces(ir, coordinates):
    """By name, what a rank holds of SHOWN: `mlp 0-191 of 384`."""
    held = {}
    for name, local, placement, whole in VALUE.findall(ir):
        split = [pair.split("=") for pair in placement.split()]
        for axis, dim in split:
            size, total = int(dict(AXIS.findall(local))[dim]), int(dict(AXIS.findall(whole))[dim])
            first = coordinates[axis] * size
            held[name] = f"{dim} {first if size == 1 else f'{first}-{first + size - 1}'} of {total}"
        if not split:
            held[name] = "whole"
    return {name: held[name] for name in SHOWN}


def arrow(canvas, x1, y1, x2, y2):
    """With a head at both ends: ranks that talk to each other."""
    canvas.line(x1, y1, x2, y2)
    for x, y, way in ((x1, y1, 1), (x2, y2, -1)):
        for side in (-1, 1):
            across = (x + 6 * way, y + 4 * side) if y1 == y2 else (x + 4 * side, y + 6 * way)
            canvas.line(x, y, *across)


def calls(collectives, axis, routines):
    return sum(one["calls"] for one in collectives if one["axes"] == axis and one["routine"] in routines)


def draw_rank(canvas, x, y, rank, held, kind):
    canvas.box(x, y, WIDE, TALL, kind)
    canvas.text(x + 12, y + 20, f"rank {rank}", "box start head")
    for number, (name, part) in enumerate(held.items()):
        canvas.text(x + 12, y + 40 + 16 * number, f"{SHOWN[name]} ({name}): {part}", "box start")


def draw(ir, collectives):
    """Ranks of one column hold the same weights and have one colour."""
    rows, columns = AXIS.findall(re.search(r"^mesh (.*)$", ir, re.M)[1])
    (row_axis, height), (column_axis, width) = (rows[0], int(rows[1])), (columns[0], int(columns[1]))
    title = f"What each rank of --mesh {row_axis}={height},{column_axis}={width} holds of the tiny model"
    canvas = Canvas(LEFT + (WIDE + BETWEEN) * width - BETWEEN + 14, TOP + (TALL + BELOW) * height - BELOW + 16, title)
    canvas.text(14, 24, title, "head")
    across = calls(collectives, column_axis, ("forward", "backward"))
    down = calls(collectives, row_axis, ("reduce",))
    for row in range(height):
        y = TOP + (TALL + BELOW) * row
        canvas.text(14, y + TALL / 2, f"{row_axis}={row}", "soft")
        for column in range(width):
            x = LEFT + (WIDE + BETWEEN) * column
            if row == 0:
                canvas.text(x + WIDE / 2, TOP - 10, f"{column_axis}={column}", "soft mid")
            draw_rank(canvas, x, y, row * width + column, pieces(ir, {row_axis: row, column_axis: column}), "ab"[column % 2])
            if column + 1 < width:
                arrow(canvas, x + WIDE + 6, y + TALL / 2, x + WIDE + BETWEEN - 6, y + TALL / 2)
                canvas.text(x + WIDE + BETWEEN / 2, y + TALL / 2 - 8, "sum activations", "soft mid")
                canvas.text(x + WIDE + BETWEEN / 2, y + TALL / 2 + 18, f"{across} times a step", "soft mid")
            if row + 1 < height:
                arrow(canvas, x + 20, y + TALL + 4, x + 20, y + TALL + BELOW - 4)
                canvas.text(x + 32, y + TALL + BELOW / 2 + 4, f"sum gradients, {down} times a step", "soft")
    return canvas.svg()
