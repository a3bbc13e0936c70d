import type { OperationId } from "../../base/ids.ts";

/** The instants between which a crash leaves different traces. */
export type FaultPoint = "after-accept" | "before-execute" | "after-execute-before-settle" | "after-settle";

/** Called at each point, synchronously. Tests end the process there; a node has none. */
export type Faults = (point: FaultPoint, operationId: OperationId) => void;

export const noFaults: Faults = () => {};
