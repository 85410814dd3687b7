# SPDX-License-Identifier: Apache-2.0
"""Studio's page for everybody: keys alone, names of all controls, contrast in both themes, twice the size."""
from browser_plan import START, fragment
from cdp import browser
from studio_server import studio

LEAST_CONTRAST = 4.5
SCREENS = ("plan", "map", "time")
CONTRAST = """import('/dom.js').then(({theme_colours}) => { const all = ['ink', 'muted', 'accent', 'bad', 'good', 'paper', 'panel', 'sunk', 'accent_soft', 'on_accent', 'on_data',
    'sky', 'orange', 'green', 'yellow', 'purple'];
  const colours = theme_colours(all); const light = name => { const parts = colours[name].match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]; };
  const ratio = (a, b) => { const [low, high] = [light(a), light(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
  const pairs = []; for (const text of ['ink', 'muted', 'accent', 'bad', 'good']) for (const ground of ['paper', 'panel', 'sunk']) pairs.push([text, ground]);
  pairs.push(['accent', 'accent_soft'], ['ink', 'accent_soft'], ['on_accent', 'accent']); for (const ground of ['sky', 'orange', 'green', 'yellow', 'purple']) pairs.push(['on_data', ground]);
  return pairs.map(([a, b]) => [a, b, ratio(a, b)]).filter(([, , value]) => value < %s); })""" % LEAST_CONTRAST


def opened(chromium, server, screen="plan", **size):
    page = chromium.open(f"{server.address}&{screen}/{fragment(START)}", **size)
    page.wait("document.querySelector('#verdict').innerText.includes('MFU')", "a verdict")
    page.settle(0.4)
    return page


def keys_alone_reach_every_screen_and_the_search(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = opened(chromium, server)
        for key, screen in (("2", "map"), ("3", "time"), ("1", "plan")):
            page.press(key)
            page.wait(f"document.querySelector('.{screen}_screen')?.hidden === false", screen)
        page.press("/")
        page.wait("document.querySelector('#palette').open", "the search")
        page.type("llama3-1b")
        page.press("Enter")
        assert page.evaluate("document.querySelector('#line').value").startswith("llama3-1b ")


def tab_walks_through_all_controls_without_a_trap(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = opened(chromium, server)
        seen = []
        for _step in range(150):
            page.press("Tab")
            seen.append(page.evaluate("(e => e.id || e.dataset.factor || e.textContent.slice(0, 20) || e.tagName)(document.activeElement)"))
            if seen[-1] in seen[:-1] and "search_start" in seen:
                break
        for wanted in ("line", "prove", "ranks", "pp_up", "tp_down", "plan.zero_auto", "search_start"):
            assert wanted in seen, (wanted, seen)


def every_control_has_a_name(binary, _):
    with studio(binary) as server, browser() as chromium:
        for screen in SCREENS:
            page = opened(chromium, server, screen)
            nodes = page.accessibility_tree()
            roles = {"button", "textbox", "combobox", "checkbox", "slider", "listbox", "link", "application"}
            nameless = [node["role"]["value"] for node in nodes if not node.get("ignored") and node["role"]["value"] in roles and not node.get("name", {}).get("value")]
            assert not nameless, (screen, nameless)
            landmarks = {node["role"]["value"] for node in nodes}
            assert {"main", "banner", "navigation", "heading"} <= landmarks, landmarks


def text_has_contrast_in_light_and_in_dark(binary, _):
    with studio(binary) as server, browser() as chromium:
        page = opened(chromium, server)
        for theme in ("light", "dark"):
            page.theme(theme)
            assert page.evaluate(CONTRAST) == [], theme
        page.evaluate("document.querySelector('#theme').click()")
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


CHECKS = [keys_alone_reach_every_screen_and_the_search, tab_walks_through_all_controls_without_a_trap, every_control_has_a_name, text_has_contrast_in_light_and_in_dark]
SAMPLE = [every_control_has_a_name]
