/** The errors of MCP servers: which server, what happened, its last output, and what to do. */
import type { McpServerSettings } from "../../settings/config/index.ts";
import { quoteCommand, quoteWord } from "../process/index.ts";
import { JpError } from "../../util/index.ts";
import type { Variables } from "./port.ts";

/** The codes of an `McpError`. */
export type McpErrorCode =
  | "mcp_unknown_server"
  | "mcp_unknown_tool"
  | "mcp_unknown_parameter"
  | "mcp_variable_unset"
  | "mcp_invalid_address"
  | "mcp_invalid_header"
  | "mcp_program_not_found"
  | "mcp_checksum_mismatch"
  | "mcp_start_failed"
  | "mcp_start_timeout"
  | "mcp_access_refused"
  | "mcp_login_required"
  | "mcp_login_failed"
  | "mcp_scope_missing"
  | "mcp_listing_failed"
  | "mcp_resource_failed"
  | "mcp_server_down"
  | "mcp_closed";

/** A server cannot be used as configured. */
export class McpError extends JpError<McpErrorCode> {}

/** `reason` is a sentence without its full stop. */
export interface Failure {
  readonly reason: string;
  readonly lastLines: readonly string[];
  readonly cause?: unknown;
}

/** A server may respond with a whole page where a sentence is expected. */
const MAX_REASON_LENGTH = 1000;

export function unknownServer(name: string, known: readonly string[]): McpError {
  const others = known.length === 0 ? "" : ` Configured servers: ${known.join(", ")}.`;
  return new McpError("mcp_unknown_server", `Unknown MCP server "${name}".`, {
    hint: `Set a command or a url in providers.mcp.${name}.${others}`,
  });
}

export function startFailed(settings: McpServerSettings, failure: Failure): McpError {
  const { name } = settings;
  const { reason, lastLines, cause } = failure;
  const isProgram = settings.type === "stdio";
  const what = isProgram ? "did not start" : "cannot be reached";
  const hint = isProgram
    ? `Run it yourself to see why: ${quoteCommand([settings.command, ...settings.arguments])}`
    : `Check that it is running and that providers.mcp.${name}.url is correct.`;
  const message = `The MCP server "${name}" ${what}: ${reason}.`;
  return new McpError("mcp_start_failed", withLastLines(message, lastLines), { cause, hint });
}

export function programNotFound(
  { name, command }: Pick<Extract<McpServerSettings, { type: "stdio" }>, "name" | "command">,
  { PATH }: Variables,
): McpError {
  const hint =
    PATH === undefined
      ? "The environment has no PATH. A program that embeds jp passes its own as `variables`."
      : `Install it, or correct providers.mcp.${name}.command.`;
  const message = `The MCP server "${name}" did not start: program "${command}" not found.`;
  return new McpError("mcp_program_not_found", message, { hint });
}

export function startTimeout(settings: McpServerSettings, lastLines: readonly string[]): McpError {
  const { name, startupTimeoutMs } = settings;
  const message = `The MCP server "${name}" was not ready within ${startupTimeoutMs / 1000} s.`;
  return new McpError("mcp_start_timeout", withLastLines(message, lastLines), {
    hint: `Allow it more time with providers.mcp.${name}.startup_timeout_secs (0 for no limit).`,
  });
}

export function accessRefused(name: string, reason: string): McpError {
  return new McpError("mcp_access_refused", `The MCP server "${name}" denied access: ${reason}.`, {
    hint: `Check providers.mcp.${name}.headers and the variables they use.`,
  });
}

/** The message has the command too, because the model gets nothing else. */
export function loginRequired(name: string): McpError {
  const message = `The MCP server "${name}" requires a login: run \`jp mcp login ${name}\`.`;
  return new McpError("mcp_login_required", message);
}

export function loginEnded(name: string): McpError {
  const message = `Your login to the MCP server "${name}" has ended: run \`jp mcp login ${name}\`.`;
  return new McpError("mcp_login_required", message);
}

/** A login lacks permissions. */
export class ScopeMissing extends McpError {
  /** What to ask for. Empty if the server does not say. */
  readonly scopes: readonly string[];

  constructor(name: string, scopes: readonly string[]) {
    const flags = scopes.map((scope) => ` --scope ${quoteWord(scope)}`).join("");
    const message = `The MCP server "${name}" requires permissions that your login does not have`;
    const todo = scopes.length === 0 ? "." : `: run \`jp mcp login ${name}${flags}\`.`;
    super("mcp_scope_missing", message + todo);
    this.scopes = scopes;
  }
}

/** What RFC 6749 allows in a scope. */
const SCOPE = /^[!#-[\]-~]+$/;
const MAX_SCOPES = 20;
const MAX_SCOPE_LENGTH = 200;

/** `scope`: as the server names it, separated by spaces. */
export function scopeMissing(name: string, scope = ""): ScopeMissing {
  const words = scope.split(" ").filter((word) => SCOPE.test(word));
  const usable = words.filter(({ length }) => length <= MAX_SCOPE_LENGTH);
  return new ScopeMissing(name, usable.slice(0, MAX_SCOPES));
}

export function listingFailed(name: string, { reason, lastLines, cause }: Failure): McpError {
  const message = `The MCP server "${name}" could not list its tools: ${reason}.`;
  return new McpError("mcp_listing_failed", withLastLines(message, lastLines), { cause });
}

export function resourceFailed(name: string, uri: string, cause: unknown): McpError {
  const message = `The MCP server "${name}" could not read ${uri}: ${reasonOf(cause)}.`;
  return new McpError("mcp_resource_failed", message, { cause });
}

export function serverDown(name: string, { reason, lastLines }: Failure): McpError {
  const message = `The MCP server "${name}" exited twice and will not be restarted: ${reason}.`;
  return new McpError("mcp_server_down", withLastLines(message, lastLines), {
    hint: "Its tools are unavailable until you restart jp.",
  });
}

export function serversClosed(name: string): McpError {
  return new McpError("mcp_closed", `The MCP server "${name}" was closed.`);
}

/** Keeps the message apart, and shows the lines as the server wrote them. */
export function withLastLines(message: string, lines: readonly string[]): string {
  if (lines.length === 0) return message;
  return `${message}\n\nIt wrote:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

/** The innermost cause of an error, as a sentence without its full stop. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const status = "status" in error ? `HTTP ${String(error.status)}: ` : "";
  const text = status + (error.message === "" ? error.name : error.message);
  return text.slice(0, MAX_REASON_LENGTH).replace(/\.+$/, "");
}
