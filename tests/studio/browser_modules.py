# SPDX-License-Identifier: Apache-2.0
"""Claims about single modules of Studio's page: web/*_test.js, in a real Chromium, served from the folder."""
import pathlib

from cdp import browser
from studio_server import studio

WEB = pathlib.Path(__file__).resolve().parent.parent.parent / "web"


def claims_of_modules_hold(binary, _):
    tests = sorted(file.name for file in WEB.glob("*_test.js") if file.name != "claims_test.js")
    assert tests
    with studio(binary, "--assets", WEB) as server, browser() as chromium:
        page = chromium.open(server.address)
        for test in tests:
            found = page.evaluate(f"import('/claims_test.js').then(all => import('/{test}').then(test => "
                                  "({count: Object.keys(test.claims).length, broken: all.broken(test.claims)})))")
            assert found["count"] > 0 and not found["broken"], (test, found)


CHECKS = [claims_of_modules_hold]
SAMPLE = [claims_of_modules_hold]
