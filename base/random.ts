// The port of randomness.

export interface Random {
  /** `count` unpredictable bytes. */
  bytes(count: number): Uint8Array;
  /** A uniform integer in `[0, bound)`, `1 <= bound <= 2^32`. */
  below(bound: number): number;
}

export class SystemRandom implements Random {
  bytes(count: number): Uint8Array {
    return crypto.getRandomValues(new Uint8Array(count));
  }

  below(bound: number): number {
    // Rejection keeps the draw uniform where 2^32 is no multiple of the bound.
    const limit = 2 ** 32 - (2 ** 32 % bound);
    const word = new Uint32Array(1);
    for (;;) {
      const value = crypto.getRandomValues(word)[0] ?? 0;
      if (value < limit) return value % bound;
    }
  }
}

/** A reproducible source for tests and simulations: the same seed gives the same draws. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.below(256));
  }

  below(bound: number): number {
    return Math.floor((this.#next() / 2 ** 32) * bound);
  }

  // mulberry32: small, fast, good enough to shuffle a schedule; never for secrets.
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
}

const ID_ALPHABET = "0123456789abcdefghijklmnopqrstuv";

/** `prefix` + 26 base-32 characters (130 bits): unique without a registry, legal under HA-21. */
export function newId(random: Random, prefix: string): string {
  let id = prefix;
  for (const byte of random.bytes(26)) id += ID_ALPHABET[byte & 31];
  return id;
}
