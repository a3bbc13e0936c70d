// Making certificates: ECDSA on P-256, which every TLS client of today accepts.
import { isIP } from "node:net";
import type { X509CertificateCreateParams } from "@peculiar/x509";
import type { Random } from "../../base/random.ts";
import type { KeyAndCertificate } from "../../storage/tls/tls-files.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Ten years: whoever trusts it once is not asked again soon. */
export const AUTHORITY_DAYS = 3653;
/** Clients refuse server certificates that are valid for more than 398 days. */
export const SERVER_DAYS = 397;
/** A client whose clock is a little behind accepts a certificate that was made a moment ago. */
const BACKDATE_MS = 60 * 60_000;

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** A new authority that signs itself, valid from `nowMs` (Unix milliseconds) for AUTHORITY_DAYS. */
export async function issueAuthority(nowMs: number, random: Random): Promise<KeyAndCertificate> {
  const x509 = await library();
  const keys = await newKeys();
  // Its name tells it from the authorities of other nodes in the trust store of somebody's machine.
  const name = `O=Atoll, CN=Atoll local CA ${hex(random.bytes(4))}`;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(nowMs, AUTHORITY_DAYS, random),
    name,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { keyPem: await keyToPem(keys.privateKey), certPem: `${certificate.toString("pem")}\n` };
}

/**
 * A server certificate for `names` (host names, `*.domain` or addresses; at least one), signed by `authority`, valid
 * from `nowMs` for SERVER_DAYS.
 */
export async function issueServerCertificate(
  authority: KeyAndCertificate,
  names: readonly string[],
  nowMs: number,
  random: Random,
): Promise<KeyAndCertificate> {
  const x509 = await library();
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.certPem);
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(nowMs, SERVER_DAYS, random),
    subject: "O=Atoll, CN=Atoll server",
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: await keyFromPem(authority.keyPem),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }) as const),
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { keyPem: await keyToPem(keys.privateKey), certPem: `${certificate.toString("pem")}\n` };
}

/** Loaded when the first certificate is made: a start that finds its certificate on the disk does not pay for it. */
async function library() {
  await import("reflect-metadata");
  return await import("@peculiar/x509");
}

function validity(
  nowMs: number,
  days: number,
  random: Random,
): Pick<X509CertificateCreateParams, "serialNumber" | "notBefore" | "notAfter"> {
  // Positive and of full length, whatever was drawn (RFC 5280, 4.1.2.2).
  const serial = random.bytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return {
    serialNumber: hex(serial),
    notBefore: new Date(nowMs - BACKDATE_MS),
    notAfter: new Date(nowMs + days * DAY_MS - BACKDATE_MS),
  };
}

async function newKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function keyToPem(key: CryptoKey): Promise<string> {
  const lines =
    Buffer.from(await crypto.subtle.exportKey("pkcs8", key))
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n");
}

async function keyFromPem(pem: string): Promise<CryptoKey> {
  const bytes = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
  return await crypto.subtle.importKey("pkcs8", bytes, ALGORITHM, false, ["sign"]);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
