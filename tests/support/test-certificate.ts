import { SystemRandom } from "../../base/random.ts";
import { issueAuthority, issueServerCertificate } from "../../runtime/ingress/issue-certificate.ts";

/** A certificate for `names` by an authority of the test's own. */
export async function testCertificate(
  ...names: string[]
): Promise<{ readonly certPem: string; readonly keyPem: string; readonly caPem: string }> {
  const authority = await issueAuthority(Date.now(), new SystemRandom());
  const server = await issueServerCertificate(authority, names, Date.now(), new SystemRandom());
  return { ...server, caPem: authority.certPem };
}
