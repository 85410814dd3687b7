# SPDX-License-Identifier: Apache-2.0
"""Predicted against published seconds, and the errors of each set, as SVG."""
import math
import statistics
import sys

from run import ROOT

sys.path.insert(0, str(ROOT / "tools" / "pictures"))
from canvas import Canvas  # pylint: disable=wrong-import-position

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 900, 60, 36, 52, 40
KINDS = {"A100": "a", "H100": "c"}
DOT = 5


def kind_of(run):
    return next((kind for gpu, kind in KINDS.items() if run.row["gpu"].startswith(gpu)), "b")


def dot(canvas, x, y, kind):
    canvas.box(x - DOT / 2, y - DOT / 2, DOT, DOT, kind)


def seconds_picture(runs):
    """Both axes logarithmic: on the line, a prediction is right."""
    height = 560
    low = math.floor(math.log10(min(min(run.seconds, run.predicted) for run in runs)))
    high = math.ceil(math.log10(max(max(run.seconds, run.predicted) for run in runs)))

    def x_of(seconds):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(seconds) - low) / (high - low)

    def y_of(seconds):
        return height - BOTTOM - (height - TOP - BOTTOM) * (math.log10(seconds) - low) / (high - low)

    title = f"Seconds of a step: predicted against published, {len(runs)} runs"
    canvas = Canvas(WIDTH, height, title)
    canvas.text(14, 24, title, "head")
    for power in range(low, high + 1):
        canvas.line(x_of(10**low), y_of(10**power), x_of(10**high), y_of(10**power))
        canvas.line(x_of(10**power), y_of(10**low), x_of(10**power), y_of(10**high))
        canvas.text(LEFT - 8, y_of(10**power) + 4, f"{10.0**power:g}", "soft end")
        canvas.text(x_of(10**power), height - BOTTOM + 18, f"{10.0**power:g} s", "soft mid")
    canvas.curve([(x_of(10**low), y_of(10**low)), (x_of(10**high), y_of(10**high))], "dashes")
    for run in runs:
        dot(canvas, x_of(run.seconds), y_of(run.predicted), kind_of(run))
    for number, (gpu, kind) in enumerate(KINDS.items()):
        dot(canvas, LEFT + 24, TOP + 20 + 20 * number, kind)
        canvas.text(LEFT + 34, TOP + 24 + 20 * number, gpu)
    canvas.text(WIDTH - RIGHT, height - 8, "published", "soft end")
    return canvas.svg()


def errors_picture(by_set):
    """A line for each set: every run's error, and their mean."""
    step, most, label = 26, 0.6, 210
    height = TOP + step * len(by_set) + BOTTOM

    def x_of(error):
        return label + (WIDTH - label - RIGHT) * (max(-most, min(most, error)) + most) / (2 * most)

    title = "Error of each run: predicted over published seconds, less 1"
    canvas = Canvas(WIDTH, height, title)
    canvas.text(14, 24, title, "head")
    for percent in range(-60, 61, 20):
        canvas.line(x_of(percent / 100), TOP - 8, x_of(percent / 100), height - BOTTOM + 4)
        canvas.text(x_of(percent / 100), height - BOTTOM + 20, f"{percent:+d} %" if percent else "0", "soft mid")
    for number, (name, runs) in enumerate(by_set.items()):
        y = TOP + step * number + step / 2
        canvas.text(14, y + 4, name)
        for run in runs:
            dot(canvas, x_of(run.error), y, kind_of(run))
        middle = x_of(statistics.fmean(run.error for run in runs))
        canvas.curve([(middle, y - 9), (middle, y + 9)], "curve")
    return canvas.svg()
