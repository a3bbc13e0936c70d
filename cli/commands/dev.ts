import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { SystemClock } from "../../base/clock.ts";
import { SystemRandom } from "../../base/random.ts";
import { DevServer } from "../dev/dev-server.ts";
import { DevWorker } from "../dev/dev-worker.ts";
import { KEYS_TEXT, listenToKeys, type Key } from "../dev/keyboard.ts";
import { LinesReporter, PeopleReporter } from "../dev/people-reporter.ts";
import { projectsWith } from "../dev/projects.ts";
import { restartProcess } from "../node/restart.ts";
import { type ProjectCommandFlags, projectFor, withProject } from "../project-options.ts";
import { secretValues } from "../project/secrets.ts";
import { askHidden, isPerson } from "../prompt.ts";

interface DevFlags extends ProjectCommandFlags {
  readonly with: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly persist?: string | true;
  readonly json?: boolean;
}

const PERSISTED = ".atoll/dev";

export function devCommand(): Command {
  const command = new Command("dev").description("run a Worker on this machine, and again at every save");
  return withProject(command)
    .option("--with <dirs...>", "projects that run beside it, for its service bindings", [])
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .addOption(new Option("--port <port>", "port to listen on; 0 picks a free one").argParser(port).default(8787))
    .option("--persist [dir]", `keep what is stored, in this directory (default: ${PERSISTED} in the project)`)
    .option("--json", "print one JSON object a line")
    .action(dev);
}

async function dev(entry: string | undefined, flags: DevFlags): Promise<void> {
  const clock = new SystemClock();
  // What the author waited for begins with the process.
  const startedMs = clock.monotonicMs() - process.uptime() * 1_000;
  const cwd = process.cwd();
  const data = dataDirectory(flags, resolve(cwd, flags.project ?? "."));
  const server = { stop: (_code: number): void => {} };
  const onStuckCell = (): void => {
    process.stderr.write("atoll: a Worker is inside native code that cannot be stopped; starting again\n");
    data.remove();
    restartProcess();
  };
  try {
    const workers = await workersOf(entry, flags, { clock, cwd, onStuck: onStuckCell });
    const json = flags.json === true;
    const print = (text: string): void => void process.stdout.write(text);
    const colour = !json && process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
    const hasKeys = !json && isPerson();
    const reporter = json
      ? new LinesReporter(print)
      : new PeopleReporter({
          clock,
          colour,
          severalWorkers: workers.length > 1,
          keys: hasKeys ? KEYS_TEXT : null,
          print,
        });
    const listen = `${flags.host.includes(":") ? `[${flags.host}]` : flags.host}:${flags.port}`;
    const running = new DevServer({
      clock,
      random: new SystemRandom(),
      cwd,
      workers,
      data: data.path,
      listen,
      colour,
      reporter,
      startedMs,
      onStuckCell,
    });
    const stopped = untilStopped(server);
    try {
      await running.start();
    } catch (error) {
      await running.close();
      throw error;
    }
    const release = hasKeys ? listenToKeys(process.stdin, (key) => onKey(key, running, () => server.stop(0))) : null;
    await stopped;
    release?.();
    await running.close();
  } finally {
    data.remove();
  }
  process.exit(0);
}

async function workersOf(
  entry: string | undefined,
  flags: DevFlags,
  parts: { readonly clock: SystemClock; readonly cwd: string; readonly onStuck: () => void },
): Promise<readonly DevWorker[]> {
  const main = await projectFor(entry, flags);
  const beside = await projectsWith(
    main,
    flags.with.map((directory) => resolve(parts.cwd, directory)),
  );
  const answers = new Map<string, Promise<string>>();
  const ask = (name: string): Promise<string> => {
    const answer = answers.get(name) ?? askHidden(`value of the secret ${name}: `);
    answers.set(name, answer);
    return answer;
  };
  const { env } = process;
  const file = flags.secretsFile;
  const common = {
    ...parts,
    alsoWatch: file === undefined ? [] : [resolve(parts.cwd, file)],
    secrets: ({ secrets }: { readonly secrets: readonly string[] }) =>
      secretValues(secrets, { env, file, cwd: parts.cwd, ask: isPerson() ? ask : null }),
  };
  return [
    new DevWorker(main, { ...common, load: () => projectFor(entry, flags) }),
    ...beside.map(({ project, load }) => new DevWorker(project, { ...common, load })),
  ];
}

function onKey(key: Key, running: DevServer, quit: () => void): void {
  switch (key) {
    case "restart":
      running.restart().catch((error: unknown) => {
        process.stderr.write(`atoll: the node could not be started again: ${String(error)}\n`);
        quit();
      });
      return;
    case "open":
      openInBrowser(running.url);
      return;
    case "quit":
      quit();
  }
}

/** Best effort: where there is no browser, the address in the terminal is enough. */
function openInBrowser(url: string): void {
  process.stdout.write(`${url}\n`);
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  try {
    Bun.spawn([opener, url], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).unref();
  } catch {
    // Not installed.
  }
}

/** Resolves at the first signal or call of `stop`; a second signal ends the process at once. */
function untilStopped(server: { stop: (code: number) => void }): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals > 1) process.exit(1);
    resolve();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  server.stop = () => resolve();
  return promise;
}

interface DataDirectory {
  readonly path: string;
  remove(): void;
}

function dataDirectory({ persist }: DevFlags, project: string): DataDirectory {
  if (persist !== undefined) {
    return { path: persist === true ? join(project, PERSISTED) : resolve(persist), remove: () => {} };
  }
  const path = mkdtempSync(join(tmpdir(), "atoll-dev-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

function port(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= 65_535)) throw new InvalidArgumentError("write a port from 0 to 65535.");
  return value;
}
