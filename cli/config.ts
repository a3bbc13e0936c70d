// Flags, environment and config file, merged into one frozen value. A flag beats the environment, the environment beats
// the file, the file beats the defaults.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { type HostFile, HostFileSchema } from "./config-schema.ts";
import { complaint } from "./complaint.ts";
import { UsageError } from "./usage-error.ts";

export interface Listener {
  readonly hostname: string;
  /** 0 picks a free one. */
  readonly port: number;
}

/** Everything that an operator set or left alone. Paths are absolute. */
export type Config = Readonly<Omit<HostFile, "$schema" | "listen" | "tlsListen">> & {
  readonly listen: Listener;
  readonly tlsListen: Listener;
};

/** Flags of `atoll serve` as commander names them. */
export interface ConfigFlags {
  readonly config?: string;
  readonly data?: string;
  readonly listen?: string;
  readonly tlsListen?: string;
  readonly endpointDomain?: string;
  readonly publicUrl?: string;
  readonly logLevel?: string;
}

interface Override {
  readonly flag: keyof ConfigFlags;
  /** As people write it. */
  readonly option: string;
  readonly variable: string;
  /** Key of the config file. */
  readonly key: string;
}

const OVERRIDES: readonly Override[] = [
  { flag: "data", option: "--data", variable: "ATOLL_DATA", key: "data" },
  { flag: "listen", option: "--listen", variable: "ATOLL_LISTEN", key: "listen" },
  { flag: "tlsListen", option: "--tls-listen", variable: "ATOLL_TLS_LISTEN", key: "tlsListen" },
  { flag: "endpointDomain", option: "--endpoint-domain", variable: "ATOLL_ENDPOINT_DOMAIN", key: "endpointDomain" },
  { flag: "publicUrl", option: "--public-url", variable: "ATOLL_PUBLIC_URL", key: "publicUrl" },
  { flag: "logLevel", option: "--log-level", variable: "ATOLL_LOG_LEVEL", key: "log.level" },
];

/** Rejects with a UsageError that names the key, the flag or the variable at fault and what it should be. */
export async function loadConfig(options: {
  readonly flags: ConfigFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}): Promise<Config> {
  const { flags, env, cwd } = options;
  const configPath = flags.config ?? (env.ATOLL_CONFIG || undefined);
  const path = configPath === undefined ? null : resolve(cwd, configPath);
  const input: Record<string, unknown> = path === null ? {} : { ...(await readConfigFile(path, configPath ?? "")) };
  const fileDirectory = path === null ? cwd : dirname(path);

  // Whose value stands at a key, so that a complaint names what the operator has to change.
  const sources = new Map<string, string>();
  for (const { flag, option, variable, key } of OVERRIDES) {
    const given = flags[flag];
    const value = given ?? (env[variable] || undefined);
    if (value === undefined) continue;
    put(input, key, value);
    sources.set(key, given === undefined ? variable : option);
  }
  const result = HostFileSchema.safeParse(input);
  if (!result.success)
    throw new UsageError(complaint(result.error, HostFileSchema, configPath ?? "configuration", sources));
  return deepFreeze(toConfig(result.data, sources.has("data") ? cwd : fileDirectory, fileDirectory));
}

async function readConfigFile(path: string, name: string): Promise<JsonObject> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new UsageError(`${name} cannot be read; check the path given with --config`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${name} is not valid JSON: ${error instanceof Error ? error.message : "syntax error"}`);
  }
  if (!isJsonObject(value)) throw new UsageError(`${name} must hold one JSON object`);
  return value;
}

function put(input: Record<string, unknown>, key: string, value: string): void {
  const [head = "", tail] = key.split(".");
  if (tail === undefined) {
    input[head] = value;
    return;
  }
  const inner = input[head];
  // A file that says something impossible here keeps its own complaint.
  if (inner === undefined || isJsonObject(inner)) input[head] = { ...inner, [tail]: value };
}

function toConfig(file: HostFile, dataBase: string, fileDirectory: string): Config {
  const { $schema: _, listen, tlsListen, tls, data, ...rest } = file;
  return {
    ...rest,
    data: resolve(dataBase, data),
    listen: toListener(listen),
    tlsListen: toListener(tlsListen),
    ...(tls === undefined
      ? {}
      : { tls: { certFile: resolve(fileDirectory, tls.certFile), keyFile: resolve(fileDirectory, tls.keyFile) } }),
  };
}

function toListener(text: string): Listener {
  const colon = text.lastIndexOf(":");
  return { hostname: text.slice(0, colon).replace(/^\[(.*)\]$/, "$1"), port: Number(text.slice(colon + 1)) };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
