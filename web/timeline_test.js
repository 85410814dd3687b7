// SPDX-License-Identifier: Apache-2.0
// Columns, bars and pixel rows of the timeline against slow and simple ones.

import { decode_columns } from "./ask.js";
import { equal, random_numbers, refuses } from "./claims_test.js";
import { fill_pixel_row, LEAST_COVER, pixels_of } from "./pixel_rows.js";
import { tick_step } from "./timeline_canvas.js";
import { first_bar, make_bars, make_timeline, seconds_by_instruction, slice_at } from "./timeline_data.js";
import { group_of } from "./timeline_links.js";

/** @param {any} head @param {number[]} bytes */
function packed(head, bytes) {
  let text = JSON.stringify(head);
  text += " ".repeat((4 - (text.length % 4)) % 4);
  const buffer = new ArrayBuffer(4 + text.length + bytes.length);
  new DataView(buffer).setUint32(0, text.length, true);
  new Uint8Array(buffer, 4).set(new TextEncoder().encode(text));
  new Uint8Array(buffer, 4 + text.length).set(bytes);
  return buffer;
}

/** @param {number} seed @param {number} slices */
function random_timeline(seed, slices) {
  const next = random_numbers(seed);
  const begin = new Float32Array(slices);
  const length = new Float32Array(slices);
  const lane = Uint16Array.from({ length: slices }, () => Math.floor(next() * 3));
  const ends = [0, 0, 0];
  for (let i = 0; i < slices; ++i) {
    begin[i] = ends[lane[i]] + (next() < 0.3 ? next() * 0.01 : 0);
    length[i] = next() ** 4 * 0.05;
    ends[lane[i]] = begin[i] + length[i];
  }
  const instruction = Uint16Array.from({ length: slices }, () => Math.floor(next() * 5));
  const head = { lanes: [0, 1, 2].map((number) => ({ rank: 0, name: "kernels", number })), ranks: [{ rank: 0, alike: 1, pp: 0 }], instructions: Array.from({ length: 5 }, () => ({})), step_seconds: Math.max(...ends) };
  return make_timeline({ head, columns: { begin, length, instruction, lane, microbatch: new Uint16Array(slices) }, bytes: 0 });
}

/** @param {import("./timeline_data.js").Timeline} timeline @returns {import("./timeline_data.js").View} */
const plain_view = (timeline) => ({ name: "kind", code: (slice) => timeline.instruction[slice] + 1, label: () => 0, text: () => "" });

