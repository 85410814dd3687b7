// SPDX-License-Identifier: Apache-2.0
/** @type {import("./main.js").Screen} */
export const time_screen = { build() {} };
