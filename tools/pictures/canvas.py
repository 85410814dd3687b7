# SPDX-License-Identifier: Apache-2.0
"""An SVG with a background of its own, readable on light and on dark pages. Coordinates are written with one decimal, so
that the same input gives the same bytes."""
from xml.sax.saxutils import escape

STYLE = """text{font:12px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;fill:#1b232c}
.card{fill:#ffffff;stroke:#d0d7de}.soft{fill:#59636e}.line{stroke:#afb8c1}.head{font-weight:600;font-size:13px}
.box{fill:#1b232c;font-size:11px;text-anchor:middle}.mid{text-anchor:middle}.start{text-anchor:start}.end{text-anchor:end}
.a{fill:#9ecaf7}.b{fill:#a0d8a6}.c{fill:#f5c98b}.d{fill:#d9c2f0}.curve{fill:none;stroke:#0b62a4;stroke-width:2}
.dashes{fill:none;stroke:#d1495b;stroke-width:2;stroke-dasharray:2 6;stroke-linecap:round}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#0d1117;stroke:#30363d}.soft{fill:#9ba5b0}
.line{stroke:#57606a}.box{fill:#1b232c}.curve{stroke:#6cb6ff}.dashes{stroke:#ff9aa8}}"""


class Canvas:
    """Collects elements; `kind` is a class of STYLE."""

    def __init__(self, width, height, title):
        self.head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                     f'height="{height}" role="img">\n<title>{escape(title)}</title>\n<style>{STYLE}</style>')
        self.parts = [f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>']

    def text(self, x, y, words, kind=""):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>')

    def box(self, x, y, width, height, kind):
        self.parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"/>')

    def line(self, x1, y1, x2, y2):
        self.parts.append(f'<line class="line" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def curve(self, points, kind):
        self.parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')

    def svg(self):
        return "\n".join([self.head, *self.parts, "</svg>"]) + "\n"
