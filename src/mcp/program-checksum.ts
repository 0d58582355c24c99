/** The program of a server, found through `PATH`, and the proof that it is the expected one. */
import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { access, stat } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import type { McpServerSettings } from "../config/index.ts";
import { McpError } from "./mcp-error.ts";

type StdioSettings = Extract<McpServerSettings, { type: "stdio" }>;

export interface ProgramPlaces {
  readonly cwd: string;
  readonly path: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * What to run: the very file that was checked. Without a checksum nothing is looked up.
 * Throws `mcp_program_not_found`, `mcp_checksum_mismatch`.
 */
export async function checkedProgram(
  settings: StdioSettings,
  places: ProgramPlaces,
): Promise<string> {
  const { name, command, checksum } = settings;
  if (checksum === undefined) return command;
  const file = await findProgram(command, places);
  if (file === undefined) throw programNotFound(name, command);
  const hash = createHash(checksum.algorithm);
  await pipeline(createReadStream(file), hash, { signal: places.signal });
  const actual = hash.digest("hex");
  if (actual === checksum.value.toLowerCase()) return file;
  throw new McpError(
    "mcp_checksum_mismatch",
    `The program of the MCP server "${name}" is not the expected one and was not started.\n\n` +
      `  ${file}\n  expected ${checksum.algorithm} ${checksum.value}\n` +
      `  actual   ${checksum.algorithm} ${actual}`,
    {
      hint: `If you have changed it yourself, put the new value into providers.mcp.${name}.checksum.`,
    },
  );
}

export function programNotFound(name: string, command: string): McpError {
  return new McpError(
    "mcp_program_not_found",
    `The MCP server "${name}" cannot be started: there is no program "${command}".`,
    { hint: `Install it, or correct providers.mcp.${name}.command.` },
  );
}

async function findProgram(command: string, places: ProgramPlaces): Promise<string | undefined> {
  const folders = command.includes(path.sep)
    ? [""]
    : (places.path ?? "").split(path.delimiter).filter((folder) => folder !== "");
  for (const folder of folders) {
    const file = path.resolve(places.cwd, folder, command);
    if (await isProgram(file)) return file;
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
