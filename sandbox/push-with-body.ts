import { BodyPump } from "./body-pump.ts";
import type { RequestBody } from "./cell.ts";
import type { Outbox } from "./outbox.ts";
import { Body, INLINE_BODY_BYTES_MAX } from "./protocol.ts";

/**
 * Finish the message `text` with its body fields and `rest`, and push it. A stream starts to flow at once; then the pump
 * is returned, and `sent` runs when nothing more will come of it.
 */
export function pushWithBody(
  outbox: Outbox,
  text: string,
  id: number,
  body: RequestBody,
  rest: string,
  sent: () => void,
): BodyPump | null {
  if (body === null) {
    outbox.push(`${text},${Body.none},""${rest}]`);
    return null;
  }
  if (body instanceof Uint8Array && body.byteLength <= INLINE_BODY_BYTES_MAX) {
    const inline = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1");
    outbox.push(`${text},${Body.inline},${JSON.stringify(inline)}${rest}]`);
    return null;
  }
  outbox.push(`${text},${Body.stream},""${rest}]`);
  const pump = new BodyPump(outbox, id, body instanceof Uint8Array ? streamOf(body) : body);
  void pump.run().then(sent);
  return pump;
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}
