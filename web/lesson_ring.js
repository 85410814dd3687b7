// SPDX-License-Identifier: Apache-2.0
// A hop of ring attention as a square: chunks of queries downwards, chunks of keys across. What a rank computes at this hop is
// filled; what the causal mask leaves out is hatched.

import { svg } from "./dom.js";
import { held_parts } from "./lesson_walk.js";

/** @typedef {import("./ask.js").Json} Json */

const CELL = 11;

/**
 * The chunks that a rank holds of a tensor's sequence.
 * @param {Json} lesson @param {Json} rank @param {import("./lesson_walk.js").LessonBuffer} buffer
 */
function chunks_of(lesson, rank, buffer) {
  const seq = buffer.dims.find((dim) => dim.name === "seq");
  return seq ? held_parts(lesson, rank, seq).map(([from]) => Math.round(from * 2 * lesson.zigzag)) : [];
}

/** @param {Json} lesson @param {Json} rank @param {import("./lesson_walk.js").Place} place */
export function ring_mask(lesson, rank, place) {
  const [query, key] = place.instruction.reads;
  const queries = chunks_of(lesson, rank, place.buffers[query]);
  const keys = chunks_of(lesson, rank, place.buffers[key]);
  const count = 2 * lesson.zigzag;
  const side = count * CELL;
  const label = `queries of chunks ${queries.join(" and ")}, keys of chunks ${keys.join(" and ")}`;
  const picture = svg("svg", { width: side + 1, height: side + 1, viewBox: `0 0 ${side + 1} ${side + 1}`, class: "ring_mask", role: "img", "aria-label": label });
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < count; column += 1) {
      const here = queries.includes(row) && keys.includes(column);
      const look = !here ? "is_other" : column < row ? "is_full" : column === row ? "is_half" : "is_masked";
      picture.append(svg("rect", { x: column * CELL + 0.5, y: row * CELL + 0.5, width: CELL, height: CELL, class: look }));
    }
  }
  return picture;
}
