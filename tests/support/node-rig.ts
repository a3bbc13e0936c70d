// A node as an operator runs it, and Workers on it as a tenant deploys them: a process of its own, the public API, real
// sockets. Nothing here reaches behind what users have.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ResourceUid } from "../../base/ids.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  MODULE_WORKER,
  WORKER_BUNDLE,
  WORKER_DEPLOYMENT,
  WORKER_ENDPOINT,
  WORKER_VERSION,
} from "../../control/forms/form-urls.ts";
import type { HandlerName } from "../../runtime/workers/worker-runtime.ts";
import { deploymentSpec, endpointSpec, ref, versionSpec } from "./forms/chain.ts";
import { type ApiAnswer, NodeApi } from "./node-api.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

export interface NodeOptions {
  /** Content of the config file. */
  readonly config?: JsonObject;
}

export interface Ready {
  readonly http: string;
  readonly https: string;
  readonly baseUrl: string;
  readonly adminTokenFile: string;
  readonly pid: number;
}

/** Module files by path. A path's extension says its media type; the first one is the entrypoint. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

export interface VersionOptions {
  /** One module `main.js` when it is text. */
  readonly files: string | Files;
  readonly handlers?: readonly HandlerName[];
  readonly vars?: JsonObject;
  readonly secrets?: Readonly<Record<string, string>>;
  /** Binding name → Worker uid. */
  readonly services?: Readonly<Record<string, string>>;
}

export interface Deployed {
  readonly worker: ResourceUid;
  readonly version: ResourceUid;
  readonly deployment: ResourceUid;
  readonly endpoint: ResourceUid;
  readonly hostname: string;
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  js: "application/javascript+module",
  txt: "text/plain",
  bin: "application/octet-stream",
  wasm: "application/wasm",
  map: "application/source-map+json",
};

