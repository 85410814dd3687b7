// SPDX-License-Identifier: Apache-2.0
// From a line of the IR to the pass that made it and the line of C++ that it comes from, and back to all instructions of either.

import { app, select, show_screen } from "./app.js";
import { ask, HAS_SERVER, newest } from "./ask.js";
import { element, fill } from "./dom.js";

/** @typedef {import("./ask.js").Json} Json */
/** @typedef {import("./timeline_data.js").Timeline} Timeline */
/** @typedef {import("./app.js").Lit} Lit */

const AROUND = 2;

/**
 * The IR of a line of the page, asked once.
 * @type {{line: string, lines: Json[]}}
 */
let ir = { line: "", lines: [] };

/** @returns {Promise<Json[]>} */
export async function ask_ir() {
  if (ir.line === app.line) return ir.lines;
  const line = app.line;
  const told = await ask("ir", { run: app.run }, newest("ir"));
  ir = { line, lines: told.ir[0].lines };
  return ir.lines;
}

/**
 * Who made a line, as a sentence.
 * @param {Json} line
 */
export function history_text({ made_by, changed_by }) {
  if (!made_by) return "";
  const made = made_by === "model" ? "Written in the model" : `Made by the pass ${made_by}`;
  return `${made}${changed_by ? `, changed by ${changed_by}` : ""}.`;
}

/**
 * The same with links to what the passes changed.
 * @param {Json} line
 */
export function history_view({ made_by, changed_by }) {
  /** @param {string} pass */
  const link = (pass) => element("button", { class: "link", title: "what this pass changed", onclick: () => { select({ pass }); show_screen("map"); } }, pass);
  const made = made_by === "model" ? ["Written in the ", link("model")] : ["Made by the pass ", link(made_by)];
  return element("p", { class: "small", id: "made_by" }, ...(made_by ? [...made, ...(changed_by ? [", changed by ", link(changed_by)] : []), "."] : []));
}

/**
 * The instructions that make one of these values, or else all that come from the line of C++.
 * @param {Timeline} timeline @param {Json[]} lines @param {Lit} lit
 * @returns {number[]}
 */
export function instructions_of(timeline, lines, { source, owner, names }) {
  const all = [...timeline.instructions.keys()];
  const own = all.filter((index) => {
    const line = lines[timeline.instructions[index].line];
    return line?.class === owner && line.names.some((/** @type {string} */ name) => names.includes(name));
  });
  return own.length > 0 ? own : all.filter((index) => source !== "" && lines[timeline.instructions[index].line]?.source === source);
}

/**
 * The texts of files in which models are written; a page without a server has none.
 * @type {Map<string, Promise<string[]>>}
 */
const texts = new Map();

/** @param {string} file @returns {Promise<string[]>} */
function text_of(file) {
  const known = texts.get(file) ?? (HAS_SERVER ? ask("model_source", { file }).then(({ text }) => text.split("\n")).catch(() => []) : Promise.resolve([]));
  texts.set(file, known);
  return known;
}

/**
 * The line of C++ and its neighbours; a click on it chooses it.
 * @param {string} source @param {(source: string) => void} choose
 */
export function source_view(source, choose) {
  const box = element("div", { class: "ir" });
  const colon = source.lastIndexOf(":");
  const [file, line] = [source.slice(0, colon), Number(source.slice(colon + 1))];
  const button = (/** @type {string} */ code) => element("button", { class: "is_here", id: "source_line", title: "light all bars that come from this line", onclick: () => choose(source) },
    element("i", {}, line), element("code", {}, code));
  fill(box, button(""));
  text_of(file).then((text) => {
    const from = Math.max(0, line - 1 - AROUND);
    const near = text.slice(from, line + AROUND);
    const indent = Math.min(...near.filter((code) => code.trim() !== "").map((code) => code.search(/\S/)));
    fill(box, ...near.map((code) => code.slice(indent)).map((code, index) => (from + index + 1 === line ? button(code) : element("div", { class: "source_near" }, element("i", {}, from + index + 1), element("code", {}, code)))),
      text.length === 0 && button(source));
  });
  return [element("h3", {}, "C++ ", element("span", { class: "muted small" }, source)), box];
}
