// Part 1 of the realm bootstrap: everything the bootstrap will ever call, captured before tenant code exists.
//
// Tenant code may patch any built-in of its realm. So after this file the bootstrap calls only what is captured here,
// keeps its own state in captured Maps or in null-prototype objects, never iterates, spreads or destructures arrays
// (those look up patchable iterators), and never resolves a promise with an object of its own (a tenant could define
// Object.prototype.then and be handed that object).

const globalThisReal = globalThis;
const ReflectApply = Reflect.apply;
const ReflectConstruct = Reflect.construct;
const ReflectDefineProperty = Reflect.defineProperty;
const ReflectDeleteProperty = Reflect.deleteProperty;
const ReflectGetOwnPropertyDescriptor = Reflect.getOwnPropertyDescriptor;
const ReflectGetPrototypeOf = Reflect.getPrototypeOf;
const ReflectSetPrototypeOf = Reflect.setPrototypeOf;
const ReflectOwnKeys = Reflect.ownKeys;
const ReflectHas = Reflect.has;
const ReflectGet = Reflect.get;
const ReflectSet = Reflect.set;
const ObjectFreeze = Object.freeze;
const ObjectPrototype = Object.prototype;
const FunctionPrototype = Function.prototype;
const NativeFunction = Function;
const ArrayIsArray = Array.isArray;
const JSONStringify = JSON.stringify;
const JSONParse = JSON.parse;
const MathFloor = Math.floor;
const MathMin = Math.min;
const NumberIsFinite = Number.isFinite;
const NativeString = String;
const NativeNumber = Number;
const NativeError = Error;
const NativeTypeError = TypeError;
const NativeRangeError = RangeError;
const NativeEvalError = EvalError;
const NativePromise = Promise;
const NativeProxy = Proxy;
const NativeMap = Map;
const NativeWeakMap = WeakMap;
const NativeUint8Array = Uint8Array;
const NativeArrayBuffer = ArrayBuffer;
const NativeDate = Date;
const NativeHeaders = Headers;
const NativeRequest = Request;
const NativeResponse = Response;
const NativeReadableStream = ReadableStream;
const NativeAbortController = AbortController;
const NativeDOMException = DOMException;
const NativeTextEncoder = TextEncoder;
const WebAssemblyModule = WebAssembly.Module;
const WebAssemblyCompileError = WebAssembly.CompileError;
const nativeQueueMicrotask = queueMicrotask;
const nativeSetTimeout = setTimeout;
const nativeSetImmediate = setImmediate;
const nativeClearTimeout = clearTimeout;
const performanceNow = performance.now;
const nativePerformance = performance;
const timeOrigin = performance.timeOrigin;
const nativeStructuredClone = structuredClone;

const NativeSyntaxError = SyntaxError;
const SyntaxErrorPrototype = SyntaxError.prototype;
const nodeProcess = process;
const builtin = (name) => nodeProcess.getBuiltinModule(name);
const drainMicrotasks = builtin("bun:jsc").drainMicrotasks;
const isModuleNamespace = builtin("node:util").types.isModuleNamespaceObject;
const isProxy = builtin("node:util").types.isProxy;
const isSharedArrayBuffer = builtin("node:util").types.isSharedArrayBuffer;
const isArrayBuffer = builtin("node:util").types.isArrayBuffer;
const AsyncLocalStorage = builtin("node:async_hooks").AsyncLocalStorage;

/** The engine's own module record, which node:vm keeps under a symbol of its wrapper. */
const ModuleRecord = (() => {
  const wrapper = new (builtin("node:vm").SourceTextModule)("");
  const keys = ReflectOwnKeys(wrapper);
  for (let i = 0; i < keys.length; i++) {
    const inner = wrapper[keys[i]];
    if (typeof inner === "object" && inner !== null && typeof inner.createModuleRecord === "function")
      return inner.constructor;
  }
  throw new NativeError("this engine keeps its module records elsewhere");
})();

/** Turn a method into a function that takes its receiver first. */
const uncurry0 = (fn) => (self) => ReflectApply(fn, self, []);
const uncurry1 = (fn) => (self, a) => ReflectApply(fn, self, [a]);
const uncurry2 = (fn) => (self, a, b) => ReflectApply(fn, self, [a, b]);
const uncurry3 = (fn) => (self, a, b, c) => ReflectApply(fn, self, [a, b, c]);
const getterOf = (prototype, name) => uncurry0(ReflectGetOwnPropertyDescriptor(prototype, name).get);

