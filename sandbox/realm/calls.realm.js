// Part 5: what tenant code may call outside: fetch under the host's egress policy, and service bindings.

const INLINE_CALL_BYTES_MAX = 1048576;

const calls = new NativeMap(); // call id -> record of a call without a response yet
let lastCall = 0;

const isStaticBody = (body) =>
  typeof body === "string" ||
  body instanceof NativeArrayBuffer ||
  (typeof body === "object" && body !== null && typedArrayTag(body) !== undefined);

/** Open a call; resolves with a Response, rejects as the kind of call demands. */
const openCall = async (kind, target, input, init) => {
  const request = new NativeRequest(input, init);
  const signal = requestSignal(request);
  if (signalAborted(signal)) throw signalReason(signal);
  const invocation = contextGetStore(contextStorage);
  const id = --lastCall;

  let bodyKind = 0;
  let inline = "";
  let stream = requestBody(request);
  if (stream !== null) {
    bodyKind = 2;
    if (typeof init === "object" && init !== null && isStaticBody(init.body)) {
      const bytes = new NativeUint8Array(await requestArrayBuffer(request));
      if (typedArrayByteLength(bytes) <= INLINE_CALL_BYTES_MAX) {
        bodyKind = 1;
        inline = latin1Slice(bytes, 0, typedArrayByteLength(bytes));
        stream = null;
      } else {
        stream = responseBody(new NativeResponse(bytes));
      }
    }
  }

  const call = { __proto__: null, id, kind, settle: deferred(), signal, onAbort: undefined };
  call.onAbort = () => {
    const reason = signalReason(signal);
    say(`[2,${id},"aborted"]`);
    breakIncoming(id, reason);
    stopPump(id, reason);
    mapDelete(calls, id);
    call.settle.reject(reason);
  };
  addEventListener2(signal, "abort", call.onAbort);
  mapSet(calls, id, call);
  say(
    `[14,${id},${invocation === undefined ? 0 : invocation.id},"${kind}",${JSONStringify(target)},` +
      `${JSONStringify(requestMethod(request))},${JSONStringify(requestUrl(request))},` +
      `${JSONStringify(flattenHeaders(requestHeaders(request)))},${bodyKind},${JSONStringify(inline)},` +
      `"${requestRedirect(request)}"]`,
  );
  if (bodyKind === 2) pumpStream(id, stream, () => {});
  // A Response is no object of ours, so a patched `then` learns nothing.
  return call.settle.promise;
};

const answerCall = (id, status, statusText, headers, bodyKind, inline, url, redirected) => {
  const call = mapGet(calls, id);
  if (call === undefined) return;
  mapDelete(calls, id);
  try {
    let body = null;
    if (bodyKind === 1) body = bytesOfLatin1(inline);
    else if (bodyKind === 2) body = openIncoming(id);
    if (status === 204 || status === 205 || status === 304) body = null;
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
    call.settle.reject(error);
  }
};

const failCall = (id, code, message) => {
  const error = code === "backend_unavailable" ? namedError(code, message) : new NativeTypeError(message);
  const call = mapGet(calls, id);
  if (call === undefined) {
    breakIncoming(id, error);
    return;
  }
  mapDelete(calls, id);
  stopPump(id, error);
  removeEventListener2(call.signal, "abort", call.onAbort);
  call.settle.reject(call.kind === "egress" ? new NativeTypeError(message) : error);
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
