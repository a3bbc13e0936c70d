// The Host API as a client reads it. Unknown fields are skipped, but an unknown status, phase or action is no success
// (HA-26), so such an answer does not parse.
import { z } from "zod";

const json = z.record(z.string(), z.json());

const ResourceSchema = z.object({
  uid: z.string(),
  form: z.string(),
  space: z.string(),
  name: z.string(),
  generation: z.int(),
  observedGeneration: z.int(),
  observedAt: z.string().nullable(),
  phase: z.enum(["pending", "idle", "deleting", "error"]),
  spec: json,
  observed: json,
  output: json,
  lastOperation: z.string(),
});
export type Resource = z.output<typeof ResourceSchema>;

const OperationSchema = z.object({
  id: z.string(),
  resourceUid: z.string(),
  action: z.enum(["create", "update", "delete"]),
  generation: z.int(),
  status: z.enum(["queued", "running", "waiting_input", "reconciling", "succeeded", "failed"]),
  effect: z.enum(["none", "unknown", "partial", "complete"]),
  createdAt: z.string(),
  updatedAt: z.string(),
  retainUntil: z.string(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  inputRequired: z.object({ names: z.array(z.string()), reason: z.string() }).optional(),
});
export type Operation = z.output<typeof OperationSchema>;

const PageSchema = z.object({ items: z.array(ResourceSchema), nextCursor: z.string().nullable() });

const PreviewSchema = z.object({
  valid: z.boolean(),
  errors: z.array(z.object({ code: z.string(), message: z.string() })),
});

const ProblemSchema = z.object({
  status: z.int(),
  code: z.string(),
  title: z.string(),
  detail: z.string().optional(),
  operationId: z.string().optional(),
});
export type Problem = z.output<typeof ProblemSchema>;

const DiscoverySchema = z.object({
  api: z.literal("forms.takoform.com/v2"),
  baseUrl: z.string(),
  documentation: z.string(),
  authentication: z.object({ schemes: z.array(z.string().min(1)).min(1), documentation: z.string() }),
  capabilities: z.object({ offerings: z.boolean(), previews: z.boolean(), privateInputs: z.boolean() }),
  limits: z.object({
    maxRequestBytes: z.int().positive(),
    maxPageSize: z.int().positive(),
    replayWindowSeconds: z.int().positive(),
  }),
});
export type Discovery = z.output<typeof DiscoverySchema>;

const reader =
  <Schema extends z.ZodType>(schema: Schema) =>
  (value: unknown): z.output<Schema> | null => {
    const result = schema.safeParse(value);
    return result.success ? result.data : null;
  };

/** Each is null when the value is something else. */
export const readResource = reader(ResourceSchema);
export const readOperation = reader(OperationSchema);
export const readPage = reader(PageSchema);
export const readPreview = reader(PreviewSchema);
export const readProblem = reader(ProblemSchema);
export const readDiscovery = reader(DiscoverySchema);
