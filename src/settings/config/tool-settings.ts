/** Resolves the settings of each tool: its own config, then the defaults for all tools. */
import type { JsonObject } from "../../util/index.ts";
import { LIMIT_DEFAULTS, TOOL_DEFAULTS } from "./defaults.ts";
import { findSeconds } from "./duration.ts";
import type { CommandConfig } from "./schema/command.ts";
import type { PartialConfig } from "./schema/config-schema.ts";
import { definedOnly } from "./defined-only.ts";
import type { PeopleTarget } from "./schema/people-target.ts";
import { ownFirst, type Rule, ruleKey, type RulePlace, type RunMode } from "./policy-list.ts";
import type {
  DetachedMode,
  ParameterConfig,
  PartialToolConfig,
  QuestionTarget,
  TimeoutMode,
  TogglePolicy,
  ToolEffect,
} from "./schema/tool.ts";

/** A tool's source, and its name there. */
export type ToolSource =
  | { readonly type: "builtin"; readonly tool?: string }
  | { readonly type: "local"; readonly tool?: string }
  | { readonly type: "mcp"; readonly server: string; readonly tool?: string };

/** The settings in force for a tool. */
export interface ToolSettings {
  readonly name: string;
  readonly source: ToolSource;
  readonly group?: string;
  readonly isEnabled: boolean;
  readonly allowToggle: TogglePolicy;
  readonly run: RunMode;
  readonly result: RunMode;
  /** Rules on arguments, in order of precedence. If none matches, `run` and `result` apply. */
  readonly policy: Readonly<Record<"run" | "result", readonly Rule[]>>;
  /** Who decides about its calls, unless a rule overrides it. If absent, anyone who is asked. */
  readonly target?: PeopleTarget;
  /** Its effect according to the user's config; absent if not configured. */
  readonly effect?: ToolEffect;
  readonly command?: CommandConfig;
  readonly summary?: string;
  readonly description?: string;
  readonly examples?: string;
  readonly parameters: Readonly<Record<string, ParameterConfig>>;
  readonly questions: ReadonlyMap<string, QuestionSettings>;
  /** Passed to a local tool; never shown to a model. */
  readonly options: JsonObject;
  /** `tool` is `unset` if an embedding program does not set it: then no model answers a question meant for a person. */
  readonly detached: Readonly<Record<"run" | "deliver", DetachedMode>> & {
    readonly tool: DetachedMode | "unset";
  };
  /** Its own config sets `detached.run` to `deny`: then decisions assigned to others are denied too, instead of waiting. */
  readonly deniesWaiting?: true;
  readonly cancellationResponse: string;
  /** Absent if not configured. */
  readonly isIdempotent?: boolean;
  /** Whether its calls wait for others of the same reply: see `parallel` in the config. Absent if not configured. */
  readonly isParallel?: boolean;
  /** The tool can report how a call in doubt ended. Absent if not configured. */
  readonly hasCheck?: boolean;
  /** Files of a local tool, relative to the workspace, that may change between a decision and the call. */
  readonly subjectIgnore?: readonly string[];
  /** No limit if absent. */
  readonly timeoutMs?: number;
  readonly style: ToolStyle;
}

/** The settings in force for one question of a tool. */
export interface QuestionSettings {
  readonly target: QuestionTarget;
  /** Wrapped, because any JSON may be an answer. */
  readonly answer?: { readonly value: unknown };
  /** Overrides the tool's own setting, if present. */
  readonly exclusive?: boolean;
  readonly promptLabel?: string;
  /** How long it waits for an answer. No limit if absent. */
  readonly deadlineMs?: number;
  /** Default: `deny`. */
  readonly onTimeout?: TimeoutMode;
}

/** An MCP server may never reply, so its calls time out. Local commands are the user's own. */
const MCP_CALL_SECONDS = 300;

/** How many lines of a result to show, by audience; infinity for all. */
interface ResultLines {
  readonly user: number;
  readonly assistant: number;
  /** Shows content for the user alone as the assistant's own words. */
  readonly isChat: boolean;
}

/** How much of a tool's calls and results to show. */
export interface ToolStyle {
  readonly isHidden: boolean;
  /** Whether a call has its own line. */
  readonly hasHeader: boolean;
  readonly inlineLines: ResultLines;
  /** Otherwise these are only the most that is shown. */
  readonly areLinesSet: boolean;
  readonly errorLines: ResultLines;
  /** How arguments are shown. */
  readonly parameters: "json" | "function_call" | "off";
}

type Defaults = NonNullable<NonNullable<NonNullable<PartialConfig["conversation"]>["tools"]>["*"]>;

