// SPDX-License-Identifier: Apache-2.0
// The IR after each pass, and what the pass has changed.

import { app, select, show_screen } from "./app.js";
import { ask, is_cancelled, newest, sentence_of } from "./ask.js";
import { element, fill } from "./dom.js";
import { diff_lines } from "./line_diff.js";
import { history_text } from "./source_lines.js";

/** @typedef {import("./ask.js").Json} Json */

const MOST_LINES = 1500;

/**
 * A line with the line of C++ that it comes from; a click shows its bars on the timeline.
 * @param {Json} one @param {string} mark
 */
function line_view(one, mark) {
  const parts = [element("i", {}, mark === "added" ? "+" : mark === "removed" ? "\u2212" : ""), element("span", { class: "ir_source" }, one.source?.split("/").pop() ?? ""), element("code", {}, one.text)];
  if (!one.names || !one.source) return element("div", { class: `ir_line is_${mark}` }, ...parts);
  const show_bars = () => {
    select({ lit: { source: one.source, owner: one.class, names: one.names } });
    show_screen("time");
  };
  return element("button", { class: `ir_line is_${mark}`, title: `${one.source}. ${history_text(one)} Show its bars.`, onclick: show_bars }, ...parts);
}

/**
 * The lines of the last pass beside those of the one before it: all, or those next to a change.
 * @param {Json[]} ir @param {boolean} only_changes
 */
function lines_of(ir, only_changes) {
  const [before, after] = ir.length > 1 ? [ir[0].lines, ir[1].lines] : [[], ir[0].lines];
  const rows = diff_lines(before.map((/** @type {Json} */ line) => line.text), after.map((/** @type {Json} */ line) => line.text));
  const near = (/** @type {number} */ index) => rows.slice(Math.max(0, index - 1), index + 2).some((row) => row.mark !== "same");
  const shown = only_changes && ir.length > 1 ? rows.filter((_, index) => near(index)) : rows;
  return { changes: rows.filter((row) => row.mark !== "same").length, views: shown.slice(0, MOST_LINES).map((line) => line_view(line.after >= 0 ? after[line.after] : before[line.before], line.mark)) };
}

/** @param {HTMLElement} body */
export function build_ir_passes(body) {
  const list = element("ol", { class: "passes", role: "listbox", "aria-label": "Passes" });
  const text = element("div", { class: "ir ir_text", tabindex: 0, role: "region", "aria-label": "IR" });
  const about = element("p", { class: "muted small" });
  const only = element("input", { type: "checkbox", id: "only_changes", checked: true });
  body.append(element("div", { class: "ir_body" }, list,
    element("div", {}, element("div", { class: "ir_head" }, about, element("label", { class: "flag" }, only, "changes only")), text)));
  let asked_line = "";
  let chosen = "localize";
  /** @type {Json | null} */
  let told = null;

  const show_text = () => {
    if (!told) return;
    const { changes, views } = lines_of(told.ir, only.checked);
    const row = told.passes.find((/** @type {Json} */ one) => one.name === chosen);
    fill(about, row?.summary ?? "", `. ${row?.nodes ?? 0} nodes`, told.ir.length > 1 ? `, ${changes} lines changed.` : ".");
    fill(text, ...views, changes === 0 && told.ir.length > 1 && only.checked && element("p", { class: "muted small" }, "This pass changes nothing in this plan."));
  };

  const ask_pass = async () => {
    const names = told ? told.passes.map((/** @type {Json} */ one) => one.name) : ["propagate_placements", "localize"];
    const at = names.indexOf(chosen);
    const passes = at > 0 ? [names[at - 1], chosen] : [chosen];
    try {
      const line = app.line;
      told = await ask("ir", { run: app.run, passes }, newest("passes"));
      asked_line = line;
      show_list();
      show_text();
    } catch (error) {
      if (!is_cancelled(error)) fill(about, sentence_of(error).what);
    }
  };
  const show_list = () => {
    const focused = document.activeElement?.id ?? "";
    fill(list, ...(told?.passes ?? []).map((/** @type {Json} */ pass, /** @type {number} */ index) => {
      const before = told?.passes[index - 1]?.nodes ?? pass.nodes;
      const change = pass.nodes - before;
      const button = element("button", { id: `pass_${pass.name}`, title: pass.summary, "aria-current": pass.name === chosen }, pass.name,
        element("span", {}, change === 0 ? "" : change > 0 ? `+${change}` : `\u2212${-change}`));
      button.addEventListener("click", () => {
        chosen = pass.name;
        select({ pass: chosen });
        ask_pass();
      });
      return element("li", {}, button);
    }));
    if (focused.startsWith("pass_")) document.getElementById(focused)?.focus();
  };
  only.addEventListener("change", show_text);
  return () => {
    const { pass } = app.selection;
    if (asked_line === app.line && (pass === "" || pass === chosen)) return;
    chosen = pass || chosen;
    ask_pass();
  };
}
