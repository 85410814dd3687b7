// SPDX-License-Identifier: Apache-2.0
// The search that / opens: models, clusters, config keys and their choices, and what screens add (ops, blocks).

import { app, change, select, show_screen } from "./app.js";
import { by_id, element, fill } from "./dom.js";
import { count_text } from "./format.js";

/** @typedef {{title: string, detail: string, act: () => void}} Found */

const MOST = 12;

/**
 * Lists of things to find that screens add.
 * @type {Map<string, () => Found[]>}
 */
const sources = new Map();

/** @param {string} name @param {() => Found[]} list */
export function add_source(name, list) {
  sources.set(name, list);
}

/** @returns {Found[]} */
function everything() {
  const { presets, clusters, keys } = app.lists;
  return [
    ...presets.map((preset) => ({ title: preset.name, detail: `model, ${preset.summary}, ${count_text(preset.parameters)} parameters`, act: () => change({}, { model: preset.name }) })),
    ...clusters.map((cluster) => ({ title: cluster.name, detail: `cluster of ${cluster.device.name}`, act: () => change({}, { cluster: cluster.name }) })),
    ...keys.flatMap((key) => (key.choices ?? []).map((/** @type {string} */ choice) => ({ title: `${key.name} = ${choice}`, detail: key.help, act: () => change({ [key.name]: choice }) }))),
    ...keys.filter((key) => !key.choices).map((key) => ({ title: key.name, detail: key.help, act: () => edit_key(key.name) })),
    ...[...sources.values()].flatMap((list) => list()),
  ];
}

/**
 * Puts the key at the end of the line, ready for its value.
 * @param {string} key
 */
function edit_key(key) {
  const input = /** @type {HTMLInputElement} */ (by_id("line"));
  input.value = `${app.line} ${key}=`;
  input.dataset.typing = "yes";
  input.focus();
  input.setSelectionRange(input.value.length, input.value.length);
}

/**
 * Rows that hold every word of the text, those whose title begins with it first.
 * @param {Found[]} all @param {string} text @returns {Found[]}
 */
export function matching(all, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter(({ title, detail }) => words.every((word) => `${title} ${detail}`.toLowerCase().includes(word)));
  /** @param {Found} row */
  const order = (row) => (words.length > 0 && row.title.toLowerCase().startsWith(words[0]) ? 0 : words.every((word) => row.title.toLowerCase().includes(word)) ? 1 : 2);
  return found.map((row, index) => ({ row, index })).sort((a, b) => order(a.row) - order(b.row) || a.index - b.index).slice(0, MOST).map(({ row }) => row);
}

export function open_palette() {
  const dialog = /** @type {HTMLDialogElement} */ (by_id("palette"));
  if (dialog.open) return;
  const all = everything();
  let at = 0;
  /** @type {Found[]} */
  let rows = [];
  const list = element("ul", { role: "listbox", id: "palette_list", "aria-label": "Found" });
  const input = element("input", { type: "text", role: "combobox", "aria-expanded": true, "aria-controls": "palette_list", "aria-label": "Search models, clusters, settings, ops and blocks", placeholder: "Search models, clusters, settings, ops, blocks", spellcheck: false, autocomplete: "off" });
  /** @param {Found} row */
  const take = (row) => {
    dialog.close();
    row.act();
  };
  const show = () => {
    rows = matching(all, input.value);
    at = Math.max(0, Math.min(at, rows.length - 1));
    input.setAttribute("aria-activedescendant", rows.length ? `found_${at}` : "");
    fill(list, ...rows.map((row, index) => element("li", { id: `found_${index}`, role: "option", "aria-selected": index === at, onclick: () => take(row) }, element("b", {}, row.title), element("span", {}, row.detail))));
    if (rows.length === 0) fill(list, element("li", { class: "muted" }, "Nothing has this name."));
  };
  input.addEventListener("input", () => { at = 0; show(); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") at += 1;
    else if (event.key === "ArrowUp") at -= 1;
    else if (event.key === "Enter" && rows[at]) return take(rows[at]);
    else return;
    event.preventDefault();
    show();
  });
  fill(dialog, input, list);
  show();
  dialog.showModal();
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
}

/**
 * For screens: shows an instruction on the timeline.
 * @param {number} instruction
 */
export function go_to_instruction(instruction) {
  select({ instruction });
  show_screen("time");
}
