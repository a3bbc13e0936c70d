// The one shape of a Form adapter. The engine (control/operations) knows no Form; a Form knows no HTTP and no SQL.
//
//   F1. parse, references, admit* and initial* are pure reads: they run before acceptance, inside its transaction, and
//       leave nothing behind when they refuse (HA-77).
//   F2. execute may run any number of times for one Operation: after a crash the engine calls it again with the same
//       resource, operation and the last backend bookkeeping that was made durable. It is idempotent on that identity.
//   F3. project makes in-memory runtime state agree with the durable record. It runs after every settled Operation, after
//       every changed observation, and for every Resource at start, so restart needs no code of its own. It runs in the
//       same turn of the event loop as the commit: nobody sees a settled Operation whose effect is not in force yet.
//   F4. For one UID, execute, wake and observe never overlap; a wake that falls due meanwhile waits.
//   F5. A Form notes `unknown` before private inputs, or anything made from them, leave this Host.
import type { FormUrl, OperationId, PrincipalId, ResourceUid, SpaceName } from "../../base/ids.ts";
import type { Json, JsonObject } from "../../base/json.ts";

export type Action = "create" | "update" | "delete";
export type Phase = "pending" | "idle" | "deleting" | "error";

/** A Resource as the control store keeps it (HA-66 … HA-75), plus the Form's private bookkeeping. */
export interface ResourceRecord {
  readonly uid: ResourceUid;
  readonly form: FormUrl;
  readonly space: SpaceName;
  readonly name: string;
  readonly owner: PrincipalId;
  readonly generation: number;
  readonly observedGeneration: number;
  readonly observedAtMs: number | null;
  readonly phase: Phase;
  readonly spec: JsonObject;
  readonly observed: JsonObject;
  readonly output: JsonObject;
  readonly lastOperation: OperationId;
  /** The Form's own durable notes about this UID; never public. Null until the Form writes some. */
  readonly backend: JsonObject | null;
}

/** A reference by UID + exact Form URL (HA-177). `field` names it in error messages, e.g. `spec.worker`. */
export interface Reference {
  readonly field: string;
  readonly uid: string;
  readonly form: FormUrl;
}

/** What a Form may look at while it decides. All reads see one snapshot of the control store. */
export interface ControlView {
  /** Any undeleted Resource of this Host. */
  resource(uid: string): ResourceRecord | null;
  /** Undeleted Resources of one Form, in all Spaces. */
  resourcesOf(form: FormUrl): readonly ResourceRecord[];
  /** Undeleted Resources that hold a live reference to `uid`: by accepted spec, or by what is still active (WD-A6). */
  referrersOf(uid: ResourceUid): readonly ResourceRecord[];
}

/** The subject of a decision or a step. */
export interface Subject<Spec> {
  readonly resource: ResourceRecord;
  readonly spec: Spec;
}

/** Secrets held for a Resource. Values never leave this port except to the code that executes with them. */
export interface SecretVault {
  /** Keep `values` durably for `uid`, sealed. Replaces what was there. */
  keep(uid: ResourceUid, values: Readonly<Record<string, string>>): Promise<void>;
  /** The kept values; null when there are none; rejects when they cannot be unsealed. */
  reveal(uid: ResourceUid): Promise<Readonly<Record<string, string>> | null>;
  /** Compare without revealing: `unknown` when the kept values cannot be unsealed. */
  compare(uid: ResourceUid, values: Readonly<Record<string, string>>): "equal" | "different" | "unknown";
  forget(uid: ResourceUid): Promise<void>;
}

/** What asks to become a Resource. */
export interface Admission<Spec> {
  readonly space: SpaceName;
  readonly spec: Spec;
}

export interface Step<Spec> extends Subject<Spec> {
  readonly action: Action;
  readonly operationId: OperationId;
  readonly view: ControlView;
  /** Private inputs of this Operation; null when the request carried none, or when they are lost. */
  readonly privateInputs: Readonly<Record<string, string>> | null;
  /**
   * Why the private inputs of the request are gone; null nearly always. The engine asks the client for them again by
   * itself (HA-101) unless an earlier attempt noted `unknown`. Only then does a Form see this: it settles without
   * them, stays `unresolved`, or proves by `input_required` that the step which needs them was never sent.
   */
  readonly privateInputsLost: "expired" | "unavailable" | null;
  /** True when an earlier attempt may have dispatched effects (restart, lost result). */
  readonly resumed: boolean;
  /** Make bookkeeping and the known effect durable before a dispatch whose result might be lost (HA-175). */
  note(backend: JsonObject, effect: "none" | "partial" | "unknown"): void;
}

