import { isSettled, type OperationRow } from "../../storage/control/records.ts";
import { jsonResponse } from "../response.ts";
import { encodeOperation } from "./encode.ts";
import type { HostApiConfig } from "./host-config.ts";

/** HA-31, HA-32, HA-95: 202 while unfinished, 200 once settled, `Location` always. */
export function acceptedResponse(row: OperationRow, host: HostApiConfig): Response {
  const settled = isSettled(row.status);
  return jsonResponse(encodeOperation(row), settled ? 200 : 202, {
    location: `${host.baseUrl}/operations/${row.id}`,
    ...(settled ? {} : { "retry-after": String(host.retryAfterSeconds) }),
  });
}
