import { expect, test } from "bun:test";
import { ProcessCell } from "../../sandbox/process-cell.ts";
import { CellRig, handlerRig, type RigOptions } from "../support/cell-rig.ts";
import { describeCell } from "./cell.ts";

describeCell({ name: "ProcessCell", open: (...given) => new ProcessCell(...given) });

const inProcess = (options: RigOptions = {}): RigOptions => ({
  ...options,
  open: (...given) => new ProcessCell(...given),
});

/** (module (func (export "f") (loop (br 0)))) */
const ENDLESS_WASM = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11,
  11,
]);

/** A module (i32 memory.atomic.wait on shared memory it declares itself, no timeout), exported as "f". */
const WAITING_WASM = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 5, 4, 1, 3, 1, 1, 7, 5, 1, 1, 102, 0, 0, 10, 14, 1,
  12, 0, 65, 0, 65, 0, 66, 127, 254, 1, 2, 0, 11,
];

// The engine leaves these only with its process.
test.each([
  ["a loop in WebAssembly", "new WebAssembly.Instance(m).exports.f();"],
  [
    "a wait on shared memory inside WebAssembly",
    `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${JSON.stringify(WAITING_WASM)}))).exports.f();`,
  ],
])(
  "C2: it ends even inside native code: %s",
  async (_, body) => {
    await using rig = new CellRig(
      {
        "main.js": `import m from "./m.wasm"; export default { fetch() { ${body} } };`,
        "m.wasm": { wasm: ENDLESS_WASM },
      },
      inProcess({ cpuMs: 200 }),
    );
    await rig.loaded();
    rig.start("/").result.catch(() => {});
    expect(await rig.cell.closed).toBe("cpu");
    expect(rig.stuck).toBe(0);
  },
  15_000,
);

test("C2: and inside the compiler", async () => {
  await using rig = new CellRig({ "main.js": `x = ${"[".repeat(60)}` }, inProcess({ cpuMs: 200 }));
  expect(await rig.loaded().catch((error: Error) => error.name)).toBe("CellStopped");
  expect(await rig.cell.closed).toBe("cpu");
}, 15_000);

test("C1: a process that dies by itself fails what is open", async () => {
  await using rig = handlerRig("await new Promise(() => {});", inProcess());
  await rig.loaded();
  const running = rig.start("/");
  const children = (await Bun.$`pgrep -P ${process.pid}`.quiet().nothrow().text()).trim().split("\n");
  for (const pid of children) process.kill(Number(pid), "SIGKILL");
  expect(await rig.cell.closed).toBe("crashed");
  expect(await running.result.catch((error: Error) => error.name)).toBe("CellStopped");
});
