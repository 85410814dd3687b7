#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_style, check_layers, check_includes, check_pages, slowest_objects and strip_page: each rule sees the breach it is for, and nothing else."""
import tempfile
import unittest
from pathlib import Path

import check_includes
import check_layers
import check_pages
import check_style
import slowest_objects
import strip_page


def lengths(text):
    return [last - first + 1 for first, last in check_style.functions(text.split("\n"))]


class Functions(unittest.TestCase):
    def test_a_function_is_counted_from_its_signature_to_its_brace(self):
        self.assertEqual(lengths("int f(int a,\n      int b) {\n  return a;\n}"), [4])

    def test_control_flow_types_and_tables_are_not_functions(self):
        self.assertEqual(lengths("namespace a {\nstruct B {\n  int c;\n};\nconst int kD[] = {\n  1};\n}"), [])
        self.assertEqual(lengths("int f() {\n  if (a) {\n    b();\n  } else if (c) {\n    d();\n  }\n}"), [7])

    def test_a_brace_in_a_string_does_not_end_a_function(self):
        self.assertEqual(lengths('int f() {\n  g("}");\n}'), [3])

    def test_a_lambda_counts_with_its_function(self):
        self.assertEqual(lengths("int f() {\n  g(a, [&](int b) {\n    return b;\n  });\n}"), [5])
        self.assertEqual(lengths("int operator[](int i) const {\n  return i;\n}"), [3])

    def test_a_member_with_an_initialiser_list_is_one_function(self):
        self.assertEqual(lengths("A::A(int b)\n    : b_(b),\n      c_(f(b)) {\n  d();\n}"), [5])


class Lines(unittest.TestCase):
    def problems(self, name, text):
        return [what for _, what in check_style.line_problems(name, text.split("\n"))]

    def test_a_todo_needs_an_issue(self):
        self.assertEqual(len(self.problems("src/a.cpp", "// TO" + "DO: later")), 1)
        self.assertEqual(self.problems("src/a.cpp", "// TODO(#12): later"), [])

    def test_conditionals_stand_only_where_machines_differ(self):
        self.assertEqual(len(self.problems("src/ir/graph.h", "#ifdef NDEBUG")), 1)
        self.assertEqual(self.problems("src/exec/cpu/processor.h", "#if defined(__x86_64__)"), [])
        self.assertEqual(self.problems("src/ops/a/a_cpu.cpp", "#if HWY_ONCE"), [])
        self.assertEqual(len(self.problems("src/ops/a/a_cpu.cpp", "#if HWY_ONCE && NDEBUG")), 1)

    def test_cuda_headers_stay_in_cuda_files(self):
        self.assertEqual(len(self.problems("src/ops/a/a_cpu.cpp", "#include <cuda_runtime.h>")), 1)
        self.assertEqual(self.problems("src/ops/a/a_cuda.cu", "#include <cuda_runtime.h>"), [])


class Words(unittest.TestCase):
    def problems(self, name, text):
        return [number for number, _ in check_style.word_problems(name, text.split("\n"))]

    def test_a_word_to_decode_is_found_in_comments_strings_and_pages(self):
        self.assertEqual(self.problems("src/ops/a.cpp", "int a;\n// Behind the step."), [2])
        self.assertEqual(self.problems("src/ops/a.cpp", 'f("at most so many steps");'), [1])
        self.assertEqual(self.problems("docs/a.md", "Steps stood still.\n\nIt is rounded by chance."), [1, 3])

    def test_names_keys_and_code_are_not_prose(self):
        self.assertEqual(self.problems("src/ops/a.cpp", 'int behind = a.alike + f("alike");'), [])
        self.assertEqual(self.problems("docs/a.md", "```\nalike\n```\nThe key `alike`."), [])

    def test_some_phrases_are_plain(self):
        self.assertEqual(self.problems("src/ops/a.cpp", "// Hidden behind kernels; a rank may fall behind."), [])

    def test_a_story_is_one_where_failures_are_not_told(self):
        self.assertEqual(self.problems("src/ops/a.h", "// A story."), [])
        self.assertEqual(self.problems("src/data/stories/a.h", "// A story, behind the door."), [])


