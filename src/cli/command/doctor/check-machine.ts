/** What jp runs on: Node, the terminal, the editor, the folder for the user's data. */
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { PartialConfig } from "../../../config/index.ts";
import type { StreamEntry } from "../../../conversation/index.ts";
import { type RecordProblem, userDataFolder, type Workspace } from "../../../storage/index.ts";
import { TerminalPrompter } from "../../../terminal/index.ts";
import { findProgram, isJsonObject } from "../../../util/index.ts";
import type { CommandContext } from "../../context.ts";
import { isPlain } from "../../prompter.ts";
import { type Finding, findingOf } from "./finding.ts";

const NARROW = 40;

/** An older one does not get so far. */
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
      message: "Nobody is asked, because JP_NONINTERACTIVE is 1: policy decides.",
      hint: "Unset it to be asked.",
    };
  }
  if (!context.host.mayUseTerminal || !new TerminalPrompter().canAsk()) {
    return {
      check,
      state: "warning",
      message: "There is no terminal, so nobody can be asked: policy decides.",
      hint: "See conversation.tools.'*'.detached.",
    };
  }
  const { columns } = context.host.stdout;
  const inLines = isPlain(context, config);
  if (!inLines && output.isTerminal && columns < NARROW) {
    return {
      check,
      state: "warning",
      message: `Questions may look odd on ${columns} columns.`,
      hint: `Use a window with ${NARROW} columns or more, or set JP_PLAIN=1 for lines of text.`,
    };
  }
  const { bell = true, desktop = true } = config.style?.notification ?? {};
  const calls = [bell ? "the bell" : "", desktop && !inLines ? "the desktop" : ""].filter(Boolean);
  const facts = [
    inLines ? "questions are asked in lines of text" : "questions can be asked",
    output.isTerminal ? `${columns} columns` : "the output goes elsewhere",
    output.hasColors ? "colours" : "no colours",
    calls.length === 0 ? "a question calls nobody" : `a question calls by ${calls.join(" and ")}`,
  ];
  return { check, state: "ok", message: facts.join(", ") };
}

/** As editor.ts looks for it. */
const EDITOR_VARIABLES = ["JP_EDITOR", "VISUAL", "EDITOR"];

export function checkEditor({ environment: { variables } }: CommandContext): Finding {
  const check = "editor";
  const name = EDITOR_VARIABLES.find((variable) => (variables[variable] ?? "") !== "");
  if (name !== undefined)
    return { check, state: "ok", message: `${variables[name] ?? ""} (${name})` };
  return {
    check,
    state: "warning",
    message: "No editor is set.",
    hint: "Set EDITOR, for example: export EDITOR=vim",
  };
}

/** Nothing is made: a folder that is missing will be, if it can be. */
export function checkUserData({ environment }: CommandContext): Finding {
  const check = "user data";
  const folder = userDataFolder(environment);
  const isThere = existsSync(folder);
  const nearest = nearestFolder(folder);
  if (!isWritable(nearest)) {
    return {
      check,
      state: "problem",
      message: `${nearest} cannot be written to.`,
      hint: "Check its owner and permissions, or set JP_USER_DATA_DIR.",
    };
  }
  return { check, state: "ok", message: isThere ? folder : `${folder}, made when it is needed` };
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

/** A damaged disk should not fill the screen. */
const MOST_TOLD = 20;

export function checkWorkspace(context: CommandContext): Finding {
  const check = "workspace";
  let workspace: Workspace;
  try {
    ({ workspace } = context);
  } catch (error) {
    // There is much to do outside of one.
    return findingOf(check, error, "warning");
  }
  const { root } = workspace;
  if (!isWritable(path.join(root, ".jp"))) {
    const message = `${path.join(root, ".jp")} cannot be written to.`;
    return { check, state: "problem", message, hint: "Check its owner and permissions." };
  }
  const id = workspace.findId();
  return { check, state: "ok", message: `${root} (${id ?? "its id is made when it is needed"})` };
}

/** Every record is read to its end. */
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
      for await (const { entries, problems } of workspace.conversations.scan(id)) {
        findings.push(...problems.map((one) => toFinding(check, id, one)));
        if (entries.some(asksForSecret)) withSecrets.add(id);
      }
    } catch (error) {
      findings.push(findingOf(check, error));
    }
  }
  const told = findings.slice(0, MOST_TOLD);
  const rest = findings.length - told.length;
  if (rest > 0) told.push({ check, state: "problem", message: `And ${rest} more.` });
  const notes = withSecrets.size === 0 ? [] : [secretsNote(check, [...withSecrets])];
  if (told.length > 0) return [...told, ...notes];
  const { length } = summaries;
  const message = length === 0 ? "none yet" : `${length}, all of them readable to their ends`;
  return [{ check, state: "ok", message }, ...notes];
}

/** Looks without decoding: only a question of a tool can be one. */
function asksForSecret({ eventType, raw }: StreamEntry): boolean {
  if (eventType !== "inquiry_request" || !isJsonObject(raw["question"])) return false;
  const { answer_type: type } = raw["question"];
  return isJsonObject(type) && type["type"] === "secret";
}

/** Nothing is wrong with them here. */
function secretsNote(check: string, ids: readonly string[]): Finding {
  const shown = ids.slice(0, MOST_TOLD).join(", ");
  const rest = ids.length > MOST_TOLD ? ", …" : "";
  const message = `The Rust original cannot open conversations that ask for a secret: ${shown}${rest}`;
  return { check, state: "ok", message };
}

function toFinding(check: string, id: string, { type, file, message }: RecordProblem): Finding {
  const told = { check, message: `${file}: ${message}` };
  if (type === "torn") {
    const hint = "The next command that writes to it sets these bytes aside.";
    return { ...told, state: "warning", hint };
  }
  return { ...told, state: "problem", hint: `Edit it: jp conversation edit --events ${id}` };
}

export function checkLocks(
  workspace: Workspace,
  { environment }: CommandContext,
): readonly Finding[] {
  const check = "locks";
  const userFolder = workspace.findUserFolder();
  const files = userFolder === undefined ? [] : lockFiles(path.join(userFolder, "locks"));
  const findings = files.map((file): Finding => {
    const id = path.basename(file, ".lock");
    const owner = readOwner(file);
    if (owner === undefined) {
      return { check, state: "ok", message: `${id} is just being taken or given back` };
    }
    const { pid, since } = owner;
    return isAlive(pid)
      ? { check, state: "ok", message: `${id} is in use by process ${pid}${since}` }
      : {
          check,
          state: "ok",
          message: `${id} was in use by process ${pid}${since}, which has ended; that holds nobody up`,
        };
  });
  const { platform, variables } = environment;
  if (platform === "linux" && findProgram("flock", variables["PATH"]) === undefined) {
    const message =
      "The command flock is missing: the Rust version of jp does not see which conversations are in use.";
    findings.push({
      check,
      state: "warning",
      message,
      hint: "Install util-linux if you use both.",
    });
  }
  return findings.length > 0 ? findings : [{ check, state: "ok", message: "none is held" }];
}

function lockFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".lock"))
      .map((name) => path.join(folder, name));
  } catch {
    return []; // Nobody has ever written.
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
    // It is there, and somebody else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
