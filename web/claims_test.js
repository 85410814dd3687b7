// SPDX-License-Identifier: Apache-2.0
// Claims about modules of the page, run in the browser: each file *_test.js exports `claims`, functions by name.

/** @param {unknown} found @param {unknown} wanted @param {string} [what] */
export function equal(found, wanted, what = "") {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`${what} is ${left}, not ${right}`);
}

/** @param {() => unknown} act @param {string} words */
export function refuses(act, words) {
  try {
    act();
  } catch (error) {
    const text = String(/** @type {Error} */ (error).message);
    if (text.includes(words)) return;
    throw new Error(`says ${text}, not ${words}`);
  }
  throw new Error(`does not refuse: ${words}`);
}

/**
 * Numbers that are the same in every run.
 * @param {number} seed
 */
export function random_numbers(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

/**
 * What is wrong with the claims of a module; empty: nothing.
 * @param {Record<string, () => void>} claims
 */
export function broken(claims) {
  return Object.entries(claims).flatMap(([name, claim]) => {
    try {
      claim();
      return [];
    } catch (error) {
      return [`${name}: ${/** @type {Error} */ (error).message}`];
    }
  });
}
