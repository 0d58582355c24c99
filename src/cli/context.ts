/** The context of a command: its output, workspace, store, clock and environment. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { wrapProse } from "../surfaces/render/index.ts";
import type { Place } from "../assemble/index.ts";
import {
  type DatabaseOptions,
  openWorkspace,
  type RecordProblem,
  type Tenant,
  userConfigFolder,
  type UserEnvironment,
  type Workspace,
} from "../stores/index.ts";
import { createOutput, type Output } from "../surfaces/terminal/index.ts";
import { loadModule, oneLine, systemClock } from "../util/index.ts";
import { INTERRUPTED, usageError } from "./exit-status.ts";
import type { Host } from "./host.ts";
import type { GlobalFlags } from "./options.ts";

export interface CommandContext extends Place {
  readonly host: Host;
  readonly output: Output;
  /** Replaces exiting at once when the output is closed, until disposed. */
  readonly onOutputGone: (action: () => void) => Disposable;
  /** The program reading the output, such as `head`, has ended. */
  readonly isReaderGone: boolean;
  /** The database with the conversations. Undefined with files. */
  readonly database: DatabaseOptions | undefined;
  /** Closes connections. */
  close(): Promise<void>;
}

export interface ContextOptions {
  /** False to report a database that does not answer at once, without waiting for it to start. */
  readonly waitsForStore?: boolean | undefined;
}

/** Throws `usage` if the options or variables name no store. */
export async function createContext(
  host: Host,
  flags: GlobalFlags,
  { waitsForStore = true }: ContextOptions = {},
): Promise<CommandContext> {
  const found = await findDatabase(host.environment, flags.store);
  if (found === undefined) return contextOf(host, flags, undefined);
  const onWait = (address: string) =>
    context.output.notice(`The store at ${address} does not answer. Waiting for it to start…`);
  const connecting = waitsForStore ? { onWait } : { startMs: 0 };
  const onStoreId = () => noticeStoreId(context.output);
  const context = contextOf(host, flags, { ...found, connecting, onStoreId });
  return context;
}

/** A new workspace got its `.jp/.store-id`. */
export function noticeStoreId(output: Output): void {
  output.notice(
    "Created .jp/.store-id, which names this workspace in the database. Commit it: other clones need it.",
  );
}

/** A reader such as `head` has seen enough. A socket resets the connection if it was written to at that moment. */
function isGone({ code }: NodeJS.ErrnoException): boolean {
  return code === "EPIPE" || code === "ECONNRESET";
}

function contextOf(
  host: Host,
  flags: GlobalFlags,
  database: DatabaseOptions | undefined,
): CommandContext {
  const { environment, version, results, notices, pid } = host;
  const exitQuietly = (error: NodeJS.ErrnoException) => host.exit(isGone(error) ? 0 : 1);
  let onGone = exitQuietly;
  let isReaderGone = false;
  results.on("error", (error) => {
    isReaderGone ||= isGone(error);
    if (error.code === "ENOSPC") notices.write("jp: Cannot write the output: the disk is full.\n");
    onGone(error);
  });
  notices.on("error", (error) => onGone(error));
  let workspace: Workspace | undefined;
  const tenant = tenantOf(database, host);
  const cwd = path.resolve(host.cwd, flags.workspace ?? ".");
  const output = outputOf(host, flags);
  return {
    host,
    environment,
    cwd,
    version,
    output,
    ...tellOn(output),
    clock: systemClock,
    printed: new Set(),
    onOutputGone: (action) => {
      onGone = action;
      return {
        [Symbol.dispose]: () => {
          onGone = exitQuietly;
        },
      };
    },
    get isReaderGone() {
      return isReaderGone;
    },
    get workspace() {
      workspace ??= openWorkspace({
        from: cwd,
        allowsPlainFolder: true,
        environment,
        clock: systemClock,
        pid,
        ...(database !== undefined && { database }),
      });
      return workspace;
    },
    database,
    findTenant: tenant.find,
    close: async () => {
      await workspace?.conversations.close?.();
      await tenant.close();
    },
  };
}

