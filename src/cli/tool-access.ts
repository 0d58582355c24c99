/**
 * The choices of what models may do with jp's own tools in a folder: one table, for the question before the first message,
 * for `jp init`, and for a tool that is off when a model calls it. The user's choice is in their own config for the folder.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { shippedConfig } from "../assemble/index.ts";
import {
  applyDirectives,
  type Edit,
  mergeConfig,
  type Mode,
  type PartialConfig,
  readConfigFile,
  resolveTools,
  type ToolSettings,
  valueAt,
} from "../settings/config/index.ts";
import type { InquiryId } from "../record/conversation/index.ts";
import { wrapProse } from "../surfaces/render/index.ts";
import type { OwnQuestion, TerminalPrompter } from "../surfaces/terminal/index.ts";
import { selectQuestion } from "../record/tool/index.ts";
import { type Json, oneLine } from "../util/index.ts";
import { editConfigFile, type EditingPlace, fileFor } from "./command/config.ts";
import { checkSandbox } from "./command/doctor/check-sandbox.ts";
import type { INIT } from "./command/options.ts";
import type { CommandContext } from "./context.ts";
import type { FlagsOf } from "./options.ts";

/** The groups of tools that the choices are about. */
type Group = "fs" | "shell";

export interface ToolAccess {
  readonly label: string;
  readonly description: string;
  /** Each group's `enable` in the config. A group that is absent is left as it is. */
  readonly enable: Readonly<Partial<Record<Group, Json>>>;
  /** The mode to set, if the choice is also about what runs without asking. */
  readonly mode?: Mode;
}

/** The choices by their names for `jp init --allow`, in the order in which they are offered. Enter alone takes the first. */
export const TOOL_ACCESS: Readonly<Record<AccessName, ToolAccess>> = {
  read: {
    label: "read files",
    description: "without asking",
    enable: { fs: "read" },
  },
  edit: {
    label: "read and change files",
    description: "jp shows you each change, and asks",
    enable: { fs: true },
  },
  run: {
    label: "change files, run commands",
    description: "in the sandbox; jp asks before each",
    enable: { fs: true, shell: true },
  },
  sandbox: {
    label: "change files, run commands without asking",
    description: "in the sandbox; edits still ask",
    enable: { fs: true, shell: true },
    mode: "sandbox",
  },
  nothing: {
    label: "nothing",
    description: "jp's tools for files and commands stay off",
    enable: { fs: false, shell: false },
  },
};

export type AccessName = NonNullable<FlagsOf<typeof INIT>["allow"]>;

const TOOLS = ["conversation", "tools"] as const;
const MODE_KEYS = ["conversation", "mode"] as const;

/** Where the choices apply. */
export interface AccessPlace {
  /** Whether commands can be sandboxed there, and why not, as a sentence. */
  readonly hasSandbox: boolean;
  readonly sandbox: string;
  /** Git keeps what a command changes, for `jp undo`. */
  readonly isInRepository: boolean;
}

/** Starts a program to find out about the sandbox. A folder that does not exist yet is like any other. */
export async function describePlace(
  context: Pick<CommandContext, "environment">,
  root: string,
): Promise<AccessPlace> {
  const place = existsSync(root) ? { root } : undefined;
  const { state, message } = await checkSandbox(context, place);
  return {
    hasSandbox: state === "ok",
    sandbox: /[.!?…]$/.test(message) ? message : `${message}.`,
    isInRepository: isInRepository(root),
  };
}

export function isInRepository(folder: string): boolean {
  if (existsSync(path.join(folder, ".git"))) return true;
  const parent = path.dirname(folder);
  return parent !== folder && isInRepository(parent);
}

/** Commands are offered only in a sandbox. */
export function accessIn({ hasSandbox }: AccessPlace): readonly ToolAccess[] {
  return Object.values(TOOL_ACCESS).filter((access) => hasSandbox || !runsCommands(access));
}

function runsCommands({ enable }: ToolAccess): boolean {
  return enable.shell === true;
}

/** Whether a tool would be on. False for one that the choice is not about. */
export function turnsOn({ enable }: ToolAccess, { name, group, source }: ToolSettings): boolean {
  const value =
    group === undefined ? undefined : Object.entries(enable).find(([each]) => each === group)?.[1];
  const isReading = source.type === "builtin" && shippedConfig().readOnlyTools.includes(name);
  return value === true || (value === "read" && isReading);
}

