#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages for the purposes named (build, test, lint, python, oracle, mpi, hosts, bench, fuzz, browser, wasm, package); does nothing when all are there.
# Usage: tools/setup.sh build [test] [lint] [python] [oracle] [mpi] [hosts] [bench] [fuzz] [browser] [wasm] [package]
set -euo pipefail

packages_for() {
  case "$1" in
    build) echo g++ cmake ninja-build ccache libfmt-dev libcli11-dev \
      libtomlplusplus-dev libxxhash-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev zlib1g-dev libzstd-dev libhwy-dev libmicrohttpd-dev libzmq3-dev ;;
    test) echo pkgconf libgtest-dev libbenchmark-dev libopenblas0-pthread python3 python3-yaml ;;
    lint) echo clang-format clang-tidy node-typescript python3 ;;
    python) echo python3-dev python3-numpy python3-venv pybind11-dev mypy ;;
    oracle) echo python3 python3-numpy python3-torch ;;
    mpi) echo openmpi-bin libopenmpi-dev ;;
    hosts) echo iproute2 util-linux slurm-wlm munge python3 ;;
    bench) echo libgloo-dev ;;
    browser) echo chromium node-typescript python3 ;;
    wasm) echo emscripten python3 ;;
    package) echo debhelper lintian mmdebstrap patchelf mandoc groff bash-completion fish zsh python3 util-linux ;;
    fuzz) echo clang libclang-rt-dev python3 ;;
    *)
      echo "error: no such purpose: $1" >&2
      echo " help: use any of build, test, lint, python, oracle, mpi, hosts, bench, fuzz, browser, wasm, package" >&2
      exit 2
      ;;
  esac
}

# What is to be installed by hand, when we cannot do it.
give_up() {
  echo "error: $1" >&2
  echo " help: as root, run: apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 2
}

[[ $# -gt 0 ]] || set -- build
wanted=()
for purpose in "$@"; do
  list=$(packages_for "$purpose")
  read -ra names <<<"$list"
  wanted+=("${names[@]}")
done

if ! command -v dpkg-query >/dev/null; then
  echo "note: not a Debian system, nothing installed; needed are the equivalents of: ${wanted[*]}" >&2
  exit 0
fi

# dpkg-query fails when it does not know one of the packages, and still answers for the others.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null; then
  give_up "packages are missing, and neither root nor sudo is at hand: ${missing[*]}"
fi
as_root=(env DEBIAN_FRONTEND=noninteractive)
[[ $EUID -eq 0 ]] || as_root=(sudo "${as_root[@]}")
echo "installing ${missing[*]}"
# A source list that cannot be refreshed is no reason to stop: the packages may come from another one.
"${as_root[@]}" sh -c 'apt-get update -q; apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "$@"' \
  apt "${missing[@]}" || give_up "apt-get could not install ${missing[*]}"
