# SPDX-License-Identifier: Apache-2.0
"""A strict reader of Prometheus' text format 0.0.4: what its pages say of it, and no more than that."""
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"')
NUMBER = re.compile(r"NaN|[+-]Inf|-?\d+(\.\d+)?([eE][+-]?\d+)?")
UNITS = ("_seconds", "_bytes", "_ratio", "_total", "_joules")


def parse(text):
    """{name: (type, {labels: value})}; a ValueError where a line is not as it must be."""
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    families, helped, name = {}, set(), None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            require(name not in families and words.strip() == words and words, line)
            helped.add(name)
        elif line.startswith("# TYPE "):
            typed, _, kind = line[7:].partition(" ")
            require(typed == name and name in helped and kind in ("gauge", "counter"), line)
            require((kind == "counter") == name.endswith("_total"), line)
            families[name] = (kind, {})
        else:
            add_sample(families, name, line)
    for family, (_, samples) in families.items():
        require(samples, f"{family} has no sample")
    return families


def add_sample(families, name, line):
    found = NAME.match(line)
    require(found and found.group() == name and name in families, line)
    rest, labels = line[found.end():], []
    if rest.startswith("{"):
        inside, end, rest = rest[1:].partition("} ")
        require(end, line)
        labels = LABEL.findall(inside)
        require(",".join(f'{key}="{value}"' for key, value in labels) == inside and len(dict(labels)) == len(labels), line)
    else:
        require(rest.startswith(" "), line)
        rest = rest[1:]
    require(NUMBER.fullmatch(rest), line)
    key = tuple(sorted(labels))
    require(key not in families[name][1], line)
    families[name][1][key] = float(rest)


def require(holds, line):
    if not holds:
        raise ValueError(f"not as Prometheus wants it: {line}")
