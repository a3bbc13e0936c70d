/**
 * The way of one open store's commits to its shard's log: between a cell and the shard, hence small. Calls arrive in the
 * order in which they are made. A rejection means that the store is no longer this holder's to write, or that its log
 * has failed; the store refuses everything from then on.
 */
export interface CommitSink {
  /** Payload of a log record with the newest commits; resolves when it is durable. The bytes are the sink's from now on. */
  committed(payload: Uint8Array): Promise<void>;
  /** Resolves when everything handed over so far survives the loss of power, whatever the shard's durability. */
  synced(): Promise<void>;
  /**
   * Everything handed over so far is in the store's own file, and that is synced. Resolves when the log knows that it
   * need not keep it.
   */
  checkpointed(): Promise<void>;
}
