/** The errors of MCP servers: which one, what happened, what it wrote last, what to do about it. */
import type { McpServerSettings } from "../config/index.ts";
import { CodedError, quoteWord } from "../util/index.ts";

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
  | "mcp_listing_failed"
  | "mcp_server_down"
  | "mcp_closed";

/** A server that cannot be used, or not as it was meant to. */
export class McpError extends CodedError<McpErrorCode> {}

/** What a failure is known by: a sentence without its end, and the last lines of the server. */
export interface Failure {
  readonly reason: string;
  readonly lastLines: readonly string[];
  readonly cause?: unknown;
}

export function unknownServer(name: string, known: readonly string[]): McpError {
  const others = known.length === 0 ? "" : ` There are: ${known.join(", ")}.`;
  return new McpError("mcp_unknown_server", `There is no MCP server "${name}".`, {
    hint: `Give providers.mcp.${name} a command or a url.${others}`,
  });
}

export function startFailed(settings: McpServerSettings, failure: Failure): McpError {
  const { name } = settings;
  const { reason, lastLines, cause } = failure;
  const isProgram = settings.type === "stdio";
  const what = isProgram ? "did not start" : "cannot be reached";
  const hint = isProgram
    ? `Run its command by hand: ${[settings.command, ...settings.arguments].map(asWord).join(" ")}`
    : `Check that it is running, and providers.mcp.${name}.url.`;
  const message = `The MCP server "${name}" ${what}: ${reason}.`;
  return new McpError("mcp_start_failed", withLastLines(message, lastLines), { cause, hint });
}

export function startTimeout(settings: McpServerSettings, lastLines: readonly string[]): McpError {
  const { name, startupTimeoutMs } = settings;
  const message = `The MCP server "${name}" was not ready within ${startupTimeoutMs / 1000} s.`;
  return new McpError("mcp_start_timeout", withLastLines(message, lastLines), {
    hint: `Give it more time in providers.mcp.${name}.startup_timeout_secs; 0 is no limit.`,
  });
}

export function accessRefused(name: string, reason: string): McpError {
  return new McpError("mcp_access_refused", `The MCP server "${name}" refused access: ${reason}.`, {
    hint: `Check providers.mcp.${name}.headers, and the variables they are taken from.`,
  });
}

export function listingFailed(name: string, { reason, lastLines, cause }: Failure): McpError {
  const message = `The MCP server "${name}" did not list its tools: ${reason}.`;
  return new McpError("mcp_listing_failed", withLastLines(message, lastLines), { cause });
}

export function serverDown(name: string, { reason, lastLines }: Failure): McpError {
  const message = `The MCP server "${name}" has ended twice and stays down: ${reason}.`;
  return new McpError("mcp_server_down", withLastLines(message, lastLines), {
    hint: "Its tools do not work until jp is started again.",
  });
}

export function serversClosed(name: string): McpError {
  return new McpError("mcp_closed", `The MCP server "${name}" was closed.`);
}

/** The first line stands on its own; the lines are foreign text, as they came. */
export function withLastLines(message: string, lines: readonly string[]): string {
  if (lines.length === 0) return message;
  return `${message}\n\nIt wrote:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

/** What is at the bottom of an error, as a sentence without its end. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const status = "status" in error ? `HTTP ${String(error.status)}: ` : "";
  const text = status + (error.message === "" ? error.name : error.message);
  return text.slice(0, MOST_CHARACTERS).replace(/\.+$/, "");
}

/** A server may answer with a whole page where a sentence was expected. */
const MOST_CHARACTERS = 1000;

/** One word of a shell, as it is if it is one already. */
function asWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : quoteWord(text);
}
