import { describe, expect, test } from "bun:test";
import { ApiError, UnreachableError } from "../../../cli/client/api-error.ts";
import { CliRig, type Network, type Sent } from "../../support/cli-rig.ts";
import { rejection } from "../../support/rejection.ts";

const KEY_VALUE = "https://forms.publisher.example/key-value-entry/1.0.0";
const WELL_KNOWN = "/.well-known/takoform/v2";

const entry = (name: string) => ({ form: KEY_VALUE, space: "default", name, spec: { key: name, value: "v" } });

const lost = (): Promise<Response> => Promise.reject(new Error("the connection was closed"));

/** Applies `fault` to the first `times` requests that ask for a change. */
function troubled(times: number, fault: (pass: () => Promise<Response>) => Promise<Response>): Network {
  let left = times;
  return (sent, pass) => (sent.method === "GET" || left-- <= 0 ? undefined : fault(pass));
}

const keyOf = (sent: Sent): string => sent.headers.get("idempotency-key") ?? "";

describe("meeting a node", () => {
  const good = {
    api: "forms.takoform.com/v2",
    baseUrl: "https://host.example/apis/forms.takoform.com/v2",
    documentation: "https://host.example/docs",
    authentication: { schemes: ["Bearer"], documentation: "https://host.example/auth" },
    capabilities: { offerings: false, previews: true, privateInputs: true },
    limits: { maxRequestBytes: 1, maxPageSize: 1, replayWindowSeconds: 1 },
  };

  const meet = (answer: unknown, rig = new CliRig()) => {
    rig.network = () => Promise.resolve(Response.json(answer));
    return rig.connect();
  };

  test("HA-35: a valid discovery document is accepted", async () => {
    expect((await meet(good)).discovery.baseUrl).toBe(good.baseUrl);
    expect((await meet({ ...good, extension: true })).discovery.api).toBe("forms.takoform.com/v2");
  });

  test("HA-36, HA-38: an invalid discovery document ends the matter before a credential is sent", async () => {
    const bad: unknown[] = [
      null,
      [],
      {},
      { ...good, api: "forms.takoform.com/v1" },
      { ...good, baseUrl: undefined },
      { ...good, baseUrl: "http://host.example/api" },
      { ...good, baseUrl: "https://host.example/api/" },
      { ...good, baseUrl: "https://host.example/api?x=1" },
      { ...good, baseUrl: "https://host.example/api#v2" },
      { ...good, baseUrl: "https://u@host.example/api" },
      { ...good, baseUrl: "https://elsewhere.example/api" },
      { ...good, documentation: "http://host.example/docs" },
      { ...good, authentication: { schemes: [], documentation: "https://host.example/auth" } },
      { ...good, authentication: { schemes: ["Basic"], documentation: "https://host.example/auth" } },
      { ...good, capabilities: { offerings: false, previews: true } },
      { ...good, limits: { ...good.limits, replayWindowSeconds: 0 } },
      { ...good, limits: { ...good.limits, maxPageSize: 1.5 } },
    ];
    for (const answer of bad) {
      const rig = new CliRig();
      expect(await rejection(meet(answer, rig))).toBeInstanceOf(UnreachableError);
      expect(rig.sent.map((sent) => [sent.path, sent.headers.get("authorization")])).toEqual([[WELL_KNOWN, null]]);
    }
  });

  test("a node that is not there is a failure at once, not after minutes of patience", async () => {
    const rig = new CliRig();
    rig.network = lost;
    const error = await rejection(rig.connect());
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error.message).toContain("cannot be reached");
    expect(rig.clock.monotonicMs()).toBeLessThan(1_000);
  });

  test("HA-37: routes are appended to the advertised root, asked at the listener that was named", async () => {
    const rig = new CliRig();
    const location = rig.location({
      origin: "http://127.0.0.1:8080",
      baseUrl: { must: "equal", value: "https://host.example/apis/forms.takoform.com/v2" },
    });
    const client = await rig.connect({ location });
    await rig.run(client.resource("u_unknown"));
    expect(rig.sent.at(-1)?.path).toBe("/apis/forms.takoform.com/v2/resources/u_unknown");
    const other = rig.location({ baseUrl: { must: "equal", value: "https://host.example/other" } });
    expect((await rejection(rig.connect({ location: other }))).message).toContain("another node");
  });
});

