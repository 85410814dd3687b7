// SPDX-License-Identifier: Apache-2.0
// The IR after each pass, and what the pass has changed.

import { app } from "./app.js";
import { ask, is_cancelled, newest, sentence_of } from "./ask.js";
import { element, fill } from "./dom.js";
import { diff_lines } from "./line_diff.js";

/** @typedef {import("./ask.js").Json} Json */

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
    const [before, after] = told.ir.length > 1 ? [told.ir[0].lines, told.ir[1].lines] : [[], told.ir[0].lines];
    const rows = diff_lines(before.map((/** @type {Json} */ line) => line.text), after.map((/** @type {Json} */ line) => line.text));
    const changes = rows.filter((row) => row.mark !== "same").length;
    const near = (/** @type {number} */ index) => rows.slice(Math.max(0, index - 1), index + 2).some((row) => row.mark !== "same");
    const shown = only.checked && told.ir.length > 1 ? rows.filter((_, index) => near(index)) : rows;
    const row = told.passes.find((/** @type {Json} */ one) => one.name === chosen);
    fill(about, row?.summary ?? "", `. ${row?.nodes ?? 0} nodes`, told.ir.length > 1 ? `, ${changes} lines changed.` : ".");
    fill(text, ...shown.slice(0, 1500).map((line) => {
      const one = line.after >= 0 ? after[line.after] : before[line.before];
      return element("div", { class: `ir_line is_${line.mark}`, title: one.made_by ? `made by ${one.made_by}` : "" },
        element("i", {}, line.mark === "added" ? "+" : line.mark === "removed" ? "\u2212" : ""), element("code", {}, one.text));
    }), changes === 0 && told.ir.length > 1 && only.checked && element("p", { class: "muted small" }, "This pass changes nothing in this plan."));
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
        ask_pass();
      });
      return element("li", {}, button);
    }));
    if (focused.startsWith("pass_")) document.getElementById(focused)?.focus();
  };
  only.addEventListener("change", show_text);
  return () => { if (asked_line !== app.line) ask_pass(); };
}
