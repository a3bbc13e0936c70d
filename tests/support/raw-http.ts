import { connect, type Socket } from "node:net";

/** A connection on which a test says exactly the bytes it wants to, and hears exactly what comes back. */
export class RawConnection implements Disposable {
  readonly #socket: Socket;
  #heard = "";
  #isClosed = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#heard += chunk.toString("latin1");
      this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  static async open(origin: string): Promise<RawConnection> {
    const { hostname, port } = new URL(origin);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect({ host: hostname, port: Number(port) }, resolve);
    socket.once("error", reject);
    await promise;
    return new RawConnection(socket);
  }

  /** One exchange on a connection of its own; what the other side said until it closed. */
  static async once(origin: string, request: string): Promise<string> {
    using connection = await RawConnection.open(origin);
    connection.send(request);
    return await connection.untilClosed();
  }

  send(latin1: string): void {
    this.#socket.write(Buffer.from(latin1, "latin1"));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  get heard(): string {
    return this.#heard;
  }

  async until(pattern: RegExp): Promise<string> {
    await this.#untilTrue(() => pattern.test(this.#heard));
    if (!pattern.test(this.#heard)) throw new Error(`the connection closed after ${JSON.stringify(this.#heard)}`);
    return this.#heard;
  }

  async untilClosed(): Promise<string> {
    await this.#untilTrue(() => this.#isClosed);
    return this.#heard;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  async #untilTrue(condition: () => boolean): Promise<void> {
    while (!condition() && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Status code of the first response in `text`. */
export function statusOf(text: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
}
