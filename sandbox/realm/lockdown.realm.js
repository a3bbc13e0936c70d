// Part 2: what a realm loses before tenant code runs. The rule is an allow-list: a global that is not named here goes.

const ALLOWED_GLOBALS = [
  // The language, without what compiles strings, makes realms or blocks the thread.
  "Infinity",
  "undefined",
  "NaN",
  "isNaN",
  "isFinite",
  "parseInt",
  "parseFloat",
  "escape",
  "unescape",
  "decodeURI",
  "decodeURIComponent",
  "encodeURI",
  "encodeURIComponent",
  "Object",
  "Function",
  "Boolean",
  "Symbol",
  "Number",
  "BigInt",
  "Math",
  "Date",
  "String",
  "RegExp",
  "Temporal",
  "Array",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "BigInt64Array",
  "BigUint64Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "ArrayBuffer",
  "DataView",
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "FinalizationRegistry",
  "Iterator",
  "Promise",
  "Proxy",
  "Reflect",
  "JSON",
  "Intl",
  "Atomics",
  "WebAssembly",
  "DisposableStack",
  "AsyncDisposableStack",
  "Error",
  "AggregateError",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "SuppressedError",
  // The web.
  "AbortController",
  "AbortSignal",
  "Blob",
  "ByteLengthQueuingStrategy",
  "CompressionStream",
  "CountQueuingStrategy",
  "Crypto",
  "CryptoKey",
  "CustomEvent",
  "DOMException",
  "DecompressionStream",
  "Event",
  "EventTarget",
  "File",
  "FormData",
  "Headers",
  "ReadableByteStreamController",
  "ReadableStream",
  "ReadableStreamBYOBReader",
  "ReadableStreamBYOBRequest",
  "ReadableStreamDefaultController",
  "ReadableStreamDefaultReader",
  "Request",
  "Response",
  "SubtleCrypto",
  "TextDecoder",
  "TextDecoderStream",
  "TextEncoder",
  "TextEncoderStream",
  "TransformStream",
  "TransformStreamDefaultController",
  "URL",
  "URLPattern",
  "URLSearchParams",
  "WritableStream",
  "WritableStreamDefaultController",
  "WritableStreamDefaultWriter",
  "atob",
  "btoa",
  "crypto",
  // Replaced below by versions of our own.
  "globalThis",
  "self",
  "eval",
  "console",
  "fetch",
  "performance",
  "navigator",
  "queueMicrotask",
  "structuredClone",
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
];

const hide = (object, name, value) =>
  ReflectDefineProperty(object, name, {
    __proto__: null,
    value,
    writable: true,
    enumerable: false,
    configurable: true,
  });

/** Report a tenant's uncaught error to the log; set by a later part. */
let reportUncaught = () => {};

const removeGlobals = () => {
  const allowed = { __proto__: null };
  for (let i = 0; i < ALLOWED_GLOBALS.length; i++) allowed[ALLOWED_GLOBALS[i]] = true;
  const names = ReflectOwnKeys(globalThis);
  for (let i = 0; i < names.length; i++) {
    // `Bun` cannot be deleted; modules shadow the identifier and the facade hides the property.
    if (allowed[names[i]] !== true) ReflectDeleteProperty(globalThis, names[i]);
  }
};

/** Code from strings would compile with a loader that reaches built-in modules. */
const forbidCodeFromStrings = () => {
  const refuse = () => {
    throw new NativeEvalError("code from strings is not allowed here");
  };
  const Refusing = function Function() {
    refuse();
  };
  ReflectDefineProperty(Refusing, "prototype", { __proto__: null, value: FunctionPrototype, writable: false });
  const samples = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (let i = 0; i < samples.length; i++) hide(ReflectGetPrototypeOf(samples[i]), "constructor", Refusing);
  hide(globalThis, "Function", Refusing);
  hide(globalThis, "eval", function eval_() {
    refuse();
  });
};

/** An error that nobody caught, for example in an event listener, would end the thread. */
const guardUncaught = () => {
  nodeProcess.on("uncaughtException", (error) => reportUncaught(error));
};

/** Module records stay in the bootstrap, and should one get out, nothing leads from it to their constructor. */
const sealModuleRecords = () => {
  ReflectDeleteProperty(ModuleRecord.prototype, "constructor");
};

