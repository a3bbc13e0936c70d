import { invariant } from "../../base/invariant.ts";
import { isPlainHttpsUrl } from "../../base/ids.ts";

/** How the Host API presents itself. */
export interface HostApiConfig {
  /** The public root, e.g. `https://host.example/apis/forms.takoform.com/v2` (HA-36). `Location` is built from it. */
  readonly baseUrl: string;
  /** Absolute https URLs (HA-39). */
  readonly documentation: string;
  readonly authenticationDocumentation: string;
  /** Octets of a JSON body. */
  readonly maxRequestBytes: number;
  readonly maxPageSize: number;
  /** Told to clients that poll (HA-32). */
  readonly retryAfterSeconds: number;
  /** A mutation's answer waits so long for its Operation to settle; 0: not at all. */
  readonly settleWaitMs: number;
}

/** HA-13. */
export const STANDARD_ROOT = "/apis/forms.takoform.com/v2";
export const DISCOVERY_PATH = "/.well-known/takoform/v2";

export const DEFAULT_HOST_LIMITS = {
  maxRequestBytes: 2 * 1024 * 1024,
  maxPageSize: 200,
  retryAfterSeconds: 1,
  settleWaitMs: 0,
} as const;

/** The path of the API root on its origin: empty, or starting with a slash and not ending with one. Throws on a baseUrl that HA-36 forbids. */
export function rootPathOf(config: HostApiConfig): string {
  const { baseUrl } = config;
  invariant(isPlainHttpsUrl(baseUrl) && !baseUrl.endsWith("/"), "baseUrl is an https URL without a trailing slash");
  invariant(isPlainHttpsUrl(config.documentation), "documentation is an https URL");
  invariant(isPlainHttpsUrl(config.authenticationDocumentation), "the authentication documentation is an https URL");
  for (const limit of [config.maxRequestBytes, config.maxPageSize, config.retryAfterSeconds]) {
    invariant(Number.isSafeInteger(limit) && limit > 0, "a limit is a positive integer (HA-41)");
  }
  const { pathname } = new URL(baseUrl);
  return pathname === "/" ? "" : pathname;
}