class Types(unittest.TestCase):
    def problems(self, *texts):
        sources = {f"src/a{i}.h": text.split("\n") for i, text in enumerate(texts)}
        return [what for _, _, what in check_style.types_defined_twice(sources)]

    def test_two_files_define_different_types(self):
        self.assertEqual(len(self.problems("struct A {\n};", "class A : public B {\n};")), 1)
        self.assertEqual(len(self.problems("enum class A : int { B };\n", "struct alignas(64) A {\n};")), 1)

    def test_a_declaration_and_what_only_one_file_sees_are_none(self):
        self.assertEqual(self.problems("struct A;", "struct A {\n};", "namespace {\nstruct A {\n};\n}  // namespace"), [])
        self.assertEqual(self.problems("struct A {\n  struct B {\n  };\n};", "struct A::B {\n};", "struct C {\n  struct B {};\n};"), [])


class Layers(unittest.TestCase):
    def test_a_folder_includes_only_those_before_it(self):
        self.assertIsNone(check_layers.problem("ir/graph.h", "core/dtype.h"))
        self.assertIsNotNone(check_layers.problem("core/dtype.h", "ir/graph.h"))

    def test_kernels_count_as_exec(self):
        self.assertIsNone(check_layers.problem("ops/add/add_cpu.cpp", "exec/cpu/cpu_call.h"))
        self.assertIsNotNone(check_layers.problem("ops/add/add.cpp", "exec/cpu/cpu_call.h"))
        self.assertIsNotNone(check_layers.problem("ops/add/add.cpp", "ops/add/row_cpu.h"))

    def test_executors_do_not_know_passes(self):
        self.assertIsNotNone(check_layers.problem("exec/executor.cpp", "passes/pass.h"))
        self.assertIsNone(check_layers.problem("train/loop.cpp", "passes/pass.h"))

    def test_tests_include_anything(self):
        self.assertIsNone(check_layers.problem("ops/conformance_test.cpp", "exec/executor.h"))


class FakeBinary(check_pages.Binary):
    """Knows `train --steps --set`, `bench` with its own `step --batch`, and the key train.seq."""
    SAYS = {("docs", "config"): "| `train.seq` | 128 |", ("train", "--help"): "  --steps N --set KEY=VALUE",
            ("launch", "--help"): "  --with COMMAND",
            ("bench", "--help"): "Subcommands:\n  step   a step", ("bench", "step", "--help"): "  --batch N"}

    def ask(self, *arguments):
        return self.SAYS.get(arguments, "")


class Pages(unittest.TestCase):
    def problems(self, text):
        page = check_pages.ROOT / "README.md"
        return [what for _, what in check_pages.problems_of(page, text, FakeBinary("tessera")) if what]

    def test_a_link_leads_to_a_file_and_a_heading(self):
        self.assertEqual(self.problems("[a](LICENSE) [b](docs/report.md#the-diagnosis) [c](https://a.b/c)"), [])
        self.assertEqual(len(self.problems("[a](LICENCE)\n[b](docs/report.md#no-such-heading)")), 2)

    def test_a_path_is_in_the_tree(self):
        self.assertEqual(self.problems("`src/report/*_test.cpp` and `tools/lint.sh`"), [])
        self.assertEqual(len(self.problems("`src/report/gone.cpp`")), 1)

    def test_a_command_has_known_flags_and_keys(self):
        self.assertEqual(self.problems("```\nbuild/x/tessera train --steps 3 --set train.seq=4  # --what\n```"), [])
        self.assertEqual(len(self.problems("```\ntessera train \\\n  --stesp 3\n```")), 1)
        self.assertEqual(len(self.problems("`tessera train --set train.sqe=4`")), 1)
        self.assertEqual(len(self.problems("`tessera tain`")), 1)

    def test_a_nested_command_has_flags_of_its_own(self):
        self.assertEqual(self.problems("`tessera bench step --batch 4`"), [])
        self.assertEqual(len(self.problems("`tessera bench step --steps 4`")), 1)

    def test_launch_takes_the_flags_of_what_it_launches(self):
        self.assertEqual(self.problems("`tessera launch --with \"mpirun --bind-to none\" train --steps 3`"), [])
        self.assertEqual(len(self.problems("`tessera launch --wiht mpirun train --stesp 3`")), 2)