function outputOf({ environment, results, notices }: Host, { width }: GlobalFlags): Output {
  return createOutput({
    stdout: results,
    stderr: notices,
    width,
    isColorForced: environment.variables["FORCE_COLOR"] !== undefined,
  });
}

/** The keyword for no database. */
export const FILES = "files";

const CONFIG_FILES = ["toml", "json", "yaml", "yml"].map((ending) => `config.${ending}`);

/** The database that a flag, a variable or the user's own config names. Undefined for files. Throws `usage`, and config errors. */
export async function findDatabase(
  environment: UserEnvironment,
  flag: string | undefined,
): Promise<DatabaseOptions | undefined> {
  const { variables } = environment;
  const named = flag ?? (variables["JP_STORE"] === "" ? undefined : variables["JP_STORE"]);
  if (named === FILES) return undefined;
  if (named !== undefined && !isDatabase(named)) {
    throw usageError(
      `${flag === undefined ? "JP_STORE" : "--store"}: expected an address like postgres://ana@db.example.com/jp, or files.`,
    );
  }
  if (named === undefined && !mentionsStorage(environment)) return undefined;
  const { loadDatabase } = await loadModule(() => import("./load-database.ts"));
  return loadDatabase(environment, named);
}

function isDatabase(address: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(address) && URL.canParse(address);
}

/** Most users have no such config, and should not wait for it to be parsed. */
function mentionsStorage(environment: UserEnvironment): boolean {
  const folder = userConfigFolder(environment);
  return CONFIG_FILES.some((name) => {
    const file = path.join(folder, name);
    return existsSync(file) && readFileSync(file, "utf8").includes("storage");
  });
}

function tenantOf(database: DatabaseOptions | undefined, host: Host) {
  let opened: Promise<Tenant> | undefined;
  return {
    find: async () => {
      if (database === undefined) return undefined;
      const { loadTenant } = await loadModule(() => import("./load-database.ts"));
      opened ??= loadTenant(database, host);
      return opened;
    },
    close: async () => (await opened?.catch(() => undefined))?.close(),
  };
}

function tellOn(output: Output): Pick<CommandContext, "notice" | "warn"> {
  return {
    notice: (text) => {
      for (const row of wrapProse(text, output.noticeWidth)) output.notice(row);
    },
    warn: (text) => warn(text, output),
  };
}

/** A copy of the context with another output. */
export function withOutput(context: CommandContext, output: Output): CommandContext {
  return { ...context, output, ...tellOn(output) };
}

export function warn(text: string, output: Output): void {
  const line = `${output.paintNotice("yellow", "warning")}: ${oneLine(text)}`;
  for (const row of wrapProse(line, output.noticeWidth)) output.notice(row);
}

/** Names and values, one pair per line; skips absent values. */
export function printFields(
  fields: Readonly<Record<string, string | undefined>>,
  output: Output,
): void {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    output.print(`${output.paint("bold", name.padEnd(width))}  ${oneLine(value)}`);
  }
}

/** Warns about unreadable parts of a record; the command continues with the rest. */
export function warnAboutProblems(problems: readonly RecordProblem[], output: Output): void {
  for (const { file, message } of problems) warn(`${file}: ${message}`, output);
}

export interface UntilSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** For long operations: aborted by Ctrl-C and similar signals. The second one exits immediately. */
export function untilSignal({ host, output }: CommandContext): UntilSignal {
  const stop = new AbortController();
  const end = () => {
    if (stop.signal.aborted) return host.exit(INTERRUPTED);
    stop.abort();
  };
  const onInterrupt = () => {
    if (host.notices.isTTY) output.notice(""); // The terminal has echoed ^C.
    end();
  };
  const watches = [
    host.onSignal(["SIGINT"], onInterrupt),
    host.onSignal(["SIGTERM", "SIGHUP"], end),
  ];
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => {
      for (const watch of watches) watch[Symbol.dispose]();
    },
  };
}
