// A tenant module that patches every built-in it can reach and keeps what they are called with; then says whether any
// of it belongs to the host or leads to something of the host's.

/** Property names that the bootstrap or the engine's own JavaScript might look up on an object without having it. */
const PLANTED = (
  "then toJSON get set value writable enumerable configurable done status statusText headers body method signal " +
  "duplex redirect highWaterMark size type start pull cancel write close abort flush transform sourceText " +
  "syntheticExportNames syntheticEvaluationSteps context identifier importModuleDynamically initializeImportMeta " +
  "lineOffset columnOffset cachedData storage prev masked timeout breakOnSigint once passive capture reason " +
  "preventClose preventAbort preventCancel mode autoAllocateChunkSize path chain name message stack hook enter " +
  "requests module owner calls said kind settle onAbort controller unacknowledged stream closed credit wake stopped " +
  "reader promise resolve reject pending aborted next op id url code cause errors specifier attributes fatal " +
  "ignoreBOM stream level format bubbles cancelable composed detail 0 1 2 3 4 captureRejections defaultMaxListeners " +
  "nodeStream objectMode readableObjectMode emitClose autoDestroy chunkSize windowBits memLevel strategy handlers " +
  "classes plain withResolvers resolveDefer dispatcher proxy tls unix verbose decompress keepalive"
).split(" ");

