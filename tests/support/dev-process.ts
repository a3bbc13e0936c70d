// `atoll dev` as an author runs it: a process of its own, heard through its JSON lines.
import { join } from "node:path";
import type { DevEvent } from "../../cli/dev/dev-event.ts";

const ATOLL = new URL("../../bin/atoll", import.meta.url).pathname;
/** No healthy machine needs longer for one event. */
const EVENT_MS_MAX = 15_000;

type Named<Name extends DevEvent["event"]> = DevEvent & { readonly event: Name };

export class DevProcess implements AsyncDisposable {
  readonly #child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  readonly #events: DevEvent[] = [];
  #heard = Promise.withResolvers<void>();
  #ended = false;
  /** Events before this one have been looked at. */
  #next = 0;
  stderr = "";

  constructor(cwd: string, args: readonly string[] = [], env: Record<string, string> = {}) {
    this.#child = Bun.spawn([ATOLL, "dev", ...args, "--port", "0", "--json"], {
      cwd,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      env: { ...process.env, ...env },
    });
    void this.#read();
    void new Response(this.#child.stderr).text().then((text) => {
      this.stderr = text;
    });
  }

  /** The next event of this name that has not been looked at; those before it are passed over. */
  async next<Name extends DevEvent["event"]>(name: Name): Promise<Named<Name>> {
    const late = AbortSignal.timeout(EVENT_MS_MAX);
    for (;;) {
      for (; this.#next < this.#events.length; this.#next++) {
        const event = this.#events[this.#next];
        if (event?.event !== name) continue;
        this.#next++;
        return event as Named<Name>;
      }
      if (this.#ended || late.aborted) {
        throw new Error(`no ${name} after ${JSON.stringify(this.#events)} ${this.stderr}`);
      }
      await Promise.race([this.#heard.promise, Bun.sleep(100)]);
    }
  }

  /** Ctrl+C; the exit code. */
  async interrupt(): Promise<number> {
    this.#child.kill("SIGINT");
    return await this.#child.exited;
  }

  get exited(): Promise<number> {
    return this.#child.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) await this.interrupt();
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#events.push(JSON.parse(line) as DevEvent);
      this.#heard.resolve();
      this.#heard = Promise.withResolvers();
    }
    this.#ended = true;
    this.#heard.resolve();
  }
}

/** A Worker whose answer is `text`, after the lines in `before`. */
export async function writeWorker(directory: string, text: string, before = ""): Promise<void> {
  const source = `export default {\n  async fetch(request: Request): Promise<Response> {\n${before}    return new Response(${JSON.stringify(text)});\n  },\n};\n`;
  await Bun.write(join(directory, "worker.ts"), source);
}
