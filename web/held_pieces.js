// SPDX-License-Identifier: Apache-2.0
// Pieces of a tensor as rectangles: which dims are drawn, where each piece lies, and which ranks hold it.

/** @typedef {{name: string, size: number}} Dim */
/** @typedef {{first: number[], count: number[]}} Box */
/** @typedef {{x: number, y: number, width: number, height: number}} Rect In shares of the picture. */
/** @typedef {{name: string, rects: Rect[], ranks: number[], elements: number}} Piece */

/**
 * 0 is a, 25 is z, 26 is aa.
 * @param {number} index @returns {string}
 */
export function piece_name(index) {
  return (index >= 26 ? piece_name(Math.floor(index / 26) - 1) : "") + String.fromCharCode(97 + (index % 26));
}

/**
 * The rows and columns of the picture: dims that are split before those that are whole, in the order of the tensor.
 * @param {Dim[]} dims @param {Box[]} boxes
 * @returns {{row: number, column: number}} -1: there is no such dim.
 */
export function drawn_dims(dims, boxes) {
  const is_split = (/** @type {number} */ dim) => boxes.some((box) => box.count[dim] < dims[dim].size);
  const order = [...dims.keys()].sort((a, b) => Number(is_split(b)) - Number(is_split(a)) || dims[b].size - dims[a].size);
  const chosen = order.slice(0, 2).sort((a, b) => a - b);
  if (chosen.length === 0) return { row: -1, column: -1 };
  return chosen.length === 1 ? { row: -1, column: chosen[0] } : { row: chosen[0], column: chosen[1] };
}

/** @param {Box} box @param {Dim[]} dims @param {{row: number, column: number}} drawn @returns {Rect} */
export function box_rect(box, dims, { row, column }) {
  const part = (/** @type {number} */ dim) => (dim < 0 ? [0, 1] : [box.first[dim] / dims[dim].size, box.count[dim] / dims[dim].size]);
  const [y, height] = part(row);
  const [x, width] = part(column);
  return { x, y, width, height };
}

/**
 * What ranks hold while they compute: boxes.
 * @param {import("./ask.js").Json} told
 * @returns {Piece[]}
 */
export function pieces_in_use(told) {
  const { dims } = told.tensor;
  const drawn = drawn_dims(dims, told.in_use.boxes);
  return told.in_use.boxes.map((/** @type {Box} */ box, /** @type {number} */ index) => ({
    name: piece_name(index), rects: [box_rect(box, dims, drawn)], ranks: ranks_of_piece(told.in_use.of_rank, index),
    elements: box.count.reduce((product, count) => product * count, 1),
  }));
}

/**
 * What ranks hold between steps: stretches of a box, row by row. Empty ones are left out.
 * @param {import("./ask.js").Json} told @param {"at_rest" | "gradient"} when
 * @returns {Piece[]}
 */
export function pieces_at_rest(told, when) {
  const { dims } = told.tensor;
  const drawn = drawn_dims(dims, told.in_use.boxes);
  const held = told[when];
  /** @type {Piece[]} */
  const pieces = [];
  held.stretches.forEach((/** @type {{box: number, begin: number, end: number}} */ stretch, /** @type {number} */ index) => {
    if (stretch.end <= stretch.begin) return;
    const box = told.in_use.boxes[stretch.box];
    const whole = box_rect(box, dims, drawn);
    const elements = box.count.reduce((/** @type {number} */ product, /** @type {number} */ count) => product * count, 1);
    const along = drawn.row < 0 ? { x: whole.x + (stretch.begin / elements) * whole.width, width: ((stretch.end - stretch.begin) / elements) * whole.width }
      : { y: whole.y + (stretch.begin / elements) * whole.height, height: ((stretch.end - stretch.begin) / elements) * whole.height };
    pieces.push({ name: piece_name(pieces.length), rects: [{ ...whole, ...along }], ranks: ranks_of_piece(held.of_rank, index), elements: stretch.end - stretch.begin });
  });
  return pieces;
}

/** @param {number[]} of_rank @param {number} index */
function ranks_of_piece(of_rank, index) {
  return [...of_rank.keys()].filter((rank) => of_rank[rank] === index);
}

/**
 * 0, 2, 4 .. 14 as "0, 2 to 14 by 2".
 * @param {number[]} ranks
 */
export function ranks_text(ranks) {
  if (ranks.length <= 3) return ranks.join(", ");
  const step = ranks[1] - ranks[0];
  const regular = ranks.every((rank, index) => index === 0 || rank - ranks[index - 1] === step);
  if (regular) return step === 1 ? `${ranks[0]} to ${ranks[ranks.length - 1]}` : `${ranks[0]}, ${ranks[1]} to ${ranks[ranks.length - 1]} by ${step}`;
  return `${ranks.slice(0, 6).join(", ")}${ranks.length > 6 ? ` and ${ranks.length - 6} more` : ""}`;
}
