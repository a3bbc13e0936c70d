// What an operator can set, and what is taken when nobody does. The one place where a key of the config file is named;
// docs/configuration.md explains the same keys to people.
import { z } from "zod";
import { DEFAULT_HOST_LIMITS } from "../api/host/host-config.ts";
import { isPlainHttpsUrl } from "../base/ids.ts";
import { INTEGER_MAX } from "../base/limits.ts";
import { DEFAULT_CONTROL_CONFIG } from "../control/control-config.ts";
import { readAllowEntry } from "../runtime/egress/allow-entry.ts";

/** Every object refuses keys that it does not know: a misspelt limit must not silently be no limit. */
const keys = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape, "must be an object");

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

const count = (maximum = INTEGER_MAX) =>
  z
    .int(`must be a whole number from 1 to ${maximum}`)
    .min(1, `must be a whole number from 1 to ${maximum}`)
    .max(maximum, `must be a whole number from 1 to ${maximum}`);

const address = z
  .string('must be "host:port"')
  .regex(
    /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):\d{1,5}$/,
    'must be "host:port", for example "127.0.0.1:8080"; port 0 picks a free one',
  )
  .refine((text) => Number(text.slice(text.lastIndexOf(":") + 1)) <= 65_535, "must have a port from 0 to 65535");

const domain = z
  .string("must be a DNS name")
  .max(180, "must leave room for a label in front: at most 180 characters")
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'must be a DNS name in lower case without a final dot, for example "workers.example.com"',
  );

// HA-36: the discovery document stands at the origin's root, so an origin is what can be configured.
const httpsOrigin = z
  .string("must be an https origin")
  .refine(
    (text) => isPlainHttpsUrl(text) && URL.parse(text)?.origin === text,
    'must be an https origin without a path or final slash, for example "https://atoll.example.com"',
  );

const allowEntry = z
  .string("must be an origin, host, address or network")
  .refine(
    isAllowEntry,
    'must be an origin ("https://host:8443"), a host ("host", "*.domain", "host:port"), an address or a network ("10.0.0.0/8")',
  );

const allowedOrigin = keys({
  origin: httpsOrigin.meta({
    description: "Exact origin from which artifacts may be fetched, also on a private network.",
  }),
  authorization: z
    .string("must be text")
    .regex(/^[\x20-\x7e]+$/, "must be printable ASCII")
    .meta({ description: "Value of the Authorization header for this origin; sent to no other." })
    .optional(),
});

export const HostFileSchema = keys({
  $schema: z.string("must be text").optional().meta({ description: "For editors; ignored." }),
  data: z
    .string("must be a path")
    .min(1, "must be a path")
    .default(".atoll/data")
    .meta({ description: "Data directory, relative to this file." }),
  listen: address.default("127.0.0.1:8080").meta({ description: "Plain HTTP listener." }),
  tlsListen: address.default("127.0.0.1:8443").meta({ description: "TLS listener." }),
  endpointDomain: domain
    .default("atoll.localhost")
    .meta({ description: "Host names of Worker endpoints are assigned below it." }),
  publicUrl: httpsOrigin
    .optional()
    .meta({ description: "Origin at which clients reach the Host API; by default that of the TLS listener." }),
  tls: keys({
    certFile: z
      .string("must be a path")
      .min(1, "must be a path")
      .meta({ description: "PEM certificate chain, relative to this file." }),
    keyFile: z
      .string("must be a path")
      .min(1, "must be a path")
      .meta({ description: "PEM private key, relative to this file." }),
  })
    .optional()
    .meta({
      description: "Certificate of the TLS listener; by default one of a local authority made at the first start.",
    }),
  limits: keys({
    cpuMs: count(3_600_000)
      .default(30_000)
      .meta({ description: "Active CPU time of one event of a Worker, in milliseconds." }),
    memoryMb: count(1_048_576).default(256).meta({ description: "Memory at which a cell is stopped, in MiB." }),
    requestBytes: count(67_108_864)
      .default(DEFAULT_HOST_LIMITS.maxRequestBytes)
      .meta({ description: "Largest JSON body of the Host API, decoded (HA-41)." }),
    pageSize: count(10_000)
      .default(DEFAULT_HOST_LIMITS.maxPageSize)
      .meta({ description: "Largest page of a list (HA-42)." }),
    unfinishedOperations: count(1_000_000)
      .default(DEFAULT_CONTROL_CONFIG.unfinishedMax)
      .meta({ description: "Unfinished Operations at once; beyond it new ones are refused." }),
  }).prefault({}),
  replayWindowSeconds: count(31_536_000)
    .default(DEFAULT_CONTROL_CONFIG.replayWindowMs / 1_000)
    .meta({ description: "How long an accepted request can be replayed (HA-42)." }),
  egress: keys({
    allow: z
      .array(allowEntry, "must be a list")
      .default([])
      .meta({ description: "Destinations Workers may reach although they are private, local or reserved." }),
  }).prefault({}),
  artifacts: keys({
    allowOrigins: z
      .array(allowedOrigin, "must be a list")
      .default([])
      .meta({ description: "Origins of artifacts that are private or need a credential." }),
  }).prefault({}),
  log: keys({
    level: z
      .enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`)
      .default("info")
      .meta({ description: "Least important lines that are logged." }),
  }).prefault({}),
  isolation: z.enum(["thread"], 'must be "thread"').default("thread").meta({ description: "What a cell is made of." }),
  drainSeconds: count(3_600).default(30).meta({ description: "How long a stopping node waits for what is running." }),
}).meta({ title: "Atoll host configuration" });

export type HostFile = z.output<typeof HostFileSchema>;

/** The schema of the config file, for editors (JSON Schema 2020-12). */
export function hostFileJsonSchema(): object {
  return z.toJSONSchema(HostFileSchema, { io: "input" });
}

function isAllowEntry(text: string): boolean {
  try {
    readAllowEntry(text);
    return true;
  } catch {
    return false;
  }
}
