#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_style and check_layers: each rule sees the breach it is for, and nothing else."""
import unittest

import check_layers
import check_style


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
        self.assertEqual(self.problems("src/exec/cpu/simd.h", "#ifdef TESSERA_SANITIZED"), [])

    def test_cuda_headers_stay_in_cuda_files(self):
        self.assertEqual(len(self.problems("src/ops/a/a_cpu.cpp", "#include <cuda_runtime.h>")), 1)
        self.assertEqual(self.problems("src/ops/a/a_cuda.cu", "#include <cuda_runtime.h>"), [])


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


if __name__ == "__main__":
    unittest.main()
