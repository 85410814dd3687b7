#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes vectors.json: conversations, and the text that each template of this folder makes of them. The engine is Python's
Jinja with the settings that transformers' `apply_chat_template` gives it (src/transformers/utils/chat_template_utils.py, version
5.17): immutable sandbox, trim_blocks, lstrip_blocks, loop controls, {% generation %}, `tojson` as json.dumps without escapes beyond ASCII,
`raise_exception`, and `strftime_now` on a fixed date. tests/chat/transformers_vectors.py compares with transformers itself.

  make_vectors.py            writes vectors.json and constructs.json
  make_vectors.py --check    exits 1 where they are not what it would write"""
import datetime
import json
import random
import sys
from pathlib import Path

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = Path(__file__).resolve().parent
TEMPLATES = ["headers.jinja", "marks.jinja", "thinking.jinja", "strict.jinja"]
TOKENS = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end|>"}
NOW = datetime.datetime(2026, 11, 19)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_whole"), [], [], body).set_lineno(line)

    def _whole(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


# Texts that templates trim, split and escape: white space, quotes, marks of other formats, characters beyond ASCII.
TEXTS = ["Hello", "  What is 2 + 2?\n", "4", "\n\nIt's \"four\", isn't it?\t", "", "Wörter: Straße, 你好, 🦊👩‍🚀", "a\u00a0b\u2028c\u3000",
         "def f(x):\n    return {'x': x}  # {{ x }}\n", "{% if x %}no tag{% endif %}", "<|im_end|> is no mark here", "line\r\nline\rline",
         "<think>\nTwo and two\n</think>\n\nIs 4.", "<think></think>5", "</think>", "<tool_response>\n7\n</tool_response>",
         "tab\there, back\\slash, nul-ish \x01 \x1f end", "null", "x" * 40, "e\u0301 and \u00e9", "\ufeffbegin", "1e-07"]
TOOL = {"type": "function", "function": {
    "name": "weather", "description": "The weather <of> a 'place' & \"day\": é, 雨",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3},
                                                    "exact": {"type": "boolean", "default": False}}, "required": ["city"]}}}
ARGUMENTS = [{"city": "Zürich", "days": 2}, {}, {"city": "\"Rom\"\n", "limits": [1, 2.5, -0.0, 1e22, None, True]}, {"deep": {"er": [[], {}]}}]


def conversation(rng):
    messages = []
    if rng.random() < 0.5:
        messages.append({"role": "system", "content": rng.choice(TEXTS)})
    for _ in range(rng.randint(1, 3)):
        messages.append({"role": "user", "content": rng.choice(TEXTS)})
        kind = rng.random()
        if kind < 0.2:
            calls = [{"type": "function", "function": {"name": "weather", "arguments": rng.choice(ARGUMENTS)}}
                     for _ in range(1 if rng.random() < 0.8 else 2)]
            messages.append({"role": "assistant", "content": rng.choice(["", "I look."]), "tool_calls": calls})
            messages += [{"role": "tool", "content": rng.choice(["20", "{\"t\": 20.5}", "sunny\n"])} for _ in calls]
        if kind < 0.85:
            messages.append({"role": "assistant", "content": rng.choice(TEXTS)})
            if rng.random() < 0.2:
                messages[-1]["reasoning_content"] = rng.choice(["\nhm\n", "Let me see: {}", ""])
    variables = {}
    if rng.random() < 0.25:
        variables["tools"] = [TOOL] * rng.randint(1, 2)
    for name, choices in {"enable_thinking": [True, False], "date_string": ["1 Jan 2000"], "today": [True],
                          "tools_in_user_message": [False]}.items():
        if rng.random() < 0.3:
            variables[name] = rng.choice(choices)
    return {"messages": messages, "variables": variables, "opens_answer": rng.random() < 0.5}


def render(made, source, vector):
    variables = dict(TOKENS, messages=vector["messages"], tools=None, documents=None, add_generation_prompt=vector["opens_answer"])
    try:
        return made.from_string(source).render(**{**variables, **vector["variables"]})
    except jinja2.exceptions.TemplateError as error:
        return {"refuses": str(error)}
    except TypeError as error:  # what Python cannot add: any refusal will do
        return {"refuses": "", "python": str(error)}


# Expressions and tags, each with what Jinja makes of it: one line of constructs.txt is one template.
def constructs(made):
    vectors = []
    for source in (HERE / "constructs.txt").read_text(encoding="utf-8").split("\n---\n"):
        vector = {"messages": [{"role": "user", "content": " Hi \n"}, {"role": "assistant", "content": "Ho", "n": 1.5, "items": [1]}],
                  "variables": {"d": {"b": 1, "A": [1, "x", None], "get": "G"}, "n": 7, "t": "Wörter 你好", "e": [], "f": 2.0},
                  "opens_answer": True}
        vectors.append({"source": source, "text": render(made, source, vector)})
        if isinstance(vectors[-1]["text"], dict):
            sys.exit(f"Jinja refuses a construct: {source}\n{vectors[-1]['text']}")
    return {**vector, "tokens": TOKENS, "constructs": vectors}


def main():
    made = environment()
    sources = {name: (HERE / name).read_text(encoding="utf-8") for name in TEMPLATES}
    rng = random.Random(22)
    vectors = []
    for _ in range(100):
        vector = conversation(rng)
        vector["texts"] = {name: render(made, source, vector) for name, source in sources.items()}
        vectors.append(vector)
    written = {"vectors.json": {"tokens": TOKENS, "conversations": vectors}, "constructs.json": constructs(made)}
    stale = False
    for name, content in written.items():
        rows = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace('{"messages":', '\n{"messages":')
        text = rows.replace('{"source":', '\n{"source":') + "\n"
        if sys.argv[1:] == ["--check"]:
            stale = stale or (HERE / name).read_text(encoding="utf-8") != text
        else:
            (HERE / name).write_text(text, encoding="utf-8")
    refused = sum(isinstance(text, dict) for vector in vectors for text in vector["texts"].values())
    print(f"{len(vectors)} conversations, {len(TEMPLATES) * len(vectors)} texts, of which {refused} refusals; "
          f"{len(written['constructs.json']['constructs'])} constructs")
    sys.exit("stale: run make_vectors.py" if stale else 0)


if __name__ == "__main__":
    main()