/** In the order of the config. Leaves out tools without a source. */
export function resolveTools(config: PartialConfig): ReadonlyMap<string, ToolSettings> {
  const { "*": defaults = {}, ...tools } = config.conversation?.tools ?? {};
  const settings = Object.entries(tools).flatMap(([name, tool]) =>
    tool.source === undefined ? [] : [resolveTool(name, tool, defaults)],
  );
  return new Map(settings.map((tool) => [tool.name, tool]));
}

/** The key without which a tool cannot run. */
export function missingKeyOf({
  source,
  command,
}: Pick<PartialToolConfig, "source" | "command">): "source" | "command" | undefined {
  if (source === undefined) return "source";
  const isLocal = parseToolSource(source).type === "local";
  return isLocal && (command?.program ?? "") === "" ? "command" : undefined;
}

/** The settings that `ask_user` ships with, for its aliases: asking for permission to ask would be one prompt too many. */
const ALIAS_OF_ASK_USER: PartialToolConfig = { run: "unattended", result: "unattended" };

function resolveTool(name: string, own: PartialToolConfig, defaults: Defaults): ToolSettings {
  const source = parseToolSource(own.source ?? "local");
  const isAlias = source.type === "builtin" && source.tool === "ask_user";
  const tool = isAlias ? { ...ALIAS_OF_ASK_USER, ...definedOnly(own) } : own;
  const ownLimit = source.type === "mcp" ? MCP_CALL_SECONDS : 0;
  const timeout = tool.timeout_secs ?? defaults.timeout_secs ?? ownLimit;
  const enable = { ...TOOL_DEFAULTS.enable, ...defaults.enable, ...tool.enable };
  const { command, summary, description, examples, group } = tool;
  const { target = defaults.target } = tool;
  return {
    name,
    source,
    ...(group !== undefined && { group }),
    isEnabled: enable.state,
    allowToggle: enable.allow_toggle,
    ...modesOf(tool, defaults),
    policy: {
      run: rulesOf("run", name, [tool, defaults]),
      result: rulesOf("result", name, [tool, defaults]),
    },
    ...(tool.effect !== undefined && { effect: tool.effect }),
    ...(command !== undefined && { command }),
    ...(summary !== undefined && { summary }),
    ...(description !== undefined && { description }),
    ...(examples !== undefined && { examples }),
    parameters: tool.parameters ?? {},
    ...(target !== undefined && { target }),
    questions: resolveQuestions(tool.questions ?? {}, target),
    options: (tool.options ?? {}) as JsonObject, // JSON, as read from a config file.
    detached: { ...TOOL_DEFAULTS.detached, ...defaults.detached, ...tool.detached },
    ...(tool.detached?.run === "deny" && { deniesWaiting: true }),
    cancellationResponse:
      tool.cancellation_response ??
      defaults.cancellation_response ??
      TOOL_DEFAULTS.cancellation_response,
    ...(tool.idempotent !== undefined && { isIdempotent: tool.idempotent }),
    ...(tool.parallel !== undefined && { isParallel: tool.parallel }),
    ...(tool.check !== undefined && { hasCheck: tool.check }),
    ...(tool.subject_ignore !== undefined && { subjectIgnore: tool.subject_ignore }),
    ...(timeout > 0 && { timeoutMs: timeout * 1000 }),
    style: resolveStyle(tool.style ?? {}, defaults.style ?? {}),
  };
}

function modesOf(own: PartialToolConfig, defaults: Defaults): Pick<ToolSettings, "run" | "result"> {
  const [plain, common] = [own, defaults].map(({ policy = {}, run, result }) => ({
    run: policy.run?.mode ?? run,
    result: policy.result?.mode ?? result,
  }));
  return {
    run: plain?.run ?? common?.run ?? TOOL_DEFAULTS.run,
    result: plain?.result ?? common?.result ?? TOOL_DEFAULTS.result,
  };
}

/** Its own rules precede those for all tools, and the user's precede the workspace's. */
function rulesOf(
  of: "run" | "result",
  name: string,
  [own, defaults]: readonly [PartialToolConfig, Defaults],
): readonly Rule[] {
  const entries = [
    { rules: own.policy?.[of]?.rules ?? [], name },
    { rules: defaults.policy?.[of]?.rules ?? [], name: "*" },
  ];
  const all = entries.flatMap(({ rules, name: entry }) =>
    rules.map((rule, index): Rule => ({ ...rule, place: rule.place ?? placeOf(entry, of, index) })),
  );
  return ownFirst(all);
}

