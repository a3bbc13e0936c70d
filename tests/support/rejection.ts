import { AtollError, type ErrorCode } from "../../base/errors.ts";

/** The reason `promise` rejects with; fails the test when it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { readonly code?: unknown }> {
  let value: unknown;
  try {
    value = await promise;
  } catch (reason) {
    if (reason instanceof Error) return reason;
    throw new Error(`rejected with something that is no Error: ${String(reason)}`, { cause: reason });
  }
  throw new Error(`expected a rejection, but it resolved with ${String(value)}`);
}

/** The code of the AtollError that `promise` rejects with; fails the test on anything else. */
export async function rejectionCode(promise: Promise<unknown>): Promise<ErrorCode> {
  const reason = await rejection(promise);
  if (reason instanceof AtollError) return reason.code;
  throw reason;
}