const mapGet = uncurry1(NativeMap.prototype.get);
const mapSet = uncurry2(NativeMap.prototype.set);
const mapHas = uncurry1(NativeMap.prototype.has);
const mapDelete = uncurry1(NativeMap.prototype.delete);
const mapForEach = uncurry1(NativeMap.prototype.forEach);
const weakMapGet = uncurry1(NativeWeakMap.prototype.get);
const weakMapSet = uncurry2(NativeWeakMap.prototype.set);
const weakMapHas = uncurry1(NativeWeakMap.prototype.has);
const stringIndexOf = uncurry2(NativeString.prototype.indexOf);
const stringSlice = uncurry2(NativeString.prototype.slice);
const stringStartsWith = uncurry1(NativeString.prototype.startsWith);
const stringToUpperCase = uncurry0(NativeString.prototype.toUpperCase);
const numberToString = uncurry0(NativeNumber.prototype.toString);
const functionToString = uncurry0(FunctionPrototype.toString);
const dateToISOString = uncurry0(NativeDate.prototype.toISOString);
const latin1Slice = uncurry2(Buffer.prototype.latin1Slice);
const latin1Write = uncurry3(Buffer.prototype.latin1Write);
const TypedArrayPrototype = ReflectGetPrototypeOf(NativeUint8Array.prototype);
const typedArrayByteLength = getterOf(TypedArrayPrototype, "byteLength");
const typedArrayByteOffset = getterOf(TypedArrayPrototype, "byteOffset");
const typedArrayBuffer = getterOf(TypedArrayPrototype, "buffer");
const typedArrayTag = getterOf(TypedArrayPrototype, Symbol.toStringTag);
const arrayBufferByteLength = getterOf(NativeArrayBuffer.prototype, "byteLength");
const memoryBuffer = getterOf(WebAssembly.Memory.prototype, "buffer");
const headersForEach = uncurry1(NativeHeaders.prototype.forEach);
const headersAppend = uncurry2(NativeHeaders.prototype.append);
const headersHas = uncurry1(NativeHeaders.prototype.has);
const requestUrl = getterOf(NativeRequest.prototype, "url");
const requestMethod = getterOf(NativeRequest.prototype, "method");
const requestHeaders = getterOf(NativeRequest.prototype, "headers");
const requestBody = getterOf(NativeRequest.prototype, "body");
const requestSignal = getterOf(NativeRequest.prototype, "signal");
const requestRedirect = getterOf(NativeRequest.prototype, "redirect");
const requestArrayBuffer = uncurry0(NativeRequest.prototype.arrayBuffer);
const responseStatus = getterOf(NativeResponse.prototype, "status");
const responseStatusText = getterOf(NativeResponse.prototype, "statusText");
const responseHeaders = getterOf(NativeResponse.prototype, "headers");
const responseBody = getterOf(NativeResponse.prototype, "body");
const responseBodyUsed = getterOf(NativeResponse.prototype, "bodyUsed");
const responseArrayBuffer = uncurry0(NativeResponse.prototype.arrayBuffer);
const streamGetReader = uncurry0(NativeReadableStream.prototype.getReader);
const streamLocked = getterOf(NativeReadableStream.prototype, "locked");
const streamCancel = uncurry1(NativeReadableStream.prototype.cancel);
const readerRead = uncurry0(ReadableStreamDefaultReader.prototype.read);
const readerCancel = uncurry1(ReadableStreamDefaultReader.prototype.cancel);
const controllerEnqueue = uncurry1(ReadableStreamDefaultController.prototype.enqueue);
const controllerClose = uncurry0(ReadableStreamDefaultController.prototype.close);
const controllerError = uncurry1(ReadableStreamDefaultController.prototype.error);
const abortControllerAbort = uncurry1(NativeAbortController.prototype.abort);
const abortControllerSignal = getterOf(NativeAbortController.prototype, "signal");
const signalAborted = getterOf(AbortSignal.prototype, "aborted");
const signalReason = getterOf(AbortSignal.prototype, "reason");
const nativeAddEventListener = EventTarget.prototype.addEventListener;
const nativeRemoveEventListener = EventTarget.prototype.removeEventListener;
const nativeDispatchEvent = EventTarget.prototype.dispatchEvent;
const addEventListener2 = uncurry2(nativeAddEventListener);
const removeEventListener2 = uncurry2(nativeRemoveEventListener);
const textEncode = uncurry1(NativeTextEncoder.prototype.encode);
const textEncoder = new NativeTextEncoder();
const contextStorage = new AsyncLocalStorage();
const contextRun = uncurry3(AsyncLocalStorage.prototype.run);
const contextGetStore = uncurry0(AsyncLocalStorage.prototype.getStore);
const promiseThen = uncurry2(NativePromise.prototype.then);

/** A promise with its resolvers, in a null-prototype record. */
const deferred = () => {
  const record = { __proto__: null, promise: undefined, resolve: undefined, reject: undefined };
  record.promise = new NativePromise((resolve, reject) => {
    record.resolve = resolve;
    record.reject = reject;
  });
  return record;
};

/** Bytes of a latin1 string in an array of their own (never in a pool shared with other data). */
const bytesOfLatin1 = (text) => {
  const bytes = new NativeUint8Array(text.length);
  latin1Write(bytes, text, 0, text.length);
  return bytes;
};

/** An error whose `name` is a contract's code. */
const namedError = (name, message) => {
  const error = new NativeError(message);
  ReflectDefineProperty(error, "name", {
    __proto__: null,
    value: name,
    writable: true,
    enumerable: false,
    configurable: true,
  });
  return error;
};
