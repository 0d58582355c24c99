/**
 * Collects a person's past decisions by tool: one example of each group of calls that rules should not tell apart, and
 * how often it was approved and refused.
 */
import type { RuleConfig } from "../../settings/config/index.ts";
import { type Capabilities, capabilitiesOf } from "../../record/tool/index.ts";
import {
  canonicalJson,
  isJsonArray,
  isJsonObject,
  type Json,
  parsePointer,
} from "../../util/index.ts";
import { kindOf } from "./argument-values.ts";
import { wordsOf } from "./command-units.ts";
import { narrowRules } from "./grants.ts";
import { type CallOfTool, runsCommands } from "./verdict.ts";

/** A call that a person has decided about. */
export interface PastDecision {
  readonly call: CallOfTool;
  readonly isApproved: boolean;
  /** The tool's identity now: a rule covers only calls with the same one. */
  readonly identity: string;
  /** Only a rule for the exact call could let it run. */
  readonly isOnlyExact?: boolean;
}

/** Calls that rules cannot tell apart, or should not. */
export interface Unit {
  readonly call: CallOfTool;
  /** Set if the call is mainly about files. */
  readonly files: readonly string[];
  readonly about: string;
  readonly candidates: readonly RuleConfig[];
  /** The call's current capabilities. */
  readonly capabilities: Capabilities;
  approved: number;
  refused: number;
}

/** The decisions about one tool, in its current form. */
export interface Group {
  readonly tool: string;
  readonly units: Map<string, Unit>;
  /** In chronological order. */
  readonly decisions: { readonly unit: Unit; readonly isApproved: boolean }[];
}

/** A decision about changing one file. */
export interface EditDecision {
  readonly file: string;
  readonly isApproved: boolean;
}