/** What the engine adds to the web's classes, and what could block the thread. */
const trimWebClasses = () => {
  const blobExtras = ["delete", "exists", "stat", "unlink", "write", "writer", "image", "json", "formData"];
  const extras = [
    [Blob.prototype, blobExtras],
    [File.prototype, blobExtras],
    [URL, ["createObjectURL", "revokeObjectURL"]],
    [Atomics, ["wait", "waitAsync", "notify", "pause"]],
    [WebAssembly, ["compileStreaming", "instantiateStreaming"]],
    [Error, ["appendStackTrace"]],
  ];
  for (let i = 0; i < extras.length; i++) {
    for (let j = 0; j < extras[i][1].length; j++) {
      const name = extras[i][1][j];
      // Some cannot be deleted, but all can be emptied.
      if (!ReflectDeleteProperty(extras[i][0], name))
        ReflectDefineProperty(extras[i][0], name, { __proto__: null, value: undefined, writable: false });
    }
  }
  // Call sites of prepareStackTrace would expose host frames.
  ReflectDefineProperty(Error, "prepareStackTrace", {
    __proto__: null,
    get: () => undefined,
    set: () => {},
    enumerable: false,
    configurable: false,
  });
};

/** Memory that threads could share is of no use to a tenant, and waiting on it would block the thread. */
const refuseSharedMemory = () => {
  const NativeMemory = WebAssembly.Memory;
  function Memory(descriptor) {
    if (new.target === undefined) throw new NativeTypeError("calling WebAssembly.Memory without 'new' is invalid");
    const memory = ReflectConstruct(NativeMemory, [descriptor], new.target === Memory ? NativeMemory : new.target);
    if (isSharedArrayBuffer(memoryBuffer(memory))) throw new NativeTypeError("shared memory is not available");
    return memory;
  }
  ReflectDefineProperty(Memory, "prototype", { __proto__: null, value: NativeMemory.prototype, writable: false });
  hide(NativeMemory.prototype, "constructor", Memory);
  hide(WebAssembly, "Memory", Memory);
};

/** Web IDL reads a missing `this` of these methods as the global object, which would reach past the facade. */
const guardEventTarget = () => {
  const guard = (method) => {
    const guarded = {
      [method.name](type, listener, options) {
        if (this === undefined || this === null || this === globalThis) throw new NativeTypeError("Illegal invocation");
        return ReflectApply(method, this, [type, listener, options]);
      },
    };
    return guarded[method.name];
  };
  hide(EventTarget.prototype, "addEventListener", guard(nativeAddEventListener));
  hide(EventTarget.prototype, "removeEventListener", guard(nativeRemoveEventListener));
  hide(EventTarget.prototype, "dispatchEvent", guard(nativeDispatchEvent));
};

/** A timer belongs to the invocation that set it, and goes with it; see `work` for the accounts. */
const installTimers = () => {
  const timers = new NativeMap();
  let lastTimer = 0;
  const start = (name, callback, delay, args, repeat) => {
    if (typeof callback !== "function") throw new NativeTypeError(`${name} needs a function`);
    const owner = contextGetStore(contextStorage);
    const number = NativeNumber(delay);
    const wait = number > 0 ? MathMin(number, 2147483647) : 0;
    const id = ++lastTimer;
    const call = () => {
      ReflectApply(callback, undefined, args);
    };
    const fire = () => {
      if (repeat && (owner === undefined || owner.pending > 0)) mapSet(timers, id, nativeSetTimeout(fire, wait));
      else mapDelete(timers, id);
      if (owner === undefined) work(0, call);
      else if (owner.pending > 0) work(owner.id, call);
    };
    mapSet(timers, id, nativeSetTimeout(fire, wait));
    return id;
  };
  const stop = (id) => {
    const timer = mapGet(timers, id);
    if (timer === undefined) return;
    mapDelete(timers, id);
    nativeClearTimeout(timer);
  };
  hide(globalThis, "setTimeout", function setTimeout(callback, delay, ...args) {
    return start("setTimeout", callback, delay, args, false);
  });
  hide(globalThis, "setInterval", function setInterval(callback, delay, ...args) {
    return start("setInterval", callback, delay, args, true);
  });
  hide(globalThis, "clearTimeout", function clearTimeout(id) {
    stop(id);
  });
  hide(globalThis, "clearInterval", function clearInterval(id) {
    stop(id);
  });
  hide(globalThis, "queueMicrotask", function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new NativeTypeError("queueMicrotask needs a function");
    nativeQueueMicrotask(() => {
      try {
        ReflectApply(callback, undefined, []);
      } catch (error) {
        reportUncaught(error);
      }
    });
  });
};

