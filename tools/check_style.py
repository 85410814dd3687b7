#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a machine can check: length of files and functions, heads, names, TODOs, #if and CUDA
headers out of place, types that are defined twice, words that a reader has to decode. Prints `file:line: what` and exits 1 when one is broken; --totals
prints lines per folder."""
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["src", "tests", "bench", "examples", "fuzz", "tools", "cmake", "wasm", "python"]
CPP = {".h", ".c", ".cpp", ".cu", ".def"}
SCRIPTS = {".py", ".sh", ".cmake"}
WARN_LINES, MAX_LINES, MAX_FUNCTION_LINES, MAX_HEAD_LINES = 400, 420, 60, 4
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
# Where the machine may differ: SIMD is switched off under sanitizers, CUDA is optional.
CONDITIONALS_ALLOWED = re.compile(r"^src/(exec/cuda/|comm/nccl/|exec/cpu/processor\.h$)|_cuda\.cu$")
# Highway reads files of CPU kernels once for each instruction set: its guards, and what comes after the last reading.
HIGHWAY_CONDITIONAL = re.compile(r"#(if HWY_(ONCE|TARGET == HWY_\w+)|if defined\(TESSERA_\w+_H\) == defined\(HWY_TARGET_TOGGLE\)|ifdef TESSERA_\w+_H)$")
CUDA_ALLOWED = re.compile(r"^src/(exec/cuda/|comm/nccl/)|_cuda\.cu$")
CUDA_HEADER = re.compile(r'#include [<"](cuda|cublas|cudnn|nccl|nvtx|cutlass|thrust|cub/)')
BODY_OPENS = re.compile(r"(\)|\}|\b(const|noexcept|override|final|mutable)|->[\w:<>&*, ]+)\s*\{$")
LAMBDA = re.compile(r"(?<!operator)\[[^\[\]]*\]\s*[({]")
NOT_A_FUNCTION = re.compile(
    r"^\s*(\}|if\b|else\b|for\b|while\b|switch\b|do\b|try\b|catch\b|namespace\b|struct\b|class\b|enum\b|union\b|extern\b)")
# As clang-format leaves them: what stands in a namespace is not indented.
TYPE = re.compile(r"(?:enum class|enum|struct|class|union)\s+(?:alignas\([^)]*\)\s+)?(\w+)(?!::|<|\w)([^;]*$|[^;]*\{)")
# Words that a reader has to decode: what to write instead, in comments, strings and pages of these files.
PLAIN_WORDS = [
    (r"behind", "after, next to", ""),
    (r"by chance", "at random, with stochastic rounding", ""),
    (r"so many", "N, this many", ""),
    (r"alike", "the same, identical, in the same way", ""),
    (r"st(and|ands|anding|ood) still", "stall, wait", ""),
    (r"(nobody|somebody|anybody)'s", "name whose it is", ""),
    (r"rotten|torn", "corrupt, truncated", ""),
    (r"anew", "again, new", ""),
    (r"for good", "permanently", ""),
    (r"stor(y|ies)", "failure report", "src/comm/"),
]
PLAIN_PHRASES = re.compile(r"\b(hid(den|es?) behind|(fall|falls|lag|lags) behind|behind a firewall)\b", re.IGNORECASE)
# Records of what was, the words to avoid themselves, and stories.
NOT_PLAIN = re.compile(
    r"^src/data/stories/|^(CHANGELOG|CONTRIBUTING)\.md$|^docs/adr/|^bench/results/|^tools/check(_style|s_test)\.py$")
# Each file of these is a program of its own, or stands in for another: CMake takes one of the two.
APART = re.compile(r"^(bench|examples|fuzz|tools|wasm)/|/no_\w+\.cpp$")


def source_files():
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    found += [ROOT / "CMakeLists.txt", ROOT / "Makefile"]
    return sorted(p for p in found if p.suffix in CPP | SCRIPTS or p.name in ("CMakeLists.txt", "Makefile"))


def pages():
    found = [page for folder in FOLDERS + ["docs"] for page in (ROOT / folder).rglob("*.md")]
    return sorted(found + list(ROOT.glob("*.md")))


def strip_literals(line):
    """The line without string contents and comments, so that braces and parentheses in them do not count."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    line = re.sub(r"'(\\.|[^'\\])'", "' '", line)
    return re.sub(r"//.*", "", line).rstrip()


def signature_start(lines, opening):
    """The first line of the statement whose last line, `opening`, ends with an opening brace."""
    first = opening
    while first > 0 and lines[first - 1] and not re.search(r"[;{}:]$|^\s*#", lines[first - 1]):
        first -= 1
    return first


def functions(lines):
    """(first line, last line) of everything that looks like a function in clang-formatted code: a statement with
    parentheses that opens a body, up to the `}` at its own indentation."""
    bare = [strip_literals(line) for line in lines]
    for number, line in enumerate(bare):
        if not BODY_OPENS.search(line):
            continue
        first = signature_start(bare, number)
        signature = "".join(bare[first:number + 1])
        if NOT_A_FUNCTION.match(signature) or "(" not in signature or LAMBDA.search(signature):
            continue  # a lambda counts with the function it is in
        indent = re.match(r"\s*", bare[first]).group()
        for last in range(number + 1, len(bare)):
            if re.match(re.escape(indent) + r"\}", bare[last]):
                yield first, last
                break


