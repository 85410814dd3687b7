// SPDX-License-Identifier: Apache-2.0
// The left side of Plan: the model with every field, the batch, and the cluster as nested boxes, each figure with
// where it comes from.

import { app, change, on, value_of } from "./app.js";
import { element, fill } from "./dom.js";
import { bytes_text, count_text, scaled, seconds_text, whole } from "./format.js";
import { PRECISIONS } from "./state.js";

/** @typedef {import("./ask.js").Json} Json */

/**
 * A label above its control.
 * @param {string} text @param {HTMLElement} control @param {string} [title]
 */
export function field(text, control, title) {
  return element("label", { class: "field", title }, element("span", {}, text), control);
}

/** @param {string[]} choices @param {string} value @param {(value: string) => void} take @param {string} [label] @param {string} [unknown] what to add to a value that is no choice */
export function choice(choices, value, take, label, unknown = "") {
  const all = choices.includes(value) || value === "" ? choices : [...choices, value];
  const control = element("select", { "aria-label": label }, ...all.map((one) => element("option", { value: one }, choices.includes(one) || choices.length === 0 ? one : one + unknown)));
  control.value = value;
  control.addEventListener("change", () => take(control.value));
  return control;
}

/** @param {string} key */
function number_input(key) {
  const input = element("input", { type: "text", inputmode: "numeric", "data-key": key });
  input.addEventListener("change", () => change({ [key]: input.value.trim() }));
  return input;
}

function preset() {
  return app.lists.presets.find((one) => one.name === app.run.model);
}

/**
 * One row per field of the model; an empty input has the preset's value.
 * @param {HTMLElement} box
 */
function show_model_fields(box) {
  const fields = preset()?.fields ?? {};
  const rows = app.lists.keys.filter((key) => key.name.startsWith("model.") && key.name !== "model.preset");
  fill(box, ...rows.map((key) => {
    const name = key.name.slice("model.".length);
    const input = element("input", { type: "text", "data-key": key.name, placeholder: fields[name] ?? "", value: app.run.set[key.name] ?? "" });
    input.addEventListener("change", () => change({ [key.name]: input.value.trim() }));
    return element("label", { class: "row_field", title: key.help }, element("span", {}, name), input);
  }));
}

function build_model() {
  const body = element("div", { class: "section_body" });
  const summary = element("p", { class: "muted small" });
  const fields = element("div", { class: "row_fields" });
  const slot = element("div");
  const show = () => {
    const names = app.lists.presets.map((one) => one.name);
    fill(slot, field("Preset", choice(names, app.run.model, (model) => change(model_reset(), { model }), undefined, " (unknown)")));
    const chosen = preset();
    const changed = Object.keys(app.run.set).filter((key) => key.startsWith("model.")).length;
    const parameters = app.verdict?.parameters ?? chosen?.parameters;
    fill(summary, chosen ? `${chosen.summary}, ${count_text(parameters)} parameters` : "", changed > 0 && `, ${changed} changed`);
    show_model_fields(fields);
  };
  body.append(slot, summary, element("details", {}, element("summary", {}, "All fields"), fields));
  on("lists", show);
  on("run", show);
  on("verdict", () => {
    const chosen = preset();
    if (chosen && app.verdict) summary.firstChild?.replaceWith(`${chosen.summary}, ${count_text(app.verdict.parameters)} parameters`);
  });
  show();
  return element("section", { "aria-labelledby": "model_title" }, element("header", {}, element("h2", { id: "model_title" }, "Model")), body);
}

/**
 * Fields of another model would not fit.
 * @returns {Record<string, string>}
 */
function model_reset() {
  return Object.fromEntries(Object.keys(app.run.set).filter((key) => key.startsWith("model.")).map((key) => [key, ""]));
}

