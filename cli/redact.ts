// What keeps secrets out of log lines when a field was chosen carelessly. The rule of base/log.ts stands: secrets never
// enter a field; this is the net below it.

const HIDDEN = "[redacted]";
/** Deeper or larger values are cut off, not followed: a log line is bounded. */
const DEPTH_MAX = 6;
const ENTRIES_MAX = 100;
const TEXT_MAX = 4_096;

/** Ends of field names whose values are secret, compared without case and punctuation: `adminToken`, `set-cookie`. */
const SECRET_NAME =
  /(?:authorization|cookie|token|secret|secrets|password|passphrase|apikey|privatekey|secretkey|credential|credentials|privateinputs)$/;
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]+/gi;

/** A copy of `value` that is fit for a log line: JSON-like, bounded, and without what looks like a secret. */
export function redact(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case "string":
      return shorten(value).replace(BEARER, `$1 ${HIDDEN}`);
    case "bigint":
    case "symbol":
    case "function":
      return String(value).slice(0, TEXT_MAX);
    case "object":
      return value === null ? null : redactObject(value, depth);
    default:
      return value;
  }
}

function redactObject(value: object, depth: number): unknown {
  if (depth >= DEPTH_MAX) return "[deeper]";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Error) return redactError(value, depth);
  if (value instanceof Map || value instanceof Set) return redact([...value], depth);
  if (Array.isArray(value)) {
    const shown = value.slice(0, ENTRIES_MAX).map((item) => redact(item, depth + 1));
    return value.length > ENTRIES_MAX ? [...shown, `[${value.length - ENTRIES_MAX} more]`] : shown;
  }
  const copy: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value).slice(0, ENTRIES_MAX)) {
    copy[name] = isSecretName(name) && item !== undefined && item !== null ? HIDDEN : redact(item, depth + 1);
  }
  return copy;
}

function redactError(error: Error, depth: number): object {
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    ...(code === undefined ? {} : { code: redact(code, depth + 1) }),
    message: redact(error.message, depth + 1),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
    // The first frames say where; a whole stack says it to nobody.
    at: redact(
      error.stack
        ?.split("\n")
        .slice(1, 4)
        .map((line) => line.trim()),
      depth + 1,
    ),
  };
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replace(/[^a-z]/g, ""));
}

function shorten(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
