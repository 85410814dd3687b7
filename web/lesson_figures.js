// SPDX-License-Identifier: Apache-2.0
// The figures of a lesson: what the compiled program gives beside what the formula says, and questions to guess at first.

import { announce, element, fill } from "./dom.js";
import { percent, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

/** @param {number} value @param {string} unit */
export function figure_text(value, unit) {
  if (unit === "share") return percent(value);
  return Number.isInteger(value) ? whole(value) : value.toLocaleString("en", { maximumFractionDigits: 3 });
}

/** @param {Json} formula */
function symbols_text(formula) {
  return formula.symbols.map((/** @type {Json} */ symbol) => element("span", { title: symbol.meaning }, element("b", {}, symbol.name), ` = ${whole(symbol.value)}, ${symbol.meaning}`));
}

/** @param {HTMLElement} root @param {Json} lesson */
export function show_formulas(root, lesson) {
  const rows = lesson.formulas.map((/** @type {Json} */ formula) => element("tr", {},
    element("th", { scope: "row" }, formula.what, formula.unit === "share" ? "" : element("em", { class: "muted small" }, ` ${formula.unit}`)),
    element("td", { class: "is_text" }, element("code", {}, formula.text), element("div", { class: "symbols" }, ...symbols_text(formula))),
    element("td", { class: "by_formula" }, figure_text(formula.formula, formula.unit)),
    element("td", { class: "by_program" }, figure_text(formula.program, formula.unit))));
  fill(root, element("table", { class: "figures lesson_formulas" },
    element("thead", {}, element("tr", {}, ...["of a step", "formula", "by the formula", "in the program"].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows)));
}

/**
 * A number as people type it: 3,412,480 or 3.4e6; of a share, in percent.
 * @param {string} text @param {string} unit
 */
export function read_number(text, unit) {
  const plain = text.replace(/[,\s_%]/g, "");
  return plain === "" ? NaN : Number(plain) / (unit === "share" ? 100 : 1);
}

/**
 * How close a guess is, in words.
 * @param {number} guess @param {number} answer
 */
export function judge_guess(guess, answer) {
  if (Number.isNaN(guess)) return { good: false, text: "Write a number." };
  const off = Math.abs(guess - answer) / Math.max(Math.abs(answer), 1e-12);
  if (off < 1e-9 || (answer === 0 && guess === 0)) return { good: true, text: "Exactly." };
  if (off <= 0.05) return { good: true, text: "Yes, within 5 %." };
  return { good: false, text: guess > answer ? "Less than that." : "More than that." };
}

/** @param {Json} guess @param {number} index */
function guess_form(guess, index) {
  const input = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", id: `guess_${index}` });
  const reply = element("p", { class: "reply", role: "status" });
  const tell = (/** @type {boolean} */ give_up) => {
    const { good, text } = judge_guess(read_number(input.value, guess.unit), guess.answer);
    const shown = give_up || good;
    fill(reply, give_up && !good ? "" : element("b", { class: good ? "is_good" : "is_bad" }, text),
      shown && ` The compiled program: ${figure_text(guess.answer, guess.unit)}${guess.unit === "share" ? "" : ` ${guess.unit}`}. ${guess.because}`);
    announce(reply.textContent ?? "");
  };
  const form = element("form", { class: "guess", onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); tell(false); } },
    element("label", { for: `guess_${index}` }, guess.question),
    element("div", { class: "guess_row" }, input, guess.unit === "share" ? element("span", { class: "muted" }, "% of useful time") : element("span", { class: "muted" }, guess.unit),
      element("button", { class: "plain is_accent", type: "submit" }, "Check"), element("button", { class: "plain", type: "button", onclick: () => tell(true) }, "Show")),
    reply);
  return form;
}

/** @param {HTMLElement} root @param {Json} lesson */
export function show_guesses(root, lesson) {
  fill(root, ...lesson.guesses.map(guess_form));
}
