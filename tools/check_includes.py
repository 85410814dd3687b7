#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A forgotten include: a source that names something of the standard library, a type of ours or a function of a header of ours includes
a header that has it, itself or through headers of ours. Files of a folder are compiled together (cmake/together.cmake), where a
neighbour's includes would hide it. Prints `file:line: what` and exits 1."""
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["src", "python/src", "examples"]
LEFT_OUT = re.compile(r"_(test|samples)\.cpp$|/testing/|_cuda\.\w+$|^src/(exec/cuda|comm/nccl)/|/toml_library\.cpp$")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.MULTILINE)
NOT_CODE = re.compile(r'^#define (?:[^\n]*\\\n)*[^\n]*|//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL | re.MULTILINE)
# Headers of the library by what they have; where several have it, any of them will do.
STANDARD = {
    "algorithm": "all_of any_of none_of copy copy_n fill fill_n find find_if sort stable_sort min max clamp minmax transform reverse rotate "
                 "upper_bound lower_bound binary_search equal_range partition_point remove_if max_element min_element nth_element unique shuffle "
                 "partial_sort for_each_n generate count_if",
    "array": "array to_array", "atomic": "atomic atomic_bool atomic_int", "bit": "bit_cast popcount countr_zero bit_width has_single_bit bit_ceil",
    "charconv": "from_chars to_chars", "chrono": "chrono", "condition_variable": "condition_variable condition_variable_any",
    "deque": "deque", "exception": "exception_ptr current_exception rethrow_exception make_exception_ptr", "filesystem": "filesystem",
    "fstream": "ifstream ofstream fstream", "functional": "function hash", "future": "future promise async", "iomanip": "setprecision setw",
    "limits": "numeric_limits", "map": "map multimap", "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once", "numeric": "accumulate iota partial_sum reduce gcd lcm inner_product",
    "optional": "optional nullopt", "queue": "queue priority_queue", "random": "mt19937 mt19937_64 uniform_int_distribution",
    "regex": "regex smatch", "set": "set multiset", "shared_mutex": "shared_mutex shared_lock", "span": "span as_bytes as_writable_bytes",
    "sstream": "istringstream ostringstream stringstream", "stdexcept": "runtime_error logic_error out_of_range invalid_argument",
    "string": "string to_string stoi stoll stod getline", "string_view": "string_view", "system_error": "error_code errc generic_category",
    "thread": "thread jthread this_thread", "tuple": "tuple tie make_tuple", "typeindex": "type_index", "unordered_map": "unordered_map",
    "unordered_set": "unordered_set", "utility": "pair exchange move swap forward", "variant": "variant visit monostate holds_alternative get_if",
    "vector": "vector", "cmath": "sqrt pow exp log log2 isfinite isnan llround lround nearbyint floor ceil trunc hypot fmod",
    "cstring": "memcpy memset memcmp strlen memmove", "cstdlib": "getenv abort", "csignal": "signal raise", "ranges": "views",
}
# What brings what, in every library: string_view comes with string, and so on.
BRINGS = {"string": ["string_view"], "regex": ["string", "vector"], "filesystem": ["string", "string_view", "system_error", "chrono"],
          "sstream": ["string", "string_view"], "fstream": ["string", "string_view"], "map": ["utility"],
          "unordered_map": ["utility"], "set": ["utility"], "vector": ["utility"], "tuple": ["utility"], "optional": ["utility"],
          "memory": ["utility"], "algorithm": ["utility"], "functional": ["utility"], "array": ["utility"], "variant": ["utility"],
          "string_view": ["utility"], "future": ["exception", "system_error", "memory"], "thread": ["chrono", "system_error"],
          "condition_variable": ["mutex", "chrono", "system_error"], "mutex": ["system_error", "chrono"], "span": ["array"],
          "ranges": ["span", "string_view", "tuple", "utility", "optional"], "charconv": ["system_error"], "iostream": ["string", "string_view"],
          "fmt/format.h": ["string", "string_view", "memory", "limits", "system_error", "stdexcept", "utility", "cmath", "cstring"],
          "fmt/ranges.h": ["fmt/format.h", "tuple"], "shared_mutex": ["mutex", "chrono"], "stdexcept": ["string"], "queue": ["deque", "vector", "algorithm"],
          "pybind11/pybind11.h": ["string", "vector", "memory", "exception", "utility", "unordered_map", "functional", "tuple"],
          "pybind11/stl.h": ["map", "set", "vector", "string", "optional", "variant", "tuple", "utility", "deque"],
          "pybind11/numpy.h": ["vector", "string", "memory", "pybind11/pybind11.h"]}
HEADERS_OF = {}
for header, names in STANDARD.items():
    for name in names.split():
        HEADERS_OF.setdefault(name, set()).add(header)
# As GCC's library has it.
for name, headers in {"min": "string vector memory", "max": "string vector memory", "tuple": "map memory functional", "make_tuple": "map memory functional",
                      "exception_ptr": "memory thread", "current_exception": "memory thread", "rethrow_exception": "memory thread"}.items():
    HEADERS_OF[name] |= set(headers.split())
STANDARD_NAME = re.compile(r"\bstd::(?:ranges::)?(\w+)")
# Types, aliases and template parameters of any scope, and words of an enum.
INNER = re.compile(r"\b(?:enum class|struct|class|enum|using|typename|typename\.\.\.|concept|union) (\w+)")
ENUM = re.compile(r"\benum\b[^;{]*\{([^}]*)\}")
TYPE = re.compile(r"^(?:template <[^\n]*>\n)?(?:enum class|enum|struct|class) (\w+)(?: final)?(?: :[^;{]*)?(?: ?\{|$)", re.MULTILINE)
FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?!return|using|namespace|else|template|static_assert)[A-Za-z_][\w:<>,*& ]*[ &*>](\w+)\(", re.MULTILINE)
CALL = re.compile(r"(?<![\w.:~])(?<!->)(?!alignas|decltype|sizeof|requires|operator)([a-z]\w+)\(")


def code_of(text):
    """Without comments and texts, with the same lines."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group(0)) if not found.group(0).startswith('"') else '"' + " " * (len(found.group(0)) - 2) + '"'
    return NOT_CODE.sub(blank, text)


class Sources:

    def __init__(self, root=ROOT):
        self.texts = {}
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in (".h", ".cpp", ".def"):
                    self.texts[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
        self.codes = {name: code_of(text) for name, text in self.texts.items()}
        self.header_of = {}
        for name, code in self.codes.items():
            if name.endswith(".h") and not LEFT_OUT.search(name):
                for found in [*TYPE.finditer(code), *FUNCTION.finditer(code)]:
                    self.header_of.setdefault(found.group(1), set()).add(name)
        self.declared = {name: {found.group(1) for found in INNER.finditer(code)} | set(re.findall(r"\w+", " ".join(ENUM.findall(code))))
                         for name, code in self.codes.items()}
        self.calls = {name: {found.group(1) for found in re.finditer(r"\b([a-z]\w+)\(", code)} for name, code in self.codes.items()}
        self.reached = cache(self.reached)

    def included(self, name):
        """Files of ours, and names of others' headers."""
        for found in INCLUDE.finditer(self.texts[name]):
            kind, path = found.groups()
            if kind == "<" and not path.startswith("tessera/"):
                yield None, path
                continue
            beside = (Path(name).parent / path).as_posix()
            yield next((each for each in (f"src/{path}", f"python/src/{path}", beside) if each in self.texts), None), path

    def reached(self, name):
        """All that it includes, through files of ours."""
        ours, others, left = {name}, set(), [name]
        while left:
            for file, header in self.included(left.pop()):
                if file is None:
                    others.add(header)
                elif file not in ours:
                    ours.add(file)
                    left.append(file)
        for header in (left := list(others)):
            for more in BRINGS.get(header, []):
                if more not in others:
                    others.add(more)
                    left.append(more)
        return ours, others

    def problems(self, name):
        ours, others = self.reached(name)
        code, said = self.codes[name], set()
        known = {found.group(1) for found in re.finditer(r"[\w>&*\]] (\w+)(?: = |\(|\{|\)|,)", code)}  # its own functions and lambdas
        for file in ours:
            known |= self.calls[file] if file != name else set()
            known |= self.declared[file]
        for number, line in enumerate(code.splitlines(), 1):
            for found in STANDARD_NAME.finditer(line):
                headers = HEADERS_OF.get(found.group(1))
                if headers and not headers & others and found.group(1) not in said:
                    said.add(found.group(1))
                    yield number, f"std::{found.group(1)} needs #include <{sorted(headers)[0]}>"
            for found in [*re.finditer(r"(?<![\w:.>])([A-Z]\w+)(?!\w)", line), *CALL.finditer(line)]:
                word = found.group(1)
                headers = self.header_of.get(word)
                if headers and word not in known and not headers & ours and word not in said:
                    said.add(word)
                    yield number, f'{word} needs #include "{sorted(headers)[0].removeprefix("src/")}"'


def main():
    sources, broken = Sources(), 0
    for name in sources.texts:
        if name.endswith(".def") or LEFT_OUT.search(name):
            continue
        for number, what in sources.problems(name):
            print(f"{name}:{number}: {what}")
            broken += 1
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
