// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: whether they are the same and which is faster in sentences; figures and settings in tables.

import { element } from "./dom.js";
import { count_text, seconds_text, significant, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

const number = (/** @type {any} */ value) => (typeof value === "number" ? (Math.abs(value) >= 1e6 ? count_text(value) : significant(value, 4)) : "-");

/**
 * @param {Json} told what the question `compare` answers @param {string} a names of the runs @param {string} b
 */
export function compare_view(told, a, b) {
  /** @param {string} title @param {[string, string, string][]} rows */
  const table = (title, rows) => rows.length > 0 && element("table", { class: "figures" }, element("thead", {}, element("tr", {}, ...[title, `A: ${a}`, `B: ${b}`].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(([name, one, other]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, one), element("td", {}, other)))));
  const { loss, weights } = told;
  const same = loss?.largest === 0;
  const losses = loss && (same ? `Losses of ${whole(loss.steps)} equal steps are the same, digit for digit.` : `Losses of ${whole(loss.steps)} equal steps differ by ${number(loss.largest)} at most, at step ${whole(loss.largest_step)}.`);
  const verdict = element("div", { class: "compared_verdict", role: "status" }, element("b", {}, `A: ${a}, B: ${b}`),
    losses && element("p", { class: same ? "is_good" : "" }, losses),
    weights && element("p", { class: weights.same_bits ? "is_good" : "", id: "same_bits" }, `Weights and moments at step ${whole(weights.step)} ${weights.same_bits ? "have the same bits." : "differ."}`),
    element("p", { class: "muted" }, told.verdict));
  const tables = element("div", { class: "compared" },
    table("part", told.results.map((/** @type {Json} */ row) => [row.part, seconds_text(row.a_seconds), seconds_text(row.b_seconds)])),
    table("figure", told.figures.map((/** @type {Json} */ row) => [row.name, number(row.a), number(row.b)])),
    table("setting", told.settings.map((/** @type {Json} */ row) => [row.key, String(row.a), String(row.b)])));
  return { verdict, tables };
}
