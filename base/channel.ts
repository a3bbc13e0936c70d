// The port between two sides that share no memory: the host and a cell, a shard and a shard.

/** What travels in one send: text, and byte blocks that the text refers to by index. */
export interface Frame {
  readonly text: string;
  /** Ownership passes to the channel: a sender never touches a block again. */
  readonly blocks: readonly Uint8Array[];
}

/**
 * An ordered, reliable, unbounded-size message channel. Frames arrive whole and in the order of sending, or the
 * channel closes. Flow control is the business of the protocol above it.
 */
export interface Channel {
  send(frame: Frame): void;
}
