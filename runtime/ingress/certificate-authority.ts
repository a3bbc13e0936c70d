// The node's own certificate authority, for TLS without anybody having to bring a certificate (WE-12).
//
//   CA1. What is on the disk is used as long as it is good: after a restart clients meet the same authority and the
//        same certificate (WE-31).
//   CA2. What is not good (missing, damaged, for other names, of another authority, about to expire) is replaced. The
//        authority itself is replaced only when it is missing, damaged, or would not outlive a new certificate.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { AtollError } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { KeyAndCertificate, TlsFiles } from "../../storage/tls/tls-files.ts";
import { issueAuthority, issueServerCertificate, SERVER_DAYS } from "./issue-certificate.ts";

/** What a TLS listener and its clients need, all PEM. */
export interface ServerCertificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** The authority that clients have to trust. */
  readonly caPem: string;
  /** Ask for the certificate again at this Unix time: from then on a new one is issued. */
  readonly renewAtMs: number;
}

export interface CertificateAuthorityOptions {
  readonly files: TlsFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const DAY_MS = 24 * 60 * 60_000;
const RENEW_BEFORE_MS = 30 * DAY_MS;
const DNS_NAME = /^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;

export class CertificateAuthority {
  readonly #files: TlsFiles;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;

  constructor(options: CertificateAuthorityOptions) {
    this.#files = options.files;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#logger = options.logger;
  }

  /**
   * The certificate for exactly `names`: host names, `*.domain` or IP addresses, in any order, at least one. The one on
   * the disk if it is good (CA1), else a new one (CA2). Rejects with `invalid_request` for a malformed name and
   * `temporarily_unavailable` when the disk refuses.
   */
  async certificateFor(names: readonly string[]): Promise<ServerCertificate> {
    const wanted = [...new Set(names.map(canonicalName))];
    if (wanted.length === 0) throw new AtollError("invalid_request", "A certificate needs at least one name.");
    const authority = await this.#authority();
    const kept = await this.#files.server();
    const server = kept !== null && this.#isGoodServer(kept, authority, wanted) ? kept : null;
    return this.#answer(server ?? (await this.#issue(authority, wanted)), authority);
  }

  async #authority(): Promise<KeyAndCertificate> {
    const kept = await this.#files.authority();
    if (kept !== null && this.#isGoodAuthority(kept)) {
      await this.#files.publish(kept.certPem);
      return kept;
    }
    if (kept !== null)
      this.#logger.warn("the local certificate authority is replaced; clients have to trust the new one");
    const made = await issueAuthority(this.#clock.nowMs(), this.#random);
    await this.#files.keepAuthority(made);
    await this.#files.publish(made.certPem);
    return made;
  }

  async #issue(authority: KeyAndCertificate, names: readonly string[]): Promise<KeyAndCertificate> {
    const made = await issueServerCertificate(authority, names, this.#clock.nowMs(), this.#random);
    await this.#files.keepServer(made);
    this.#logger.info("a server certificate was issued", { names });
    return made;
  }

  #answer(server: KeyAndCertificate, authority: KeyAndCertificate): ServerCertificate {
    const renewAtMs = Date.parse(new X509Certificate(server.certPem).validTo) - RENEW_BEFORE_MS;
    return { certPem: server.certPem, keyPem: server.keyPem, caPem: authority.certPem, renewAtMs };
  }

  #isGoodAuthority(kept: KeyAndCertificate): boolean {
    const certificate = readPair(kept);
    if (certificate === null || !certificate.ca) return false;
    return this.#isValidFor(certificate, SERVER_DAYS * DAY_MS);
  }

  #isGoodServer(kept: KeyAndCertificate, authority: KeyAndCertificate, names: readonly string[]): boolean {
    const certificate = readPair(kept);
    if (certificate === null || !certificate.verify(new X509Certificate(authority.certPem).publicKey)) return false;
    const held = (certificate.subjectAltName ?? "")
      .split(", ")
      .map((entry) => canonicalName(entry.replace(/^[^:]*:/, "")));
    const isSame = held.length === names.length && names.every((name) => held.includes(name));
    return isSame && this.#isValidFor(certificate, RENEW_BEFORE_MS);
  }

  #isValidFor(certificate: X509Certificate, aheadMs: number): boolean {
    const nowMs = this.#clock.nowMs();
    return Date.parse(certificate.validFrom) <= nowMs && nowMs + aheadMs < Date.parse(certificate.validTo);
  }
}

/** The certificate, or null when it cannot be read or is not that of the key. */
function readPair({ keyPem, certPem }: KeyAndCertificate): X509Certificate | null {
  try {
    const certificate = new X509Certificate(certPem);
    return certificate.checkPrivateKey(createPrivateKey(keyPem)) ? certificate : null;
  } catch {
    return null;
  }
}

/** One spelling for each name; throws `invalid_request` for what cannot stand in a certificate. */
function canonicalName(name: string): string {
  const family = isIP(name);
  if (family === 4) return name;
  if (family === 6) return new URL(`http://[${name}]/`).hostname.slice(1, -1);
  if (name.length <= 253 && DNS_NAME.test(name)) return name.toLowerCase();
  throw new AtollError("invalid_request", `A certificate cannot be made for the name ${JSON.stringify(name)}.`);
}