class Includes(unittest.TestCase):
    def problems(self, name, **texts):
        """Of a file, among others by their paths with two underscores for a slash."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in texts.items():
                file = Path(folder, *path.split("__")[:-1], path.split("__")[-1].replace("_h", ".h").replace("_cpp", ".cpp"))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return [what for _, what in check_includes.Sources(Path(folder)).problems(name)]

    def test_a_name_of_the_library_needs_its_header(self):
        use = "std::vector<int> f();\n"
        self.assertEqual(self.problems("src/a/b.cpp", src__a__b_cpp=use), ["std::vector needs #include <vector>"])
        self.assertEqual(self.problems("src/a/b.cpp", src__a__b_cpp="#include <vector>\n" + use), [])
        self.assertEqual(self.problems("src/a/b.cpp", src__a__b_cpp='#include "a/c.h"\n' + use, src__a__c_h="#include <vector>\n"), [])

    def test_a_type_of_ours_needs_its_header_or_a_declaration(self):
        header, use = "struct Thing {\n  int a = 0;\n};\n", "int f(const Thing& thing);\n"
        self.assertEqual(self.problems("src/a/b.cpp", src__a__b_cpp=use, src__a__c_h=header), ['Thing needs #include "a/c.h"'])
        self.assertEqual(self.problems("src/a/b.cpp", src__a__b_cpp='#include "a/c.h"\n' + use, src__a__c_h=header), [])
        self.assertEqual(self.problems("src/a/b.cpp", src__a__b_cpp="struct Thing;\n" + use, src__a__c_h=header), [])

    def test_words_of_comments_texts_and_members_are_none(self):
        text = '// std::vector\nconst char* kA = "std::vector Thing";\nint c = d.Thing + e::Thing;\n'
        self.assertEqual(self.problems("src/a/b.cpp", src__a__b_cpp=text, src__a__c_h="struct Thing {\n};\n"), [])


class SlowestObjects(unittest.TestCase):
    def test_the_last_build_of_an_object_counts(self):
        log = "# ninja log v5\n0\t9000\t1\ta.o\tff\n500\t2500\t1\ta.o\tff\n0\t100\t1\tlib.a\tff\n"
        self.assertEqual(slowest_objects.seconds_by_object(log), {"a.o": 2.0})


class StrippedPages(unittest.TestCase):
    def script(self, text):
        return strip_page.stripped("a.js", text)

    def test_comments_indentation_and_empty_lines_go(self):
        self.assertEqual(self.script("/** @type {a} */\nlet a = 1;  // one\n\n  if (a) {\n    f(a);  /* b\n c */ g();\n  }\n"), "let a=1;if(a){f(a);g();}\n")

    def test_strings_templates_and_expressions_stay(self):
        for text in ('a="//  no comment = b";', "a='it\\'s /* none */';", "a=`one\n    ${b?`// ${c(\"}\")}`:'`'}  two /* x */`;", "a=b.replace(/\\/\\*  [/*]/g,1);",
                     "return/[\"'`]/.test(a);", "f(x=>/  a/);"):
            self.assertEqual(self.script(text), text + "\n")

    def test_code_of_templates_loses_its_spaces(self):
        self.assertEqual(self.script("return `a  ${b ? `c ${d + 1}  ` : \"  }\"} \\${ e }`;"), "return`a  ${b?`c ${d+1}  `:\"  }\"} \\${ e }`;\n")

    def test_shared_functions_have_short_names(self):
        self.assertEqual(self.script("import { element } from './dom.js';\nelement('element', a.element, elements, `${element}`);"), "import{$e}from'./dom.js';$e('element',a.element,elements,`${$e}`);\n")

    def test_division_is_no_expression(self):
        self.assertEqual(self.script("a = b / c;  // d / e\nf = (g) / h / i;  // j\nk = `l` / m; // n / o"), "a=b / c;f=(g)/ h / i;k=`l`/ m;\n")

    def test_spaces_that_mean_something_stay(self):
        self.assertEqual(self.script("const { a } = b;\nreturn a + +b - -c;\nfor (const d of [e]) typeof d in f;"), "const{a}=b;return a + +b - -c;for(const d of[e])typeof d in f;\n")
        self.assertEqual(strip_page.stripped("a.css", "a :hover, b > * { margin: calc(1px + 2px) 3px; }"), "a :hover,b > *{margin:calc(1px + 2px) 3px;}\n")

    def test_lines_that_end_a_statement_stay(self):
        self.assertEqual(self.script("a = b\n[1].map(f)\nconst g = () => {\n  h\n}\ni\n++j\nk = l + m - n"), "a=b\n[1].map(f)\nconst g=()=>{h}\ni\n++j\nk=l+m-n\n")

    def test_styles_lose_comments_and_keep_addresses(self):
        self.assertEqual(strip_page.stripped("a.css", "a {  /* b */\n  color: red;\n  background: url(http://c//d);\n}\n"), "a{color:red;background:url(http://c//d);}\n")


if __name__ == "__main__":
    unittest.main()