export const SPY_MODULE = `
const T = "/*tenant*/";
const { apply, construct, ownKeys, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
const call = Function.prototype.call;
const bind = Function.prototype.bind;
const uncurry = apply(bind, bind, [call]);
const sourceOf = uncurry(Function.prototype.toString);
const setHas = uncurry(Set.prototype.has), setAdd = uncurry(Set.prototype.add);
const includes = uncurry(String.prototype.includes);
const isArray = Array.isArray, String_ = String, Response_ = Response, stringify = JSON.stringify, SetNative = Set;
const tenant = new Set(); // functions and objects of this module
const own = (value) => { /*tenant*/ setAdd(tenant, value); return value; };
const open = new Set(); // built-ins and globals
const records = { __proto__: null, length: 0 };
const kept = new Set();
let busy = false;
let recording = false;

const keep = (where, value) => { /*tenant*/
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
  if (setHas(kept, value) || setHas(tenant, value)) return;
  setAdd(kept, value);
  records[records.length++] = own({ __proto__: null, where, value });
};
const note = (where, self, args) => { /*tenant*/
  if (busy || !recording) return;
  busy = true;
  try {
    keep(where + " this", self);
    for (let i = 0; i < args.length; i++) keep(where + " argument " + i, args[i]);
  } finally { busy = false; }
};

const define = (object, key, fields) => { /*tenant*/ fields.__proto__ = null; try { return defineProperty(object, key, fields); } catch { return false; } };
const nullProto = (object) => { /*tenant*/ Reflect.setPrototypeOf(object, null); return object; };

let patched = 0;
const patch = (object, key, where) => { /*tenant*/
  const d = getOwnPropertyDescriptor(object, key);
  if (d === undefined || !d.configurable) return;
  if (typeof d.value === "function" && key !== "constructor") {
    const original = d.value;
    const spy = own(function (...args) { /*tenant*/
      note(where, this, args);
      return new.target === undefined ? apply(original, this, args) : construct(original, args, new.target);
    });
    const ks = ownKeys(original);
    for (let i = 0; i < ks.length; i++) { const k = getOwnPropertyDescriptor(original, ks[i]); if (k.configurable || ks[i] === "prototype") define(spy, ks[i], nullProto(k)); }
    if (define(object, key, { value: spy, writable: d.writable, enumerable: d.enumerable, configurable: true })) patched++;
  } else if (d.get !== undefined || d.set !== undefined) {
    const { get, set } = d;
    const ok = define(object, key, {
      get: get && own(function () { /*tenant*/ note("get " + where, this, []); return apply(get, this, []); }),
      set: set && own(function (value) { /*tenant*/ note("set " + where, this, [value]); return apply(set, this, [value]); }),
      enumerable: d.enumerable, configurable: true });
    if (ok) patched++;
  }
};

const nameOf = (object) => { /*tenant*/
  const holder = typeof object === "function" ? object : getOwnPropertyDescriptor(object, "constructor")?.value ?? {};
  const name = getOwnPropertyDescriptor(holder, "name")?.value;
  return typeof name === "string" ? name : "?";
};

export const patchAll = () => { /*tenant*/
  // Find all intrinsics first, then patch them.
  const found = [globalThis]; const seen = new SetNative(found);
  const look = (value) => { /*tenant*/
    if ((typeof value !== "object" && typeof value !== "function") || value === null || setHas(seen, value) || setHas(tenant, value)) return;
    setAdd(seen, value); found[found.length] = value;
  };
  const samples = [[][Symbol.iterator](), new Map().entries(), new Set().values(), "x"[Symbol.iterator](), /x/g[Symbol.matchAll]("x"), (function* () {})(), (async function* () {})(),
    async () => {}, new Promise(() => {}), new ReadableStream(), new Headers().entries(), new FormData().entries(), new URLSearchParams().entries(), Object(1n), crypto.subtle,
    new ReadableStream().getReader(), new WritableStream().getWriter(), new TransformStream(), new AbortController().signal, new Response("x").body, [].values().map((x) => x)];
  for (let i = 0; i < samples.length; i++) look(samples[i]);
  for (let i = 0; i < found.length; i++) {
    const at = found[i];
    look(getPrototypeOf(at));
    const keys = ownKeys(at);
    for (let k = 0; k < keys.length; k++) {
      const d = getOwnPropertyDescriptor(at, keys[k]);
      if (d === undefined) continue;
      look(d.value); look(d.get); look(d.set);
    }
  }
  // What a tenant may hold anyway needs no verdict.
  for (let i = 0; i < found.length; i++) setAdd(open, found[i]);
  for (let i = 1; i < found.length; i++) {
    const keys = ownKeys(found[i]);
    for (let k = 0; k < keys.length; k++) patch(found[i], keys[k], nameOf(found[i]) + "." + String_(keys[k]));
  }
  const planted = ${JSON.stringify([...new Set(PLANTED)])};
  const plant = (prototype, name, where) => { /*tenant*/
    if (getOwnPropertyDescriptor(prototype, name) !== undefined) return;
    define(prototype, name, {
      get: own(function () { /*tenant*/ note("planted " + where + name, this, []); return undefined; }),
      set: own(function (value) { /*tenant*/ note("planted set " + where + name, this, [value]); define(this, name, { value, writable: true, enumerable: true, configurable: true }); }),
      enumerable: false, configurable: true });
  };
  for (let i = 0; i < planted.length; i++) { plant(Object.prototype, planted[i], ""); if (planted[i] < "9") plant(Array.prototype, planted[i], "Array "); }
  const more = [Function.prototype, Promise.prototype, Error.prototype];
  for (let m = 0; m < more.length; m++) for (let i = 0; i < planted.length; i++) plant(more[m], planted[i], "deep ");
  recording = true;
  return patched;
};

const HOST_NAMES = new Set(["SourceTextModule", "SyntheticModule", "AsyncLocalStorage", "Frame", "Timeout", "Immediate", "Process", "process", "EventEmitter", "Buffer", "ModuleRecord",
  "Gzip", "Gunzip", "Zlib", "ZlibBase", "Duplex", "Transform", "Readable", "Writable"]);

/** Why a value is of the host, or undefined. */
const verdict = (value, depth, visited) => { /*tenant*/
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  if (setHas(visited, value) || setHas(tenant, value) || setHas(open, value)) return undefined;
  setAdd(visited, value);
  if (value === globalThis) return undefined;
  if (typeof value === "function") {
    const text = sourceOf(value);
    if (!includes(text, "[native code]") && !includes(text, "tenant")) return "a function of the host: " + text.slice(0, 120);
  }
  const prototype = getPrototypeOf(value);
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length; i++) {
    if (includes(String_(keys[i]), "kNative") || keys[i] === "Bun" || keys[i] === "getBuiltinModule") return "an object of the host with " + String_(keys[i]);
    if (prototype === null && typeof value === "object" && (keys[i] === "pending" || keys[i] === "settle" || keys[i] === "credit" || keys[i] === "unacknowledged" || keys[i] === "op" || keys[i] === "hook" || keys[i] === "importModuleDynamically")) return "a record of the bootstrap with " + String_(keys[i]);
    if (depth <= 0) continue;
    const d = getOwnPropertyDescriptor(value, keys[i]);
    if (d === undefined) continue;
    const why = verdict(d.value, depth - 1, visited) ?? verdict(d.get, depth - 1, visited);
    if (why !== undefined) return String_(keys[i]) + ": " + why;
  }
  let at = value;
  for (let i = 0; at !== null && i < 6; i++) {
    const d = getOwnPropertyDescriptor(at, "constructor");
    const name = d && typeof d.value === "function" ? getOwnPropertyDescriptor(d.value, "name")?.value : undefined;
    if (name !== undefined && setHas(HOST_NAMES, name)) return "an instance of " + name;
    if (depth > 0 && at !== value) { const why = verdict(at, 1, visited); if (why !== undefined) return "[[Prototype]] " + why; }
    at = getPrototypeOf(at);
  }
  return undefined;
};

export const report = () => { /*tenant*/
  recording = false;
  busy = true;
  const bad = [];
  for (let i = 0; i < records.length; i++) {
    const why = verdict(records[i].value, 3, new SetNative());
    if (why !== undefined) defineProperty(bad, bad.length, { __proto__: null, value: records[i].where + " -> " + why, writable: true, enumerable: true, configurable: true });
  }
  busy = false;
  let text = "";
  for (let i = 0; i < bad.length; i++) text += bad[i] + "\\n";
  return patched + " patched, " + (records.length > 20 ? "many" : "only " + records.length) + " values seen\\n" + text;
};
`;
