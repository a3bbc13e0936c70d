// What the spies listen to: one step for each thing that a handler can set in motion.
import { CellRig, outsideAnswer, readAnswer } from "../../../support/cell-rig.ts";
import { SPY_MODULE } from "./spy-module.ts";

const MAIN = `
import { patchAll, report } from "./spy.js";
const work = {
  patch: () => new Response(String(patchAll())),
  report: () => new Response(report()),
  plain: () => new Response("x"),
  json: () => Response.json({ a: [1] }),
  echo: (request) => new Response(request.body),
  text: async (request) => new Response(String((await request.text()).length)),
  large: () => new Response("y".repeat(600000)),
  stream: () => { /*tenant*/ let n = 0; return new Response(new ReadableStream({ pull(c) { /*tenant*/ if (n++ < 5) c.enqueue(new Uint8Array(70000)); else c.close(); } })); },
  broken: () => { /*tenant*/ return new Response(new ReadableStream({ pull() { /*tenant*/ throw new Error("broken"); } })); },
  endless: () => { /*tenant*/ return new Response(new ReadableStream({ pull(c) { /*tenant*/ c.enqueue(new Uint8Array(1000)); } })); },
  headers: (request) => new Response(null, { status: 204, headers: request.headers }),
  throws: () => { /*tenant*/ throw new Error("thrown"); },
  nothing: () => undefined,
  console: () => { /*tenant*/ console.log("a %s %o", 1, { a: [1, { b: 2 }] }, new Error("e"), new Map([[1, 2]]), [1, 2]); console.table([1]); console.trace("t"); console.count(); console.time("t"); console.timeEnd("t"); console.assert(false, "x"); return new Response(""); },
  timers: async () => { /*tenant*/ let n = 0; await new Promise((resolve) => { /*tenant*/ const i = setInterval(() => { /*tenant*/ if (++n > 2) { clearInterval(i); resolve(); } }, 1); setTimeout(() => { /*tenant*/ throw new Error("in a timer"); }, 0, 1, 2); queueMicrotask(() => { /*tenant*/ throw new Error("in a microtask"); }); }); return new Response(""); },
  call: async () => { /*tenant*/ const r = await fetch("https://outside.example/", { method: "POST", body: "b", headers: { a: "b" } }); return new Response(await r.text()); },
  upload: async () => { /*tenant*/ let n = 0; const r = await fetch("https://outside.example/stream", { method: "POST", duplex: "half", body: new ReadableStream({ pull(c) { /*tenant*/ if (n++ < 3) c.enqueue(new Uint8Array(100000)); else c.close(); } }) }); return new Response(r.body); },
  refused: async () => { /*tenant*/ try { await fetch("https://refused.example/"); } catch (error) { return new Response(error.message); } return new Response("?"); },
  aborted: async () => { /*tenant*/ const c = new AbortController(); const p = fetch("https://slow.example/", { signal: c.signal }); c.abort(); try { await p; } catch (error) { return new Response(error.name); } return new Response("?"); },
  service: async (request, env) => { /*tenant*/ const r = await env.peer.fetch("https://peer/"); return new Response(await r.text()); },
  imports: async () => { /*tenant*/ const [a, b, c, d] = await Promise.all([import("./late.js"), import("./late.txt", { with: { type: "text" } }), import("./late.bin"), import("./cycle-a.js")]); let e = ""; try { await import("./nowhere.js"); } catch (error) { e = error.name; } try { await import("./bad.js"); } catch (error) { e += error.name; } try { await import("./throws.js"); } catch (error) { e += error.message; } return new Response([a.default, b.default, c.default.byteLength, d.default, e].join()); },
  waits: (request, env, ctx) => { /*tenant*/ ctx.waitUntil(Promise.reject(new Error("late"))); ctx.waitUntil(new Promise((resolve) => { /*tenant*/ setTimeout(resolve, 5); })); return new Response(""); },
  listeners: async () => { /*tenant*/
    const t = new EventTarget(); t.addEventListener("x", () => { /*tenant*/ throw new Error("in a listener"); }, { once: true }); t.dispatchEvent(new Event("x"));
    const c = new AbortController(); c.signal.onabort = () => { /*tenant*/ throw new Error("onabort"); }; c.abort();
    await new Promise((resolve) => { /*tenant*/ setTimeout(resolve, 5); }); return new Response("");
  },
  rejections: async () => { /*tenant*/ Promise.reject(new Error("nobody's")); await new Promise((resolve) => { /*tenant*/ setTimeout(resolve, 5); }); return new Response(""); },
  leak: () => { Reflect.apply([].map, [() => 1], [() => 2]); return new Response(""); },
  platform: async () => { /*tenant*/
    structuredClone({ a: new Map([[1, { b: 2 }]]), d: new Date() }); atob(btoa("x")); new URL("https://a/b?c#d").searchParams.get("c"); new TextDecoder().decode(new TextEncoder().encode("x"));
    await crypto.subtle.digest("SHA-256", new Uint8Array(3)); crypto.randomUUID(); const form = new FormData(); form.append("a", new Blob(["x"])); await new Response(form).formData(); await new Blob(["x"]).arrayBuffer(); await new Blob(["abc"]).stream().getReader().read();
    const [one, two] = new Response("teed").body.tee(); await new Response(one).text(); await new Response(two).text(); await new Request("https://x/", { method: "POST", body: "x" }).clone().text();
    try { await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])); } catch {} AbortSignal.timeout(1); await Array.fromAsync(new Response("x").body);
    return new Response("");
  },
  pipes: async () => { /*tenant*/
    const upper = new TransformStream({ transform(chunk, c) { /*tenant*/ c.enqueue(chunk); } });
    const a = await new Response(new Response("abc").body.pipeThrough(upper)).text();
    const b = await new Response(new Response("abc".repeat(1000)).body.pipeThrough(new TextDecoderStream()).pipeThrough(new TextEncoderStream())).text();
    return new Response(a + b.length);
  },
  zips: async () => { /*tenant*/
    const zipped = new Response("abc".repeat(1000)).body.pipeThrough(new CompressionStream("gzip"));
    return new Response(String((await new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).text()).length));
  },
};
export default { async fetch(request, env, ctx) { /*tenant*/ return work[new URL(request.url).pathname.slice(1)](request, env, ctx); } };
`;

