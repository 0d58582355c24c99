/** What jp runs on: Node, the terminal, the editor, the folder for the user's data. */
import { accessSync, constants, existsSync } from "node:fs";
import path from "node:path";
import type { PartialConfig } from "../../../config/index.ts";
import { userDataFolder } from "../../../storage/index.ts";
import { TerminalPrompter } from "../../../terminal/index.ts";
import type { CommandContext } from "../../compose.ts";
import { isPlain } from "../../plain.ts";
import type { Finding } from "./finding.ts";

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

export function isWritable(folder: string): boolean {
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
