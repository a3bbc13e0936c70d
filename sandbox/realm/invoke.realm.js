// Part 7: running a Version's handlers.

const HANDLER_NAMES = ["fetch", "scheduled", "queue"];

const handlers = new NativeMap(); // handler name -> function
const invocations = new NativeMap(); // id -> record of an invocation that has not ended
let defaultExport;
let env;

/** Marks Responses whose body is all there, so that it need not be streamed. Invisible to tenant code. */
class BodyMark extends function (object) {
  return object;
} {
  #kind;
  constructor(response, kind) {
    super(response);
    this.#kind = kind;
  }
  static of(response) {
    return #kind in response ? response.#kind : 2;
  }
}

/** Statuses whose responses have no body, whatever the engine would let pass. */
const isNullBodyStatus = (status) => status === 204 || status === 205 || status === 304;

const markBody = (response, body) => {
  if (body === null || body === undefined) new BodyMark(response, 0);
  else if (isNullBodyStatus(responseStatus(response)))
    throw new NativeTypeError("a Response with this status cannot have a body");
  else if (isStaticBody(body)) new BodyMark(response, 1);
  return response;
};

const installResponse = () => {
  function Response(body, init) {
    if (new.target === undefined)
      throw new NativeTypeError("Class constructor Response cannot be invoked without 'new'");
    const native = new.target === Response ? NativeResponse : new.target;
    const response = ReflectConstruct(NativeResponse, [body, init], native);
    nameText(responseHeaders(response), body);
    return markBody(response, body);
  }
  ReflectDefineProperty(Response, "prototype", { __proto__: null, value: NativeResponse.prototype, writable: false });
  const nativeJson = NativeResponse.json;
  const nativeError = NativeResponse.error;
  const nativeRedirect = NativeResponse.redirect;
  hide(Response, "json", function json(data, init) {
    return markBody(ReflectApply(nativeJson, NativeResponse, [data, init]), "json");
  });
  hide(Response, "error", function error() {
    return ReflectApply(nativeError, NativeResponse, []);
  });
  hide(Response, "redirect", function redirect(url, status) {
    return ReflectApply(nativeRedirect, NativeResponse, status === undefined ? [url] : [url, status]);
  });
  hide(NativeResponse.prototype, "constructor", Response);
  hide(globalThis, "Response", Response);
};

const EXPORTS_CHARS_MAX = 262144;

/** The default export and the declared handlers; JSON of what the graph exports (MW-20, MW-A6), or a failure object. */
const describeExports = (path) => {
  try {
    const namespace = moduleNamespace(mapGet(modules, path).module);
    const names = ReflectOwnKeys(namespace);
    let found = "";
    let classes = "";
    let plain = false;
    for (let i = 0; i < names.length; i++) {
      if (typeof names[i] !== "string") continue;
      const value = namespace[names[i]];
      if (names[i] === "default") {
        plain = isPlainObject(value);
        if (plain) found = collectHandlers(value);
      } else if (typeof value === "function") {
        const methods = classMethods(value);
        if (methods === undefined) continue;
        classes += `${classes === "" ? "" : ","}{"name":${JSONStringify(names[i])},"methods":[${methods}]}`;
        if (classes.length > EXPORTS_CHARS_MAX) throw new NativeRangeError("the entry module exports too much");
      }
    }
    if (!plain) return '{"invalid":"the default export is not a plain object"}';
    return `{"handlers":[${found}],"classes":[${classes}]}`;
  } catch (error) {
    return failure(error);
  }
};

const isPlainObject = (value) => {
  if (typeof value !== "object" || value === null || ArrayIsArray(value)) return false;
  // A proxy answers as it likes and as often as it likes.
  if (isProxy(value) || isModuleNamespace(value)) return false;
  const prototype = ReflectGetPrototypeOf(value);
  return prototype === null || prototype === ObjectPrototype;
};

const collectHandlers = (object) => {
  let found = "";
  defaultExport = object;
  for (let i = 0; i < HANDLER_NAMES.length; i++) {
    const value = dataProperty(object, HANDLER_NAMES[i]);
    if (typeof value !== "function") continue;
    mapSet(handlers, HANDLER_NAMES[i], value);
    found += `${found === "" ? "" : ","}"${HANDLER_NAMES[i]}"`;
  }
  return found;
};