const PBKDF2_ITERATIONS_MAX = 1000000;
const RSA_BITS_MAX = 4096;
const ALGORITHM_MEMBERS = [
  "name",
  "hash",
  "iterations",
  "salt",
  "modulusLength",
  "publicExponent",
  "namedCurve",
  "length",
  "iv",
  "counter",
  "additionalData",
  "tagLength",
  "label",
  "info",
  "saltLength",
  "public",
  "context",
];

/** A copy of a WebCrypto algorithm with nothing beyond the bounds; whatever is no such thing stays as it is. */
const boundedAlgorithm = (algorithm) => {
  // A key or data in the place of an algorithm is for the engine to refuse or take.
  if (typeof algorithm !== "object" || algorithm === null || algorithm.name === undefined) return algorithm;
  const copy = { __proto__: null };
  for (let i = 0; i < ALGORITHM_MEMBERS.length; i++) {
    const value = algorithm[ALGORITHM_MEMBERS[i]];
    if (value !== undefined) copy[ALGORITHM_MEMBERS[i]] = value;
  }
  if (copy.iterations !== undefined) copy.iterations = NativeNumber(copy.iterations);
  if (copy.modulusLength !== undefined) copy.modulusLength = NativeNumber(copy.modulusLength);
  if (copy.iterations > PBKDF2_ITERATIONS_MAX)
    throw new NativeDOMException(`more than ${PBKDF2_ITERATIONS_MAX} iterations`, "NotSupportedError");
  if (copy.modulusLength > RSA_BITS_MAX)
    throw new NativeDOMException(`RSA keys of more than ${RSA_BITS_MAX} bits`, "NotSupportedError");
  return copy;
};

/**
 * What follows a cryptographic operation starts from the engine, not from a task of ours: say whose time begins. Other
 * operations of the engine are rarer, and the host shares out the time that nobody claims.
 */
const claimTimeAfterCrypto = () => {
  const leaveSoon = () => leave();
  const claim = (owner) => {
    enter(owner.id);
    nativeSetImmediate(leaveSoon);
  };
  const wrap = (name, method) => {
    const wrapped = {
      [name](...args) {
        // Nothing interrupts these, so what they are asked for is bounded, and read only once.
        if (args.length > 0) args[0] = boundedAlgorithm(args[0]);
        if (name === "unwrapKey" && args.length > 4) args[4] = boundedAlgorithm(args[4]);
        const promise = ReflectApply(method, this, args);
        const owner = contextGetStore(contextStorage);
        if (owner === undefined) return promise;
        return new NativePromise((resolve, reject) => {
          const settle = (how) => (value) => {
            claim(owner);
            how(value);
          };
          promiseThen(promise, settle(resolve), settle(reject));
        });
      },
    };
    hide(SubtleCrypto.prototype, name, wrapped[name]);
  };
  const names = ReflectOwnKeys(SubtleCrypto.prototype);
  for (let i = 0; i < names.length; i++) {
    const method = dataProperty(SubtleCrypto.prototype, names[i]);
    if (typeof method === "function" && names[i] !== "constructor") wrap(names[i], method);
  }
};

/**
 * A thread cannot be stopped inside WebAssembly, so Versions that use it run in processes, and the bundle has to say so:
 * where it lists no WebAssembly, none is made from bytes at run time.
 */
const refuseWasmFromBytes = () => {
  const refuse = () => {
    throw new WebAssemblyCompileError(
      "WebAssembly comes from the bundle only: list the file as application/wasm and import it",
    );
  };
  const Module = function Module() {
    refuse();
  };
  const NativeModule = WebAssembly.Module;
  const statics = ["imports", "exports", "customSections"];
  for (let i = 0; i < statics.length; i++) hide(Module, statics[i], NativeModule[statics[i]]);
  ReflectDefineProperty(Module, "prototype", { __proto__: null, value: NativeModule.prototype, writable: false });
  hide(NativeModule.prototype, "constructor", Module);
  hide(WebAssembly, "Module", Module);
  const asynchronous = {
    async compile() {
      refuse();
    },
    async instantiate() {
      refuse();
    },
  };
  hide(WebAssembly, "compile", asynchronous.compile);
  // No module can exist to be instantiated.
  hide(WebAssembly, "instantiate", asynchronous.instantiate);
};