export class TestNode implements AsyncDisposable {
  readonly #directory = temporaryDirectory();
  readonly data = join(this.#directory.path, "data");
  readonly #configFile = join(this.#directory.path, "atoll.host.json");
  #child!: Bun.Subprocess<"ignore", "pipe", "pipe">;
  ready!: Ready;
  api!: NodeApi;
  /** Everything the node has logged, over all its lives. */
  log = "";

  private constructor() {}

  static async start(options: NodeOptions = {}): Promise<TestNode> {
    const node = new TestNode();
    try {
      await node.configure(options.config ?? {});
      await node.restart();
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw error;
    }
    return node;
  }

  /** What the next start reads. */
  async configure(config: JsonObject): Promise<void> {
    await Bun.write(this.#configFile, JSON.stringify(config));
  }

  /** Start again on the same data directory and ports, after the process has ended. */
  async restart(): Promise<void> {
    this.#child = this.spawn();
    void this.#collect(this.#child.stderr);
    const line = await firstLine(this.#child.stdout);
    if (line === null) throw new Error(`the node does not start: ${this.log}`);
    this.ready = JSON.parse(line) as Ready;
    const token = readFileSync(this.ready.adminTokenFile, "utf8").trim();
    this.api = new NodeApi(this.ready.http, this.ready.baseUrl, token);
  }

  /** A process on this node's data directory: the node itself, or one that has to be refused. */
  spawn(): Bun.Subprocess<"ignore", "pipe", "pipe"> {
    const address = (url: string | undefined): string => (url === undefined ? "127.0.0.1:0" : new URL(url).host);
    const isAlive = this.#child?.exitCode === null && this.#child.signalCode === null;
    const again = isAlive ? undefined : this.ready;
    const listen = ["--listen", address(again?.http), "--tls-listen", address(again?.https)];
    return Bun.spawn(
      [join(ROOT, "bin/atoll"), "serve", "--config", this.#configFile, "--data", this.data, ...listen, "--json"],
      { cwd: this.#directory.path, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    );
  }

  async kill9(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }

  signal(signal: "SIGTERM" | "SIGINT"): void {
    this.#child.kill(signal);
  }

  /** The exit code, once the process has ended. */
  get exited(): Promise<number> {
    return this.#child.exited;
  }

  /** Resident memory of the process in bytes. */
  rssBytes(): number {
    const status = readFileSync(`/proc/${this.ready.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** Resolves when the log has `text` behind `from`. */
  async logged(text: string, from = 0): Promise<void> {
    await eventually(() => this.log.includes(text, from), `the log never says ${text}`);
  }

  /** A verified bundle. */
  async bundle(files: string | Files): Promise<ResourceUid> {
    return await this.api.done(await this.createBundle(files));
  }

  async createBundle(files: string | Files): Promise<ApiAnswer> {
    const entries = Object.entries(typeof files === "string" ? { "main.js": files } : files);
    const listed = await Promise.all(
      entries.map(async ([path, content]) => {
        const sha256 = await this.upload(typeof content === "string" ? Buffer.from(content) : content);
        const mediaType = MEDIA_TYPES[path.slice(path.lastIndexOf(".") + 1)];
        return { path, url: artifactUrl(sha256), sha256, mediaType };
      }),
    );
    const manifest = JSON.stringify({ entrypoint: entries[0]?.[0], files: listed });
    const sha256 = await this.upload(Buffer.from(manifest));
    return await this.api.create(WORKER_BUNDLE, { artifact: { url: artifactUrl(sha256), sha256 } });
  }

  async upload(bytes: Uint8Array): Promise<string> {
    const body = new Uint8Array(bytes);
    const sha256 = new Bun.CryptoHasher("sha256").update(body).digest("hex");
    const { status, text } = await this.api.call("PUT", `/operator/v1/artifacts/sha256/${sha256}?space=default`, {
      body,
    });
    if (status !== 200 && status !== 201) throw new Error(`the upload failed: ${status} ${text}`);
    return sha256;
  }

  async worker(name?: string): Promise<ResourceUid> {
    return await this.api.done(this.api.create(MODULE_WORKER, {}, name === undefined ? {} : { name }));
  }

  /** The answer to the create of a Version, whatever it is. */
  async createVersion(worker: string, options: VersionOptions): Promise<ApiAnswer> {
    const bundle = await this.bundle(options.files);
    const { handlers = ["fetch"], vars, secrets = {}, services = {} } = options;
    const names = Object.keys(secrets);
    const spec = versionSpec(worker, bundle, {
      handlers,
      ...(vars && { vars }),
      ...(names.length > 0 && { requiredSensitiveVars: names }),
      serviceBindings: Object.entries(services).map(([name, uid]) => ({ name, resource: ref(uid) })),
    });
    return await this.api.create(WORKER_VERSION, spec, names.length > 0 ? { privateInputs: secrets } : {});
  }

  async version(worker: string, options: VersionOptions | string): Promise<ResourceUid> {
    return await this.api.done(this.createVersion(worker, typeof options === "string" ? { files: options } : options));
  }

  async deployment(worker: string, weights: Readonly<Record<string, number>>): Promise<ResourceUid> {
    return await this.api.done(this.api.create(WORKER_DEPLOYMENT, deploymentSpec(worker, weights)));
  }

  /** Make `weights` the Worker's distribution. */
  async switch(deployed: Deployed, weights: Readonly<Record<string, number>>): Promise<void> {
    await this.api.done(this.api.update(deployed.deployment, deploymentSpec(deployed.worker, weights)));
  }

  async endpoint(worker: string): Promise<{ readonly endpoint: ResourceUid; readonly hostname: string }> {
    const endpoint = await this.api.done(this.api.create(WORKER_ENDPOINT, endpointSpec(worker)));
    return { endpoint, hostname: (await this.api.resource(endpoint)).output.hostname };
  }

  /** Worker, Version, Deployment with all the weight, and endpoint. */
  async deploy(options: VersionOptions | string): Promise<Deployed> {
    const worker = await this.worker();
    const version = await this.version(worker, options);
    const deployment = await this.deployment(worker, { [version]: 10_000 });
    return { worker, version, deployment, ...(await this.endpoint(worker)) };
  }

  /** A request on the plain listener, addressed to a Worker (or to any host name). */
  async fetch(to: { readonly hostname: string }, path = "/", init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("host", to.hostname);
    return await fetch(this.ready.http + path, { redirect: "manual", ...init, headers });
  }

  async text(to: { readonly hostname: string }, path = "/", init: RequestInit = {}): Promise<string> {
    return await (await this.fetch(to, path, init)).text();
  }

  // biome-ignore lint: tests read whatever came
  async json(to: { readonly hostname: string }, path = "/", init: RequestInit = {}): Promise<any> {
    const text = await this.text(to, path, init);
    try {
      return JSON.parse(text);
    } catch {
      throw new Error(`not JSON: ${text}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined) await this.kill9();
    this.#directory[Symbol.dispose]();
  }

  async #collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) this.log += text;
  }
}

/** Look until `condition` holds; fails the test after a time that no healthy machine needs. */
export async function eventually(condition: () => boolean | Promise<boolean>, otherwise: string): Promise<void> {
  const untilMs = performance.now() + 15_000;
  while (!(await condition())) {
    if (performance.now() > untilMs) throw new Error(otherwise);
    await Bun.sleep(5);
  }
}

/** The node holds the bytes, so nobody is asked for them; the host name cannot exist. */
function artifactUrl(sha256: string): string {
  return `https://artifacts.invalid/${sha256}`;
}

async function firstLine(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string | null> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  return null;
}
