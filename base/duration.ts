// Durations as people write them.

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/** Milliseconds of `90s`, `1.5h` or `1d12h` (units d, h, m, s, ms); null when it is none or beyond 2^53-1 ms. */
export function parseDuration(text: string): number | null {
  if (!WHOLE.test(text)) return null;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(PART)) ms += Number(count) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  const whole = Math.round(ms);
  return Number.isSafeInteger(whole) ? whole : null;
}
