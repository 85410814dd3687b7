// SPDX-License-Identifier: Apache-2.0
// Starts the page: token and line from the address, lists from the server, then the screen that the address names.

import { app, ask_verdict, on, set_line, show_screen, tell } from "./app.js";
import { ask, HAS_SERVER, keep_token, sentence_of } from "./ask.js";
import { by_id, element, fill } from "./dom.js";
import { build_frame } from "./frame.js";
import { DEFAULT_LINE, parse_fragment, parse_line, print_fragment, print_line } from "./state.js";

/** @typedef {{build: (root: HTMLElement) => void, show?: () => void, hide?: () => void}} Screen */

/**
 * Screens are loaded when they are first shown.
 * @type {Record<string, () => Promise<Screen>>}
 */
const LOADERS = {
  plan: async () => (await import("./plan_screen.js")).plan_screen,
  map: async () => (await import("./map_screen.js")).map_screen,
  time: async () => (await import("./time_screen.js")).time_screen,
  run: async () => (HAS_SERVER ? (await import("./run_screen.js")).run_screen : (await import("./absent_screen.js")).absent_screen),
  learn: async () => (await import("./learn_screen.js")).learn_screen,
};

/** Screens with a style of their own, which is loaded with them. */
const STYLED = ["run", "learn"];

/** @param {string} name @returns {Promise<void>} */
function load_style(name) {
  if (!STYLED.includes(name)) return Promise.resolve();
  return new Promise((done) => document.head.append(element("link", { rel: "stylesheet", href: `${name}.css`, onload: () => done(), onerror: () => done() })));
}

/** @type {Map<string, {screen: Screen, root: HTMLElement}>} */
const built = new Map();
let shown = "";

async function show() {
  const name = app.screen;
  if (!built.has(name)) {
    const [screen] = await Promise.all([LOADERS[name](), load_style(name)]);
    if (built.has(name)) return;
    const root = element("div", { class: `screen ${name}_screen`, hidden: true });
    by_id("screen").append(root);
    built.set(name, { screen, root });
    screen.build(root);
  }
  if (app.screen !== name || shown === name) return;
  const before = built.get(shown);
  if (before) before.root.hidden = true;
  before?.screen.hide?.();
  shown = name;
  const now = /** @type {{screen: Screen, root: HTMLElement}} */ (built.get(name));
  now.root.hidden = false;
  scrollTo(0, 0);
  now.screen.show?.();
}

/** Takes over what the address says. */
function read_address() {
  const { token, screen, part, line } = parse_fragment(location.hash);
  keep_token(token);
  app.screen = screen in LOADERS ? screen : "plan";
  if (part) app.parts[app.screen] = part;
  return line || app.line || DEFAULT_LINE;
}

function follow_address() {
  const line = read_address();
  if (parse_fragment(location.hash).token) history.replaceState(null, "", print_fragment(app.screen, line, app.parts[app.screen]));
  tell("screen");
  if (line !== app.line) set_line(line);
}

async function load_lists() {
  const [keys, presets, clusters] = await Promise.all([ask("keys"), ask("presets"), ask("clusters")]);
  app.lists = {
    keys: keys.keys.map((/** @type {any} */ row) => ({ ...row, name: row.key })),
    presets: presets.presets,
    clusters: clusters.clusters,
  };
  tell("lists");
}

async function start() {
  const line = read_address();
  try {
    app.run = parse_line(line);
    app.line = print_line(app.run);
  } catch {
    app.run = parse_line(DEFAULT_LINE);
    app.line = DEFAULT_LINE;
  }
  history.replaceState(null, "", print_fragment(app.screen, app.line, app.parts[app.screen]));
  build_frame(Object.keys(LOADERS));
  on("screen", show);
  window.addEventListener("hashchange", follow_address);
  window.addEventListener("popstate", follow_address);
  const verdict = ask_verdict();
  const lists = load_lists();
  await show();
  await Promise.all([verdict, lists]);
}

start().catch((error) => {
  const { what, where, help } = sentence_of(error);
  fill(by_id("note"), element("strong", {}, what), where && ` (${where})`, help && `: ${help}`);
  by_id("note").classList.add("is_error");
});

export { show_screen };
