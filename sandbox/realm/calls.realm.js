// Part 5: what tenant code may call outside: fetch under the host's egress policy, and service bindings.

const CALLS_MAX = 1024;

const calls = new NativeMap(); // call id -> record of a call without a response yet
let lastCall = 0;
let openCalls = 0;

const isStaticBody = (body) =>
  typeof body === "string" ||
  isArrayBuffer(body) ||
  (typeof body === "object" && body !== null && typedArrayTag(body) !== undefined);

/** A call that cannot start: each kind has its own way to say so (MW-75). */
const refusal = (kind, message) =>
  kind === "service" ? namedError("backend_unavailable", message) : new NativeTypeError(message);

/** Open a call; resolves with a Response, rejects as the kind of call demands. */
const openCall = async (kind, target, input, init) => {
  const invocation = contextGetStore(contextStorage);
  if (invocation === undefined || invocation.pending === 0)
    throw refusal(kind, "calls are possible only while an event is handled");
  const request = new NativeRequest(input, init);
  if (typeof init === "object" && init !== null) nameText(requestHeaders(request), init.body);
  const signal = requestSignal(request);
  if (signalAborted(signal)) throw signalReason(signal);
  const head =
    `${JSONStringify(requestMethod(request))},${JSONStringify(requestUrl(request))},` +
    JSONStringify(flattenHeaders(requestHeaders(request)));
  if (head.length > HEAD_CHARS_MAX) throw refusal(kind, "the address and headers of a call are too large");
  if (openCalls >= CALLS_MAX || !room()) throw refusal(kind, "too many calls are under way");

  const id = --lastCall;
  const call = { __proto__: null, id, owner: invocation, settle: deferred(), signal, onAbort: undefined, kind };
  call.onAbort = () => abortCall(call);
  addEventListener2(signal, "abort", call.onAbort);
  mapSet(calls, id, call);
  openCalls++;
  if (invocation.calls === undefined) invocation.calls = new NativeMap();
  mapSet(invocation.calls, id, call);

  let bodyKind = 0;
  let inline = "";
  let stream = requestBody(request);
  if (stream !== null) {
    bodyKind = 2;
    if (typeof init === "object" && init !== null && isStaticBody(init.body)) {
      const bytes = new NativeUint8Array(await requestArrayBuffer(request));
      if (typedArrayByteLength(bytes) <= INLINE_BODY_BYTES_MAX) {
        bodyKind = 1;
        inline = latin1Slice(bytes, 0, typedArrayByteLength(bytes));
        stream = null;
      } else {
        stream = responseBody(new NativeResponse(bytes));
      }
    }
  }
  // Aborted while its body was made ready: nobody outside knows of it.
  if (mapHas(calls, id)) {
    say(
      `[14,${id},${invocation.id},"${kind}",${JSONStringify(target)},${head},${bodyKind},${JSONStringify(inline)},` +
        `"${requestRedirect(request)}"]`,
    );
    call.said = true;
    if (bodyKind === 2) pumpStream(id, invocation, stream, () => {});
  }
  // A Response is no object of ours, so a patched `then` learns nothing.
  return call.settle.promise;
};

/** Nothing of this call is open any more. */
const forgetCall = (call) => {
  removeEventListener2(call.signal, "abort", call.onAbort);
  if (call.owner.calls !== undefined) mapDelete(call.owner.calls, call.id);
};

/** The call leaves the list of those that wait for a response; false when it was not there. */
const takeWaiting = (call) => {
  if (!mapHas(calls, call.id)) return false;
  mapDelete(calls, call.id);
  openCalls--;
  return true;
};

const abortCall = (call) => breakCall(call, signalReason(call.signal));

/** End a call in whatever state it is; the host is told. */
const breakCall = (call, reason) => {
  if (call.said === true) say(`[2,${call.id},"aborted"]`);
  if (takeWaiting(call)) call.settle.reject(reason);
  breakIncoming(call.id, reason);
  stopPump(call.id, reason);
  forgetCall(call);
};

/** The invocation is over: what it left open outside goes with it. */
const breakCallsOf = (invocation) => {
  const open = invocation.calls;
  if (open === undefined) return;
  const reason = new NativeTypeError("the event that made this call has ended");
  mapForEach(open, (call) => breakCall(call, reason));
};

const answerCall = (id, status, statusText, headers, bodyKind, inline, url, redirected) => {
  const call = mapGet(calls, id);
  if (call === undefined) return;
  takeWaiting(call);
  try {
    let body = null;
    if (bodyKind === 1) body = bytesOfLatin1(inline);
    else if (bodyKind === 2) body = openIncoming(id, call.owner, () => forgetCall(call));
    else forgetCall(call);
    if (isNullBodyStatus(status)) body = null;
    const response = new NativeResponse(body, {
      __proto__: null,
      status,
      statusText,
      headers: unflattenHeaders(headers),
    });
    hide(response, "url", url);
    hide(response, "redirected", redirected);
    call.settle.resolve(response);
  } catch (error) {
    say(`[7,${id}]`);
    breakIncoming(id, error);
    forgetCall(call);
    call.settle.reject(error);
  }
};

const failCall = (id, code, message) => {
  const call = mapGet(calls, id);
  if (call === undefined) {
    breakIncoming(id, new NativeTypeError(message));
    return;
  }
  takeWaiting(call);
  forgetCall(call);
  const error = call.kind === "service" ? namedError(code, message) : new NativeTypeError(message);
  stopPump(id, error);
  call.settle.reject(error);
};

const installFetch = () => {
  hide(globalThis, "fetch", async function fetch(input, init) {
    return openCall("egress", "", input, init);
  });
};

/** `env[name]` of a service binding (MW-70 … MW-79). */
const serviceBinding = (name) =>
  ObjectFreeze({
    fetch: async function fetch(input, init) {
      return openCall("service", name, input, init);
    },
  });