describe("mutations", () => {
  test("create, update, delete and read work against the real Host API", async () => {
    const rig = new CliRig();
    const client = await rig.connect();
    const created = await rig.run(client.create(entry("a")).then((accepted) => client.settled(accepted)));
    expect(created).toMatchObject({ action: "create", status: "succeeded", effect: "complete" });
    const resource = await rig.run(client.named("default", "a"));
    expect(resource).toMatchObject({ uid: created.resourceUid, phase: "idle", generation: 1 });
    if (resource === null) throw new Error("gone");
    const updated = await rig.run(client.update(resource, { key: "a", value: "w" }).then((it) => client.settled(it)));
    expect(updated.generation).toBe(2);
    const current = await rig.run(client.resource(resource.uid));
    expect(current?.spec).toEqual({ key: "a", value: "w" });
    if (current === null) throw new Error("gone");
    await rig.run(client.delete(current).then((accepted) => client.settled(accepted)));
    expect(await rig.run(client.resource(resource.uid))).toBeNull();
    expect(await rig.run(client.named("default", "a"))).toBeNull();
  });

  const faults: Record<string, (pass: () => Promise<Response>) => Promise<Response>> = {
    "the request was lost": lost,
    "the answer was lost": async (pass) => {
      await pass();
      return lost();
    },
    "the answer was a 500": async (pass) => {
      await pass();
      return Response.json({ type: "about:blank", title: "x", status: 500, code: "internal_error" }, { status: 500 });
    },
    "a proxy answered 502 in HTML": async (pass) => {
      await pass();
      return new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "content-type": "text/html" } });
    },
    "a proxy answered 200 in HTML": async () =>
      new Response("<h1>Welcome</h1>", { headers: { "content-type": "text/html" } }),
  };
  for (const [what, fault] of Object.entries(faults)) {
    test(`HA-127, HA-150: when ${what}, the same request goes again under its own key, and there is one Resource`, async () => {
      const rig = new CliRig();
      const client = await rig.connect();
      rig.network = troubled(2, fault);
      await rig.run(client.create(entry("a")).then((accepted) => client.settled(accepted)));
      const tries = rig.mutations();
      expect(tries).toHaveLength(3);
      expect(new Set(tries.map(keyOf)).size).toBe(1);
      expect(new Set(tries.map((sent) => sent.body)).size).toBe(1);
      expect(keyOf(tries[0] as Sent)).toMatch(/^[A-Za-z0-9][A-Za-z0-9._:-]{15,127}$/);
      const all = [];
      for await (const resource of client.resources()) all.push(resource.name);
      expect(all).toEqual(["a"]);
    });
  }

  test("HA-168: a 503 and a 429 are waited out as long as they ask for, with the key kept", async () => {
    const rig = new CliRig();
    const client = await rig.connect();
    const busy = (status: number, code: string) =>
      Response.json(
        { type: "about:blank", title: "x", status, code },
        { status, headers: { "retry-after": "7", "content-type": "application/problem+json" } },
      );
    let count = 0;
    rig.network = (sent) => {
      if (sent.method === "GET" || count++ >= 2) return undefined;
      return Promise.resolve(count === 1 ? busy(503, "temporarily_unavailable") : busy(429, "rate_limited"));
    };
    await rig.run(client.create(entry("a")));
    const [first, second, third] = rig.mutations();
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(7_000);
    expect((third?.atMs ?? 0) - (second?.atMs ?? 0)).toBeGreaterThanOrEqual(7_000);
    expect(new Set(rig.mutations().map(keyOf)).size).toBe(1);
  });

  test("HA-127: automatic replay ends before the replay window does, and says what is not known", async () => {
    const rig = new CliRig();
    const client = await rig.connect({ patienceMs: 10 * 86_400_000 });
    // A window of a minute, told by a discovery document of its own.
    Object.assign(client.discovery.limits, { replayWindowSeconds: 60 });
    rig.network = troubled(Number.POSITIVE_INFINITY, lost);
    const error = await rejection(rig.run(client.create(entry("a"))));
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error.message).toContain("it is not known whether");
    const tries = rig.mutations();
    expect(tries.length).toBeGreaterThan(3);
    expect((tries.at(-1)?.atMs ?? 0) - (tries[0]?.atMs ?? 0)).toBeLessThan(60_000);
  });

  test("HA-154: a refusal is final and is not tried again", async () => {
    const rig = new CliRig();
    const client = await rig.connect();
    await rig.run(client.create(entry("a")));
    const error = await rejection(rig.run(client.create(entry("a"))));
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).code).toBe("name_conflict");
    expect(rig.mutations()).toHaveLength(2);
  });

  test("HA-18: a redirect is refused, and takes no token anywhere", async () => {
    const rig = new CliRig();
    const client = await rig.connect();
    rig.network = () =>
      Promise.resolve(new Response(null, { status: 307, headers: { location: "https://evil.example/" } }));
    const error = await rejection(rig.run(client.create(entry("a"))));
    expect((error as ApiError).code).toBe("redirected");
    expect(rig.sent.every((sent) => !sent.path.includes("evil"))).toBe(true);
  });
});

