#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes comments, empty lines and spaces that mean nothing out of scripts and styles, for the page as it travels; the functions that
nearly all modules import have short names there. Other names and texts stay as they are. Usage: strip_page.py SOURCE TARGET FILE..."""
import re
import sys
from pathlib import Path

# Words and marks after which / begins a regular expression; after anything else it divides.
BEFORE_EXPRESSION = re.compile(r"(?:[(,=:\[!&|?{};+\-*%<>~^]|=>|\b(?:return|typeof|case|in|of|new|delete|void|throw|do|else|await|yield))\s*$")
REGEX = re.compile(r"/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*")
STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
# Marks beside which a space means nothing; + and - are so only away from themselves (a + +b), / and what selects in a style never.
AROUND_MARKS = re.compile(r" ?([{}()\[\],;:?=<>&|*!]) ?|(?<![+-]) ([+-]) (?![+-])")
AROUND_RULES = re.compile(r" ?([{};,]) ?|(?<=:) ")
# Beside strings, templates and regular expressions of a script: return "a", from "./b.js".
BESIDE_KEPT = re.compile(r" (?=\0)|(?<=\0) ")
# Where a line may end and no statement can.
AFTER_MARK = re.compile(r"(?<=[{(\[,;])\n|\n(?=[})\]])")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
# Of dom.js, format.js and ask.js; never properties, so that a name means the same wherever it stands.
SHORT_NAMES = {"element": "$e", "seconds_text": "$s", "bytes_text": "$b", "sentence_of": "$o", "announce": "$a", "is_cancelled": "$c", "newest": "$n", "significant": "$g"}
SHORTENED = re.compile(r"(?<![.\w$])(?:" + "|".join(SHORT_NAMES) + r")(?![\w$])")


def code_end(text, at):
    """Behind the } that closes the code of a template, which begins at `at`."""
    depth = 1
    while depth:
        string = STRING.match(text, at)
        if string:
            at = string.end()
        elif text[at] == "`":
            at = template_end(text, at)
        else:
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
    return at


def template_end(text, at):
    """Behind the ` that closes the one at `at`; what stands in ${} is code, with templates of its own."""
    at += 1
    while text[at] != "`":
        if text[at] == "\\":
            at += 2
        else:
            at = code_end(text, at + 2) if text.startswith("${", at) else at + 1
    return at + 1


def stripped_template(text):
    """Its words as they are, its code without spaces that mean nothing."""
    short, begin, at = "", 0, 0
    while at < len(text):
        if text.startswith("${", at):
            end = code_end(text, at + 2)
            short += text[begin:at + 2] + stripped("code.js", text[at + 2:end - 1]).strip() + "}"
            begin = at = end
        else:
            at += 2 if text[at] == "\\" else 1
    return short + text[begin:]


def pieces(text, script):
    """(kept as it is, text): strings, templates and regular expressions are; comments are gone."""
    at = begin = 0
    plain = ";"  # a script may begin with an expression
    while at < len(text):
        comment = COMMENT.match(text, at) if script or text.startswith("/*", at) else None
        if comment:
            plain += text[begin:at] + ("\n" if "\n" in comment.group() else " ")
            begin = at = comment.end()
            continue
        whole = STRING.match(text, at)
        end = whole.end() if whole else 0
        if script and text[at] == "`":
            end = template_end(text, at)
        elif script and text[at] == "/" and BEFORE_EXPRESSION.search(plain + text[begin:at]):
            regex = REGEX.match(text, at)
            end = regex.end() if regex else 0
        if end:
            yield False, plain + text[begin:at]
            yield True, text[at:end]
            begin = at = end
            plain = ""
            continue
        at += 1
    yield False, plain + text[begin:]


def stripped(name, text):
    kept, plain = [], []
    for whole, part in pieces(text, name.endswith(".js")):
        if whole:
            plain.append(f"\0{len(kept)}\0")
            kept.append(stripped_template(part) if part.startswith("`") else part)
        else:
            plain.append(part)
    around = AROUND_MARKS if name.endswith(".js") else AROUND_RULES
    lines = (around.sub(lambda found: "".join(mark or "" for mark in found.groups()), re.sub(r"[ \t]+", " ", line)).strip() for line in "".join(plain)[1:].split("\n"))
    short = AFTER_MARK.sub("", "\n".join(line for line in lines if line)) + "\n"
    if name.endswith(".js"):
        short = SHORTENED.sub(lambda found: SHORT_NAMES[found.group()], BESIDE_KEPT.sub("", short))
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found.group(1))], short)


def travelling(file):
    """The bytes of a file of the page as they are sent."""
    data = file.read_bytes()
    return stripped(file.name, data.decode("utf-8")).encode() if file.suffix in (".js", ".css") else data


def main():
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    for name in sys.argv[3:]:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(travelling(source / name))


if __name__ == "__main__":
    main()
