import { AtollError } from "../../base/errors.ts";

/** Names that the platform gives to a certificate it does not accept. */
const CERTIFICATE_CODES = /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA)/;

/** What the platform says about a request that it will not write down. */
const MALFORMED_CODES = new Set(["ERR_INVALID_CHAR", "ERR_INVALID_HTTP_TOKEN", "ERR_UNESCAPED_CHARACTERS"]);

/**
 * What a failure of the platform's network layer is for the outside: `backend_unavailable` in plain words, without
 * the addresses and names that the platform's own message carries; `invalid_request` when the request itself is at fault. An AtollError passes as it is.
 */
export function networkFault(error: unknown): AtollError {
  if (error instanceof AtollError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (MALFORMED_CODES.has(code)) {
    return new AtollError("invalid_request", "The request contains a character that HTTP does not allow there.");
  }
  return new AtollError("backend_unavailable", sentenceFor(code), { cause: error });
}

function sentenceFor(code: string): string {
  if (CERTIFICATE_CODES.test(code)) return "The server's certificate is not accepted for this host name.";
  if (code === "ECONNREFUSED") return "The server refused the connection.";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "The host name has no address.";
  if (code.startsWith("HPE_")) return "The server's answer is not valid HTTP.";
  return "The connection failed before the response was there.";
}
