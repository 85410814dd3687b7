// SPDX-License-Identifier: Apache-2.0
// What each collective does to a few numbers on four ranks, as `tessera collectives` runs and prints it.

import { ask, HAS_SERVER, is_cancelled, newest, sentence_of } from "./ask.js";
import { element, fill } from "./dom.js";

/** @typedef {import("./ask.js").Json} Json */

const LESSON = "collectives";
const RANKS = 4;

/** @param {number | null} value @param {string} look */
const cell = (value, look) => element("td", { class: value === null ? "is_none" : look }, value === null ? "\u00b7" : String(value));

/** @param {Json} told @param {Json} collective */
function table_of(told, collective) {
  const rows = told.before.map((/** @type {number[]} */ before, /** @type {number} */ rank) => element("tr", {}, element("th", { scope: "row" }, `rank ${rank}`),
    ...before.map((value) => cell(value, "")), element("td", { class: "is_arrow", "aria-label": "becomes" }, "\u2192"),
    ...collective.after[rank].map((/** @type {number | null} */ value) => cell(value, "is_after"))));
  return element("li", {}, element("b", {}, collective.name), element("p", { class: "small muted" }, collective.meaning),
    element("table", { "aria-label": collective.name }, element("tbody", {}, ...rows)));
}

/** @param {HTMLElement} root @param {Json} lesson */
export async function show_collectives(root, lesson) {
  root.hidden = lesson.name !== LESSON;
  fill(root);
  if (root.hidden) return;
  const command = element("code", {}, `tessera collectives --ranks ${RANKS}`);
  const head = element("header", {}, element("h2", {}, "On numbers"), element("span", { class: "hint" }, "each rank begins with four numbers"));
  if (!HAS_SERVER) return fill(root, head, element("p", { class: "muted" }, "Collectives run on ranks, which this page cannot start. On your machine: ", command));
  try {
    const told = await ask("collectives", { ranks: RANKS }, newest("collectives"));
    fill(root, head, element("ul", { class: "collective_tables" }, ...told.collectives.map((/** @type {Json} */ each) => table_of(told, each))),
      element("p", { class: "small muted" }, "The same from a shell: ", command));
  } catch (error) {
    if (!is_cancelled(error)) fill(root, head, element("p", { class: "is_bad" }, sentence_of(error).what));
  }
}
