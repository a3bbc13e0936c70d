import { Command } from "commander";
import { printJson, printLine, printTable } from "../output.ts";
import { withNode, openSession, type SessionFlags } from "../session.ts";

interface CreateFlags extends SessionFlags {
  readonly principal: string;
  readonly space: readonly string[];
  readonly admin?: boolean;
  readonly label?: string;
}

export function tokenCommand(): Command {
  const create = new Command("create")
    .description("make a token for a principal that may use the given Spaces")
    .requiredOption("--principal <name>", "who the token speaks for; stays the same when tokens change")
    .requiredOption("--space <name...>", "a Space that the principal may use")
    .option("--admin", "let the principal do what an operator does, too")
    .option("--label <text>", "a note to tell tokens apart by")
    .action(createToken);
  const list = new Command("list").description("list tokens; their secret part is not kept").action(listTokens);
  const revoke = new Command("revoke")
    .description("revoke a token")
    .argument("<id>", "id of the token")
    .action(revokeToken);
  return new Command("token")
    .description("make, list and revoke tokens of principals")
    .addCommand(withNode(create))
    .addCommand(withNode(list))
    .addCommand(withNode(revoke));
}

async function createToken(flags: CreateFlags): Promise<void> {
  const { operator, say } = await openSession(flags);
  const issued = await operator.createToken({
    principal: flags.principal,
    spaces: flags.space,
    ...(flags.admin === undefined ? {} : { admin: flags.admin }),
    ...(flags.label === undefined ? {} : { label: flags.label }),
  });
  if (flags.json) {
    printJson({ token: issued.token, principal: issued.principal, spaces: issued.spaces });
    return;
  }
  if (issued.id !== undefined) say(`id, for revoking it: ${issued.id}`);
  say(`token of ${issued.principal} for ${issued.spaces.join(", ")}; it is shown only this once`);
  printLine(issued.token);
}

async function listTokens(flags: SessionFlags): Promise<void> {
  const { operator } = await openSession(flags);
  const items = await operator.tokens();
  if (flags.json) {
    printJson({ items });
    return;
  }
  printTable(
    ["id", "principal", "spaces", "created", "revoked", "label"],
    items.map((token) => [
      token.id,
      token.principal,
      token.spaces.join(","),
      token.createdAt,
      token.revokedAt ?? "-",
      token.label ?? "",
    ]),
  );
}

async function revokeToken(id: string, flags: SessionFlags): Promise<void> {
  const { operator, say } = await openSession(flags);
  await operator.revokeToken(id);
  if (flags.json) printJson({ id, revoked: true });
  else say(`token ${id} is revoked`);
}