function build_batch() {
  const batch = number_input("train.batch");
  const seq = number_input("train.seq");
  const precision = element("div");
  const tokens = element("p", { class: "muted small" });
  const show = () => {
    for (const input of [batch, seq]) if (document.activeElement !== input) input.value = value_of(input.dataset.key ?? "");
    fill(precision, field("Precision", choice(PRECISIONS, app.run.set["train.precision"] ?? "bf16", (value) => change({ "train.precision": value }))));
    const product = Number(batch.value) * Number(seq.value);
    fill(tokens, product > 0 ? `${count_text(product)} tokens a step` : "");
  };
  on("run", show);
  on("lists", show);
  show();
  return element("section", { "aria-labelledby": "batch_title" }, element("header", {}, element("h2", { id: "batch_title" }, "Batch")),
    element("div", { class: "section_body" },
      element("div", { class: "fields_three" }, field("Samples", batch), field("Tokens each", seq), precision), tokens));
}

/**
 * A figure with a mark of where it comes from.
 * @param {string} text @param {Json} figure @param {string} what
 */
function sourced(text, figure, what) {
  const title = `${what}: ${figure.from}. ${figure.source}`;
  const mark = element("i", { class: `source is_${figure.from}`, "aria-label": figure.from });
  return element("span", { class: "sourced", title }, text, mark);
}

/** @param {Json} device @param {string} precision */
function device_box(device, precision) {
  const arithmetic = precision.replace("pure_", "");
  const peak = device.peak_flops[arithmetic] ?? Object.values(device.peak_flops)[0];
  return element("div", { class: "box is_device" }, element("b", {}, device.name),
    element("div", {}, sourced(bytes_text(device.memory_bytes.value), device.memory_bytes, "memory"),
      sourced(`${scaled(device.memory_bandwidth.value)}B/s`, device.memory_bandwidth, "bandwidth of memory"),
      peak && sourced(`${scaled(peak.value)}flop/s`, peak, `peak of ${arithmetic}`)));
}

/** @param {Json} cluster @param {number} ranks */
function cluster_boxes(cluster, ranks) {
  let box = device_box(cluster.device, app.run.set["train.precision"] ?? "bf16");
  let inner = 1;
  for (const level of cluster.levels) {
    const used = ranks > inner;
    const slower = level.oversubscription.value > 1
      ? sourced(`1:${level.oversubscription.value}`, level.oversubscription, "oversubscription") : null;
    box = element("div", { class: `box ${used ? "is_used" : ""}`, title: used ? "this mesh crosses it" : "this mesh stays inside" },
      element("div", { class: "box_head" }, element("b", {}, level.name), element("span", {}, `${whole(level.ranks)} ranks`)),
      element("div", {}, sourced(`${scaled(level.bandwidth.value)}B/s`, level.bandwidth, "bandwidth of a rank"),
        sourced(seconds_text(level.latency_seconds.value), level.latency_seconds, "latency"), slower),
      box);
    inner = level.ranks;
  }
  return box;
}

function build_cluster() {
  const slot = element("div");
  const boxes = element("div", { class: "boxes" });
  const note = element("p", { class: "muted small" });
  const show = () => {
    const names = app.lists.clusters.map((one) => one.name);
    fill(slot, choice(names, app.run.cluster, (cluster) => change({}, { cluster }), "Cluster", " (unknown)"));
    const cluster = app.lists.clusters.find((one) => one.name === app.run.cluster);
    const ranks = (app.run.set.mesh ?? "").split(",").reduce((product, part) => product * (Number(part.split("=")[1]) || 1), 1);
    fill(boxes, cluster && cluster_boxes(cluster, ranks));
    fill(note, cluster && !cluster.calibrated && "Never calibrated. ",
      element("i", { class: "source is_measured" }), " measured ", element("i", { class: "source is_published" }), " published ",
      element("i", { class: "source is_assumed" }), " assumed");
  };
  on("lists", show);
  on("run", show);
  show();
  return element("section", { "aria-labelledby": "cluster_title" }, element("header", {}, element("h2", { id: "cluster_title" }, "Cluster")),
    element("div", { class: "section_body" }, slot, boxes, note));
}

/** @returns {HTMLElement[]} */
export function build_setup() {
  return [build_model(), build_batch(), build_cluster()];
}