describe("waiting for an Operation", () => {
  test("HA-32: looks again only after the time that Retry-After gave", async () => {
    const rig = new CliRig();
    const client = await rig.connect();
    let looks = 0;
    rig.network = (sent, pass) => {
      if (sent.method === "POST") {
        return pass().then(
          async (response) =>
            new Response(await response.text(), {
              status: 202,
              headers: { "content-type": "application/json", "retry-after": "3" },
            }),
        );
      }
      if (!sent.path.includes("/operations/") || looks++ >= 2) return undefined;
      return pass().then(async (response) =>
        Response.json({ ...((await response.json()) as object), status: "running", effect: "none" }),
      );
    };
    await rig.run(client.create(entry("a")).then((accepted) => client.settled(accepted)));
    const times = rig.sent
      .filter((sent) => sent.path.includes("/operations/") || sent.method === "POST")
      .map((sent) => sent.atMs);
    expect(times).toHaveLength(4);
    for (let i = 1; i < times.length; i++) expect((times[i] ?? 0) - (times[i - 1] ?? 0)).toBeGreaterThanOrEqual(3_000);
  });

  const operation = (more: object) => ({
    id: "op_1",
    resourceUid: "r_1",
    action: "create",
    generation: 1,
    status: "running",
    effect: "none",
    createdAt: "2026-10-04T12:00:00Z",
    updatedAt: "2026-10-04T12:00:00Z",
    retainUntil: "2026-10-05T12:00:00Z",
    ...more,
  });

  const outcome = async (more: object): Promise<unknown> => {
    const rig = new CliRig();
    const client = await rig.connect({ patienceMs: 30_000 });
    rig.network = (sent) =>
      sent.method === "GET"
        ? Promise.resolve(Response.json(operation(more)))
        : Promise.resolve(Response.json(operation({}), { status: 202 }));
    return rig.run(
      client
        .create(entry("a"))
        .then((accepted) => client.settled(accepted))
        .catch((error: unknown) => error),
    );
  };

  test("HA-103, HA-104: `succeeded` is success; `failed` is the Operation's own error", async () => {
    expect(await outcome({ status: "succeeded", effect: "complete" })).toMatchObject({ id: "op_1" });
    expect(await outcome({ status: "failed", error: { code: "key_conflict", message: "taken" } })).toMatchObject({
      code: "key_conflict",
      message: "taken",
      operationId: "op_1",
    });
  });

  test("HA-26: an unknown status, effect or action is not read as success", async () => {
    for (const odd of [
      { status: "done", effect: "complete" },
      { status: "succeeded", effect: "magic" },
      { status: "succeeded", action: "patch" },
    ]) {
      expect(await outcome(odd)).toMatchObject({ code: "invalid_answer" });
    }
  });

  test("HA-107: an Operation that goes on is reported as unfinished, never as failed", async () => {
    expect(
      await outcome({ status: "reconciling", effect: "unknown", error: { code: "x", message: "lost" } }),
    ).toMatchObject({
      code: "unfinished",
      operationId: "op_1",
    });
    expect(
      await outcome({ status: "waiting_input", inputRequired: { names: ["a"], reason: "expired" } }),
    ).toMatchObject({
      code: "waiting_input",
    });
  });
});

