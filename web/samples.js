// SPDX-License-Identifier: Apache-2.0
// Samples of a microbatch, as a number and as words.

import { app, value_of } from "./app.js";
import { parse_mesh, size_of } from "./factors.js";
import { whole } from "./format.js";

const DATA_AXES = ["dp", "fsdp", "ep"];

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
