/** What an operator may set about the control plane. Times in milliseconds. */
export interface ControlConfig {
  /** The optional parts of the Host API that this Host offers (HA-12). */
  readonly capabilities: { readonly previews: boolean; readonly privateInputs: boolean };
  /** How long an accepted request can be replayed at least (HA-123), and once more after it settled (HA-125). */
  readonly replayWindowMs: number;
  readonly cursorLifetimeMs: number;
  /** How long the sealed copy of private inputs may be executed with (HA-133). */
  readonly transferLifetimeMs: number;
  /** Jobs of the reconciler at once. */
  readonly concurrencyMax: number;
  /** Unfinished Operations at once; beyond it new ones are refused with `rate_limited`. */
  readonly unfinishedMax: number;
  readonly sweepIntervalMs: number;
}

export const DEFAULT_CONTROL_CONFIG: ControlConfig = {
  capabilities: { previews: true, privateInputs: true },
  replayWindowMs: 24 * 60 * 60_000,
  cursorLifetimeMs: 60 * 60_000,
  transferLifetimeMs: 24 * 60 * 60_000,
  concurrencyMax: 8,
  unfinishedMax: 10_000,
  sweepIntervalMs: 60_000,
};
