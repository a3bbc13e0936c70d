import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const root = new URL("../../", import.meta.url).pathname;

// Four times what is kept in memory, and far more than a pipe holds.
const PROGRAM = `
  import { SystemClock } from "./base/clock.ts";
  import { createLogger } from "./cli/log.ts";
  import { StderrSink } from "./cli/stderr-sink.ts";
  const clock = new SystemClock();
  const sink = new StderrSink(clock);
  const log = createLogger({ level: "info", format: "lines", clock, sink });
  for (let i = 0; i < 16_384; i++) {
    log.info("line", { i, text: "x".repeat(1_000) });
    if (i % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  console.log("still alive");
  for await (const _ of console) break;
  await sink.flush();
  process.exit(0);
`;

// The reader of the log reads nothing until something is written to the named pipe. (Bun reads the pipes of its own
// children as soon as they are there, so it takes a shell to leave one unread.)
const PIPELINE = `{ "$1" -e "$2" 2>&1 1>&3 | { read go <"$3"; cat >"$4"; }; } 3>&1`;

test("a log that nobody reads holds up nothing, and once it is read it tells how much was dropped", async () => {
  using directory = temporaryDirectory();
  const [gate, log] = [join(directory.path, "gate"), join(directory.path, "log")];
  expect(Bun.spawnSync(["mkfifo", gate]).exitCode).toBe(0);
  const child = Bun.spawn(["sh", "-c", PIPELINE, "sh", process.execPath, PROGRAM, gate, log], {
    cwd: root,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const first = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(first.value)).toContain("still alive");
  await writeFile(gate, "go\n");
  void child.stdin.write("go\n");
  void child.stdin.flush();
  expect(await child.exited).toBe(0);

  const lines = (await Bun.file(log).text()).trimEnd().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as { message: string; i?: number; dropped?: number });
  const kept = parsed.filter((line) => line.message === "line").map((line) => line.i ?? -1);
  const dropped = parsed.reduce((sum, line) => sum + (line.dropped ?? 0), 0);
  expect(dropped).toBeGreaterThan(0);
  expect(kept.length + dropped).toBe(16_384);
  expect(kept).toEqual(kept.toSorted((a, b) => a - b));
}, 20_000);
