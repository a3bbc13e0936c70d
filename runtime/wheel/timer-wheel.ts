// A hierarchical timer wheel: the data structure alone, without a clock.
//
// Nine levels of 64 slots cover all safe integers at a resolution of one millisecond. A timer lies on the lowest level
// whose block holds both its due time and the wheel's own time, so inserting and removing cost O(1) whatever the
// distance, and a timer moves down at most once a level while its time comes closer. A bitmap a level finds the next
// occupied slot, so the wheel jumps over empty time: a step of years costs as much as a step of a millisecond.
//
//   T1. A timer expires only when `advance` has been given a time at or after its due time.
//   T2. `advance` looks at no more than `countMax` timers; what is left keeps its place at the front.
//   T3. `size` counts exactly the timers that were inserted and neither removed nor expired.

const SLOTS = 64;
const LEVELS = 9; // 64^9 > 2^53

class Link {
  prev: Link = this;
  next: Link = this;

  unlink(): void {
    this.prev.next = this.next;
    this.next.prev = this.prev;
    this.prev = this;
    this.next = this;
  }

  /** Put `link` in front of this one; on a list's head that is the end of the list. */
  append(link: Link): void {
    link.prev = this.prev;
    link.next = this;
    this.prev.next = link;
    this.prev = link;
  }
}

class Slot extends Link {
  readonly level: number;
  readonly index: number;

  constructor(level: number, index: number) {
    super();
    this.level = level;
    this.index = index;
  }

  get empty(): boolean {
    return this.next === this;
  }
}

export class Timer<T> extends Link {
  readonly dueMs: number;
  readonly value: T;
  slot: Slot | null = null;

  constructor(dueMs: number, value: T) {
    super();
    this.dueMs = dueMs;
    this.value = value;
  }
}

/** What becomes of a timer that is due: `taken`, or `refused` to stop here and meet it again at the next `advance`. */
export type Verdict = "taken" | "refused";

export class TimerWheel<T> {
  readonly #slots: readonly Slot[] = Array.from(
    { length: LEVELS * SLOTS },
    (_, i) => new Slot(Math.floor(i / SLOTS), i % SLOTS),
  );
  /** Two words a level: which of its slots hold timers. */
  readonly #occupied = new Int32Array(LEVELS * 2);
  /** Timers whose slot has been reached, to be looked at one by one (T2). */
  readonly #reached = new Slot(-1, 0);
  #elapsedMs: number;
  #size = 0;

  /** `startMs` is a whole number of milliseconds, as every time given to the wheel. */
  constructor(startMs: number) {
    this.#elapsedMs = startMs;
  }

  get size(): number {
    return this.#size;
  }

  /** The time up to which the wheel has advanced. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** A time not after the earliest due time, at which `advance` has something to do; Infinity when empty. */
  get nextMs(): number {
    if (!this.#reached.empty) return this.#elapsedMs;
    const slot = this.#firstSlot();
    return slot === null ? Number.POSITIVE_INFINITY : this.#startOf(slot);
  }

  insert(dueMs: number, value: T): Timer<T> {
    const timer = new Timer(dueMs, value);
    this.#place(timer);
    this.#size++;
    return timer;
  }

  /** Take a timer out; one that has expired or was removed before is left alone. */
  remove(timer: Timer<T>): void {
    const { slot } = timer;
    if (slot === null) return;
    timer.unlink();
    timer.slot = null;
    this.#size--;
    if (slot.empty) this.#mark(slot, false);
  }

  /**
   * Move the wheel to `nowMs` and hand over what is due, in order of due time to the millisecond (T1, T2). An
   * `expire` may insert and remove timers. Returns the number of timers looked at.
   */
  advance(nowMs: number, countMax: number, expire: (value: T) => Verdict): number {
    let count = 0;
    for (;;) {
      for (;;) {
        const timer = this.#reached.next;
        if (!(timer instanceof Timer)) break;
        if (count === countMax) return count;
        count++;
        if (timer.dueMs > this.#elapsedMs) {
          timer.unlink();
          this.#place(timer as Timer<T>);
          continue;
        }
        // Out of the wheel before it is handed over, so that `expire` may insert the same thing again.
        this.remove(timer as Timer<T>);
        if (expire(timer.value as T) === "refused") {
          this.#reached.next.append(timer);
          timer.slot = this.#reached;
          this.#size++;
          return count;
        }
      }
      const slot = this.#firstSlot();
      if (slot === null || this.#startOf(slot) > nowMs) break;
      this.#reach(slot);
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, nowMs);
    return count;
  }

  #place(timer: Timer<T>): void {
    const slot = timer.dueMs <= this.#elapsedMs ? this.#reached : this.#slotOf(timer.dueMs);
    slot.append(timer);
    timer.slot = slot;
    this.#mark(slot, true);
  }

  #slotOf(dueMs: number): Slot {
    let level = 0;
    let width = 1;
    // On the right level the block of 64 slots around the wheel's time holds the due time too.
    while (level < LEVELS - 1) {
      const block = width * SLOTS;
      if (Math.floor(dueMs / block) === Math.floor(this.#elapsedMs / block)) break;
      width = block;
      level++;
    }
    return this.#slotAt(level, Math.floor(dueMs / width) % SLOTS);
  }

  /** The occupied slot that begins first: slots of a lower level all begin before those of a higher one. */
  #firstSlot(): Slot | null {
    for (let level = 0; level < LEVELS; level++) {
      const low = this.#occupied[level * 2] ?? 0;
      if (low !== 0) return this.#slotAt(level, lowestBit(low));
      const high = this.#occupied[level * 2 + 1] ?? 0;
      if (high !== 0) return this.#slotAt(level, 32 + lowestBit(high));
    }
    return null;
  }

  #startOf(slot: Slot): number {
    const width = SLOTS ** slot.level;
    const block = width * SLOTS;
    return Math.floor(this.#elapsedMs / block) * block + slot.index * width;
  }

  #reach(slot: Slot): void {
    this.#elapsedMs = this.#startOf(slot);
    const first = slot.next;
    const last = slot.prev;
    slot.next = slot;
    slot.prev = slot;
    this.#mark(slot, false);
    // The list moves as a whole. Its timers still name the old slot; `remove` only asks that one whether it is empty.
    const head = this.#reached;
    first.prev = head.prev;
    head.prev.next = first;
    last.next = head;
    head.prev = last;
  }

  #slotAt(level: number, index: number): Slot {
    return this.#slots[level * SLOTS + index] as Slot;
  }

  #mark(slot: Slot, occupied: boolean): void {
    if (slot.level < 0) return;
    const word = slot.level * 2 + (slot.index >>> 5);
    const bit = 1 << (slot.index & 31);
    this.#occupied[word] = occupied ? (this.#occupied[word] ?? 0) | bit : (this.#occupied[word] ?? 0) & ~bit;
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