export function openSpyRig(): CellRig {
  return new CellRig(
    {
      "main.js": MAIN,
      "spy.js": SPY_MODULE,
      "late.js": "export default 1;",
      "late.txt": { text: "late" },
      "late.bin": { bytes: new Uint8Array(7) },
      "cycle-a.js": `import { b } from "./cycle-b.js"; export const a = 1; export default b;`,
      "cycle-b.js": `import { a } from "./cycle-a.js"; export const b = 3; export const late = () => a;`,
      "bad.js": "export default ;",
      "throws.js": "throw new Error('thrown at the top');",
    },
    {
      services: ["peer"],
      call: (call) => {
        if (call.url.includes("refused")) return Promise.reject(new Error("secret reason"));
        if (call.url.includes("slow")) return new Promise(() => {});
        return Promise.resolve(outsideAnswer(call.body instanceof ReadableStream ? call.body : "from outside"));
      },
    },
  );
}

export const STEPS = [
  "plain",
  "json",
  "echo",
  "text",
  "large",
  "stream",
  "broken",
  "headers",
  "throws",
  "nothing",
  "console",
  "timers",
  "call",
  "upload",
  "refused",
  "aborted",
  "service",
  "imports",
  "waits",
  "platform",
  "pipes",
  "zips",
];

export async function runStep(rig: CellRig, name: string): Promise<string> {
  const body = name === "echo" || name === "text" ? new Response("z".repeat(300_000)).body : null;
  const running = rig.start(`/${name}`, { headers: [["x-a", "b"]], body });
  try {
    const { status, text } = await readAnswer(await running.result);
    return `${status} ${text.length > 80 ? text.length : text}`;
  } catch (error) {
    return error instanceof Error ? error.name : "?";
  } finally {
    await running.ended;
  }
}
