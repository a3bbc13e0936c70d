import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { silentLogger } from "../../../../base/log.ts";
import { SystemRandom } from "../../../../base/random.ts";
import { SteppedClock } from "../../../../base/stepped-clock.ts";
import { CertificateAuthority, type ServerCertificate } from "../../../../runtime/ingress/certificate-authority.ts";
import { TlsFiles } from "../../../../storage/tls/tls-files.ts";
import { rejectionCode } from "../../../support/rejection.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const NAMES = ["*.atoll.localhost", "atoll.localhost", "localhost", "127.0.0.1", "::1", "edge.example.com"];
const DAY_MS = 24 * 60 * 60_000;

function fixture() {
  const dir = temporaryDirectory();
  const clock = new SteppedClock(Date.now());
  const files = new TlsFiles(join(dir.path, "tls"));
  return {
    dir: join(dir.path, "tls"),
    clock,
    files,
    // A new instance each time: nothing but the disk connects them, as after a restart.
    certificateFor: (names = NAMES): Promise<ServerCertificate> =>
      new CertificateAuthority({ files, clock, random: new SystemRandom(), logger: silentLogger }).certificateFor(
        names,
      ),
    [Symbol.dispose]: () => dir[Symbol.dispose](),
  };
}

/** A TLS server with the certificate; answers "ok". */
function serve(certificate: ServerCertificate) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: certificate.certPem, key: certificate.keyPem },
    fetch: () => new Response("ok"),
  });
}

function getStatus(port: number, servername: string, ca: string): Promise<number | string> {
  return new Promise((resolve) => {
    const request = get(
      { host: "127.0.0.1", port, servername, ca, headers: { host: servername }, agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    request.on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
  });
}

test("WE-12: a TLS client that trusts the authority accepts every name, and no other", async () => {
  using f = fixture();
  const certificate = await f.certificateFor();
  const server = serve(certificate);
  const port = server.port ?? 0;
  try {
    for (const name of ["shop.atoll.localhost", "atoll.localhost", "localhost", "edge.example.com"]) {
      expect(await getStatus(port, name, certificate.caPem)).toBe(200);
    }
    expect(await getStatus(port, "a.b.atoll.localhost", certificate.caPem)).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    expect(await getStatus(port, "example.com", certificate.caPem)).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    const stranger = fixture();
    expect(await getStatus(port, "localhost", (await stranger.certificateFor()).caPem)).not.toBe(200);
    stranger[Symbol.dispose]();
    const byAddress = await fetch(`https://127.0.0.1:${port}/`, { tls: { ca: certificate.caPem } });
    expect(await byAddress.text()).toBe("ok");
  } finally {
    await server.stop(true);
  }
});

test.if(Bun.which("curl") !== null)("WE-12: curl accepts it with the published file", async () => {
  using f = fixture();
  const server = serve(await f.certificateFor());
  try {
    const url = `https://shop.atoll.localhost:${server.port}/`;
    const curl = Bun.spawn(
      ["curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", f.files.caFile, "--resolve"].concat([
        `shop.atoll.localhost:${server.port}:127.0.0.1`,
        url,
      ]),
    );
    expect(await new Response(curl.stdout).text()).toBe("ok");
  } finally {
    await server.stop(true);
  }
});

test.if(Bun.which("openssl") !== null)("a strict verifier accepts the chain", async () => {
  using f = fixture();
  await f.certificateFor();
  const verify = Bun.spawn(
    ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "a.atoll.localhost"].concat([
      "-CAfile",
      f.files.caFile,
      join(f.dir, "server.pem"),
    ]),
    { stderr: "pipe" },
  );
  expect(await new Response(verify.stdout).text()).toContain(": OK");
});

test("keys are readable by their owner alone, and the authority's certificate by everybody", async () => {
  using f = fixture();
  const certificate = await f.certificateFor();
  const modeOf = (name: string): number => statSync(join(f.dir, name)).mode & 0o777;
  expect([modeOf("authority.pem"), modeOf("server.pem"), modeOf("ca.pem")]).toEqual([0o600, 0o600, 0o644]);
  expect(readFileSync(f.files.caFile, "utf8")).toBe(certificate.caPem);
  expect(certificate.caPem).not.toContain("PRIVATE KEY");
});

test("WE-31: after a restart the same authority and the same certificate are used, in whatever order the names come", async () => {
  using f = fixture();
  const first = await f.certificateFor();
  await f.clock.advance(300 * DAY_MS);
  expect(await f.certificateFor(NAMES.toReversed().map((name) => name.toUpperCase()))).toEqual(first);
});

test("CA2: a certificate is renewed 30 days before it expires, by the same authority", async () => {
  using f = fixture();
  const first = await f.certificateFor();
  expect(Date.parse(new X509Certificate(first.certPem).validTo) - first.renewAtMs).toBe(30 * DAY_MS);
  await f.clock.advance(first.renewAtMs - f.clock.nowMs());
  const second = await f.certificateFor();
  expect(second.certPem).not.toBe(first.certPem);
  expect(second.caPem).toBe(first.caPem);
  expect(second.renewAtMs).toBeGreaterThan(first.renewAtMs + 300 * DAY_MS);
});

test("CA2: other names get a new certificate of the same authority", async () => {
  using f = fixture();
  const first = await f.certificateFor();
  const second = await f.certificateFor([...NAMES, "*.other.test"]);
  expect(second.caPem).toBe(first.caPem);
  expect(new X509Certificate(second.certPem).subjectAltName).toContain("DNS:*.other.test");
  expect((await f.certificateFor(["localhost"])).certPem).not.toBe(second.certPem);
});

test("CA2: an authority that would not outlive its certificates is replaced, and so is the certificate", async () => {
  using f = fixture();
  const first = await f.certificateFor();
  await f.clock.advance(9 * 365 * DAY_MS);
  const second = await f.certificateFor();
  expect(second.caPem).not.toBe(first.caPem);
  expect(new X509Certificate(second.certPem).verify(new X509Certificate(second.caPem).publicKey)).toBe(true);
  expect(readFileSync(f.files.caFile, "utf8")).toBe(second.caPem);
});

test.each([
  "",
  "garbage",
  "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nAAAA\n",
])("CA2: damaged files (%p) are replaced", async (damage) => {
  using f = fixture();
  const first = await f.certificateFor();
  writeFileSync(join(f.dir, "server.pem"), damage);
  writeFileSync(f.files.caFile, damage);
  const second = await f.certificateFor();
  expect(second.caPem).toBe(first.caPem);
  expect(second.certPem).not.toBe(first.certPem);
  expect(readFileSync(f.files.caFile, "utf8")).toBe(first.caPem);
  writeFileSync(join(f.dir, "authority.pem"), damage);
  const third = await f.certificateFor();
  expect(third.caPem).not.toBe(first.caPem);
  expect(new X509Certificate(third.certPem).verify(new X509Certificate(third.caPem).publicKey)).toBe(true);
});

test("a certificate with the key of another is replaced", async () => {
  using f = fixture();
  const first = await f.certificateFor();
  const other = fixture();
  const foreign = await other.certificateFor();
  writeFileSync(join(f.dir, "server.pem"), foreign.keyPem + first.certPem);
  expect((await f.certificateFor()).keyPem).not.toBe(foreign.keyPem);
  other[Symbol.dispose]();
});

test.each(["", "a b", "-a.test", "a..test", "*", "a.*.test", "http://a.test", `${"a".repeat(64)}.test`])(
  "the name %p is refused",
  async (name) => {
    using f = fixture();
    expect(await rejectionCode(f.certificateFor(["localhost", name]))).toBe("invalid_request");
  },
);
