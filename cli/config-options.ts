import type { Command } from "commander";

/** The flags of ConfigFlags, for every command that starts or checks a node. */
export function configOptions(command: Command): Command {
  return command
    .option("--config <file>", "config file (or ATOLL_CONFIG)")
    .option("--data <dir>", "data directory (default: .atoll/data)")
    .option("--listen <host:port>", "plain HTTP listener (default: 127.0.0.1:8080; port 0 picks a free one)")
    .option("--tls-listen <host:port>", "TLS listener (default: 127.0.0.1:8443; port 0 picks a free one)")
    .option("--endpoint-domain <domain>", "endpoints get host names below it (default: atoll.localhost)")
    .option("--public-url <url>", "origin at which clients reach the Host API (default: that of the TLS listener)")
    .option("--log-level <level>", "debug, info, warn or error (default: info)");
}