describe("lists", () => {
  test("HA-142, HA-145, HA-160: all pages are walked, and an expired cursor repeats nothing", async () => {
    const rig = new CliRig();
    const client = await rig.connect();
    const names = Array.from({ length: 7 }, (_, i) => `entry-${i}`);
    for (const name of names) await rig.run(client.create(entry(name)));
    let pages = 0;
    let expiries = 0;
    rig.network = (sent) => {
      if (!sent.path.includes("/resources?")) return undefined;
      if (++pages === 3 && expiries++ === 0) {
        const expired = { type: "about:blank", title: "x", status: 409, code: "cursor_expired" };
        return Promise.resolve(Response.json(expired, { status: 409 }));
      }
      // Pages of two, so that there are some.
      const path = `${sent.path.slice(sent.path.indexOf("/resources"))}&limit=2`;
      return rig.rig.call("GET", path).then((page) => Response.json(page.body, { status: page.status }));
    };
    const seen: string[] = [];
    await rig.run(
      (async () => {
        for await (const resource of client.resources({ space: "default", form: KEY_VALUE })) seen.push(resource.name);
      })(),
    );
    expect(seen.sort()).toEqual(names);
    expect(pages).toBeGreaterThan(4);
    expect(expiries).toBeGreaterThan(0);
  });

  test("an empty list ends", async () => {
    const rig = new CliRig();
    const client = await rig.connect();
    const all = [];
    for await (const resource of client.resources({ name: "nothing" })) all.push(resource);
    expect(all).toEqual([]);
  });
});

describe("the operator API", () => {
  test("Spaces and tokens are made, listed and revoked", async () => {
    const rig = new CliRig();
    const operator = rig.operator(await rig.connect());
    expect(await operator.createSpace("team")).toMatchObject({ name: "team", created: true });
    expect(await operator.createSpace("team")).toMatchObject({ created: false });
    expect((await operator.spaces()).map((space) => space.name)).toEqual(["default", "team"]);
    const issued = await operator.createToken({ principal: "ada", spaces: ["team"], label: "laptop" });
    expect(issued).toMatchObject({ principal: "ada", spaces: ["team"] });
    const record = (await operator.tokens()).find((token) => token.principal === "ada");
    expect(record).toMatchObject({ label: "laptop", revokedAt: null });
    const hers = rig.location({ token: issued.token });
    const client = await rig.connect({ location: hers });
    expect(await client.named("team", "x")).toBeNull();
    await operator.revokeToken(record?.id ?? "");
    expect((await rejection(client.named("team", "x"))) as ApiError).toMatchObject({ code: "unauthenticated" });
    expect((await operator.tokens()).find((token) => token.principal === "ada")?.revokedAt).not.toBeNull();
  });

  test("an upload asks first, sends once, and tries again when the connection breaks", async () => {
    const rig = new CliRig();
    const operator = rig.operator(await rig.connect());
    const bytes = new TextEncoder().encode("hello");
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    rig.network = troubled(2, lost); // the HEAD and the first PUT
    expect(await operator.upload(sha256, bytes, "default")).toBe(true);
    expect(await operator.upload(sha256, bytes, "default")).toBe(false);
    const methods = rig.sent.filter((sent) => sent.path.startsWith("/operator/")).map((sent) => sent.method);
    expect(methods).toEqual(["HEAD", "PUT", "PUT", "HEAD"]);
    const wrong = "0".repeat(64);
    expect((await rejection(operator.upload(wrong, bytes, "default"))) as ApiError).toMatchObject({
      code: "artifact_digest_mismatch",
    });
  });
});
