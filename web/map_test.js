// SPDX-License-Identifier: Apache-2.0
// Pieces of tensors, groups of ranks and differences of texts.

import { equal, random_numbers } from "./claims_test.js";
import { box_rect, drawn_dims, piece_name, pieces_at_rest, ranks_text } from "./held_pieces.js";
import { diff_lines } from "./line_diff.js";
import { group_along } from "./map_screen.js";
import { grid_layout } from "./mesh_grid.js";

/** @type {Record<string, () => void>} */
export const claims = {
  "a difference turns the text before into the text after"() {
    const next = random_numbers(4);
    for (let i = 0; i < 100; ++i) {
      const [before, after] = [0, 1].map(() => Array.from({ length: Math.floor(next() * 20) }, () => "abcd"[Math.floor(next() * 4)]));
      const lines = diff_lines(before, after);
      equal(lines.filter((line) => line.mark !== "removed").map((line) => after[line.after]), after);
      equal(lines.filter((line) => line.mark !== "added").map((line) => before[line.before]), before);
    }
    equal(diff_lines(["a", "b"], ["a", "b"]).map((line) => line.mark), ["same", "same"]);
    equal(diff_lines(["a", "b", "c"], ["b", "x", "c"]).map((line) => line.mark), ["removed", "same", "added", "same"]);
  },
  "split dims are drawn before whole ones"() {
    const dims = [{ name: "d", size: 4096 }, { name: "gate_up", size: 2 }, { name: "mlp", size: 8 }];
    const boxes = [{ first: [0, 0, 0], count: [4096, 1, 4] }];
    equal(drawn_dims(dims, boxes), { row: 1, column: 2 });
    equal(box_rect(boxes[0], dims, { row: 1, column: 2 }), { x: 0, y: 0, width: 0.5, height: 0.5 });
    equal(drawn_dims([{ name: "d", size: 4 }], [{ first: [0], count: [4] }]), { row: -1, column: 0 });
  },
  "stretches of a box tile it"() {
    const told = { tensor: { dims: [{ name: "a", size: 4 }, { name: "b", size: 2 }] }, in_use: { boxes: [{ first: [0, 0], count: [4, 2] }], of_rank: [0, 0] },
      at_rest: { stretches: [{ box: 0, begin: 0, end: 4 }, { box: 0, begin: 4, end: 8 }, { box: 0, begin: 8, end: 8 }], of_rank: [0, 1, 2] } };
    const pieces = pieces_at_rest(told, "at_rest");
    equal(pieces.map((piece) => [piece.name, piece.rects[0].y, piece.rects[0].height, piece.ranks]), [["a", 0, 0.5, [0]], ["b", 0.5, 0.5, [1]]]);
  },
  "a group has every rank of an axis once"() {
    equal(group_along({ stride: 2, size: 8 }, 19), [17, 19, 21, 23, 25, 27, 29, 31]);
    equal(group_along({ stride: 16, size: 4 }, 19), [3, 19, 35, 51]);
  },
  "ranks are told in few words"() {
    equal([[3], [0, 1, 2, 3], [0, 2, 4, 6], [0, 1, 5, 9]].map(ranks_text), ["3", "0 to 3", "0, 2 to 6 by 2", "0, 1, 5, 9"]);
  },
  "pieces have letters of their own"() {
    equal([0, 25, 26, 701, 702].map(piece_name), ["a", "z", "aa", "zz", "aaa"]);
  },
  "cells shrink until all nodes fit"() {
    if (grid_layout(64, 8, 600).size !== 34) throw new Error("64 ranks have large cells");
    if (grid_layout(16384, 8, 600).height > 1300) throw new Error("16,384 ranks do not fit");
  },
};
