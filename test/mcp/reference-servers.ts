/** The reference servers of the protocol that keep state: files in a folder, and a graph of entities. */
import path from "node:path";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";

const SERVERS = path.join(import.meta.dirname, "../../node_modules/@modelcontextprotocol");

export interface StdioProgram {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/** May read and write only in this folder. */
export function filesystemServer(folder: string): StdioProgram {
  return programOf("server-filesystem", [folder]);
}

/** Starts without entities. */
export function memoryServer(): StdioProgram {
  const file = path.join(temporaryFolder(), "memory.jsonl");
  return { ...programOf("server-memory", []), variables: { MEMORY_FILE_PATH: file } };
}

function programOf(name: string, args: readonly string[]): StdioProgram {
  const program = path.join(SERVERS, name, "dist/index.js");
  return { command: process.execPath, arguments: [program, ...args], variables: {} };
}
