import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { SystemClock } from "../../base/clock.ts";
import type { ResourceUid, Sha256Hex, SpaceName } from "../../base/ids.ts";
import type { AllowedOrigin } from "../../control/artifacts/artifact-source.ts";
import { HeldOrFetchedAcquirer } from "../../control/artifacts/held-or-fetched-acquirer.ts";
import type { Resolver } from "../../runtime/egress/resolver.ts";
import { ArtifactStore } from "../../storage/artifacts/artifact-store.ts";
import { temporaryDirectory } from "./temporary-directory.ts";
import { testCertificate } from "./test-certificate.ts";
import { scripted } from "./vetted-client.ts";

export const SPACE = "default" as SpaceName;
export const OTHER_SPACE = "other" as SpaceName;
export const OWNER = "bundle-1" as ResourceUid;
export const OTHER_OWNER = "bundle-2" as ResourceUid;

export const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
export const digestOf = (bytes: Uint8Array): Sha256Hex => createHash("sha256").update(bytes).digest("hex") as Sha256Hex;

let certificate: ReturnType<typeof testCertificate> | null = null;

/** The certificate of every source: for `artifacts.test` and `other.test`, by an authority that the rig trusts. */
export function sourceCertificate(): ReturnType<typeof testCertificate> {
  certificate ??= testCertificate("artifacts.test", "other.test");
  return certificate;
}

/** An https source on loopback; `seen` are the heads of the requests it got. */
export async function source(answer: (url: URL) => Response | Promise<Response>) {
  const { certPem, keyPem } = await sourceCertificate();
  const seen: Headers[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: certPem, key: keyPem },
    fetch(request) {
      seen.push(request.headers as Headers);
      return answer(new URL(request.url));
    },
  });
  const origin = `https://artifacts.test:${server.port}`;
  return { seen, origin, port: server.port ?? 0, [Symbol.asyncDispose]: () => server.stop(true) };
}

export interface AcquisitionOptions {
  readonly allow?: readonly (string | AllowedOrigin)[];
  readonly resolver?: Resolver;
  readonly clock?: Clock;
  readonly totalMs?: number;
  readonly idleMs?: number;
}

/** A store with an acquirer in front, for which every name is 127.0.0.1. */
export async function acquisitionRig(options: AcquisitionOptions = {}) {
  const directory = temporaryDirectory();
  const { caPem } = await sourceCertificate();
  const { allow = [], resolver = scripted(["127.0.0.1"]), clock = new SystemClock(), ...bounds } = options;
  const open = async (allowed: readonly (string | AllowedOrigin)[] = allow) => {
    const store = await ArtifactStore.open(directory.path, { clock });
    const allowOrigins = allowed.map((each) => (typeof each === "string" ? { origin: each } : each));
    const acquirer = new HeldOrFetchedAcquirer({
      store,
      clock,
      resolver,
      allowOrigins,
      extraCaPem: [caPem],
      ...bounds,
    });
    return { store, acquirer };
  };
  let current = await open();
  return {
    directory: directory.path,
    get store() {
      return current.store;
    },
    get acquirer() {
      return current.acquirer;
    },
    /** Close everything and open it again on the same directory. */
    async restart(allowed?: readonly (string | AllowedOrigin)[]) {
      current.store.close();
      current = await open(allowed);
    },
    acquire(url: string, sha256: Sha256Hex, more: { bytesMax?: number; space?: SpaceName; owner?: ResourceUid } = {}) {
      return current.acquirer.acquire({ url, sha256, bytesMax: 1_000_000, space: SPACE, owner: OWNER, ...more });
    },
    [Symbol.dispose]() {
      current.store.close();
      directory[Symbol.dispose]();
    },
  };
}
