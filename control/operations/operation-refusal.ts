import { AtollError, type ErrorCode } from "../../base/errors.ts";
import type { OperationId } from "../../base/ids.ts";

/** A refusal that names the accepted Operation it is about, to a caller who may see it (HA-148). */
export class OperationRefusal extends AtollError {
  readonly operationId: OperationId;

  constructor(code: ErrorCode, message: string, operationId: OperationId) {
    super(code, message);
    this.operationId = operationId;
  }
}

/** The Host lost what it needs to compare private inputs with the original ones (HA-139). */
export function unverifiable(operationId: OperationId): OperationRefusal {
  return new OperationRefusal(
    "private_inputs_unverifiable",
    "the private inputs cannot be compared with those of the original request",
    operationId,
  );
}