/** What a step came to. Anything uncertain is `unresolved`, never a guess (HA-107). */
export type Outcome =
  | {
      readonly type: "succeeded";
      readonly observed: JsonObject;
      /** Omitted: the output stays as it is. */
      readonly output?: JsonObject;
      readonly backend?: JsonObject | null;
      /** Call `wake` at this Unix time (durable across restarts). Omitted: no wake is wanted any more. */
      readonly wakeAtMs?: number;
    }
  | {
      readonly type: "failed";
      readonly effect: "none" | "partial";
      readonly code: string;
      readonly message: string;
      readonly backend?: JsonObject | null;
      /**
       * Facts that the attempt confirmed and that contradict the last observation, e.g. content that is gone (WB-A6) or
       * secrets that are lost (WV-48). Omitted, as it nearly always is: the last observation stays (HA-176).
       * `observedGeneration` does not advance either way.
       */
      readonly observed?: JsonObject;
    }
  /** The step that needs the lost private inputs was provably never sent (HA-109). */
  | { readonly type: "input_required" }
  | {
      readonly type: "unresolved";
      readonly effect: "none" | "unknown" | "partial";
      readonly retryAfterMs: number;
      readonly code: string;
      readonly message: string;
    };

/**
 * A refusal before acceptance. Form-level faults only: `invalid_spec`, `dependency_conflict`, `resource_busy`,
 * `capability_required`.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: "invalid_spec" | "dependency_conflict" | "resource_busy" | "capability_required";

  constructor(code: Refusal["code"], message: string) {
    super(message);
    this.code = code;
  }
}

export interface FormAdapter<Spec = unknown> {
  /** Exact Form URL. */
  readonly form: FormUrl;
  /** Whether secret-bearing instances are supported (HA-54). */
  readonly privateInputs: boolean;
  /** Read a spec strictly; throws Refusal(`invalid_spec`). The result is normalised: equal specs give equal values. */
  parse(spec: Json): Spec;
  /** Names a create must bring as private inputs, all of them, nonempty (HA-131). */
  privateInputNames(spec: Spec): readonly string[];
  /** Every Resource this spec refers to. The engine checks existence, Space, authority and Form (HA-177). */
  references(spec: Spec): readonly Reference[];
  admitCreate(view: ControlView, subject: Admission<Spec>): void;
  /** `next` is the new spec; refuse changed immutable fields with `invalid_spec` (HA-172). */
  admitUpdate(
    view: ControlView,
    current: Subject<Spec>,
    next: Spec,
    privateInputs: Readonly<Record<string, string>> | null,
  ): void;
  /** Refuse with `dependency_conflict` while something blocks deletion. */
  admitDelete(view: ControlView, current: Subject<Spec>): void;
  /** `observed` and `output` at acceptance of a create (HA-80, WE-9). */
  initial(
    view: ControlView,
    uid: ResourceUid,
    spec: Spec,
  ): { readonly observed: JsonObject; readonly output: JsonObject };
  execute(step: Step<Spec>): Promise<Outcome>;
  /**
   * References that count beside those of the accepted spec, from bookkeeping (what is still active while an update
   * waits, contexts that have not retired). The engine stores them with the record.
   */
  activeReferences?(backend: JsonObject | null): readonly Reference[];
  /** Make the runtime agree with the record; null when the Resource is gone. Idempotent, synchronous (F3). */
  project?(uid: ResourceUid, record: ResourceRecord | null, last: ResourceRecord | null): void;
  /** A due `wakeAtMs`. New observation and bookkeeping, or null for no change. Never changes the generation. */
  wake?(subject: Subject<Spec>, view: ControlView): Promise<Observation | null>;
  /**
   * Look again at a settled Resource because a Resource it refers to, or that refers to it, settled (e.g. a Worker's
   * `activeDeploymentUid`). Cheap and read-only; null for no change.
   */
  observe?(subject: Subject<Spec>, view: ControlView): Observation | null;
}

export interface Observation {
  readonly observed: JsonObject;
  /** Omitted: the bookkeeping stays as it is. */
  readonly backend?: JsonObject | null;
  /** As in `Outcome`: omitted, no wake is wanted any more. */
  readonly wakeAtMs?: number;
}
