import { createHash } from "node:crypto";

/** Which actor: an id is unique within its namespace only. */
export interface ActorKey {
  /** UID of the namespace's Resource: one path segment (HA-21). */
  readonly namespace: string;
  /** 1..256 characters of any kind (AN-73). */
  readonly id: string;
}

/** Ids of this form name their file themselves. Lower case only, for disks that do not tell cases apart. */
const PLAIN = /^[0-9a-z][0-9a-z_-]{0,99}$/;

/** The key of the actor's records in the shard's log. A UID holds no slash. */
export function logKey({ namespace, id }: ActorKey): string {
  return `${namespace}/${id}`;
}

export function parseLogKey(key: string): ActorKey {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), id: key.slice(slash + 1) };
}

/** The path of the actor's file below the directory of actors. Different actors never share one. */
export function actorPath({ namespace, id }: ActorKey): { readonly directory: string; readonly file: string } {
  const digest = createHash("sha256").update(id).digest("hex");
  // No plain id starts with a tilde.
  const name = PLAIN.test(id) ? id : `~${digest}`;
  return { directory: `${namespace}/${digest.slice(0, 2)}`, file: `${name}.sqlite` };
}
