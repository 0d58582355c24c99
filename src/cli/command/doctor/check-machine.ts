/** Checks the machine and the workspace: terminal, editor, folders, locks and records. */
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { PartialConfig } from "../../../settings/config/index.ts";
import type { StreamEntry } from "../../../record/conversation/index.ts";
import {
  acceptedFor,
  addressOf,
  assertCanLock,
  DEFAULT_TENANT,
  type DatabaseOptions,
  type RecordProblem,
  userDataFolder,
  type Workspace,
} from "../../../stores/index.ts";
import { columnsOf } from "../../../surfaces/terminal/index.ts";
import { isJsonObject, oneLine, systemErrorCode } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { findEditor, NO_EDITOR_HINT } from "../../editor.ts";
import { wantsPlainText } from "../../host.ts";
import { type Finding, findingFromError } from "./finding.ts";

const MIN_COLUMNS = 40;

/** Always ok: `main.ts` refuses an older Node. */
export function checkNode(): Finding {
  return { check: "node", state: "ok", message: `Node ${process.versions.node}` };
}

export function checkTerminal(context: CommandContext, config: PartialConfig): Finding {
  const { output, environment } = context;
  const { variables } = environment;
  const check = "terminal";
  if (variables["JP_NONINTERACTIVE"] === "1") {
    return {
      check,
      state: "warning",
      message: "JP_NONINTERACTIVE is 1, so jp never prompts and applies the configured policy.",
      hint: "Unset it to get prompts.",
    };
  }
  if (!context.host.terminal.isAvailable()) {
    return {
      check,
      state: "warning",
      message: "No terminal is available, so jp cannot prompt and applies the configured policy.",
      hint: "See conversation.tools.'*'.detached in the config.",
    };
  }
  const columns = columnsOf(context.host.stdout);
  const isPlain = wantsPlainText(context, config);
  if (!isPlain && output.isTerminal && columns < MIN_COLUMNS) {
    return {
      check,
      state: "warning",
      message: `Prompts may look wrong on ${columns} columns.`,
      hint: `Use at least ${MIN_COLUMNS} columns, or set JP_PLAIN=1 for plain text.`,
    };
  }
  const { bell = true, desktop = true } = config.style?.notification ?? {};
  const alerts = [bell ? "bell" : "", desktop && !isPlain ? "desktop" : ""].filter(Boolean);
  const facts = [
    isPlain ? "plain prompts" : "prompts work",
    output.isTerminal ? `${columns} columns` : "output redirected",
    output.hasColors ? "colors" : "no colors",
    alerts.length === 0 ? "no notifications" : `notifications: ${alerts.join(" and ")}`,
  ];
  return { check, state: "ok", message: facts.join(", ") };
}

export function checkEditor(
  { environment: { variables } }: CommandContext,
  config: PartialConfig,
): Finding {
  const check = "editor";
  const editor = findEditor(variables, config.editor);
  if (editor === undefined) {
    const message = "No editor is set; jp opens a prompt instead.";
    return { check, state: "warning", message, hint: NO_EDITOR_HINT };
  }
  return { check, state: "ok", message: `${editor.command} (${editor.variable})` };
}

