#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks that read the sources; every one runs even when an earlier one fails.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=()

check() {
  local start=$SECONDS name=$1
  shift
  if "$@"; then
    echo "$name: ok ($((SECONDS - start)) s)"
  else
    echo "$name: FAILED" >&2
    failed+=("$name")
  fi
}

check format tools/format.sh --check
check style python3 tools/check_style.py
check layers python3 tools/check_layers.py
check includes python3 tools/check_includes.py
check page python3 tools/check_page.py
check docs tools/check_docs.sh
check clang-tidy python3 tools/tidy.py
[[ ${#failed[@]} -eq 0 ]] || exit 1
