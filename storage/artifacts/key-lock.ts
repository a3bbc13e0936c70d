/** Lets one task at a time work on a key, in order of arrival; tasks on different keys run side by side. */
export class KeyLock<Key> {
  readonly #tails = new Map<Key, Promise<void>>();

  async run<T>(key: Key, task: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const done = Promise.withResolvers<void>();
    this.#tails.set(key, done.promise);
    await before;
    try {
      return await task();
    } finally {
      done.resolve();
      // The last one in the queue leaves no trace, so the map is as large as the work in progress.
      if (this.#tails.get(key) === done.promise) this.#tails.delete(key);
    }
  }
}
