// What the Forms ask of the part that gets hold of artifact bytes. Types only; storage and the vetted fetch answer it.
//
//   A1. Bytes count as held for an owner only when they were compared with their digest and are durable (WB-43, HA-179).
//   A2. A digest gives no permission: bytes that the Host holds already are used only where `space` may use them
//       (WB-25, WB-57).
//   A3. Content under a digest never changes and never goes while any owner pins it (WB-47, WB-52, WB-58).
import type { ResourceUid, Sha256Hex, SpaceName } from "../../base/ids.ts";

export interface AcquireRequest {
  /** A plain https URL (`isPlainHttpsUrl`). A declaration, not a permission: the operator's policy decides (WB-25). */
  readonly url: string;
  readonly sha256: Sha256Hex;
  /** Stop reading before exceeding it, whatever the source claims (WB-34). Held bytes are measured too. May be 0. */
  readonly bytesMax: number;
  readonly space: SpaceName;
  /** Whose pin keeps the bytes. */
  readonly owner: ResourceUid;
}

export interface ArtifactAcquirer {
  /**
   * Get the bytes from the store of the Host when `space` may use them (WB-25), else by vetted HTTPS. They are
   * verified, durably kept and pinned for `owner` before it resolves; doing it again for the same owner is harmless.
   * Rejects with AtollError: `artifact_unreachable` (may pass), `artifact_policy_refused`, `artifact_digest_mismatch`
   * or `artifact_limit_exceeded`, with a message that names no URL.
   */
  acquire(request: AcquireRequest): Promise<{ readonly byteSize: number }>;
  /** The verified bytes. Rejects with `artifact_unreachable` when they are not held. */
  read(sha256: Sha256Hex): Promise<Uint8Array>;
  /** Whether `owner` pins this content and the bytes on disk, read again, still match the digest (WB-50). */
  holds(sha256: Sha256Hex, owner: ResourceUid): Promise<boolean>;
  /** Drop every pin of `owner`; content with other owners stays (WB-52, WB-58). Idempotent. */
  release(owner: ResourceUid): Promise<void>;
}