/** @type {Record<string, () => void>} */
export const claims = {
  "columns are where their offsets say, of any alignment"() {
    const { head, columns } = decode_columns(packed({ x: 1, columns: [{ name: "a", type: "u16", count: 1, offset: 0 }, { name: "b", type: "f32", count: 1, offset: 4 }, { name: "c", type: "f64", count: 1, offset: 8 }] },
      [7, 1, 0, 0, 0, 0, 128, 63, 0, 0, 0, 0, 0, 0, 240, 63]));
    equal([head.x, ...columns.a, ...columns.b, ...columns.c], [1, 263, 1, 1]);
  },
  "truncated columns are refused"() {
    refuses(() => decode_columns(new ArrayBuffer(2)), "truncated");
    refuses(() => decode_columns(packed({ columns: [{ name: "a", type: "u32", count: 2, offset: 0 }] }, [1, 2, 3, 4])), "a is truncated");
    refuses(() => decode_columns(packed({ columns: [{ name: "a", type: "i3", count: 2, offset: 0 }] }, [])), "unknown type");
  },
  "bars cover what slices cover"() {
    const timeline = random_timeline(1, 3000);
    for (let lane = 0; lane < 3; ++lane) {
      const bars = make_bars(timeline, lane, plain_view(timeline));
      let slices = 0;
      let covered = 0;
      for (let i = 0; i < timeline.begin.length; ++i) if (timeline.lane[i] === lane) slices += timeline.length[i];
      for (let i = 0; i < bars.count; ++i) {
        covered += bars.end[i] - bars.begin[i];
        if (i > 0 && bars.begin[i] < bars.end[i - 1]) throw new Error(`bars ${i - 1} and ${i} overlap`);
      }
      if (Math.abs(covered - slices) > 0.02 * slices) throw new Error(`${covered} s of bars for ${slices} s of slices`);
    }
  },
  "a pixel has the kind that covers most of it"() {
    const timeline = random_timeline(2, 4000);
    const bars = make_bars(timeline, 1, plain_view(timeline));
    for (const [start, span, width] of [[0, timeline.seconds, 300], [1.01, 0.2, 250], [0.3, 5, 77]]) {
      const row = new Uint8Array(width);
      fill_pixel_row(bars, start, span / width, row);
      for (let x = 0; x < width; ++x) {
        const [from, to] = [start + (x * span) / width, start + ((x + 1) * span) / width];
        const cover = new Array(8).fill(0);
        for (let i = 0; i < bars.count; ++i) cover[bars.code[i]] += Math.max(0, Math.min(to, bars.end[i]) - Math.max(from, bars.begin[i]));
        const sum = cover.reduce((total, part) => total + part, 0);
        const most = Math.max(...cover);
        if (row[x] === 0 && sum > (LEAST_COVER + 1e-6) * (to - from)) throw new Error(`pixel ${x} is empty, but covered`);
        if (row[x] !== 0 && cover[row[x]] < most - 1e-9) throw new Error(`pixel ${x} shows ${row[x]}, which covers less than another`);
      }
    }
  },
  "the slice at a time is the one that runs then"() {
    const timeline = random_timeline(5, 500);
    for (let i = 0; i < 500; ++i) {
      if (timeline.length[i] < 1e-5) continue;
      equal(slice_at(timeline, timeline.lane[i], timeline.begin[i] + timeline.length[i] / 2), i);
    }
    equal(slice_at(timeline, 0, -1), -1);
  },
  "the first bar after a time ends after it"() {
    const timeline = random_timeline(6, 400);
    const bars = make_bars(timeline, 0, plain_view(timeline));
    for (let time = 0; time < timeline.seconds; time += timeline.seconds / 50) {
      const found = first_bar(bars, time);
      if (found < bars.count && bars.end[found] <= time) throw new Error("ends before");
      if (found > 0 && bars.end[found - 1] > time) throw new Error("is not the first");
    }
  },
  "ranks of a group differ along its axes alone"() {
    equal(group_of("pp=2,dp=3,tp=2", "tp", 5), [4, 5]);
    equal(group_of("pp=2,dp=3,tp=2", "pp", 5), [5, 11]);
    equal(group_of("pp=2,dp=3,tp=2", "pp+dp", 7), [1, 3, 5, 7, 9, 11]);
    equal(group_of("1", "dp", 0), [0]);
  },
  "seconds by instruction add up to all seconds"() {
    const timeline = random_timeline(8, 1000);
    let all = 0;
    for (let i = 0; i < 1000; ++i) all += timeline.length[i];
    const told = seconds_by_instruction(timeline, 0).reduce((sum, row) => sum + row.seconds, 0);
    if (Math.abs(all - told) > 1e-9) throw new Error(`${told} of ${all}`);
  },
  "colours become pixels"() {
    equal([...new Uint8Array(pixels_of(["rgb(1, 2, 3)", ""]).buffer)], [1, 2, 3, 255, 0, 0, 0, 0]);
  },
  "ticks are 1, 2 or 5 of a power of ten, and leave room"() {
    for (const span of [1e-6, 0.37, 7.5, 123]) {
      const step = tick_step(span, 900);
      if (step * 900 < 89 * span) throw new Error("too dense");
      if (![1, 2, 5, 10].some((digit) => Math.abs(Math.log10(step / digit) % 1) < 1e-9 || Math.abs(Math.abs(Math.log10(step / digit) % 1) - 1) < 1e-9)) throw new Error(`step ${step}`);
    }
  },
};
