// SPDX-License-Identifier: Apache-2.0
// The form that starts a run on this machine: models that fit it, a mesh of processes or threads, steps, how often it saves.

import { ask, is_cancelled, newest, said_of, sentence_of } from "./ask.js";
import { element, fill } from "./dom.js";
import { bytes_text, count_text } from "./format.js";
import { field } from "./setup_panel.js";

/** @typedef {import("./ask.js").Json} Json */

const NUMBERS = [
  { key: "steps", label: "Steps", help: "of the optimizer" },
  { key: "save_every", label: "Save every", help: "steps between two checkpoints: what a killed rank costs" },
  { key: "batch", label: "Batch", help: "samples of a step", empty: "the model's own" },
  { key: "seq", label: "Sequence", help: "tokens of a sample", empty: "the model's own" },
  { key: "microbatches", label: "Microbatches", help: "parts of a step's batch, whose gradients are summed", empty: "1" },
  { key: "seed", label: "Seed", help: "the same seed gives the same bits" },
  { key: "sample_every", label: "Sample every", help: "steps between two samples of text", empty: "none" },
];

/** @param {Json} offers @param {(id: string) => void} started */
function build_form(offers, started) {
  const model = element("select", { id: "start_model" }, ...offers.models.map((/** @type {Json} */ one) => element("option", { value: one.name }, `${one.name}: ${count_text(one.parameters)} parameters, ${bytes_text(one.bytes)} a rank`)));
  model.value = offers.defaults.model;
  const mesh = element("input", { type: "text", id: "start_mesh", list: "start_meshes", value: offers.defaults.mesh, spellcheck: "false", autocomplete: "off" });
  const meshes = element("datalist", { id: "start_meshes" }, ...offers.meshes.map((/** @type {string} */ one) => element("option", { value: one })));
  const ranks_as = element("select", { id: "start_ranks_as" }, element("option", { value: "processes" }, "processes, restarted when one dies"), element("option", { value: "threads" }, "threads of one process"));
  const name = element("input", { type: "text", id: "start_name", placeholder: "a made one", pattern: "[a-z0-9_][a-z0-9_\\-]*", maxlength: 48, spellcheck: "false", autocomplete: "off", title: "a-z, 0-9, _ and -" });
  const numbers = NUMBERS.map(({ key, label, help, empty }) => ({ key, label, help, input: element("input", { type: "text", inputmode: "numeric", pattern: "[0-9]*", id: `start_${key}`, placeholder: empty, value: offers.defaults[key] || "" }) }));
  const problem = element("p", { class: "is_bad", role: "alert" });
  const go = element("button", { class: "main", id: "start_go" }, "Start");
  const form = element("form", { class: "start_form", method: "dialog" },
    element("div", { class: "start_wide" }, field("Model", model)),
    field("Mesh", mesh, "axes and sizes, such as dp=2,tp=2"), field("Ranks are", ranks_as), meshes,
    ...numbers.map(({ label, help, input }) => field(label, input, help)), field("Name", name, "of its folder"),
    element("p", { class: "muted small start_wide" }, `${offers.cores} cores, ${bytes_text(offers.memory_bytes)} of memory. The run trains on built-in data.`), problem, element("div", { class: "sheet_end start_wide" }, go));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    /** @type {Json} */
    const order = { model: model.value, mesh: mesh.value.trim(), ranks_as: ranks_as.value };
    if (name.value.trim()) order.name = name.value.trim();
    for (const { key, input } of numbers) if (input.value.trim()) order[key] = Number(input.value);
    go.disabled = true;
    try {
      started((await ask("start", order, newest("control"))).run);
    } catch (error) {
      if (is_cancelled(error)) return;
      const { what, where, help } = sentence_of(error);
      fill(problem, what, where && ` (${where})`, help && `: ${help}`);
    } finally {
      go.disabled = false;
    }
  });
  return form;
}

/**
 * Opens the form; `started` gets the id of the new run.
 * @param {(id: string) => void} started
 */
export async function open_start(started) {
  const body = element("div", {}, element("p", { class: "muted" }, "Looking what fits this machine\u2026"));
  const close = element("button", { class: "plain", id: "start_close" }, "Close");
  const dialog = element("dialog", { class: "sheet start_sheet", "aria-labelledby": "start_title" },
    element("header", { class: "start_head" }, element("h2", { id: "start_title" }, "Start a run"), close), body);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    const offers = await ask("offers", {}, newest("offers"));
    fill(body, build_form(offers, (id) => {
      dialog.close();
      started(id);
    }));
    /** @type {HTMLElement | null} */ (body.querySelector("select"))?.focus();
  } catch (error) {
    if (!is_cancelled(error)) fill(body, element("p", { class: "is_bad", role: "alert" }, said_of(error)));
  }
}
