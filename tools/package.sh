#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages with Debian's own tools, checks them with lintian, and packs the tarball for systems without them.
# All of it is in build/packages then. With --no-tarball, the packages alone. Usage: tools/package.sh [--no-tarball]
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/packages
rm -rf "$out"
mkdir -p "$out"

SOURCE_DATE_EPOCH=$(python3 tools/debian_changelog.py)
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
# debhelper gives the build a home folder of its own.
if command -v ccache >/dev/null; then
  CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config cache_dir)}
  export CCACHE_DIR
fi
DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)} ${DEB_BUILD_OPTIONS:-}" \
  dpkg-buildpackage --build=binary --no-sign --no-pre-clean \
  --buildinfo-file="$out/tessera.buildinfo" --changes-file="$out/tessera.changes" --buildinfo-option=-u"$out" --changes-option=-u"$out"
lintian --fail-on error,warning --display-info "$out/tessera.changes"

if [[ ${1:-} != --no-tarball ]]; then
  python3 tools/tarball.py --build build/package --out "$out"
fi
ls -l "$out"
