// SPDX-License-Identifier: Apache-2.0
// A lane as one row of pixels: each has the code of what covers most of it. The cost depends on the bars in sight, not on
// their number of pixels, so that 128,000 bars take few milliseconds.

import { first_bar } from "./timeline_data.js";

/** @typedef {import("./timeline_data.js").Bars} Bars */

/** A pixel is empty only where bars cover less than this share of it: short transfers stay in sight. */
export const LEAST_COVER = 0.1;
const CODES = 64;
const cover = new Float64Array(CODES);

/**
 * @param {Bars} bars
 * @param {number} start Seconds at the left edge.
 * @param {number} per_pixel Seconds of a pixel.
 * @param {Uint8Array} row Codes, one for each pixel; 0 where nothing runs.
 */
export function fill_pixel_row(bars, start, per_pixel, row) {
  row.fill(0);
  const width = row.length;
  const stop = start + width * per_pixel;
  let pixel = -1;
  let covered = false;
  const close = () => {
    if (!covered) return;
    let best = 0;
    let sum = 0;
    for (let code = 1; code < CODES; ++code) {
      sum += cover[code];
      if (cover[code] > cover[best]) best = code;
    }
    if (sum >= LEAST_COVER) row[pixel] = best;
    cover.fill(0);
    covered = false;
  };
  for (let i = first_bar(bars, start); i < bars.count && bars.begin[i] < stop; ++i) {
    const left = Math.max(0, (bars.begin[i] - start) / per_pixel);
    const right = Math.min(width, (bars.end[i] - start) / per_pixel);
    const first = Math.floor(left);
    const last = Math.min(width - 1, Math.floor(right));
    if (first !== pixel) {
      close();
      pixel = first;
    }
    cover[bars.code[i]] += Math.min(right, first + 1) - left;
    covered = true;
    if (last === first) continue;
    close();
    row.fill(bars.code[i], first + 1, last);
    pixel = last;
    if (right > last) {
      cover[bars.code[i]] += right - last;
      covered = true;
    }
  }
  close();
}

/**
 * Colours of codes as pixels of an image, which are red, green, blue, alpha in memory.
 * @param {string[]} colours rgb(1, 2, 3), by code
 */
export function pixels_of(colours) {
  const bytes = new Uint8Array(colours.length * 4);
  colours.forEach((colour, code) => {
    const parts = (colour.match(/[\d.]+/g) ?? []).map(Number);
    bytes.set([parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0, colour === "" ? 0 : 255], code * 4);
  });
  return new Uint32Array(bytes.buffer);
}
