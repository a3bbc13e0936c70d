// The cells of one Version: usually one, more while it is blocked, none while the Version is idle.
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { Cell, CellPhase } from "../../sandbox/cell.ts";
import type { VersionSpec } from "./worker-runtime.ts";

/** A cell that the pool opened, with what it may be asked. */
export interface PooledCell extends Cell {
  /** True while the cell has not answered for `ms`. */
  blockedFor(ms: number): boolean;
}

export interface VersionCellsOptions {
  readonly clock: Clock;
  /** Cells of one Version at one time. */
  readonly cellsMax: number;
  /** A cell that did not answer for so long gets no new work while another can be had. */
  readonly blockedMs: number;
  /** An event waits so long for a cell to get ready. */
  readonly loadWallMs: number;
  open(version: VersionSpec): Promise<PooledCell>;
}

interface Member {
  readonly cell: PooledCell;
  ready: boolean;
  idleSinceMs: number;
}

export class VersionCells {
  readonly version: VersionSpec;
  readonly #options: VersionCellsOptions;
  readonly #members = new Set<Member>();
  #opening: Promise<Member> | null = null;
  #retired = false;

  constructor(version: VersionSpec, options: VersionCellsOptions) {
    this.version = version;
    this.#options = options;
  }

  get size(): number {
    return this.#members.size;
  }

  /** Invocations that have not provably ended. */
  get running(): number {
    let sum = 0;
    for (const { cell } of this.#members) sum += cell.running;
    return sum;
  }

  /** Phases of the cells that there are. */
  *phases(): Generator<CellPhase["phase"]> {
    for (const { cell } of this.#members) yield cell.phase.phase;
  }

  /** A ready cell without waiting, or null: the hot path. */
  readyCell(): PooledCell | null {
    for (const member of this.#members) {
      if (member.ready && member.cell.phase.phase === "live" && !member.cell.blockedFor(this.#options.blockedMs)) {
        member.idleSinceMs = this.#options.clock.monotonicMs();
        return member.cell;
      }
    }
    return null;
  }

  /** A cell for one event. Rejects with `backend_unavailable` when none can be loaded; that event has not started. */
  async acquire(): Promise<PooledCell> {
    if (this.#retired) throw unavailable();
    const ready = this.readyCell();
    if (ready !== null) return ready;
    if (this.#opening === null && this.#members.size >= this.#options.cellsMax) {
      // All are blocked: wait behind the one that was opened last.
      const last = [...this.#members].findLast((member) => member.ready && member.cell.phase.phase === "live");
      if (last !== undefined) return last.cell;
    }
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null;
    });
    return (await this.#opening).cell;
  }

  async #open(): Promise<Member> {
    const cell = await this.#options.open(this.version);
    const member: Member = { cell, ready: false, idleSinceMs: this.#options.clock.monotonicMs() };
    this.#members.add(member);
    void cell.closed.then(() => this.#members.delete(member));
    const cancel = this.#options.clock.after(this.#options.loadWallMs, () => void cell.stop("cpu"));
    try {
      const result = await cell.loaded;
      if (!result.ok || this.#retired) throw unavailable();
      member.ready = true;
      return member;
    } catch {
      void cell.stop("retired");
      throw unavailable();
    } finally {
      cancel();
    }
  }

  /** Stop cells that have had nothing to do for `idleMs`. */
  reclaim(idleMs: number): void {
    const now = this.#options.clock.monotonicMs();
    for (const { cell, ready, idleSinceMs } of this.#members) {
      if (ready && cell.running === 0 && now - idleSinceMs >= idleMs) void cell.stop("retired");
    }
  }

  /**
   * End every cell that there is now, so that the next event meets fresh modules. What runs may finish within `graceMs`;
   * events that come meanwhile run elsewhere. Resolves to the number of cells when they have ended.
   */
  async evict(graceMs: number): Promise<number> {
    const members = [...this.#members];
    for (const member of members) member.ready = false;
    await Promise.all(members.map(({ cell }) => this.#endCell(cell, graceMs)));
    return members.length;
  }

  /** Milliseconds since the last event was given out; for choosing whom to reclaim first. */
  idleMs(): number {
    let last = 0;
    for (const { idleSinceMs } of this.#members) last = Math.max(last, idleSinceMs);
    return this.#options.clock.monotonicMs() - last;
  }

  /** No new event from now on; resolves when no code of the Version can run (WD-44, WD-45). */
  async retire(graceMs: number): Promise<void> {
    this.#retired = true;
    const opening = this.#opening;
    const members = [...this.#members];
    await Promise.all(members.map(({ cell }) => this.#retireCell(cell, graceMs)));
    // A cell that was still being opened retires itself when it is there, because of the flag.
    await opening?.catch(() => {});
    await Promise.all([...this.#members].map(({ cell }) => cell.stop("retired")));
  }

  async #retireCell(cell: PooledCell, graceMs: number): Promise<void> {
    cell.abortAll();
    await this.#endCell(cell, graceMs);
  }

  async #endCell(cell: PooledCell, graceMs: number): Promise<void> {
    if (cell.running > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = this.#options.clock.after(graceMs, resolve);
      await Promise.race([promise, cell.drained(), cell.closed]);
      cancel();
    }
    await cell.stop("retired");
  }
}

function unavailable(): AtollError {
  return new AtollError("backend_unavailable", "the Version cannot take events now");
}
