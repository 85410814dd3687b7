// SPDX-License-Identifier: Apache-2.0
// What all screens share: the run (the line on top), the newest verdict on it, one selection, and who listens to changes.

import { ask, cancel, is_cancelled, newest, sentence_of } from "./ask.js";
import { parse_line, print_fragment, print_line } from "./state.js";

/** @typedef {import("./state.js").Run} Run */
/** @typedef {import("./ask.js").Json} Json */
/**
 * What is lit on the timeline: what makes these values of a block class, or else all that comes from a line of C++.
 * @typedef {{source: string, owner: string, names: string[]}} Lit
 */
/** @typedef {{rank: number, tensor: string, instruction: number, microbatch: number, time: number, lit: Lit | null, pass: string}} Selection */
/** @typedef {"run" | "verdict" | "selection" | "screen" | "theme" | "lists"} Topic */

/**
 * Nothing selected is -1 or the empty text.
 * @type {Selection}
 */
const NOTHING = { rank: 0, tensor: "", instruction: -1, microbatch: -1, time: -1, lit: null, pass: "" };

export const app = {
  /** @type {Run} */ run: { model: "", cluster: "", set: {} },
  line: "",
  screen: "plan",
  /** @type {Record<string, string>} */ parts: {},  // of screens that show one of many: the lesson, the run
  /** @type {Selection} */ selection: { ...NOTHING },
  /**
   * The newest answer to `try`; stays while the next is computed.
   * @type {Json | null}
   */
  verdict: null,
  /**
   * Why there is no verdict on the line as it is.
   * @type {import("./ask.js").Sentence | null}
   */
  error: null,
  pending: false,
  /**
   * Lists that do not change: config keys, model presets, clusters.
   * @type {{keys: Json[], presets: Json[], clusters: Json[]}}
   */
  lists: { keys: [], presets: [], clusters: [] },
};

/** @type {Map<Topic, Set<() => void>>} */
const listeners = new Map();

/**
 * Calls back whenever the topic changes.
 * @param {Topic} topic @param {() => void} listener
 */
export function on(topic, listener) {
  const all = listeners.get(topic) ?? new Set();
  listeners.set(topic, all.add(listener));
}

/** @param {Topic} topic */
export function tell(topic) {
  for (const listener of listeners.get(topic) ?? []) listener();
}

let last_change = 0;

/** Puts the state into the address; changes within a second are one step of the browser's Back. */
function write_address() {
  const fragment = print_fragment(app.screen, app.line, app.parts[app.screen]);
  if (fragment === location.hash) return;
  const now = performance.now();
  const method = now - last_change > 1000 && last_change > 0 ? "pushState" : "replaceState";
  last_change = now;
  history[method](null, "", fragment);
}

/** @param {string} screen */
export function show_screen(screen) {
  if (app.screen === screen) return;
  app.screen = screen;
  write_address();
  tell("screen");
}

/**
 * One of those that the screen shows.
 * @param {string} part
 */
export function show_part(part) {
  if (app.parts[app.screen] === part) return;
  app.parts[app.screen] = part;
  write_address();
  tell("screen");
}

/**
 * Takes over another run and asks for its verdict.
 * @param {Run} run
 */
export function set_run(run) {
  const line = print_line(run);
  app.run = run;
  if (line === app.line && app.verdict && !app.error) return;
  app.line = line;
  write_address();
  tell("run");
  ask_verdict();
}

/**
 * Changes some keys; an empty text takes a key out.
 * @param {Record<string, string>} changes @param {{model?: string, cluster?: string}} [names]
 */
export function change(changes, names = {}) {
  const set = { ...app.run.set };
  for (const [key, value] of Object.entries(changes)) {
    if (value === "") delete set[key];
    else set[key] = value;
  }
  set_run({ model: names.model ?? app.run.model, cluster: names.cluster ?? app.run.cluster, set });
}

/**
 * Reads a line that a person typed.
 * @param {string} line
 */
export function set_line(line) {
  try {
    set_run(parse_line(line));
  } catch (error) {
    fail(error);
  }
}

/** @param {unknown} error */
function fail(error) {
  cancel("try");
  app.error = sentence_of(error);
  app.pending = false;
  tell("verdict");
}

/** The answer to `try` for the run as it is; an older question is dropped. */
export async function ask_verdict() {
  const signal = newest("try");
  app.pending = true;
  try {
    const verdict = await ask("try", { run: app.run }, signal);
    app.verdict = verdict;
    app.error = null;
    app.pending = false;
    tell("verdict");
  } catch (error) {
    if (!is_cancelled(error)) fail(error);
  }
}

/** @param {Partial<Selection>} changes */
export function select(changes) {
  app.selection = { ...app.selection, ...changes };
  tell("selection");
}

/**
 * The typed row of a config key.
 * @param {string} name @returns {Json | undefined}
 */
export function key_row(name) {
  return app.lists.keys.find((key) => key.name === name);
}

/**
 * The value of a key: what the line says, or else what the verdict or the table of keys says.
 * @param {string} name
 */
export function value_of(name) {
  return app.run.set[name] ?? String(key_row(name)?.default ?? "");
}
