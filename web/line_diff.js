// SPDX-License-Identifier: Apache-2.0
// The difference of two texts by lines, by their longest common subsequence.

/** @typedef {{mark: "same" | "added" | "removed", before: number, after: number}} DiffLine */

/**
 * Lines in the order of the later text, removed ones where they were. -1: the line is not in that text.
 * @param {string[]} before @param {string[]} after
 * @returns {DiffLine[]}
 */
export function diff_lines(before, after) {
  const width = after.length + 1;
  const longest = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; --i) {
    for (let j = after.length - 1; j >= 0; --j) {
      longest[i * width + j] = before[i] === after[j] ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  /** @type {DiffLine[]} */
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) lines.push({ mark: "same", before: i++, after: j++ });
    else if (i < before.length && (j === after.length || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) lines.push({ mark: "removed", before: i++, after: -1 });
    else lines.push({ mark: "added", before: -1, after: j++ });
  }
  return lines;
}
