// JSON numbers that a double cannot hold.
//
// Equality of JSON goes by mathematical value, also where the nearest doubles coincide (HA-116, WV-42). Such a number
// stays what its sender wrote: an opaque object that `JSON.stringify` writes back digit by digit. Whoever expects an
// ordinary number or an integer meets an object and refuses it, which is right: no bounded integer of any contract
// needs one.

/** Opaque; made by `numberAsWritten` only. */
export interface ExactNumber {
  readonly rawJSON: string;
}

/** The two functions of the source-text proposal, which the platform has and its type library lacks. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
};

/** `text` is one valid JSON number. */
export function numberAsWritten(text: string): ExactNumber {
  return json.rawJSON(text);
}

/** True only for what `numberAsWritten` made: no object that came out of a JSON text can pass for one. */
export function isExactNumber(value: unknown): value is ExactNumber {
  return json.isRawJSON(value);
}

/** Reads what `JSON.stringify` wrote, exact numbers included. Throws SyntaxError on anything else. */
export function parseWrittenJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // What comes out of the way back is what went in, unless a number lost digits; nearly always this settles it.
  if (JSON.stringify(value) === text) return value;
  return JSON.parse(text, keepDigits);
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  return typeof value === "number" && source !== undefined && String(value) !== source
    ? numberAsWritten(source)
    : value;
}
