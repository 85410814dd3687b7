// SPDX-License-Identifier: Apache-2.0
// The knobs below the ruler: what is sharded, microbatches, recomputation, schedule, context, experts. Choices, defaults
// and help come from the table of config keys.

import { app, change, key_row, on, value_of } from "./app.js";
import { element, fill } from "./dom.js";
import { parse_mesh, size_of } from "./factors.js";
import { microbatch_samples, samples_text } from "./samples.js";
import { choice, field } from "./setup_panel.js";

const mesh_size = (/** @type {string} */ axis) => size_of(parse_mesh(app.run.set.mesh ?? ""), axis);

/**
 * Sets a key, or takes it out where it is the default.
 * @param {string} key @param {string} value
 */
function take(key, value) {
  change({ [key]: value === String(key_row(key)?.default ?? "") ? "" : value });
}

/**
 * Choices side by side.
 * @param {string} key @param {string} label @param {string[]} fallback
 */
function segments(key, label, fallback) {
  const row = key_row(key);
  const value = value_of(key);
  const buttons = (row?.choices ?? fallback).map((/** @type {string} */ one) => element("button", { id: `${key}_${one}`, "aria-pressed": one === value, onclick: () => take(key, one) }, one));
  return element("div", { class: "field", title: row?.help }, element("span", {}, label), element("div", { class: "segments", role: "group", "aria-label": label }, ...buttons));
}

/** @param {string} key @param {string} label @param {string[]} fallback */
function select_knob(key, label, fallback) {
  const row = key_row(key);
  return field(label, choice((row?.choices ?? fallback).filter((/** @type {string} */ one) => one !== "custom"), value_of(key) || fallback[0], (value) => take(key, value)), row?.help);
}

/**
 * A number with buttons that double and halve it.
 * @param {string} key @param {string} label @param {string} [hint]
 */
function number_knob(key, label, hint) {
  const row = key_row(key);
  const value = Number(value_of(key) || 1);
  const input = element("input", { type: "text", inputmode: "numeric", id: key, value: String(value), "aria-label": label });
  input.addEventListener("change", () => take(key, input.value.trim()));
  input.addEventListener("keydown", (event) => {
    const next = event.key === "ArrowUp" ? value * 2 : event.key === "ArrowDown" ? Math.max(1, Math.floor(value / 2)) : 0;
    if (next) take(key, String(next));
  });
  /** @param {string} text @param {number} next */
  const button = (text, next) => element("button", { id: `${key}_${text === "+" ? "up" : "down"}`, "aria-label": `${label} ${next}`, onclick: () => take(key, String(next)) }, text);
  return element("div", { class: "field", title: row?.help }, element("span", {}, label, hint && element("em", {}, hint)),
    element("div", { class: "stepper" }, button("\u2212", Math.max(1, Math.floor(value / 2))), input, button("+", value * 2)));
}

/** @param {string} key @param {string} label */
function flag_knob(key, label) {
  const box = element("input", { type: "checkbox", id: key, checked: value_of(key) === "true" });
  box.addEventListener("change", () => take(key, String(box.checked)));
  return element("label", { class: "field is_flag", title: key_row(key)?.help }, element("span", {}, label), element("span", { class: "flag" }, box, " on"));
}

/** Samples that one rank has in one microbatch, where the batch divides. */
function microbatch_hint() {
  const samples = microbatch_samples();
  return Number.isInteger(samples) && samples > 0 ? ` of ${samples_text(samples)}` : "";
}

function has_experts() {
  const fields = app.lists.presets.find((one) => one.name === app.run.model)?.fields ?? {};
  return Number(app.run.set["model.experts"] ?? fields.experts ?? 0) > 0;
}

/** Only what means something for this mesh and model. */
function knobs() {
  const shown = [
    segments("plan.zero", "ZeRO", ["auto", "0", "1", "2", "3"]),
    number_knob("train.microbatches", "Microbatches", microbatch_hint()),
    select_knob("plan.recompute", "Recompute", ["none", "cheap", "attention", "block_keep_attention", "block", "every", "fit"]),
  ];
  if (value_of("plan.recompute") === "every") shown.push(number_knob("plan.recompute_every", "Blocks together"));
  if (mesh_size("pp") > 1) {
    shown.push(select_knob("plan.schedule", "Schedule", ["1f1b"]));
    if (/interleaved|looped/.test(value_of("plan.schedule"))) shown.push(number_knob("plan.chunks", "Stages per rank"));
  }
  if (mesh_size("cp") > 1) shown.push(segments("plan.context", "Context", ["ring", "ulysses"]));
  if (mesh_size("tp") > 1) shown.push(flag_knob("plan.sequence_parallel", "Sequence parallel"));
  if (has_experts()) shown.push(segments("plan.dispatch", "Dispatch", ["gather", "exchange"]));
  return shown;
}

/** @param {HTMLElement} body */
export function build_knobs(body) {
  body.classList.add("knobs");
  const show = () => {
    const focused = document.activeElement?.id ?? "";
    fill(body, ...knobs());
    if (focused && body.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused)?.focus();
  };
  on("lists", show);
  on("run", show);
  show();
}
