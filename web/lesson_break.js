// SPDX-License-Identifier: Apache-2.0
// Break it: one mistake put into a lesson's program, and what the static check or a run beside one rank says of it.

import { ask, HAS_SERVER, is_cancelled, newest, sentence_of } from "./ask.js";
import { announce, element, fill } from "./dom.js";

/** @typedef {import("./ask.js").Json} Json */

/** @param {number} value */
const small = (value) => value.toExponential(2);

/** @param {Json} told */
function verdict_of(told) {
  const head = told.caught_by === "static check" ? "The static check refuses it, before anything runs" : told.caught_by === "verify"
    ? "verify: not equal to one rank" : "Nobody noticed";
  return [element("b", { class: "is_bad" }, head), element("p", {}, told.sentence),
    told.worst && element("p", { class: "small" }, "Worst: ", element("code", {}, told.worst), told.error === null ? ", which is no number: memory was read that nobody had written."
      : `, off by ${small(told.error)} of its size, where ${small(told.allowed)} is allowed.`)];
}

/** @param {Json} lesson @param {Json} mistake */
function break_row(lesson, mistake) {
  const reply = element("div", { class: "reply", role: "status" });
  const button = element("button", { class: "plain", id: `break_${mistake.name}` }, mistake.title);
  button.addEventListener("click", async () => {
    fill(reply, element("span", { class: "muted" }, "Every rank runs the broken program\u2026"));
    try {
      fill(reply, ...verdict_of(await ask("break", { lesson: lesson.name, break: mistake.name }, newest("break"))));
      announce(reply.textContent ?? "");
    } catch (error) {
      if (is_cancelled(error)) return fill(reply);
      const { what, help } = sentence_of(error);
      fill(reply, element("b", { class: "is_bad" }, what), help && ` ${help}`);
    }
  });
  return element("li", { class: "break_row" }, element("div", {}, button), element("div", {}, element("p", {}, mistake.what), reply));
}

/** @param {HTMLElement} root @param {Json} lesson */
export function show_breaks(root, lesson) {
  if (!HAS_SERVER) {
    fill(root, element("p", { class: "muted" }, "To break a program is to run it, which this page cannot. On your machine: ", element("code", {}, `tessera studio --lesson ${lesson.name}`)));
    return;
  }
  fill(root, lesson.breaks.length === 0 ? element("p", { class: "muted" }, "Nothing to break here.")
    : element("ul", { class: "breaks" }, ...lesson.breaks.map((/** @type {Json} */ mistake) => break_row(lesson, mistake))));
}