/** Names of the methods of a class as JSON strings; undefined when the function cannot be constructed. */
const classMethods = (constructor) => {
  if (isProxy(constructor)) return undefined;
  let prototype = dataProperty(constructor, "prototype");
  if (typeof prototype !== "object" || prototype === null) return undefined;
  let text = "";
  for (let depth = 0; depth < 16 && prototype !== null && prototype !== ObjectPrototype; depth++) {
    if (isProxy(prototype)) break;
    const keys = ReflectOwnKeys(prototype);
    for (let i = 0; i < keys.length && i < 256; i++) {
      if (typeof keys[i] !== "string" || keys[i] === "constructor") continue;
      if (typeof dataProperty(prototype, keys[i]) === "function") {
        text += `${text === "" ? "" : ","}${JSONStringify(keys[i])}`;
      }
    }
    prototype = ReflectGetPrototypeOf(prototype);
  }
  return text;
};

/** Build `env` from vars (JSON), secrets and bindings (both JSON objects): exactly the declared keys (MW-65). */
const installEnv = (vars, secrets, services) => {
  env = JSONParse(vars);
  const secretValues = JSONParse(secrets);
  const secretNames = ReflectOwnKeys(secretValues);
  const define = (name, value) =>
    ReflectDefineProperty(env, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  for (let i = 0; i < secretNames.length; i++) define(secretNames[i], secretValues[secretNames[i]]);
  const serviceNames = JSONParse(services);
  for (let i = 0; i < serviceNames.length; i++) define(serviceNames[i], serviceBinding(serviceNames[i]));
};

const openInvocation = (id) => {
  const invocation = {
    __proto__: null,
    id,
    abort: new NativeAbortController(),
    aborted: false,
    pending: 1, // the handler and its response count as one piece of work
    calls: undefined, // those that have something open
    context: undefined,
  };
  invocation.context = {
    waitUntil(promise) {
      if (invocation.pending === 0)
        throw namedError("context_expired", "this invocation has ended; waitUntil came too late");
      invocation.pending++;
      follow(invocation, promise);
    },
  };
  mapSet(invocations, id, invocation);
  return invocation;
};

const follow = async (invocation, promise) => {
  try {
    await promise;
  } catch (error) {
    logError("waitUntil rejected", error);
  }
  release(invocation);
};

const release = (invocation) => {
  if (--invocation.pending > 0) return;
  finish(invocation);
  say(`[10,${invocation.id}]`);
};

const finish = (invocation) => {
  const id = invocation.id;
  mapDelete(invocations, id);
  if (mapHas(incomings, id)) breakIncoming(id, new NativeTypeError("the event of this request has ended"));
  breakCallsOf(invocation);
};

/** Say the last message of a response; when nothing else is open, it ends the invocation too. */
const sayLast = (invocation, text) => {
  if (invocation.pending > 1) {
    say(`${text}]`);
    release(invocation);
    return;
  }
  invocation.pending = 0;
  finish(invocation);
  say(`${text},0,true]`);
};

const runFetch = async (invocation, method, url, headers, bodyKind, inline) => {
  const id = invocation.id;
  let response;
  let status;
  try {
    let body;
    if (bodyKind === 1) body = bytesOfLatin1(inline);
    else if (bodyKind === 2) body = openIncoming(id, invocation, () => {});
    const request = new NativeRequest(url, {
      __proto__: null,
      method,
      headers: headersInit(headers),
      body,
      duplex: "half",
      redirect: "manual",
      signal: abortControllerSignal(invocation.abort),
    });
    response = await ReflectApply(mapGet(handlers, "fetch"), defaultExport, [request, env, invocation.context]);
    status = responseStatus(response);
    if (status < 200 || status > 599) throw new NativeRangeError(`a handler cannot answer with status ${status}`);
    if (responseBodyUsed(response)) throw new NativeTypeError("the Response's body has been used already");
    await sendResponse(invocation, response, status);
  } catch (error) {
    logError("fetch handler failed", error);
    say(`[9,${id},"handler_failed",""]`);
    release(invocation);
  }
};

/** Send the head, then the body; releases the invocation when the body has ended. */
const sendResponse = async (invocation, response, status) => {
  const id = invocation.id;
  const head = `[8,${id},${status},${JSONStringify(responseStatusText(response))},${JSONStringify(flattenHeaders(responseHeaders(response)))}`;
  if (head.length > HEAD_CHARS_MAX) throw new NativeRangeError("the headers of the response are too large");
  const kind = BodyMark.of(response);
  if (kind === 0) {
    sayLast(invocation, `${head},0,""`);
    return;
  }
  if (kind === 1) {
    const buffer = await responseArrayBuffer(response);
    const bytes = new NativeUint8Array(buffer);
    const length = arrayBufferByteLength(buffer);
    if (length <= INLINE_BODY_BYTES_MAX) {
      sayLast(invocation, `${head},1,${JSONStringify(latin1Slice(bytes, 0, length))}`);
    } else {
      say(`${head},2,"",${length}]`);
      pumpWhole(id, invocation, bytes, () => release(invocation));
    }
    return;
  }
  const stream = responseBody(response);
  if (stream === null) {
    sayLast(invocation, `${head},0,""`);
    return;
  }
  if (streamLocked(stream)) throw new NativeTypeError("the Response's body is locked");
  say(`${head},2]`);
  pumpStream(id, invocation, stream, () => release(invocation));
};

/** `scheduled`: no response; failure is observed as failure (MW-49). */
const runEvent = async (invocation, handler, json) => {
  try {
    await ReflectApply(mapGet(handlers, handler), defaultExport, [JSONParse(json), env, invocation.context]);
    say(`[8,${invocation.id},200,"","",0]`);
  } catch (error) {
    logError(`${handler} handler failed`, error);
    say(`[9,${invocation.id},"handler_failed",""]`);
  }
  release(invocation);
};

const abortInvocation = (id) => {
  const invocation = mapGet(invocations, id);
  if (invocation === undefined) return;
  const reason = new NativeDOMException("The client went away", "AbortError");
  invocation.aborted = true;
  breakIncoming(id, reason);
  stopPump(id, reason);
  abortControllerAbort(invocation.abort, reason);
};

/** The invocation on whose behalf exchange `id` runs; undefined when nothing of it is open any more. */
const ownerOf = (id) => {
  if (id > 0) return mapGet(invocations, id);
  const record = mapGet(calls, id) ?? mapGet(incomings, id) ?? mapGet(pumps, id);
  return record === undefined ? undefined : record.owner;
};

/**
 * Run a task on behalf of invocation `id` (0: of none) together with all that follows from it before the next task, so
 * that the host knows who used the time.
 */
const work = (id, task) => {
  enter(id);
  try {
    task();
  } catch (error) {
    reportUncaught(error);
  }
  drainMicrotasks();
  leave();
};

// Messages wait in a linked list and run from a task of the realm: so no frame of the host is below tenant code on any
// stack, and a host call never runs tenant code before it returns.
let firstMessage = null;
let lastMessage = null;

const deliver = (op, id, a, b, c, d, e, f, g) => {
  const message = { __proto__: null, op, id, a, b, c, d, e, f, g, next: null };
  if (lastMessage === null) {
    firstMessage = message;
    nativeSetImmediate(drainMessages);
  } else {
    lastMessage.next = message;
  }
  lastMessage = message;
};

const drainMessages = () => {
  let message = firstMessage;
  firstMessage = null;
  lastMessage = null;
  for (; message !== null; message = message.next) {
    try {
      handleMessage(message);
    } catch (error) {
      logError("internal error in the realm", error);
    }
    drainMicrotasks();
  }
  leave();
};

const handleMessage = (m) => {
  if (m.op === 0 || m.op === 1) {
    enter(m.id);
    const invocation = openInvocation(m.id);
    contextRun(contextStorage, invocation, () => {
      if (m.op === 0) runFetch(invocation, m.a, m.b, m.c, m.d, m.e);
      else runEvent(invocation, m.a, m.b);
    });
    return;
  }
  const owner = ownerOf(m.id);
  if (owner === undefined) return;
  enter(owner.id);
  contextRun(contextStorage, owner, () => handleExchange(m));
};

/** A message about an exchange that is under way. */
const handleExchange = (m) => {
  switch (m.op) {
    case 2:
      abortInvocation(m.id);
      break;
    case 3:
      takeChunk(m.id, m.a);
      break;
    case 4:
      endIncoming(m.id);
      break;
    case 5:
      breakIncoming(m.id, new NativeTypeError(m.a));
      break;
    case 6:
      creditPump(m.id, m.a);
      break;
    case 7:
      stopPump(m.id, new NativeDOMException("The receiver went away", "AbortError"));
      break;
    case 8:
      answerCall(m.id, m.a, m.b, m.c, m.d, m.e, m.f, m.g);
      break;
    case 9:
      failCall(m.id, m.a, m.b);
      break;
  }
};