/** The place of a rule that is in no file: a program has passed it. */
function placeOf(name: string, of: "run" | "result", index: number): RulePlace {
  const key = ruleKey(name, of, index);
  return { from: "program", key, layer: "program", ...(name === "*" && { isShared: true }) };
}

/** Parses `builtin.name`, `local.name` or `mcp.server.tool`. */
export function parseToolSource(text: string): ToolSource {
  const [type = "", first, ...rest] = text.split(".");
  const tool = rest.length === 0 ? undefined : rest.join(".");
  if (type === "mcp") return { type, server: first ?? "", ...(tool !== undefined && { tool }) };
  const name = [first, ...rest].filter((part) => part !== undefined).join(".");
  const kind = type === "builtin" ? "builtin" : "local";
  return { type: kind, ...(name !== "" && { tool: name }) };
}

type PartialQuestions = NonNullable<PartialToolConfig["questions"]>;

function resolveQuestions(
  questions: PartialQuestions,
  people: PeopleTarget | undefined,
): ReadonlyMap<string, QuestionSettings> {
  const entries = Object.entries(questions).map(([id, question]): [string, QuestionSettings] => {
    const { target, answer, exclusive, prompt_label: promptLabel, deadline = "" } = question;
    const { on_timeout: onTimeout } = question;
    const seconds = findSeconds(deadline.trim());
    return [
      id,
      {
        target: target ?? { type: "user", ...people },
        ...(answer !== undefined && { answer: { value: answer } }),
        ...(exclusive !== undefined && { exclusive }),
        ...(promptLabel !== undefined && { promptLabel }),
        ...(seconds !== undefined && { deadlineMs: seconds * 1000 }),
        ...(onTimeout !== undefined && { onTimeout }),
      },
    ];
  });
  return new Map(entries);
}

type PartialStyle = NonNullable<Defaults["style"]>;

/** Uses the tool's own style key by key, then the default; errors are shown like results unless set. */
function resolveStyle(own: PartialStyle, common: PartialStyle): ToolStyle {
  const style = { ...TOOL_DEFAULTS.style, ...definedOnly(common), ...definedOnly(own) };
  const usual = TOOL_DEFAULTS.style.inline_results;
  const inError = { ...common.error, ...own.error };
  return {
    isHidden: style.hidden,
    hasHeader: style.header === true || style.header === "on",
    inlineLines: linesOf(style.inline_results),
    areLinesSet: own.inline_results !== undefined || style.inline_results !== usual,
    errorLines: linesOf(inError.inline_results ?? style.inline_results),
    parameters: typeof style.parameters === "string" ? style.parameters : "function_call",
  };
}

type LinesByAudience = NonNullable<PartialStyle["inline_results"]>;
type Lines = Exclude<LinesByAudience, { readonly user?: unknown; readonly assistant?: unknown }>;

/** A single value applies to both. */
function linesOf(value: LinesByAudience): ResultLines {
  if (typeof value !== "object" || "truncate" in value) {
    const both = lineCount(value);
    return { user: both, assistant: both, isChat: false };
  }
  const common = TOOL_DEFAULTS.style.inline_results;
  const { user = common, assistant = common } = value;
  const isChat = user === "chat";
  return {
    user: isChat ? Number.POSITIVE_INFINITY : lineCount(user),
    assistant: lineCount(assistant),
    isChat,
  };
}

function lineCount(value: Lines): number {
  if (typeof value === "number") return value;
  if (typeof value === "object") return value.truncate.lines;
  return value === true || value === "full" ? Number.POSITIVE_INFINITY : 0;
}

/** Limits for every call: automatic answers, and bytes added to the record. */
export interface CallLimits {
  /** Answers from the config, memory, a default or a model. */
  readonly automaticAnswersPerCall: number;
  readonly automaticAnswersPerTurn: number;
  /** Questions, answers and the result. */
  readonly recordBytesPerCall: number;
}

/** The configured limits, with defaults. */
export function resolveLimits({ conversation = {} }: PartialConfig): CallLimits {
  const {
    automatic_answers_per_call: automaticAnswersPerCall = LIMIT_DEFAULTS.automatic_answers_per_call,
    automatic_answers_per_turn: automaticAnswersPerTurn = LIMIT_DEFAULTS.automatic_answers_per_turn,
    record_bytes_per_call: recordBytesPerCall = LIMIT_DEFAULTS.record_bytes_per_call,
  } = conversation.limits ?? {};
  return { automaticAnswersPerCall, automaticAnswersPerTurn, recordBytesPerCall };
}

/** The limits without any config. */
export const DEFAULT_LIMITS = resolveLimits({});
