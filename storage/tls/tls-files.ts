// Where the local certificate authority and the server's certificate are kept.
//
//   <dir>/authority.pem   0600  private key and certificate of the authority
//   <dir>/server.pem      0600  private key and certificate of the server
//   <dir>/ca.pem          0644  the authority's certificate again, for clients to trust
//
// A key and its certificate share one file, so that no crash can leave the new one of the two beside the old other.
import { join } from "node:path";
import { diskFaults } from "../disk/disk-fault.ts";
import { ensureDir, readIfExists, writeDurable } from "../disk/durable-file.ts";

/** A private key (PKCS #8) and the certificate of its public key, both PEM. */
export interface KeyAndCertificate {
  readonly keyPem: string;
  readonly certPem: string;
}

/** Faults of the disk reject with `temporarily_unavailable`. */
export class TlsFiles {
  readonly #dir: string;
  /** The file that clients give to their tools as the authority to trust. */
  readonly caFile: string;

  constructor(dir: string) {
    this.#dir = dir;
    this.caFile = join(dir, "ca.pem");
  }

  /** Null when there is none, or when the file is not a key and a certificate. */
  async authority(): Promise<KeyAndCertificate | null> {
    return await this.#load("authority.pem");
  }

  /** Null when there is none, or when the file is not a key and a certificate. */
  async server(): Promise<KeyAndCertificate | null> {
    return await this.#load("server.pem");
  }

  async keepAuthority(authority: KeyAndCertificate): Promise<void> {
    await this.#keep("authority.pem", authority);
  }

  async keepServer(server: KeyAndCertificate): Promise<void> {
    await this.#keep("server.pem", server);
  }

  /** Make `ca.pem` say `certPem`; does nothing when it does already. */
  async publish(certPem: string): Promise<void> {
    await diskFaults(async () => {
      const published = await readIfExists(this.caFile);
      if (published !== null && Buffer.from(published).toString() === certPem) return;
      await ensureDir(this.#dir, 0o755);
      await writeDurable(this.caFile, certPem, 0o644);
    });
  }

  async #load(name: string): Promise<KeyAndCertificate | null> {
    const bytes = await diskFaults(() => readIfExists(join(this.#dir, name)));
    if (bytes === null) return null;
    const pattern =
      /^(-----BEGIN PRIVATE KEY-----\n.+\n-----END PRIVATE KEY-----\n)(-----BEGIN CERTIFICATE-----\n.+)$/s;
    const [, keyPem, certPem] = pattern.exec(Buffer.from(bytes).toString()) ?? [];
    return keyPem === undefined || certPem === undefined ? null : { keyPem, certPem };
  }

  async #keep(name: string, { keyPem, certPem }: KeyAndCertificate): Promise<void> {
    await diskFaults(async () => {
      await ensureDir(this.#dir, 0o755);
      await writeDurable(join(this.#dir, name), keyPem + certPem, 0o600);
    });
  }
}
