// A map of secret names to values as bytes, the same bytes for the same map.

export type SecretMap = Readonly<Record<string, string>>;

/** Names in code unit order, so that equal maps give equal bytes. */
export function encodeSecrets(values: SecretMap): Uint8Array {
  const entries = Object.keys(values)
    .sort()
    .map((name) => [name, values[name]]);
  return new TextEncoder().encode(JSON.stringify(entries));
}

export function decodeSecrets(bytes: Uint8Array): SecretMap {
  return Object.fromEntries(JSON.parse(new TextDecoder().decode(bytes)) as [string, string][]);
}
