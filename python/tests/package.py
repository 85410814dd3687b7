# SPDX-License-Identifier: Apache-2.0
"""The package as others get it: types that are true of the module, a wheel in an empty environment, files where Debian's
Python looks."""
import ast
import inspect
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tessera
from command_line import ARGUMENTS, main
from tessera import _core

HERE = Path(__file__).resolve().parent.parent
BUILT = Path(ARGUMENTS.module).parent
TRY = """
import sys, tessera
assert tessera.__file__.startswith(sys.argv[1]), tessera.__file__
simulation = tessera.simulate(cluster="laptop", model="tiny", batch=2, seq=8)
run = tessera.train(model="tiny", batch=2, seq=8, steps=1, out=sys.argv[1] + "/out", set={"data.story_bytes": 100000, "run.peak_gflops": 100})
print(tessera.__version__, run.losses.shape, simulation.ranks)
"""


def arguments_of(function):
    """Names of a function of C++, from the first line of its documentation, without self."""
    signature = re.match(r"\w+\((.*)\) -> ", (function.__doc__ or "").splitlines()[0])
    depth, names, word = 0, [], ""
    for letter in signature.group(1) + ",":
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            names.append(word.split(":")[0].split("=")[0].strip())
            word = ""
        else:
            word += letter
    return [name for name in names if name and name not in ("self", "arg0")]


def public(owner):
    """Names of a class or a module that do not begin with an underscore."""
    return {name for name in vars(owner) if not name.startswith("_")}


class Types(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.stub = ast.parse((HERE / "tessera/_core.pyi").read_text(encoding="utf-8"))

    def test_the_stub_has_the_names_of_the_module(self):
        told = {each.name for each in self.stub.body if isinstance(each, (ast.ClassDef, ast.FunctionDef))}
        told |= {each.target.id for each in self.stub.body if isinstance(each, ast.AnnAssign)}
        self.assertEqual({name for name in told if not name.startswith("_")}, public(_core))

    def test_the_stub_has_the_arguments_of_every_function(self):
        for each in self.stub.body:
            if isinstance(each, ast.FunctionDef):
                with self.subTest(each.name):
                    self.assertEqual([argument.arg for argument in each.args.args], arguments_of(getattr(_core, each.name)))

    def test_the_stub_has_the_members_of_every_class(self):
        for each in self.stub.body:
            if not isinstance(each, ast.ClassDef):
                continue
            real = getattr(_core, each.name)
            told = {member.name: member for member in each.body if isinstance(member, ast.FunctionDef)}
            with self.subTest(each.name):
                self.assertEqual({name for name in told if not name.startswith("_")}, public(real))
            for name, member in told.items():
                if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in member.decorator_list):
                    self.assertIsInstance(getattr(real, name), property)
                elif not name.startswith("__"):
                    with self.subTest(f"{each.name}.{name}"):
                        self.assertEqual([argument.arg for argument in member.args.args][1:],
                                         arguments_of(getattr(real, name)))

    def test_answers_have_the_members_that_their_types_promise(self):
        step = {"model": "tiny", "batch": 2, "seq": 8}
        plan = tessera.plan(cluster="laptop", ranks=1, trials=2, **step)
        for record in (tessera.simulate(**step), plan, plan.best, tessera.compile(**step),
                       tessera.verify(steps=1, shrink=True, **step)):
            for name in type(record).__annotations__:
                if not name.startswith("_"):
                    with self.subTest(f"{type(record).__name__}.{name}"):
                        self.assertIsNotNone(getattr(record, name))

    def test_everything_public_is_described(self):
        for name in tessera.__all__:
            value = getattr(tessera, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                self.assertTrue(inspect.getdoc(value), name)
                if inspect.isfunction(value):
                    self.assertNotIn(inspect.Signature.empty, [inspect.signature(value).return_annotation], name)

    def test_mypy_agrees_where_it_is_installed(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir=/dev/null",
                               "--enable-incomplete-feature=Unpack",
                               HERE / "tessera"], capture_output=True, text=True, check=False)
        if "No module named mypy" in done.stderr:
            self.skipTest("mypy is not installed")
        self.assertEqual(done.stdout, "")


class Installed(unittest.TestCase):

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def run_checked(self, *words, **given):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"}, **given)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_a_wheel_is_installed_into_an_empty_environment(self):
        wheel = Path(self.run_checked(sys.executable, HERE / "make_wheel.py", "--package", BUILT, "--out", self.folder).strip())
        self.assertRegex(wheel.name, rf"^tessera-{tessera.__version__}-cp311-cp311-linux_\w+\.whl$")
        first = wheel.read_bytes()
        self.run_checked(sys.executable, HERE / "make_wheel.py", "--package", BUILT, "--out", self.folder)
        self.assertEqual(first, wheel.read_bytes())
        place = self.folder / "environment"
        try:
            self.run_checked(sys.executable, "-m", "venv", "--system-site-packages", place)
        except AssertionError as error:
            if "ensurepip is not available" in str(error):
                self.skipTest("python3-venv is not installed")
            raise
        pip = ["-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
        self.run_checked(place / "bin/python", *pip, "install", "--no-index", wheel)
        told = self.run_checked(place / "bin/python", "-c", TRY, place, cwd=self.folder)
        self.assertEqual(told.strip(), f"{tessera.__version__} (1,) 1")
        self.assertIn("License: Apache-2.0", self.run_checked(place / "bin/python", *pip, "show", "tessera"))
        self.run_checked(place / "bin/python", *pip, "uninstall", "--yes", "tessera")
        self.assertFalse(list(place.rglob("_core*.so")))

    def test_cmake_installs_it_where_debians_python_looks(self):
        build = BUILT.parent.parent
        self.run_checked("cmake", "--install", build, "--component", "python", "--prefix", self.folder)
        place = self.folder / "lib/python3/dist-packages"
        code = f"import sys; sys.path.insert(0, {str(place)!r})\n{TRY}"
        self.assertTrue(self.run_checked(sys.executable, "-c", code, self.folder, cwd=self.folder).startswith(tessera.__version__))
        self.assertTrue((place / "tessera/py.typed").is_file())


if __name__ == "__main__":
    main()
