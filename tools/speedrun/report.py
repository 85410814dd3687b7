# SPDX-License-Identifier: Apache-2.0
"""What a speedrun made, how well it answers and what it cost: lines for the terminal, and OUT/report.html."""
import json
import sys
from html import escape
from pathlib import Path

import answers
import cost
import recipe

sys.path.append(str(Path(__file__).resolve().parents[1] / "pictures"))
import speedrun_curves  # noqa: E402

STYLE = """body{max-width:920px;margin:2em auto;padding:0 1em;font:15px/1.5 system-ui,sans-serif;background:#fff;color:#1b232c}
table{border-collapse:collapse}td,th{padding:2px 14px 2px 0;text-align:left;vertical-align:top}td.n,th.n{text-align:right}
pre{overflow-x:auto;background:#f3f5f7;padding:8px;white-space:pre-wrap}.q{color:#59636e}.story{white-space:pre-wrap}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}pre{background:#161b22}.q{color:#9ba5b0}}"""


def json_lines(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def dialogue(output):
    """Pairs of question and answer, of what `chat --json` printed."""
    return [(turn["question"], turn["text"].strip()) for turn in json_lines(output)]


def choice_scores(output, out):
    """Right answers, questions, and how many of them chance would give."""
    found = json.loads(output)
    questions = answers.read_lines(out / "choices.jsonl")
    return {"right": round(found["acc"] * len(questions)), "questions": len(questions),
            "chance": sum(1 / len(question["choices"]) for question in questions)}


def asked_scores(output, out):
    return answers.scores(answers.read_lines(out / "asked.jsonl"), [turn["text"] for turn in json_lines(output)])


def share(right, questions):
    return f"{right} of {questions} ({100 * right / questions:.0f} %)"


def told(name, output, out):
    """What the terminal shows of a step's output."""
    if name == "writes":
        return [output.strip()]
    if name in ("before", "after"):
        return [line for question, answer in dialogue(output) for line in (f"> {question}", f"  {answer}")]
    if name in ("choices", "choices_before"):
        score = choice_scores(output, out)
        return [f"{share(score['right'], score['questions'])} right; {100 * score['chance'] / score['questions']:.0f} % by chance"]
    if name == "asked":
        by_topic, _ = asked_scores(output, out)
        return [f"{topic:12} {share(count['right'], count['questions'])}" for topic, count in by_topic.items()]
    return []


def minutes(seconds):
    return f"{int(seconds) // 60} min {int(seconds) % 60} s" if seconds >= 60 else f"{seconds:.1f} s"


def cost_words(costs):
    """Time, cores' time and, where the machine counts it, energy; in words."""
    words = [f"{minutes(sum(each['seconds'] for each in costs))} in all",
             f"{sum(each['cpu_seconds'] for each in costs) / 3600:.2f} CPU-hours"]
    for key, name in (("cpu_joules", "processors"), ("gpu_joules", "GPUs")):
        energy = cost.kwh(costs, key)
        if energy is not None:
            words.append(f"{energy:.3f} kWh of the {name}")
    if cost.kwh(costs, "cpu_joules") is None and cost.kwh(costs, "gpu_joules") is None:
        words.append("energy unknown: this machine does not show its counters")
    return ", ".join(words)


def table(head, rows, numbers=()):
    def row(tag, cells):
        return "<tr>" + "".join(f"<{tag}{' class=n' if i in numbers else ''}>{escape(str(cell))}</{tag}>"
                                for i, cell in enumerate(cells)) + "</tr>"
    return "<table>" + row("th", head) + "".join(row("td", cells) for cells in rows) + "</table>"


def summary(out, done, binary):
    """The figures of report.json, from which the page is written."""
    by_topic, wrong = asked_scores(done["asked"]["output"], out)
    return {
        "binary": str(binary),
        "asked": by_topic,
        "wrong": wrong,
        "choices_before": choice_scores(done["choices_before"]["output"], out),
        "choices": choice_scores(done["choices"]["output"], out),
        "writes": done["writes"]["output"].strip(),
        "before": dialogue(done["before"]["output"]),
        "after": dialogue(done["after"]["output"]),
        "steps": [{"name": name, "commands": entry["commands"], **entry["cost"]} for name, entry in done.items()],
    }


def page(found, titles, curves):
    costs = found["steps"]
    before = dict(found["before"])
    shown = [(question, before.get(question, ""), answer) for question, answer in found["after"]]
    choices, earlier = found["choices"], found["choices_before"]
    parts = [
        "<h1>A model that was made here</h1>", f"<p>{escape(cost_words(costs))}.</p>",
        f"<p>To talk to it:</p><pre>{escape(talk(found['binary'], found['out']))}</pre>",
        "<h2>What it learned</h2>", curves,
        f"<p>What it wrote after the pretraining, from “{escape(recipe.OPENING)}”:</p><p class=story>{escape(found['writes'])}</p>",
        "<h2>What it answers</h2>", table(["asked", "after the pretraining", "after the fine-tuning"], shown),
        "<h2>How often it is right</h2>",
        "<p>Held-out questions: these sums and these wordings were in no text that it read. In its own words, "
        "each compared with the one right answer (a story: whether it is about what was asked for, and ends):</p>",
        table(["topic", "right", "questions"], [[topic, count["right"], count["questions"]]
                                                for topic, count in found["asked"].items()], numbers=(1, 2)),
        f"<p>With choices, by likelihood: {share(choices['right'], choices['questions'])}; before the fine-tuning "
        f"{share(earlier['right'], earlier['questions'])}; by chance {100 * choices['chance'] / choices['questions']:.0f} %.</p>",
        "<h2>Where it is wrong</h2>",
        table(["asked", "answered", "right"], [[each["question"], each["answer"], each["expected"]]
                                               for each in found["wrong"] if each["topic"] != "stories"][:20]),
        "<h2>What it cost</h2>",
        table(["step", "seconds", "CPU-seconds"], [[titles[each["name"]], f"{each['seconds']:.1f}", f"{each['cpu_seconds']:.1f}"]
                                                   for each in costs], numbers=(1, 2)),
        "<h2>The commands</h2>",
        "<pre>" + escape("\n".join(" ".join([found["binary"], *command]) for each in costs for command in each["commands"]))
        + "</pre>",
    ]
    return (f"<!doctype html><html lang=en><meta charset=utf-8><title>Speedrun</title><style>{STYLE}</style>"
            f"<body>{''.join(parts)}</body></html>\n")


def talk(binary, out):
    return f"{binary} chat {out}/chat"


def write(out, steps, done, binary):
    """Writes the page; returns the last lines for the terminal."""
    done = {step.name: done[step.name] for step in steps}
    found = summary(out, done, binary) | {"out": str(out)}
    runs = {name: speedrun_curves.read_metrics(out / name / "metrics.jsonl") for name in speedrun_curves.NAMES
            if (out / name / "metrics.jsonl").exists()}
    curves = speedrun_curves.draw(runs)
    speedrun_curves.write_table(out / "curves.csv", runs)
    (out / "curves.svg").write_text(curves, encoding="utf-8")
    (out / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    titles = {step.name: step.title for step in steps}
    (out / "report.html").write_text(page(found, titles, curves), encoding="utf-8")
    right = found["asked"]["all"]
    return ["", f"{share(right['right'], right['questions'])} of the held-out questions answered right; {cost_words(found['steps'])}",
            f"all of it on one page: {out}/report.html", "talk to it:", f"  {talk(binary, out)}"]