/** Creates nothing: a missing folder is fine if it can be created later. */
export function checkUserData({ environment }: CommandContext): Finding {
  const check = "user data";
  const folder = userDataFolder(environment);
  const hasFolder = existsSync(folder);
  const nearest = nearestFolder(folder);
  if (!isWritable(nearest)) {
    return {
      check,
      state: "problem",
      message: `Cannot write to ${nearest}.`,
      hint: "Check its owner and permissions, or set JP_USER_DATA_DIR.",
    };
  }
  return { check, state: "ok", message: hasFolder ? folder : `${folder} (created when needed)` };
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function nearestFolder(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : nearestFolder(parent);
}

/** Keeps a damaged disk from filling the screen. */
const MAX_REPORTED = 20;

export function checkWorkspace(context: CommandContext): Finding {
  const check = "workspace";
  let workspace: Workspace;
  try {
    ({ workspace } = context);
  } catch (error) {
    // Many commands work without a workspace.
    return findingFromError(check, error, "warning");
  }
  const { root } = workspace;
  if (workspace.isPlainFolder) {
    const message = `${root} is not a workspace; its conversations are stored in your data folder`;
    return { check, state: "ok", message };
  }
  if (!isWritable(path.join(root, ".jp"))) {
    const message = `Cannot write to ${path.join(root, ".jp")}.`;
    return { check, state: "problem", message, hint: "Check its owner and permissions." };
  }
  const id = workspace.findId();
  return { check, state: "ok", message: `${root} (${id ?? "ID created when needed"})` };
}

/** Whether the database can be used. */
export async function checkStore(
  { url }: DatabaseOptions,
  { conversations, claims }: Workspace,
): Promise<Finding> {
  const check = "store";
  try {
    await conversations.list({ limit: 1 });
    const stored = await claims?.findStored();
    const named = stored === undefined ? "" : ` (workspace ${oneLine(stored.name)})`;
    const message = `${addressOf(url)}${named}`;
    if (stored?.isUnclaimed !== true) return { check, state: "ok", message };
    const hint = "Another repository may have the same .jp/.id. To claim it: jp store claim";
    return { check, state: "warning", message, hint };
  } catch (error) {
    return findingFromError(check, error);
  }
}

/** Which keys may sign the turns that continue here. Reads the config without the workspace's part. */
export function checkTurnKeys(
  { tenant = DEFAULT_TENANT }: DatabaseOptions,
  { storage }: Pick<PartialConfig, "storage">,
): Finding {
  const { accepts = [] } = storage ?? {};
  const { length: counting } = acceptedFor(tenant, accepts);
  const others = accepts.length - counting;
  const named = counting === 0 ? "" : ` and ${counting} of other machines`;
  const rest = others === 0 ? "" : `; ${others} for other tenants only`;
  const message = `this machine's key${named} for the tenant ${oneLine(tenant)}${rest}`;
  return { check: "turn keys", state: "ok", message };
}

/** Reads every record to its end. */
export async function checkRecords(workspace: Workspace): Promise<readonly Finding[]> {
  const check = "conversations";
  const summaries = await workspace.conversations.list({ which: "all" });
  const findings: Finding[] = [];
  const withSecrets = new Set<string>();
  for (const { id, problem } of summaries) {
    if (problem !== undefined) {
      const hint = `Edit it: jp conversation edit --metadata ${id}`;
      findings.push({ check, state: "problem", message: `${id}: ${problem}`, hint });
    }
    try {
      for await (const { entries, problems = [] } of workspace.conversations.scan(id)) {
        findings.push(...problems.map((one) => toFinding(check, id, one)));
        if (entries.some(asksForSecret)) withSecrets.add(id);
      }
    } catch (error) {
      findings.push(findingFromError(check, error));
    }
  }
  const reported = findings.slice(0, MAX_REPORTED);
  const rest = findings.length - reported.length;
  if (rest > 0) reported.push({ check, state: "problem", message: `And ${rest} more.` });
  const notes = withSecrets.size === 0 ? [] : [secretsNote(check, [...withSecrets])];
  if (reported.length > 0) return [...reported, ...notes];
  const { length } = summaries;
  const message = length === 0 ? "none yet" : `${length}, all readable`;
  return [{ check, state: "ok", message }, ...notes];
}

/** Reads the raw JSON: decoding every event would be slow. */
function asksForSecret({ eventType, raw }: StreamEntry): boolean {
  if (eventType !== "inquiry_request" || !isJsonObject(raw["question"])) return false;
  const { answer_type: type } = raw["question"];
  return isJsonObject(type) && type["type"] === "secret";
}

/** Not a problem for this program. */
function secretsNote(check: string, ids: readonly string[]): Finding {
  const shown = ids.slice(0, MAX_REPORTED).join(", ");
  const rest = ids.length > MAX_REPORTED ? ", …" : "";
  const message = `The Rust version of jp cannot open conversations that ask for a secret: ${shown}${rest}`;
  return { check, state: "ok", message };
}

function toFinding(check: string, id: string, { type, file, message }: RecordProblem): Finding {
  const finding = { check, message: `${file}: ${message}` };
  if (type === "torn") {
    const hint = "The next command that writes to it moves these bytes to a separate file.";
    return { ...finding, state: "warning", hint };
  }
  return { ...finding, state: "problem", hint: `Edit it: jp conversation edit --events ${id}` };
}

/** Without the native module, jp reads conversations but cannot write them. Reports nothing if it is there. */
export async function checkLocking(): Promise<readonly Finding[]> {
  try {
    assertCanLock();
    return [];
  } catch (error) {
    return [findingFromError("locks", error)];
  }
}

export function checkLocks(workspace: Workspace): readonly Finding[] {
  const check = "locks";
  const userFolder = workspace.findUserFolder();
  const files = userFolder === undefined ? [] : lockFiles(path.join(userFolder, "locks"));
  const findings = files.map((file): Finding => {
    const id = path.basename(file, ".lock");
    const owner = readOwner(file);
    if (owner === undefined) {
      return { check, state: "ok", message: `${id} is being locked or unlocked` };
    }
    const { pid, since } = owner;
    return isAlive(pid)
      ? { check, state: "ok", message: `${id} is in use by process ${pid}${since}` }
      : {
          check,
          state: "ok",
          message: `${id} was in use by process ${pid}${since}, which has ended; the lock is free`,
        };
  });
  return findings.length > 0 ? findings : [{ check, state: "ok", message: "none held" }];
}

function lockFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".lock"))
      .map((name) => path.join(folder, name));
  } catch {
    return []; // Created by the first write.
  }
}

function readOwner(file: string): { readonly pid: number; readonly since: string } | undefined {
  try {
    const owner: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!isJsonObject(owner) || typeof owner["pid"] !== "number") return undefined;
    const since = owner["acquired_at"];
    return { pid: owner["pid"], since: typeof since === "string" ? ` since ${since}` : "" };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It exists, and belongs to another user.
    return systemErrorCode(error) === "EPERM";
  }
}
