# SPDX-License-Identifier: Apache-2.0
"""The losses of a speedrun's trainings side by side, logarithmic: of each step, and held out."""
import csv
import json
import math

from canvas import Canvas

NAMES = {"base": "Pretraining: text", "lessons": "Fine-tuning: answers", "chat": "Practice: all turns"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, MOST_POINTS = 900, 270, 50, 52, 30, 300
TICKS = [by * 10.0 ** power for power in range(-4, 2) for by in (1, 2, 5)]


def read_metrics(path):
    """(step, loss, held-out loss or None) of each step of a metrics.jsonl; of a step that was repeated, the last."""
    steps = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if "loss" in record:
                steps[record["step"]] = (record["step"], record["loss"], record.get("held_out_loss"))
    return [steps[step] for step in sorted(steps)]


def write_table(path, runs):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "step", "loss", "held_out"])
        for name, points in runs.items():
            every = -(-len(points) // MOST_POINTS)
            for i, (step, loss, held_out) in enumerate(points):
                if i % every and held_out is None:
                    continue
                writer.writerow([name, step, f"{loss:.4f}", "" if held_out is None else f"{held_out:.4f}"])


def read_table(path):
    runs = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            runs.setdefault(row["run"], []).append((int(row["step"]), float(row["loss"]), float(row["held_out"]) if row["held_out"] else None))
    return runs


def draw_panel(canvas, name, points, x0, width):
    left, right = x0 + LEFT, x0 + width - 14
    last = points[-1][0]
    losses = [loss for _, loss, held_out in points] + [held_out for _, _, held_out in points if held_out is not None]
    low, high = min(losses), max(losses)

    def x_of(step):
        return left + (right - left) * step / last

    def y_of(loss):
        return TOP + (HEIGHT - TOP - BOTTOM) * (math.log(high) - math.log(loss)) / max(math.log(high) - math.log(low), 1e-9)

    canvas.text(x0 + 14, 24, NAMES[name], "head")
    for tick in TICKS:
        if low <= tick <= high:
            canvas.line(left, y_of(tick), right, y_of(tick))
            canvas.text(left - 8, y_of(tick) + 4, f"{tick:g}", "soft end")
    for quarter in range(5):
        canvas.text(x_of(last * quarter / 4), HEIGHT - 12, str(last * quarter // 4), "soft end" if quarter == 4 else "soft mid")
    every = -(-len(points) // MOST_POINTS)
    canvas.curve([(x_of(step), y_of(loss)) for i, (step, loss, _) in enumerate(points) if i % every == 0], "curve")
    held_out = [(step, loss) for step, _, loss in points if loss is not None]
    if held_out:
        canvas.curve([(x_of(step), y_of(loss)) for step, loss in held_out], "dashes")
        canvas.text(right - 4, TOP + 14, f"held out (dots): {held_out[-1][1]:.3f}", "end")


def draw(runs):
    """`runs` by name of NAMES, as read_metrics gives them."""
    canvas = Canvas(WIDTH, HEIGHT, "Losses of the speedrun's trainings, per token")
    for number, (name, points) in enumerate(runs.items()):
        name = name if name != "chat" or "lessons" in runs else "lessons"  # the only training on conversations
        draw_panel(canvas, name, points, number * WIDTH / len(runs), WIDTH / len(runs))
    return canvas.svg()
