#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loss curves of several runs as CSV and as an SVG of two panels: the losses, and how far each lies from the first one's.
A curve is a list of losses by step; a panel's y axis is logarithmic."""
import csv
import math

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 860, 300, 60, 34, 30
MOST_POINTS = 250  # of a curve
COLOURS = ["#0b62a4", "#d1495b", "#2e8b57", "#b8860b", "#7b5ea7", "#5f6b73", "#e07b39", "#222222"]


def write_csv(path, curves):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["step", *curves])
        for step, losses in enumerate(zip(*curves.values()), 1):
            writer.writerow([step, *(f"{loss:.5f}" for loss in losses)])


def smoothed(values, span):
    """The mean of each value and those up to `span` before it."""
    return [sum(values[max(0, i - span):i + 1]) / (i + 1 - max(0, i - span)) for i in range(len(values))]


def ticks(low, high):
    """1, 2 and 5 times powers of ten between two numbers."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [by * 10.0 ** power for power in range(first, last + 1) for by in (1, 2, 5) if low <= by * 10.0 ** power <= high]


def panel(title, curves, colours, x0, y0, width):
    """SVG elements of one plot; a value that is not above 0 is left out."""
    shown = [value for values in curves.values() for value in values if value > 0]
    low, high = min(shown), max(shown)
    steps = max(len(values) for values in curves.values())
    height = HEIGHT - TOP - BOTTOM

    def x_of(step):
        return x0 + LEFT + (width - LEFT - 10) * step / steps

    def y_of(value):
        return y0 + TOP + height * (math.log(high) - math.log(value)) / max(math.log(high) - math.log(low), 1e-9)

    out = [f'<text x="{x0 + LEFT}" y="{y0 + 18}" font-weight="bold">{title}</text>']
    for tick in ticks(low, high):
        y = y_of(tick)
        out.append(f'<line x1="{x_of(0):.1f}" x2="{x_of(steps):.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                   f'<text x="{x_of(0) - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for step in range(0, steps + 1, max(1, steps // 5)):
        out.append(f'<text x="{x_of(step):.1f}" y="{y0 + HEIGHT - 12}" text-anchor="middle">{step}</text>')
    every = -(-steps // MOST_POINTS)
    for (name, values), colour in zip(curves.items(), colours):
        points = " ".join(f"{x_of(i + 1):.1f},{y_of(value):.1f}" for i, value in enumerate(values)
                          if value > 0 and i % every == 0)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.3"><title>{name}</title>'
                   '</polyline>')
    return out


def write_svg(path, curves, span=20):
    """The first curve is what the others are compared with; differences are means of `span` steps."""
    first = next(iter(curves.values()))
    apart = {name: smoothed([abs(a - b) for a, b in zip(values, first)], span)
             for name, values in list(curves.items())[1:]}
    half = WIDTH // 2
    base = next(iter(curves))
    body = panel("training loss, nats per token", curves, COLOURS, 0, 0, half)
    body += panel(f"distance from {base}, mean of {span} steps", apart, COLOURS[1:], half, 0, half)
    for i, name in enumerate(curves):
        x, y = LEFT + (i % 4) * 190, HEIGHT + 8 + 18 * (i // 4)
        body.append(f'<rect x="{x}" y="{y}" width="14" height="4" fill="{COLOURS[i]}"/>'
                    f'<text x="{x + 20}" y="{y + 6}">{name}</text>')
    height = HEIGHT + 20 + 18 * ((len(curves) + 3) // 4)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
            f'font-size="11" fill="#333"><rect width="{WIDTH}" height="{height}" fill="white"/>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([head, *body, "</svg>", ""]))
