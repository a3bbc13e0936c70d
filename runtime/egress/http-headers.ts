// Header lists as they travel: which fields belong to one connection and never pass through (RFC 9110, 7.6.1).

/** Names in any case with their values, in order; a name may repeat. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Fields that belong to one connection, in lower case. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The list without the fields of one connection and those that its Connection field names; names in lower case. */
export function endToEnd(headers: HeaderList): [string, string][] {
  const dropped = new Set(HOP_BY_HOP);
  for (const value of valuesOf(headers, "connection")) {
    for (const token of value.split(",")) dropped.add(token.trim().toLowerCase());
  }
  return headers
    .map(([name, value]): [string, string] => [name.toLowerCase(), value])
    .filter(([name]) => !dropped.has(name));
}

export function valuesOf(headers: HeaderList, name: string): string[] {
  return headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
}

export function without(headers: HeaderList, names: ReadonlySet<string>): [string, string][] {
  return headers.filter(([name]) => !names.has(name.toLowerCase())).map(([name, value]) => [name, value]);
}

/**
 * The length that a Content-Length field declares; null when there is none, or none that can be believed: fields that
 * disagree, or anything but digits.
 */
export function declaredLength(headers: HeaderList): number | null {
  const values = new Set(valuesOf(headers, "content-length").map((value) => value.trim()));
  const [value = ""] = values;
  if (values.size !== 1 || !/^\d{1,15}$/.test(value)) return null;
  return Number(value);
}
