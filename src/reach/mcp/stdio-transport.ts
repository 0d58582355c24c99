/**
 * MCP over a program's standard streams. The SDK's own transport ends only the process it started, passes on variables
 * that the config does not name, and starts a second process to negotiate the version.
 */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import {
  type ProcessExit,
  ProcessGroup,
  type Program,
  resolveProgramOnce,
} from "../process/index.ts";
import { LineReader, LineTail, settlesWithin, toError } from "../../util/index.ts";
import { McpError, programNotFound } from "./mcp-error.ts";
import type { ServerLink, Variables } from "./port.ts";
import {
  type LinkOptions,
  MAX_MESSAGE_BYTES,
  messageTooLong,
  type Sdk,
  type SettingsOf,
} from "./transport.ts";

/** The variables passed to a server: these, `LC_…`, and those that the config names. */
const SAFE_VARIABLES = new Set(["PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL"]);

/** How long a program may take to exit after its input ends, and then after SIGTERM. */
const CLOSE_MS = 500;
const TERMINATE_MS = 500;
/** How long its output may take to end after it has exited. */
const DRAIN_MS = 250;
/** How long to wait for an exit status that explains a failed write. */
const EXPLAIN_MS = 500;

/** Starts nothing yet. Throws `mcp_program_not_found`, `mcp_checksum_mismatch`. */
export async function createStdioLink({
  sdk,
  settings,
  context,
  signal,
}: LinkOptions<"stdio">): Promise<ServerLink> {
  const { variables, cwd } = context;
  const file =
    settings.checksum === undefined
      ? (resolveProgramOnce(settings.command, { cwd, searchPath: variables["PATH"] }) ??
        settings.command)
      : await findVerifiedProgram(settings, { cwd, variables, signal });
  const entries = Object.entries(variables).filter(
    ([name]) =>
      SAFE_VARIABLES.has(name) || name.startsWith("LC_") || settings.variables.includes(name),
  );
  const transport = new StdioTransport(sdk, {
    program: file,
    args: settings.arguments,
    variables: Object.fromEntries(entries),
    cwd,
  });
  return {
    transport,
    get endReason() {
      return transport.endReason;
    },
    get lastLines() {
      return transport.stderr;
    },
    fail: (reason) => transport.fail(reason),
    close: () => transport.close(),
  };
}

class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #sdk: Sdk;
  readonly #program: Program;
  readonly #tail = new LineTail();
  #starting: Promise<ProcessGroup> | undefined;
  #group: ProcessGroup | undefined;
  /** Resolves when the program has exited and its output was read. */
  #finished: Promise<void> = Promise.resolve();
  #exitReason: string | undefined;
  #failure: string | undefined;
  #delivered: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(sdk: Sdk, program: Program) {
    this.#sdk = sdk;
    this.#program = program;
  }

  /** The SDK looks for `stderr` and `pid`: with both, no response to its first request means an older server. */
  get stderr(): readonly string[] {
    return this.#tail.lines;
  }

  get pid(): number | null {
    return this.#group?.pid ?? null;
  }

  /** Why it ended, unless it still runs or was closed from here. */
  get endReason(): string | undefined {
    return this.#failure ?? (this.#isClosed ? undefined : this.#exitReason);
  }

  async start(): Promise<void> {
    this.#starting = ProcessGroup.start(this.#program);
    const group = await this.#starting;
    this.#group = group;
    this.#finished = this.#waitForExit(group);
    group.onStderr((chunk) => this.#tail.add(chunk));
    const reader = new LineReader({
      maxBytes: MAX_MESSAGE_BYTES,
      // In sequence: the SDK drops progress that arrives together with the result.
      onLine: (line) => {
        this.#delivered = this.#delivered.then(() => this.#deliver(line));
      },
      onTooLong: () => this.fail(messageTooLong().message),
    });
    group.onStdout((chunk) => {
      if (this.#failure === undefined) reader.add(chunk);
    });
    void this.#finished.then(() => this.#delivered).then(() => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#group === undefined) throw new Error("the program was not started");
    try {
      await this.#group.write(this.#sdk.serializeMessage(message));
    } catch (error) {
      await settlesWithin(this.#finished, EXPLAIN_MS);
      throw error;
    }
  }

  /** Stops the program and everything it started. Never rejects. */
  async close(): Promise<void> {
    this.#failure ??= this.endReason;
    this.#isClosed = true;
    const group = await this.#starting?.catch(() => undefined);
    if (group === undefined) return;
    group.endInput();
    if (await settlesWithin(this.#finished, CLOSE_MS)) return;
    await group.terminate(TERMINATE_MS);
    await this.#finished;
  }

  /** Closes it because of the program's behavior. Ignores its messages from now on. */
  fail(reason: string): void {
    this.#failure ??= reason;
    void this.close();
  }

  async #waitForExit(group: ProcessGroup): Promise<void> {
    this.#exitReason = describeExit(await group.exited);
    group.signal("SIGKILL"); // Kills processes that the program left behind.
    await group.finished(DRAIN_MS);
    group[Symbol.dispose]();
  }

  #deliver(line: string): void {
    if (this.#failure !== undefined) return;
    try {
      this.onmessage?.(this.#sdk.deserializeMessage(line));
    } catch (error) {
      this.#tail.addLine(line); // Some programs print a greeting on standard output.
      this.onerror?.(toError(error));
    }
  }
}

function describeExit(exit: ProcessExit): string {
  return "signal" in exit
    ? `it was ended by the signal ${exit.signal}`
    : `it exited with status ${exit.status}`;
}

interface ProgramPlaces {
  readonly cwd: string;
  readonly variables: Variables;
  readonly signal: AbortSignal;
}

/** The file whose checksum was verified, so that no other one is started in its place. */
async function findVerifiedProgram(
  { name, command, checksum }: SettingsOf<"stdio">,
  { cwd, variables, signal }: ProgramPlaces,
): Promise<string> {
  const file = resolveProgramOnce(command, { cwd, searchPath: variables["PATH"] });
  if (file === undefined) throw programNotFound({ name, command }, variables);
  if (checksum === undefined) return file;
  const hash = process.getBuiltinModule("node:crypto").createHash(checksum.algorithm); // Slow to load.
  await pipeline(createReadStream(file), hash, { signal });
  const actual = hash.digest("hex");
  if (actual === checksum.value.toLowerCase()) return file;
  throw new McpError(
    "mcp_checksum_mismatch",
    `The program of the MCP server "${name}" has a different checksum and was not started.\n\n` +
      `  ${file}\n  expected ${checksum.algorithm} ${checksum.value}\n` +
      `  actual   ${checksum.algorithm} ${actual}`,
    {
      hint: `If you changed it yourself, set the new value in providers.mcp.${name}.checksum.`,
    },
  );
}
