#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test of a build, two at a time, and closes with the skipped ones and their reasons.
# Usage: tools/test.sh <preset> [ctest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
results=$PWD/build/$preset/test_results.xml

status=0
ctest --preset "$preset" --output-junit "$results" "$@" || status=$?
python3 tools/list_skipped.py "$results"
exit "$status"