/** The question, its choices, and the choice that leaves everything as it is, if there is one. */
interface AskedAccess {
  readonly place: AccessPlace;
  readonly choices: readonly ToolAccess[];
  /** Stands before the question. */
  readonly lead?: string;
  /** Comes first, so that Enter alone takes it. */
  readonly otherwise?: { readonly label: string; readonly description: string };
  readonly signal: AbortSignal;
  /** Called if Ctrl-C closes it. */
  readonly onInterrupt?: () => void;
}

/** Undefined if the user chooses nothing, or to leave everything as it is. */
export async function askAccess(
  ask: (question: OwnQuestion) => ReturnType<TerminalPrompter["ask"]>,
  { place, choices, lead, otherwise, signal, onInterrupt }: AskedAccess,
): Promise<ToolAccess | undefined> {
  const options = [...(otherwise === undefined ? [] : [otherwise]), ...choices];
  const question = selectQuestion(
    "access",
    [lead, "What may models do in this folder?"].filter(Boolean).join(" "),
    {
      context: explain(place, choices),
      options: options.map(({ label, description }) => ({ value: label, description })),
    },
  );
  const inquiryId = "access" as InquiryId; // Not recorded, so any ID will do.
  const result = await ask({ inquiryId, question, signal, ...(onInterrupt && { onInterrupt }) });
  const answer = result.type === "answered" ? result.answer : undefined;
  return choices.find(({ label }) => label === answer);
}

function explain(
  { hasSandbox, sandbox, isInRepository: isKept }: AccessPlace,
  choices: readonly ToolAccess[],
): string {
  const undo = isKept
    ? "jp undo takes back what they change."
    : "This folder is not in a Git repository, so jp undo takes back changes by the file tools only.";
  return [
    ...(choices.some(runsCommands)
      ? [
          "In the sandbox, commands can write to this folder only, do not see your home, and have a network only if you " +
            `agree each time. ${undo}`,
        ]
      : []),
    ...(hasSandbox ? [] : [`Commands are not offered here. ${sandbox}`]),
    "jp keeps your choice in your own config for this folder. To change it later: /tools, -t, or jp config set.",
  ].join("\n");
}

/** The config with this choice. */
export function withAccess(config: PartialConfig, access: ToolAccess): PartialConfig {
  const tools = [...resolveTools(config).values()].filter(
    ({ group = "", allowToggle }) =>
      Object.hasOwn(access.enable, group) &&
      (allowToggle === "any" || allowToggle === "if_named_or_group"),
  );
  const directives = tools.map((tool) => ({ name: tool.name, isEnabled: turnsOn(access, tool) }));
  const switched = applyDirectives(config, directives);
  const { mode } = access;
  return mode === undefined ? switched : mergeConfig(switched, { conversation: { mode } });
}

/** The user's own config, and where to say that it has changed. */
type KeepingPlace = EditingPlace & Pick<CommandContext, "output">;

/**
 * Keeps the choice in the user's own config for the folder, and says where. Throws `config_unreadable` if that file
 * cannot be changed, and `write_failed`.
 */
export async function saveAccess(
  access: ToolAccess,
  place: KeepingPlace,
  removed: readonly Edit[] = [],
): Promise<void> {
  const { output } = place;
  const edits = editsFor(access);
  const file = await editConfigFile("local", [...removed, ...edits], place);
  const set = edits.map(({ keys, value }) => `${keys.join(".")} to ${JSON.stringify(value)}`);
  for (const row of wrapProse(oneLine(`Set ${set.join(", ")} in ${file}`), output.noticeWidth))
    output.notice(row);
}

/** Like `saveAccess`, but an earlier choice that allowed more does not count any more. */
export async function replaceAccess(access: ToolAccess, place: KeepingPlace): Promise<void> {
  const file = await fileFor("local", place);
  const before = existsSync(file) ? (await readConfigFile(file)).value : {};
  const kept = new Set(editsFor(access).map(({ keys }) => keys.join(".")));
  const earlier = Object.values(TOOL_ACCESS).flatMap(editsFor);
  const removed = earlier.filter(
    ({ keys, value }) => !kept.has(keys.join(".")) && valueAt(before, keys) === value,
  );
  const keys = [...new Map(removed.map((each) => [each.keys.join("."), each.keys])).values()];
  await saveAccess(
    access,
    place,
    keys.map((each) => ({ keys: each })),
  );
}

function editsFor({ enable, mode }: ToolAccess): readonly Edit[] {
  const groups = Object.entries(enable);
  return [
    ...groups.map(([group, value]) => ({ keys: [...TOOLS, group, "enable"], value })),
    ...(mode === undefined ? [] : [{ keys: MODE_KEYS, value: mode }]),
  ];
}
