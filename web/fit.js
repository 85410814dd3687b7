// SPDX-License-Identifier: Apache-2.0
// Why a plan does not fit, in one sentence of its figures, and which knobs would help.

import { app, value_of } from "./app.js";
import { parse_mesh, size_of } from "./factors.js";
import { bytes_text, whole } from "./format.js";

/** @typedef {import("./ask.js").Json} Json */

const DATA_AXES = ["dp", "fsdp", "ep"];
const GROW_WITH_SAMPLES = ["activations", "scratch", "inputs"];
const WORDS = /** @type {Record<string, string>} */ ({ optimizer: "optimizer states", scratch: "scratch buffers", snapshot: "snapshots" });

/**
 * Samples that one rank has in one microbatch; no whole number where the batch does not divide.
 * @param {string} [mesh]
 */
export function microbatch_samples(mesh = app.run.set.mesh ?? "") {
  const axes = parse_mesh(mesh);
  const replicas = DATA_AXES.reduce((product, axis) => product * size_of(axes, axis), 1);
  return Number(value_of("train.batch")) / replicas / Number(value_of("train.microbatches") || 1);
}

/** @param {number} samples */
export function samples_text(samples) {
  return `${whole(samples)} ${samples === 1 ? "sample" : "samples"}`;
}

/**
 * What may help, for the kind of bytes that is the largest.
 * @param {string} kind @param {number} samples
 */
function remedies(kind, samples) {
  const mesh = parse_mesh(app.run.set.mesh ?? "");
  const shards = DATA_AXES.some((axis) => size_of(mesh, axis) > 1);
  const found = [];
  if (GROW_WITH_SAMPLES.includes(kind)) {
    if (samples > 1) found.push(`more microbatches (${whole(samples * Number(value_of("train.microbatches") || 1))} of 1 sample)`);
    if (["none", "cheap", "attention"].includes(value_of("plan.recompute"))) found.push("recompute = fit");
    if (size_of(mesh, "tp") > 1 && value_of("plan.sequence_parallel") !== "true") found.push("sequence parallel");
  } else {
    if (shards && value_of("plan.zero") !== "3") found.push("zero = 3");
    if (!shards) found.push("fsdp, with zero = 3");
  }
  return found.length > 0 ? found : ["a larger pp, or more ranks"];
}

/**
 * Of a verdict that does not fit.
 * @param {Json} told
 */
export function fit_sentence(told) {
  const fullest = told.stages.reduce((/** @type {Json} */ most, /** @type {Json} */ stage) => (stage.peak_bytes > most.peak_bytes ? stage : most));
  const [kind, bytes] = /** @type {[string, number]} */ (Object.entries(fullest.bytes).reduce((most, each) => (Number(each[1]) > Number(most[1]) ? each : most)));
  const samples = microbatch_samples();
  const where = told.stages.length > 1 ? `stage ${fullest.pp}` : "each rank";
  const size = GROW_WITH_SAMPLES.includes(kind) && Number.isInteger(samples) ? `; a microbatch has ${samples_text(samples)} of ${whole(Number(value_of("train.seq")))} tokens on a rank` : "";
  return `${WORDS[kind] ?? kind} take ${bytes_text(bytes)} of the ${bytes_text(fullest.peak_bytes)} of ${where}${size}. Try ${remedies(kind, samples).join(" or ")}.`;
}
