/** A node under test, wherever it runs. */
export interface TestNode {
  /** Origin of its plain listener. The same after a crash. */
  readonly http: string;
  readonly adminTokenFile: string;
  /** End it as a crash does, without any work of its own, and start it again on what is on disk. */
  crash(): Promise<void>;
  /** Let it finish what runs, and end it. */
  stop(): Promise<void>;
}

export interface NodeOptions {
  readonly data: string;
  readonly testClock: boolean;
}
