import { isPlainHttpsUrl } from "../../base/ids.ts";
import { UnreachableError } from "./api-error.ts";
import { type Discovery, readDiscovery } from "./host-types.ts";
import type { NodeLocation } from "./node-location.ts";

export const DISCOVERY_PATH = "/.well-known/takoform/v2";

/**
 * What a Host says about itself, checked before any credential is sent: an invalid answer is not repaired (HA-35,
 * HA-36, HA-38 … HA-41). Throws UnreachableError.
 */
export function checkDiscovery(answer: unknown, location: NodeLocation): Discovery {
  const discovery = readDiscovery(answer);
  if (discovery === null) throw invalid("it does not describe a Host API v2", location);
  const { baseUrl } = discovery;
  if (!isPlainHttpsUrl(baseUrl) || baseUrl.endsWith("/"))
    throw invalid("its baseUrl is not a legal API root", location);
  if (!isPlainHttpsUrl(discovery.documentation) || !isPlainHttpsUrl(discovery.authentication.documentation)) {
    throw invalid("its documentation is not at an https URL", location);
  }
  if (!discovery.authentication.schemes.some((scheme) => scheme.toLowerCase() === "bearer")) {
    throw invalid("it does not take bearer tokens", location);
  }
  const { must } = location.baseUrl;
  if (must === "be on the origin" && new URL(baseUrl).origin !== location.origin) {
    throw invalid("its baseUrl is on another origin", location);
  }
  if (must === "equal" && baseUrl !== location.baseUrl.value) {
    throw invalid("another node answers at the address of this one", location);
  }
  return discovery;
}

/** Where routes are appended (HA-37): the advertised root, reached through the listener that was asked. */
export function apiRoot(discovery: Discovery, location: NodeLocation): string {
  const { pathname } = new URL(discovery.baseUrl);
  return location.origin + (pathname === "/" ? "" : pathname);
}

function invalid(why: string, location: NodeLocation): UnreachableError {
  return new UnreachableError(
    `the discovery document of ${location.description} is not usable: ${why}`,
    "no credential was sent; check the address",
  );
}
