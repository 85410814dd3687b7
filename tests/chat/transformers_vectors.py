#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares vectors.json and constructs.json with transformers' own render_jinja_template, which apply_chat_template calls, where
transformers is installed. Prints how many texts agree; exits 1 where one does not."""
import datetime
import json
import sys
from pathlib import Path

import transformers
from transformers.utils import chat_template_utils

HERE = Path(__file__).resolve().parent


class StoredDate(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 11, 19)


def render(source, vector, tokens):
    variables = {**tokens, **vector["variables"]}
    tools = variables.pop("tools", None)
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            conversations=[vector["messages"]], tools=tools, chat_template=source,
            add_generation_prompt=vector["opens_answer"], **variables)
        return texts[0]
    except Exception as error:  # whatever Jinja or Python throws
        return {"refuses": str(error)}


def main():
    chat_template_utils.datetime = StoredDate
    vectors = json.loads((HERE / "vectors.json").read_text(encoding="utf-8"))
    constructs = json.loads((HERE / "constructs.json").read_text(encoding="utf-8"))
    cases = [((HERE / name).read_text(encoding="utf-8"), vector, vectors["tokens"], text, f"{name}, conversation {i}")
             for i, vector in enumerate(vectors["conversations"]) for name, text in vector["texts"].items()]
    cases += [(row["source"], constructs, constructs["tokens"], row["text"], row["source"]) for row in constructs["constructs"]]
    wrong = 0
    for source, vector, tokens, stored, title in cases:
        text = render(source, vector, tokens)
        same = isinstance(text, dict) and stored["refuses"] in text["refuses"] if isinstance(stored, dict) else text == stored
        if not same:
            wrong += 1
            print(f"--- {title}\n{text!r}\nstored:\n{stored!r}")
    print(f"transformers {transformers.__version__}: {len(cases) - wrong} of {len(cases)} texts agree")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
