// Part 4: streamed bodies, both ways, with credit (see P1 and P2 in protocol.ts).

const BODY_WINDOW_BYTES = 262144;
const CHUNK_BYTES_MAX = 131072;
const INLINE_BODY_BYTES_MAX = 16384;
const HEAD_CHARS_MAX = 262144;

const incomings = new NativeMap(); // exchange id -> record of a body that the host sends us
const pumps = new NativeMap(); // exchange id -> record of a body that we send to the host

/** A stream of the bytes that the host sends for exchange `id`; `closed` runs when nothing more will come. */
const openIncoming = (id, owner, closed) => {
  const body = { __proto__: null, owner, controller: undefined, unacknowledged: 0, stream: undefined, closed };
  const source = {
    __proto__: null,
    start(controller) {
      body.controller = controller;
    },
    pull() {
      if (body.unacknowledged === 0) return;
      say(`[6,${id},${body.unacknowledged}]`);
      body.unacknowledged = 0;
    },
    cancel() {
      if (takeIncoming(id) !== undefined) say(`[7,${id}]`);
    },
  };
  // The queue holds at most one window, because credit is granted only when the consumer asks for more.
  body.stream = new NativeReadableStream(source, { __proto__: null, highWaterMark: 0 });
  mapSet(incomings, id, body);
  return body.stream;
};

/** Remove the record of a body to which nothing more will come. */
const takeIncoming = (id) => {
  const body = mapGet(incomings, id);
  if (body === undefined) return undefined;
  mapDelete(incomings, id);
  body.closed();
  return body;
};

const takeChunk = (id, latin1) => {
  const body = mapGet(incomings, id);
  if (body === undefined) return;
  body.unacknowledged += latin1.length;
  controllerEnqueue(body.controller, bytesOfLatin1(latin1));
};

const endIncoming = (id) => {
  const body = takeIncoming(id);
  if (body !== undefined) controllerClose(body.controller);
};

const breakIncoming = (id, error) => {
  const body = takeIncoming(id);
  if (body !== undefined) controllerError(body.controller, error);
};

const toBytes = (value) => {
  if (typeof value === "string") return textEncode(textEncoder, value);
  if (typedArrayTag(value) !== undefined) {
    return new NativeUint8Array(typedArrayBuffer(value), typedArrayByteOffset(value), typedArrayByteLength(value));
  }
  arrayBufferByteLength(value); // throws for anything that is no ArrayBuffer
  return new NativeUint8Array(value);
};

const openPump = (id, owner) => {
  const pump = {
    __proto__: null,
    owner,
    credit: BODY_WINDOW_BYTES,
    wake: undefined,
    // Whoever wanted the answer may have gone before there was one.
    stopped: id > 0 && owner.aborted,
    reader: undefined,
  };
  mapSet(pumps, id, pump);
  return pump;
};

/** Send bytes as credit allows; resolves early when the receiver cancelled. */
const pumpBytes = async (id, pump, bytes) => {
  const length = typedArrayByteLength(bytes);
  for (let from = 0; from < length && !pump.stopped; ) {
    while (pump.credit <= 0 && !pump.stopped) {
      const turn = deferred();
      pump.wake = turn.resolve;
      await turn.promise;
    }
    if (pump.stopped) return;
    const to = MathMin(from + MathMin(CHUNK_BYTES_MAX, pump.credit), length);
    const piece = latin1Slice(bytes, from, to);
    // The tenant may shrink or give away the memory meanwhile.
    if (piece.length !== to - from) throw new NativeTypeError("the memory of a chunk changed while it was sent");
    pump.credit -= to - from;
    sayChunk(id, piece);
    from = to;
  }
};

/** Send a whole stream as the body of exchange `id`. Never rejects; `then` runs when nothing more will be sent. */
const pumpStream = async (id, owner, stream, then) => {
  const pump = openPump(id, owner);
  try {
    pump.reader = streamGetReader(stream);
    if (pump.stopped) ignoreRejection(readerCancel(pump.reader, undefined));
    while (!pump.stopped) {
      const result = await readerRead(pump.reader);
      if (pump.stopped || result.done === true) break;
      await pumpBytes(id, pump, toBytes(result.value));
    }
    if (!pump.stopped) say(`[4,${id}]`);
  } catch (error) {
    if (!pump.stopped) {
      logError(id > 0 ? "Response body failed" : "Request body failed", error);
      say(`[5,${id},"the body failed"]`);
      if (pump.reader !== undefined) ignoreRejection(readerCancel(pump.reader, error));
    }
  }
  mapDelete(pumps, id);
  then();
};

/** Send bytes that are all there already. */
const pumpWhole = async (id, owner, bytes, then) => {
  const pump = openPump(id, owner);
  try {
    await pumpBytes(id, pump, bytes);
    if (!pump.stopped) say(`[4,${id}]`);
  } catch {
    say(`[5,${id},"the body failed"]`);
  }
  mapDelete(pumps, id);
  then();
};

const creditPump = (id, bytes) => {
  const pump = mapGet(pumps, id);
  if (pump === undefined) return;
  pump.credit += bytes;
  const wake = pump.wake;
  pump.wake = undefined;
  if (wake !== undefined) wake();
};

const stopPump = (id, reason) => {
  const pump = mapGet(pumps, id);
  if (pump === undefined || pump.stopped) return;
  pump.stopped = true;
  if (pump.wake !== undefined) pump.wake();
  if (pump.reader !== undefined) ignoreRejection(readerCancel(pump.reader, reason));
};

const ignoreRejection = async (promise) => {
  try {
    await promise;
  } catch {
    // Nobody is left to be told.
  }
};

const flattenHeaders = (headers) => {
  let flat = "";
  headersForEach(headers, (value, name) => {
    flat = flat === "" ? `${name}\0${value}` : `${flat}\0${name}\0${value}`;
  });
  return flat;
};

/** Header lists arrive as name NUL value NUL … . */
const unflattenHeaders = (flat) => {
  const headers = new NativeHeaders();
  let from = 0;
  while (from < flat.length) {
    const middle = stringIndexOf(flat, "\0", from);
    let end = stringIndexOf(flat, "\0", middle + 1);
    if (end < 0) end = flat.length;
    headersAppend(headers, stringSlice(flat, from, middle), stringSlice(flat, middle + 1, end));
    from = end + 1;
  }
  return headers;
};

/** The same as something a Request takes: a plain record is much cheaper than Headers, and enough unless a name repeats. */
const headersInit = (flat) => {
  const record = { __proto__: null };
  for (let from = 0; from < flat.length; ) {
    const middle = stringIndexOf(flat, "\0", from);
    let end = stringIndexOf(flat, "\0", middle + 1);
    if (end < 0) end = flat.length;
    const name = stringSlice(flat, from, middle);
    if (record[name] !== undefined) return unflattenHeaders(flat);
    record[name] = stringSlice(flat, middle + 1, end);
    from = end + 1;
  }
  return record;
};

/** The engine says what a text is only when it sends it by itself; the Fetch standard says it in the headers at once. */
const nameText = (headers, body) => {
  if (typeof body === "string" && !headersHas(headers, "content-type"))
    headersAppend(headers, "content-type", "text/plain;charset=UTF-8");
};
