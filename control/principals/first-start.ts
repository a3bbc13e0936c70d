// The first start of a node: one Space, one admin, and a file with the admin's token.
import { readIfExists, writeDurable } from "../../storage/disk/durable-file.ts";
import type { Principals } from "./principals.ts";

export const DEFAULT_SPACE = "default";
export const ADMIN_PRINCIPAL = "admin";
const FILE_LABEL = "admin-token file";

/**
 * See to it that the Space `default` exists and that the file at `path` (mode 0600) holds a working admin token. A
 * file that is missing or holds a dead token is written anew, and tokens of earlier files are revoked: deleting the
 * file is how an operator rotates it.
 */
export async function ensureAdmin(principals: Principals, path: string): Promise<void> {
  principals.createSpace(DEFAULT_SPACE);
  const kept = await readIfExists(path);
  if (kept !== null && principals.authenticate(new TextDecoder().decode(kept).trim())?.admin === true) return;
  for (const token of principals.tokens()) if (token.label === FILE_LABEL) principals.revoke(token.id);
  const issued = principals.issue({ principal: ADMIN_PRINCIPAL, spaces: [], admin: true, label: FILE_LABEL });
  await writeDurable(path, `${issued.token}\n`, 0o600);
}
