// npm start: a node with an example Worker on it, and the line to try.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { ROOT } from "./commands.mjs";

const ATOLL = `${ROOT}bin/atoll`;
const DATA = process.env.ATOLL_DATA || ".atoll/data";
const EXAMPLE = "examples/hello/worker.ts";
/** A terminal and npm each pass the same Ctrl+C on; the two arrive within this time, in milliseconds. */
const ECHO_MS = 500;
const ORPHAN_LOOK_MS = 250;

/** Serve until a signal comes; `args` go to `atoll serve`. Resolves to the exit code. */
export async function start(args) {
  const http = await freePort(8080);
  const https = await freePort(8443);
  const listen = ["--listen", `127.0.0.1:${http}`, "--tls-listen", `127.0.0.1:${https}`];
  const server = spawn(ATOLL, ["serve", "--data", DATA, ...listen, "--json", ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ATOLL_LOG_LEVEL: "warn", ...process.env },
    // A process group of its own, so that a Ctrl+C reaches it once, through us, and it can drain.
    detached: true,
  });
  const exited = new Promise((resolve) => {
    server.once("exit", (code) => resolve(code ?? 1));
    server.once("error", (error) => {
      console.error(error.message);
      resolve(1);
    });
  });
  forwardSignals(server);

  const ready = await Promise.race([readyLine(server.stdout), exited.then(() => null)]);
  if (ready === null) return exited;
  const deployed = await deploy();
  if (deployed === null) {
    server.kill("SIGTERM");
    await exited;
    return 1;
  }
  console.log(`
Atoll is running, and the Worker of ${EXAMPLE} is deployed on it.

  its address   ${deployed.url}
  try it        curl -H 'Host: ${deployed.hostname}' ${ready.http}/
  the node      ${ready.http}   ${ready.https}
  its data      ${DATA}

Change the example and deploy it again:  bin/atoll deploy ${EXAMPLE} --name hello
Stop with Ctrl+C.`);
  return exited;
}

function readyLine(stdout) {
  return new Promise((resolve) => {
    const lines = createInterface({ input: stdout });
    lines.on("line", (line) => {
      try {
        const event = JSON.parse(line);
        if (event.event === "ready") resolve(event);
      } catch {
        console.log(line);
      }
    });
  });
}

function deploy() {
  return new Promise((resolve) => {
    const child = spawn(ATOLL, ["deploy", EXAMPLE, "--name", "hello", "--data", DATA, "--json"], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text) => {
      output += text;
    });
    child.once("close", (code) => resolve(code === 0 ? JSON.parse(output) : null));
  });
}

function forwardSignals(server) {
  let last = Number.NEGATIVE_INFINITY;
  const stop = () => {
    const now = performance.now();
    if (now - last < ECHO_MS) return;
    last = now;
    server.kill("SIGTERM");
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  // npm runs us under a shell that may die of a signal without passing it on.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    stop();
  }, ORPHAN_LOOK_MS);
  watch.unref();
}

/** `preferred`, or 0 for any other when somebody listens there already. */
function freePort(preferred) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(0));
    probe.listen(preferred, "127.0.0.1", () => probe.close(() => resolve(preferred)));
  });
}
