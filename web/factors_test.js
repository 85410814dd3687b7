// SPDX-License-Identifier: Apache-2.0
// The ruler's arithmetic: whatever moves, the number of ranks stays.

import { equal, random_numbers } from "./claims_test.js";
import { data_axis, move_factor, parse_mesh, prime_factors, print_mesh, ranks_of, size_of, step_axis, with_ranks } from "./factors.js";
import { AXES } from "./state.js";

/** @type {Record<string, () => void>} */
export const claims = {
  "factors are prime and multiply to the number"() {
    for (let value = 1; value < 2000; ++value) {
      const factors = prime_factors(value);
      equal(factors.reduce((product, factor) => product * factor, 1), value);
      for (const factor of factors) equal(prime_factors(factor), [factor]);
    }
  },
  "moves keep the number of ranks, and are undone by the opposite move"() {
    const next = random_numbers(3);
    for (let i = 0; i < 1000; ++i) {
      const mesh = parse_mesh(AXES.map((axis) => `${axis}=${1 + Math.floor(next() * 12)}`).join(","));
      const [from, to] = [AXES[Math.floor(next() * 6)], AXES[Math.floor(next() * 6)]];
      for (const factor of prime_factors(size_of(mesh, from))) {
        const moved = move_factor(mesh, from, to, factor);
        if (from === to) { equal(moved, null); continue; }
        equal(moved && ranks_of(moved), ranks_of(mesh));
        equal(moved && print_mesh(move_factor(moved, to, from, factor) ?? []), print_mesh(mesh));
      }
    }
  },
  "plus and minus of an axis undo each other"() {
    for (const text of ["pp=4,fsdp=8,tp=2", "dp=8,tp=2", "fsdp=64", "cp=2,fsdp=12"]) {
      const mesh = parse_mesh(text);
      for (const axis of AXES) {
        const up = step_axis(mesh, axis, "up");
        if (up) equal(ranks_of(up), ranks_of(mesh), `${text} ${axis}`);
      }
      equal(print_mesh(step_axis(step_axis(mesh, "tp", "up") ?? [], "tp", "down") ?? []), text);
    }
  },
  "an axis that appears takes its place in the usual order"() {
    equal(print_mesh(move_factor(parse_mesh("pp=4,fsdp=8,tp=2"), "fsdp", "cp", 2) ?? []), "pp=4,fsdp=4,cp=2,tp=2");
    equal(print_mesh(move_factor(parse_mesh("tp=2,pp=4"), "pp", "tp", 2) ?? []), "tp=4,pp=2");
  },
  "a factor that is not there cannot move"() {
    equal(move_factor(parse_mesh("tp=3"), "tp", "dp", 2), null);
    equal(move_factor(parse_mesh("tp=4"), "dp", "tp", 2), null);
  },
  "more ranks go to the data axis"() {
    equal(print_mesh(with_ranks(parse_mesh("pp=4,fsdp=8,tp=2"), 128) ?? []), "pp=4,fsdp=16,tp=2");
    equal(with_ranks(parse_mesh("pp=4,fsdp=8,tp=2"), 12), null);
    equal(data_axis(parse_mesh("dp=2,tp=2")), "dp");
  },
};
