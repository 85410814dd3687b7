# SPDX-License-Identifier: Apache-2.0
"""The command line beside the module: what a test of Python compares with."""
import argparse
import subprocess
import sys
import unittest


def arguments():
    """--binary and --module; what else there is goes to unittest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--module", required=True)
    known, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    return known


ARGUMENTS = arguments()


def tessera_lines(*words):
    """What the command prints on standard output."""
    done = subprocess.run([ARGUMENTS.binary, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"tessera {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout.strip()


def main():
    """Runs the tests of the calling file."""
    unittest.main()
