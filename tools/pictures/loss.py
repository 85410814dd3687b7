# SPDX-License-Identifier: Apache-2.0
"""The losses of the quick start, on one rank and on a mesh, as a table in CSV and as a curve."""
import csv
import json

from canvas import Canvas

RUNS = {"one rank": [], "dp=2,tp=2": ["--mesh", "dp=2,tp=2"]}
STEPS, WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 200, 900, 270, 46, 14, 52, 30


def losses(metrics):
    """By step, from a metrics.jsonl."""
    records = (json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines())
    return {record["step"]: record["loss"] for record in records if "loss" in record}


def write_table(path, runs):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["step", *runs])
        for step in range(1, STEPS + 1):
            writer.writerow([step, *(f"{run[step]:.4f}" for run in runs.values())])


def read_table(path):
    """By run, its losses by step."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: {int(row["step"]): float(row[name]) for row in rows} for name in RUNS}


def draw(runs):
    high = 6

    def x_of(step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / STEPS

    def y_of(loss):
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - loss / high)

    title = "Training loss of the quick start: the tiny model, 16 samples of 128 bytes a step"
    canvas = Canvas(WIDTH, HEIGHT, title)
    canvas.text(14, 24, title, "head")
    for loss in range(0, high + 1):
        canvas.line(x_of(0), y_of(loss), x_of(STEPS), y_of(loss))
        canvas.text(LEFT - 8, y_of(loss) + 4, str(loss), "soft end")
    for step in range(0, STEPS + 1, 50):
        canvas.text(x_of(step), HEIGHT - 12, f"step {step}", "soft end" if step == STEPS else "soft mid" if step else "soft")
    for number, (name, kind) in enumerate(zip(runs, ("curve", "dashes"))):
        canvas.curve([(x_of(step), y_of(loss)) for step, loss in runs[name].items()], kind)
        y = TOP + 24 + 20 * number
        canvas.curve([(WIDTH - 262, y - 4), (WIDTH - 232, y - 4)], kind)
        canvas.text(WIDTH - 222, y, f"{name}: {runs[name][STEPS]:.4f} at the end")
    return canvas.svg()
