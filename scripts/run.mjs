// The door to every npm script: makes sure that the pinned dependencies are installed, then runs the task.
// Plain Node.js 20 without dependencies, because on a fresh clone there are none.
//
//   node scripts/run.mjs start|test|check|format|build|bench [arguments]
import { installDependencies } from "./install.mjs";

const TASKS = {
  start: async (args) => (await import("./start.mjs")).start(args),
  test: async (args) => (await import("./test.mjs")).test(args),
  check: async () => (await import("./check.mjs")).check(),
  format: async () => (await import("./check.mjs")).format(),
  build: async (args) => (await import("./build.mjs")).build(args),
  bench: async (args) => (await import("./bench.mjs")).bench(args),
};

const [name = "", ...args] = process.argv.slice(2);
const task = TASKS[name];
if (task === undefined) {
  console.error(`usage: node scripts/run.mjs ${Object.keys(TASKS).join("|")} [arguments]`);
  process.exit(2);
}
installDependencies();
process.exitCode = await task(args);
