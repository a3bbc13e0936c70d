// The `atoll` command with one thing more: at SIGUSR2 a thread goes into native code from which only the end of the
// process takes it, and the process replaces itself as it does when it finds such a thread.
import { main } from "../../cli/main.ts";
import { restartProcess } from "../../cli/node/restart.ts";

const SLEEP_FOR_EVER = `
  const { dlopen } = require("bun:ffi");
  const libc = dlopen("libc.so.6", { sleep: { args: ["u32"], returns: "u32" } });
  postMessage("asleep");
  libc.symbols.sleep(1_000_000);
`;

const args = process.argv.slice(2);
process.on("SIGUSR2", () => {
  const thread = new Worker(URL.createObjectURL(new Blob([SLEEP_FOR_EVER])));
  thread.addEventListener("message", () => {
    thread.terminate();
    restartProcess();
  });
});
// As a binary it starts itself as a cell, too.
if (args[0] === "__cell") await import("../../sandbox/process-main.ts");
else process.exitCode = await main(args);
