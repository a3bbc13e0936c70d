import { expect, test } from "bun:test";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const OWNER = new URL("./timer-owner.ts", import.meta.url).pathname;

/** A child process whose lines are read one by one. */
class Owner {
  readonly lines: string[] = [];
  readonly #child;
  readonly #reading: Promise<void>;
  #watch: { readonly when: (line: string) => boolean; readonly seen: PromiseWithResolvers<void> } | null = null;

  constructor(...args: string[]) {
    this.#child = Bun.spawn([process.execPath, OWNER, ...args], { stdout: "pipe", stderr: "inherit" });
    this.#reading = this.#read();
  }

  /** Resolves at the first line, past or future, that `when` accepts; rejects when the process ends without one. */
  async line(when: (line: string) => boolean): Promise<void> {
    if (this.lines.some(when)) return;
    this.#watch = { when, seen: Promise.withResolvers() };
    await this.#watch.seen.promise;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
    await this.#reading;
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const chunk of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        this.lines.push(line);
        if (this.#watch?.when(line)) this.#watch.seen.resolve();
      }
    }
    this.#watch?.seen.reject(new Error("the process ended early"));
  }
}

const withWord = (lines: readonly string[], word: string): Set<string> =>
  new Set(lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1)));

for (const moment of ["set key-60", "fired key-30", "set key-1500"]) {
  test(`H2, S1, S2: kill -9 of the owner at "${moment}" loses no due time that was acknowledged`, async () => {
    using directory = temporaryDirectory();
    const first = new Owner(directory.path, "set", "2000");
    await first.line((line) => line === moment);
    await first.kill();
    const set = withWord(first.lines, "set");
    expect(set.size).toBeGreaterThan(50);

    // The lock of the killed process is gone with it, so the successor opens the shard at once.
    const second = new Owner(directory.path, "deliver");
    const delivered = withWord(first.lines, "fired");
    const missing = (): string[] => [...set].filter((key) => !delivered.has(key));
    await second.line(() => {
      for (const key of withWord(second.lines, "fired")) delivered.add(key);
      return second.lines.includes("ready") && missing().length === 0;
    });
    await second.kill();
    expect(missing()).toEqual([]);
  }, 20_000);
}
