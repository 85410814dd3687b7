// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the ruler: a mesh as a product of axes whose prime factors move from one axis to another.

import { AXES } from "./state.js";

/** @typedef {{axis: string, size: number}} Axis */

/**
 * pp=4,tp=2 as axes, in the order of the text.
 * @param {string} text @returns {Axis[]}
 */
export function parse_mesh(text) {
  return text.split(",").filter((part) => part.includes("=")).map((part) => {
    const [axis, size] = part.split("=");
    return { axis: axis.trim(), size: Math.max(1, Math.trunc(Number(size)) || 1) };
  });
}

/** @param {Axis[]} mesh */
export function print_mesh(mesh) {
  return mesh.filter(({ size }) => size > 1).map(({ axis, size }) => `${axis}=${size}`).join(",");
}

/** @param {Axis[]} mesh @param {string} axis */
export function size_of(mesh, axis) {
  return mesh.find((one) => one.axis === axis)?.size ?? 1;
}

/** @param {Axis[]} mesh */
export function ranks_of(mesh) {
  return mesh.reduce((product, { size }) => product * size, 1);
}

/**
 * 12 is 2, 2, 3.
 * @param {number} value @returns {number[]}
 */
export function prime_factors(value) {
  const factors = [];
  let rest = value;
  for (let prime = 2; prime * prime <= rest; ++prime) {
    while (rest % prime === 0) {
      factors.push(prime);
      rest /= prime;
    }
  }
  if (rest > 1) factors.push(rest);
  return factors;
}

/**
 * The mesh with another size of one axis; an axis that appears takes its place in the usual order.
 * @param {Axis[]} mesh @param {string} axis @param {number} size @returns {Axis[]}
 */
export function resized(mesh, axis, size) {
  if (mesh.some((one) => one.axis === axis)) return mesh.map((one) => (one.axis === axis ? { axis, size } : one));
  const place = mesh.findIndex((one) => AXES.indexOf(one.axis) > AXES.indexOf(axis));
  const at = place < 0 ? mesh.length : place;
  return [...mesh.slice(0, at), { axis, size }, ...mesh.slice(at)];
}

/**
 * The mesh after a factor has moved; null where `from` does not have it. The number of ranks stays.
 * @param {Axis[]} mesh @param {string} from @param {string} to @param {number} factor @returns {Axis[] | null}
 */
export function move_factor(mesh, from, to, factor) {
  const size = size_of(mesh, from);
  if (from === to || factor < 2 || size % factor !== 0) return null;
  return resized(resized(mesh, from, size / factor), to, size_of(mesh, to) * factor);
}

/**
 * The axis that gives and takes factors where no other is named: the data axis.
 * @param {Axis[]} mesh
 */
export function data_axis(mesh) {
  if (size_of(mesh, "fsdp") > 1) return "fsdp";
  return size_of(mesh, "dp") > 1 ? "dp" : "fsdp";
}

/**
 * The axis that + and - of an axis exchange factors with.
 * @param {Axis[]} mesh @param {string} axis
 */
export function partner_of(mesh, axis) {
  const data = data_axis(mesh);
  if (axis !== data) return data;
  const others = AXES.filter((one) => one !== axis && size_of(mesh, one) > 1);
  return others.includes("dp") ? "dp" : others[others.length - 1] ?? (axis === "dp" ? "fsdp" : "dp");
}

/**
 * The mesh after + (up) or - (down) on an axis: a prime factor from or to its partner. Null: there is none.
 * @param {Axis[]} mesh @param {string} axis @param {"up" | "down"} way @returns {Axis[] | null}
 */
export function step_axis(mesh, axis, way) {
  const partner = partner_of(mesh, axis);
  const [from, to] = way === "up" ? [partner, axis] : [axis, partner];
  const factors = prime_factors(size_of(mesh, from));
  return factors.length > 0 ? move_factor(mesh, from, to, factors[0]) : null;
}

/**
 * The mesh for another number of ranks: the data axis gives or takes. Null: it cannot.
 * @param {Axis[]} mesh @param {number} ranks @returns {Axis[] | null}
 */
export function with_ranks(mesh, ranks) {
  const axis = data_axis(mesh);
  const others = ranks_of(mesh) / size_of(mesh, axis);
  return ranks >= 1 && ranks % others === 0 ? resized(mesh, axis, ranks / others) : null;
}
