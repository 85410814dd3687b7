// SPDX-License-Identifier: Apache-2.0
// Figures as text: three significant digits, decimal units, a true minus sign.

/** @param {number} value @param {number} [digits] */
export function significant(value, digits = 3) {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.max(0, Math.min(12, decimals)));
}

const LARGE = ["", "k", "M", "G", "T", "P", "E"];

/**
 * 71.3 GB.
 * @param {number} bytes
 */
export function bytes_text(bytes) {
  return `${scaled(bytes)}B`;
}

/**
 * 8.03 G, for counts.
 * @param {number} value
 */
export function scaled(value) {
  let index = 0;
  let rest = Math.abs(value);
  while (rest >= 999.5 && index + 1 < LARGE.length) {
    rest /= 1000;
    index += 1;
  }
  const sign = value < 0 ? "\u2212" : "";
  return `${sign}${index === 0 && Number.isInteger(rest) ? rest : significant(rest)} ${LARGE[index]}`;
}

/**
 * 8.03B parameters, 702k tokens/s.
 * @param {number} value
 */
export function count_text(value) {
  if (value < 10000) return Math.round(value).toLocaleString("en");
  const [digits, unit] = scaled(value).split(" ");
  return digits + (unit === "G" ? "B" : unit);
}

/**
 * 6.62 s, 31.2 ms, 4.00 us.
 * @param {number} seconds
 */
export function seconds_text(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 999.5e-9) return `${significant(seconds * 1e9)} ns`;
  if (size < 999.5e-6) return `${significant(seconds * 1e6)} \u00b5s`;
  if (size < 0.9995) return `${significant(seconds * 1e3)} ms`;
  return `${significant(seconds)} s`;
}

/**
 * 57.0 %.
 * @param {number} share
 */
export function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}

/**
 * +0.41 s, with a true minus.
 * @param {number} value @param {(value: number) => string} text
 */
export function signed(value, text) {
  if (value === 0) return "\u00b10";
  return (value > 0 ? "+" : "\u2212") + text(Math.abs(value));
}

/**
 * 16,384.
 * @param {number} value
 */
export function whole(value) {
  return value.toLocaleString("en");
}