/** Keeps the relevant parts of each call, and only the first of equal calls. */
export class DecidedCalls {
  readonly #root: string;
  readonly #groups = new Map<string, Group>();
  /** Across all tools that edit: a person who refuses a file to one tool would hardly grant it to another. */
  readonly edits: EditDecision[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  get groups(): readonly Group[] {
    return [...this.#groups.values()];
  }

  async add(decision: PastDecision): Promise<void> {
    const { call, isApproved, identity } = decision;
    const { settings } = call.tool;
    const effect = settings.effect ?? call.tool.effect;
    if (effect === "destroys") return;
    const key = JSON.stringify([settings.name, identity]);
    const group: Group = this.#groups.get(key) ?? {
      tool: settings.name,
      units: new Map(),
      decisions: [],
    };
    this.#groups.set(key, group);
    const unit = await this.#findUnit(group, decision);
    if (isApproved) unit.approved += 1;
    else unit.refused += 1;
    group.decisions.push({ unit, isApproved });
    if (effect !== "edits") return;
    // With several files, it is unknown which one was refused.
    if (isApproved || unit.files.length === 1)
      this.edits.push(...unit.files.map((file) => ({ file, isApproved })));
  }

  async #findUnit({ units }: Group, { call, isOnlyExact = false }: PastDecision): Promise<Unit> {
    const { arguments: args, tool } = call;
    const isEdit = (tool.settings.effect ?? tool.effect) === "edits";
    const pointers = Object.keys(tool.argumentKinds ?? {});
    const key = canonicalJson(
      isEdit ? pointers.map((at) => textsAt(args, parsePointer(at))) : args,
    );
    const known = units.get(key);
    if (known !== undefined) return known;
    const narrow = await narrowRules(call, this.#root);
    const candidates = isOnlyExact ? narrow.filter(({ arg }) => arg === "") : widen(narrow, call);
    const files = filesIn(narrow, call);
    const capabilities = capabilitiesOf(await tool.describeSource(args));
    const about = aboutOf(call, files);
    const unit = { call, files, about, candidates, capabilities, approved: 0, refused: 0 };
    units.set(key, unit);
    return unit;
  }
}

/** The subject of a call, in one line: files, a command line, a URL up to its path, or all arguments. */
export async function subjectOf(call: CallOfTool, root: string): Promise<string> {
  return aboutOf(call, filesIn(await narrowRules(call, root), call));
}

/** The texts at a pointer, descending into lists. */
export function textsAt(value: Json | undefined, [segment, ...rest]: readonly string[]): string[] {
  if (isJsonArray(value))
    return value.flatMap((each) => textsAt(each, segment === undefined ? [] : [segment, ...rest]));
  if (segment === undefined) return typeof value === "string" ? [value] : [];
  return isJsonObject(value) ? textsAt(value[segment], rest) : [];
}

/** The files that the narrowest rule names. */
function filesIn(narrow: readonly RuleConfig[], { tool }: CallOfTool): readonly string[] {
  const kinds = tool.argumentKinds ?? {};
  const rule = narrow.find(
    (each) => kindOf(each, kinds) === "path" && (each.const ?? each.enum) !== undefined,
  );
  const values = rule?.const === undefined ? (rule?.enum ?? []) : [rule.const];
  return values.filter((value) => typeof value === "string");
}

function aboutOf({ arguments: args, tool }: CallOfTool, files: readonly string[]): string {
  const kinds = tool.argumentKinds ?? {};
  const of = (kind: string) => Object.keys(kinds).find((at) => kinds[at] === kind);
  const [line] = textsAt(args, parsePointer(of("command") ?? "/"));
  if (of("command") !== undefined && line !== undefined) return line;
  const [url = ""] = textsAt(args, parsePointer(of("url") ?? "/"));
  if (of("url") !== undefined && URL.canParse(url)) {
    const { origin, pathname } = new URL(url); // The rest may contain a token.
    return `${origin}${pathname}`;
  }
  return files.length > 0 ? files.join(", ") : JSON.stringify(args);
}

/** Adds parent folders, and programs that only read. */
function widen(narrow: readonly RuleConfig[], call: CallOfTool): readonly RuleConfig[] {
  const kinds = call.tool.argumentKinds ?? {};
  const wider = narrow.flatMap((rule): readonly RuleConfig[] => {
    const { arg = "", prefix, const: line } = rule;
    const kind = kindOf(rule, kinds);
    if (kind === "path" && prefix !== undefined) {
      const names = prefix.split("/");
      return names.map((_, index) => ({ ...rule, prefix: names.slice(0, index + 1).join("/") }));
    }
    if (kind === "command" && typeof line === "string") {
      const [program = ""] = wordsOf(line);
      const isReading = READING_PROGRAMS.has(program);
      return isReading ? [rule, { mode: "unattended", arg, prefix: program }] : [rule];
    }
    return [rule];
  });
  return runsCommands(call.tool) && destroys(call) ? [] : wider;
}

/** These only print, with any arguments. */
const READING_PROGRAMS: ReadonlySet<string> = new Set(
  "cat cmp cut diff du file grep head ls nl pwd stat tail wc".split(" "),
);

/** Whether a command is irreversible, judging by its words. It may flag harmless ones too. */
function destroys({ arguments: args, tool }: CallOfTool): boolean {
  const kinds = tool.argumentKinds ?? {};
  const at = Object.keys(kinds).find((each) => kinds[each] === "command") ?? "/";
  const [program = "", ...rest] = wordsOf(textsAt(args, parsePointer(at))[0] ?? "");
  const words = DESTRUCTIVE.get(program);
  return words !== undefined && (words.length === 0 || rest.some((word) => words.includes(word)));
}

/** With an empty list, the program always counts as destructive. */
const DESTRUCTIVE: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    aws: "",
    chmod: "",
    chown: "",
    dd: "",
    docker: "down kill prune rm rmi stop system volume",
    dropdb: "",
    gcloud: "",
    gh: "close delete merge",
    git: "branch checkout clean filter-branch gc push rebase reflog reset restore rm stash switch tag update-ref worktree",
    kubectl: "",
    kill: "",
    mkfs: "",
    mv: "",
    npm: "deprecate owner publish unpublish uninstall",
    pkill: "",
    rm: "",
    rmdir: "",
    shred: "",
    terraform: "",
    truncate: "",
    unlink: "",
  }).map(([program, words]) => [program, words.split(" ").filter((word) => word !== "")]),
);