def head_problem(path, lines):
    """A file opens with the SPDX line and one to four lines that say what it is. A .cpp beside its own header, a unit
    test and an op's samples are named after what they hold; a folder's CMakeLists is a list."""
    rest = lines[1:] if lines and lines[0].startswith("#!") else lines
    if not rest or "SPDX-License-Identifier: Apache-2.0" not in rest[0]:
        return "the first line must be the SPDX line (Apache-2.0)"
    if path.suffix == ".py":
        return None if len(rest) > 1 and rest[1].startswith('"""') else "no head: a docstring that says what it is"
    head = 0
    while head + 1 < len(rest) and re.match(r"(//|#)(?!\w)", rest[head + 1]):
        head += 1
    if head > MAX_HEAD_LINES:
        return f"the head has {head} lines, at most {MAX_HEAD_LINES}"
    named = re.search(r"_(test|samples|bench)$", path.stem) or path.with_suffix(".h").exists()
    if head == 0 and path.name != "CMakeLists.txt" and not (path.suffix in (".cpp", ".cu") and named):
        return "no head: one to four lines that say what the file is and the invariant it keeps"
    return None


def line_problems(name, lines):
    for number, line in enumerate(lines, 1):
        if re.search(r"(//|#).*\b(T[O]DO(?!\(#\d+\))|FI[X]ME|X[X]X)\b", line):
            yield number, "write TODO(#issue): what"
        if Path(name).suffix in CPP:
            if (re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line) and not CONDITIONALS_ALLOWED.search(name)
                    and not HIGHWAY_CONDITIONAL.match(line)):
                yield number, "no conditional compilation here: let CMake choose a file"
            if CUDA_HEADER.match(line) and not CUDA_ALLOWED.search(name):
                yield number, "CUDA headers only in *_cuda.cu, src/exec/cuda/ and src/comm/nccl/"


def prose(name, lines):
    """(line, text) of what people read: comments and strings of code, a page without its fences and code spans."""
    fenced = False
    for number, line in enumerate(lines, 1):
        if Path(name).suffix == ".md":
            fenced ^= line.startswith("```")
            yield number, "" if fenced else re.sub(r"`[^`]*`", "", line)
        else:
            strings = re.findall(r'"((?:\\.|[^"\\])*)"', re.sub(r"//.*", "", line)) if not line.startswith("#include") else []
            sentences = [string for string in strings if " " in string]  # a single word is a key
            yield number, " ".join(sentences + re.findall(r"(?:^|\s)//(.*)", line))


def word_problems(name, lines):
    if NOT_PLAIN.search(name):
        return
    for number, text in prose(name, lines):
        text = PLAIN_PHRASES.sub("", text)
        for word, instead, folder in PLAIN_WORDS:
            if name.startswith(folder) and re.search(rf"\b({word})\b", text, re.IGNORECASE):
                yield number, f"a reader has to decode '{word}': write {instead}"


def types(lines):
    """(line, name) of the types that the rest of the program can see: not those in a namespace without a name."""
    hidden = False
    for number, line in enumerate(lines, 1):
        if line in ("namespace {", "}  // namespace"):
            hidden = line == "namespace {"
        found = TYPE.match(line)
        if found and not hidden:
            yield number, found.group(1)


def types_defined_twice(sources):
    """(file, line, what); `sources` are lines by file. Two types of one name break the one-definition rule, silently."""
    first = {}
    for name, lines in sources.items():
        if Path(name).suffix not in CPP or APART.search(name):
            continue
        for number, type_name in types(lines):
            other = first.setdefault(type_name, name)
            if other != name:
                yield name, number, f"{other} has a type {type_name}, too: rename one, or put it into an unnamed namespace"


def problems(path):
    name = path.relative_to(ROOT).as_posix()
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_LINES:
        yield 1, f"{len(lines)} lines, at most {MAX_LINES}: split by thing"
    words = set(re.split(r"[_.\-]", path.stem))
    if words & BANNED_NAMES:
        yield 1, f"'{(words & BANNED_NAMES).pop()}' says nothing: name the file after the thing in it"
    if path.name not in ("Makefile", "CMakeLists.txt") and re.search(r"[A-Z\-]", path.name):
        yield 1, "file names are snake_case"
    problem = head_problem(path, lines)
    if problem:
        yield 1, problem
    yield from line_problems(name, lines)
    if path.suffix in CPP:
        yield from word_problems(name, lines)
        for first, last in functions(lines):
            if last - first + 1 > MAX_FUNCTION_LINES:
                yield first + 1, f"a function of {last - first + 1} lines, at most {MAX_FUNCTION_LINES}"


def print_totals(files):
    totals = Counter()
    for path in files:
        folder = path.relative_to(ROOT).parent.parts[:2]
        totals["/".join(folder) or "."] += len(path.read_text(encoding="utf-8").splitlines())
    for folder, count in sorted(totals.items()):
        print(f"{count:7d}  {folder}")
    print(f"{sum(totals.values()):7d}  in all")


def main():
    files = source_files()
    if "--totals" in sys.argv[1:]:
        print_totals(files)
        return
    broken = 0
    for path in files:
        name = path.relative_to(ROOT)
        for line, what in problems(path):
            print(f"{name}:{line}: {what}")
            broken += 1
        length = len(path.read_text(encoding="utf-8").splitlines())
        if WARN_LINES < length <= MAX_LINES:
            print(f"{name}:1: warning: {length} lines; above {MAX_LINES} it fails")
    for path in pages():
        name = path.relative_to(ROOT).as_posix()
        for line, what in word_problems(name, path.read_text(encoding="utf-8").splitlines()):
            print(f"{name}:{line}: {what}")
            broken += 1
    sources = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").splitlines() for path in files}
    for name, line, what in types_defined_twice(sources):
        print(f"{name}:{line}: {what}")
        broken += 1
    if broken:
        sys.exit(f"{broken} breaches of style")


if __name__ == "__main__":
    main()