const NORMALIZED_CHARS_MAX = 16777216;

/** One call of the engine that takes minutes on a long string, and can be interrupted by nothing. */
const boundNormalize = () => {
  const normalizeNative = uncurry1(NativeString.prototype.normalize);
  const bounded = {
    normalize(form) {
      if (this === undefined || this === null) throw new NativeTypeError("normalize needs a string");
      const text = NativeString(this);
      if (text.length > NORMALIZED_CHARS_MAX) throw new NativeRangeError("the string is too long to normalize");
      return normalizeNative(text, form);
    },
  };
  hide(NativeString.prototype, "normalize", bounded.normalize);
};

const installSmallGlobals = () => {
  const navigator = { userAgent: "Atoll" };
  hide(globalThis, "navigator", ObjectFreeze(navigator));
  const performance = {
    timeOrigin,
    now() {
      return ReflectApply(performanceNow, nativePerformance, []);
    },
  };
  hide(globalThis, "performance", ObjectFreeze(performance));
  hide(globalThis, "structuredClone", function structuredClone(value, options) {
    return nativeStructuredClone(value, options);
  });
};

/**
 * `globalThis` and `self` become a facade over the real global object that shows everything but `Bun`. Its target is
 * an empty object, so the proxy invariants never force the hidden property out; properties that cannot be configured on
 * the real global are shown as configurable for the same reason.
 */
const installGlobalFacade = () => {
  const real = globalThis;
  const target = { __proto__: null };
  const hidden = (key) => key === "Bun";
  // The real global object has no prototype, so what the facade inherits is looked up here.
  const holderOf = (key) => (ReflectHas(real, key) ? real : ObjectPrototype);
  const facade = new NativeProxy(target, {
    __proto__: null,
    get: (_, key, receiver) => {
      if (hidden(key)) return undefined;
      const holder = holderOf(key);
      return holder === real ? ReflectGet(real, key) : ReflectGet(holder, key, receiver);
    },
    set: (_, key, value, receiver) => {
      if (hidden(key)) return false;
      const holder = holderOf(key);
      return holder === real && receiver === facade
        ? ReflectSet(real, key, value)
        : ReflectSet(holder, key, value, receiver);
    },
    has: (_, key) => !hidden(key) && (ReflectHas(real, key) || ReflectHas(ObjectPrototype, key)),
    deleteProperty: (_, key) => !hidden(key) && ReflectDeleteProperty(real, key),
    ownKeys: () => {
      const keys = ReflectOwnKeys(real);
      const shown = [];
      let count = 0;
      for (let i = 0; i < keys.length; i++) {
        if (hidden(keys[i])) continue;
        ReflectDefineProperty(shown, count++, {
          __proto__: null,
          value: keys[i],
          writable: true,
          enumerable: true,
          configurable: true,
        });
      }
      return shown;
    },
    getOwnPropertyDescriptor: (_, key) => {
      if (hidden(key)) return undefined;
      const found = ReflectGetOwnPropertyDescriptor(real, key);
      if (found === undefined) return undefined;
      // A getter would be called with the facade's own receiver; show its value instead.
      return {
        __proto__: null,
        value: ReflectGet(real, key),
        writable: true,
        enumerable: found.enumerable,
        configurable: true,
      };
    },
    defineProperty: (_, key, descriptor) => {
      // A proxy may not promise for its target what the target does not have.
      if (hidden(key) || descriptor.configurable === false) return false;
      const copy = {
        __proto__: null,
        enumerable: descriptor.enumerable === true,
        configurable: true,
      };
      if (ReflectHas(descriptor, "get") || ReflectHas(descriptor, "set")) {
        // The real global must never be the receiver of tenant accessors.
        const { get, set } = descriptor;
        copy.get = get === undefined ? undefined : () => ReflectApply(get, facade, []);
        copy.set = set === undefined ? undefined : (value) => ReflectApply(set, facade, [value]);
      } else {
        copy.value = descriptor.value;
        copy.writable = descriptor.writable !== false;
      }
      return ReflectDefineProperty(real, key, copy);
    },
    getPrototypeOf: () => ObjectPrototype,
    setPrototypeOf: () => false,
    isExtensible: () => true,
    preventExtensions: () => false,
  });
  hide(globalThis, "globalThis", facade);
  hide(globalThis, "self", facade);
};
