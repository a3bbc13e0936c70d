// What authors may write and what they may not, as the compiler sees it. A line under @ts-expect-error that compiles is a
// failure of the check.

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assertType<_T extends true>(): void {}

interface Env {
  readonly GREETING: string;
  readonly GREETER: WorkerService;
}

// MW-44 … MW-46: the shapes of the handlers.
export const everything = {
  async fetch(request, env, ctx) {
    assertType<Equal<typeof request, Request>>();
    assertType<Equal<typeof env, Env>>();
    assertType<Equal<typeof ctx, ExecutionContext>>();
    ctx.waitUntil(Promise.resolve(1));
    return new Response(request.body);
  },
  scheduled(event) {
    assertType<Equal<typeof event.scheduledTime, number>>();
    assertType<Equal<typeof event.cron, string>>();
  },
  async queue(batch) {
    for (const { id, body, attempts, timestampMillis } of batch.messages) {
      assertType<Equal<typeof body, Uint8Array>>();
      assertType<Equal<typeof attempts, number>>();
      assertType<Equal<typeof timestampMillis, number>>();
      await batch.acknowledge(id);
      await batch.retry(id, 60);
    }
    await batch.acknowledgeAll();
    await batch.retryAll();
    await batch.retryAll(5);
  },
} satisfies ModuleWorker<Env>;

export const synchronous = { fetch: () => new Response("at once") } satisfies ModuleWorker;
export const nothing = {} satisfies ModuleWorker;

// @ts-expect-error a fetch handler answers with a Response
export const text = { fetch: () => "text" } satisfies ModuleWorker;
// @ts-expect-error there is no such handler
export const email = { fetch: () => new Response(), email: () => {} } satisfies ModuleWorker;
// @ts-expect-error a variable that is not declared
export const undeclared = { fetch: (_request, env) => new Response(env.MISSING) } satisfies ModuleWorker<Env>;

// MW-50: only promises are waited for.
export function waits(ctx: ExecutionContext): void {
  ctx.waitUntil(fetch("https://example.com/"));
  // @ts-expect-error a value is no work
  ctx.waitUntil(1);
}

// Section 8 of the contract: a Request, or a URL with the usual options.
export async function calls(service: WorkerService): Promise<void> {
  assertType<Equal<Awaited<ReturnType<typeof service.fetch>>, Response>>();
  await service.fetch(new Request("https://greeter/"));
  await service.fetch("https://greeter/", { method: "POST", body: "hello" });
  // @ts-expect-error a service has no other methods
  await service.send("hello");
}

// MW-57, MW-58: a copy of the bytes, and no way to settle outside of the batch.
export function batches(batch: QueueBatch): void {
  // @ts-expect-error the list is the batch's
  batch.messages.pop();
  // @ts-expect-error a message does not settle itself
  batch.messages[0]?.ack();
}

// MW-61: the names with which a settlement fails.
assertType<
  Equal<QueueSettlementError, "unknown_batch" | "unknown_message" | "already_settled" | "backend_unavailable">
>();

// WV-36: what a plain variable can be.
export const variable: WorkerVariable = { list: [1, "two", null, { deep: true }] };
// @ts-expect-error a function is no JSON
export const notJson: WorkerVariable = () => 1;
