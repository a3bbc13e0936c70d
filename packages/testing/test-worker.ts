import type { Deployed } from "../../cli/deploy/deploy.ts";
import { TestingError } from "./testing-error.ts";

/** A Worker on a node under test. */
export class TestWorker {
  readonly name: string;
  readonly workerUid: string;
  /** The Version that this deployment made. */
  readonly versionUid: string;
  /** Its own address, as it sees it in `request.url`; null when it has no `fetch` handler. */
  readonly url: string | null;
  readonly #origin: string;
  readonly #hostname: string | null;

  constructor(deployed: Deployed, origin: string) {
    this.name = deployed.name;
    this.workerUid = deployed.workerUid;
    this.versionUid = deployed.versionUid;
    this.url = deployed.url;
    this.#hostname = deployed.hostname;
    this.#origin = origin;
  }

  /**
   * Ask the Worker, over the node's listener. `target` is a path, a URL of which path and query count, or a Request. Redirects
   * are not followed unless `init` says so: most of them lead to names that only a deployed Worker has.
   */
  async fetch(target: string | URL | Request = "/", init: RequestInit = {}): Promise<Response> {
    if (this.#hostname === null) throw new TestingError(`${this.name} has no fetch handler, so it has no address`);
    const from = target instanceof Request ? target.url : target;
    const { pathname, search } = new URL(from, this.url ?? undefined);
    const request = new Request(
      `${this.#origin}${pathname}${search}`,
      target instanceof Request ? new Request(target, init) : init,
    );
    request.headers.set("host", this.#hostname);
    return await fetch(request, { redirect: init.redirect ?? "manual" });
  }
}
