/**
 * Program and leading arguments that start the `atoll` command of this very process again, from a checkout or from the
 * binary; append the command's own arguments. In the binary, `Bun.main` is a path inside it and no argument.
 */
export function ownCommand(): readonly string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath];
  return [process.execPath, ...process.execArgv, Bun.main];
}
