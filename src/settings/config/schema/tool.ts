/** Schema of `conversation.tools.<name>`, and of `conversation.tools.'*'`, the defaults for all tools. */
import { definedOnly } from "../defined-only.ts";
import * as v from "valibot";
import { isJsonObject, type Json } from "../../../util/index.ts";
import { toJson } from "../schema-node.ts";
import { assistantGroup } from "./assistant.ts";
import { commandSchema } from "./command.ts";
import {
  atLeast,
  behaviour,
  described,
  group,
  key,
  namedBy,
  openGroup,
  trust,
  unsupported,
} from "./node.ts";
import {
  deadlineSchema,
  explainLadder,
  explainPeople,
  findPeople,
  ladderOf,
  peopleEntries,
  type PeopleTarget,
  peopleTargetSchema,
  peopleToJson,
  rungsOf,
} from "./people-target.ts";
import { MODES } from "../policy-list.ts";
import { policyListSchema } from "./policy.ts";

/**
 * Which directives may switch a tool on or off. `any`: all of them. `if_named`: one that names the tool.
 * `if_named_or_group`: one that names the tool or its group. `never`: none.
 */
const TOGGLE_POLICIES = ["any", "if_named", "if_named_or_group", "never"] as const;

export type TogglePolicy = (typeof TOGGLE_POLICIES)[number];

export interface Enable {
  readonly state?: boolean;
  readonly allow_toggle?: TogglePolicy;
  /** For a group: enables only its tools that only read. Replaced by the state of each tool when config is loaded. */
  readonly reads_only?: boolean;
}

/** Every shorthand sets both fields. */
const SHORTHANDS = {
  on: { state: true, allow_toggle: "any" },
  off: { state: false, allow_toggle: "any" },
  always: { state: true, allow_toggle: "never" },
  explicit: { state: false, allow_toggle: "if_named" },
} as const satisfies Record<string, Enable>;

const READ = "read";

const enableTable = v.strictObject({
  state: v.optional(v.boolean()),
  allow_toggle: v.optional(v.picklist(TOGGLE_POLICIES)),
});
const shorthand = v.picklist(Object.keys(SHORTHANDS) as (keyof typeof SHORTHANDS)[]); // Its own keys.

const enableSchema = v.pipe(
  v.union([v.boolean(), shorthand, enableTable]),
  v.transform((value): Enable => {
    if (typeof value === "boolean") return SHORTHANDS[value ? "on" : "off"];
    return typeof value === "string" ? SHORTHANDS[value] : definedOnly(value);
  }),
  behaviour({ merge: "fields" }),
);

const toolEnableSchema = v.pipe(
  v.union([v.boolean(), v.picklist([...shorthand.options, READ]), enableTable]),
  v.transform((value): Enable => {
    // Off if it is unknown which tools only read.
    if (value === READ) return { state: false, allow_toggle: "any", reads_only: true };
    return v.parse(enableSchema, value);
  }),
  behaviour({ merge: "fields", toShown: enableToShown }),
);

function enableToShown({ reads_only: readsOnly, ...enable }: Enable): Json {
  return readsOnly === true ? READ : enable;
}

/**
 * `auto`: the routing table decides. `defaults`: use the question's default, or refuse. `deny`: refuse.
 * `defer`: wait for a person, in another process.
 */
const DETACHED_MODES = ["auto", "defaults", "deny", "defer"] as const;

export type DetachedMode = (typeof DETACHED_MODES)[number];

/** The policy for each kind of prompt in a run without a terminal. */
export interface Detached {
  /** Whether a tool may run that would ask first. */
  readonly run?: DetachedMode;
  /** Whether a result is delivered that would be shown first. */
  readonly deliver?: DetachedMode;
  /** Questions of tools. */
  readonly tool?: DetachedMode;
}

const mode = v.picklist(DETACHED_MODES);

const detachedSchema = v.pipe(
  v.union([
    mode,
    v.strictObject({ run: v.optional(mode), deliver: v.optional(mode), tool: v.optional(mode) }),
  ]),
  v.transform((value): Detached => {
    if (typeof value === "string") return { run: value, deliver: value, tool: value };
    return definedOnly(value);
  }),
  behaviour({ merge: "fields" }),
);

const lines = v.union([
  v.boolean(),
  v.picklist(["off", "full"]),
  atLeast(0),
  v.object({ truncate: v.object({ lines: atLeast(0) }) }),
]);
const linesByAudience = v.union([
  lines,
  v.strictObject({
    user: v.optional(v.union([v.literal("chat"), lines])),
    assistant: v.optional(lines),
  }),
]);
const link = v.union([v.boolean(), v.picklist(["full", "osc8", "off"])]);
const NO_RESULT_FILES = "jp does not store results in separate files";

const style = group({
  hidden: key("hidden", "hide calls and results", v.boolean()),
  header: key(
    "header",
    "whether to show a line for each call: on or off",
    v.union([v.boolean(), v.picklist(["on", "off"])]),
  ),
  inline_results: key(
    "chat",
    "how much of a result to show: off, full or a number of lines; or a table with user and assistant, for what is addressed to each; for user, chat shows it as the assistant's own words",
    linesByAudience,
  ),
  results_file_link: unsupported(NO_RESULT_FILES, link),
  parameters: key(
    "formatter",
    "how to show arguments: json, function_call or off; when jp asks for permission, it always shows them",
    v.pipe(
      v.union([v.picklist(["json", "function_call", "off"]), commandSchema]),
      behaviour({ unsupported: explainFormatter }),
    ),
  ),
  error: group({
    inline_results: key("chat", "the same, for errors", linesByAudience),
    results_file_link: unsupported(NO_RESULT_FILES, link),
  }),
});

function explainFormatter(value: unknown): string | undefined {
  const isWord = value === "json" || value === "function_call" || value === "off";
  return isWord ? undefined : "jp does not run commands to format arguments";
}

const shared = {
  enable: key(
    "enable",
    "whether the tool is offered to the model, and whether -t and -T can change that",
    enableSchema,
  ),
  run: key(
    "prompt",
    "before a call runs: ask, unattended (run it), edit (the arguments first) or skip",
    v.picklist(MODES),
  ),
  format: v.pipe(
    unsupported("jp does not run commands to format arguments", v.picklist(["ask", "unattended"])),
    trust("format"),
  ),
  result: key(
    "prompt",
    "before a result goes to the model: unattended (deliver it), ask, edit or skip",
    v.picklist(MODES),
  ),
  policy: v.pipe(
    group({
      run: described(
        "the same as run, or a list of rules on arguments, of which the first that matches decides",
        policyListSchema,
      ),
      result: described("the same as result, or a list of rules on arguments", policyListSchema),
    }),
    trust("rules"),
  ),
  target: key(
    "deciders",
    'who decides about calls, results and calls in doubt, and answers questions that have no target: user, { user = "NAME" }, ' +
      '{ role = "NAME" } or { any = ["NAME", { role = "NAME" }] }; or a list of these, each with within = "2h", to be asked in ' +
      "order",
    peopleTargetSchema,
  ),
  cancellation_response: key(
    "harmless",
    "what to tell the model when you cancel a call",
    v.string(),
  ),
  detached: key(
    "detached",
    "what to do instead of prompting in a non-interactive run",
    detachedSchema,
  ),
  timeout_secs: key(
    "call_time",
    "maximum seconds per call, not counting time spent on prompts; 0 for no limit; 300 for MCP tools unless set",
    atLeast(0),
  ),
  style,
};

/** Who answers a question. A table in the config configures the assistant that does. Replaced as a whole. */
export type QuestionTarget =
  | ({
      readonly type: "user";
      /** The assistant to ask after all of them missed their deadlines. */
      readonly lastly?: AssistantConfig;
    } & PeopleTarget)
  | ({
      readonly type: "assistant";
      readonly assistant: AssistantConfig;
      /** A person is asked if the assistant cannot answer, or says no. */
      readonly escalates?: true;
    } & PeopleTarget);

type AssistantConfig = v.InferOutput<typeof assistantGroup>;

const LIST_FORM =
  'expected a list of an assistant, then "user", { user = "NAME" }, { role = "NAME" } or { any = […] }; or of people, each with ' +
  'the time that they have, as in { user = "NAME", within = "2h" }, of which the last may be an assistant';
const PEOPLE_ALONE =
  'people and the settings of an assistant do not mix; to ask an assistant first, write [{ … }, { user = "NAME" }]';

/** People if it names any, otherwise an assistant. */
const targetTable = v.object({ ...assistantGroup.entries, ...peopleEntries });

type TargetItem = string | v.InferOutput<typeof targetTable>;

// Its type is short: three assistants are too deep for a compiler that reads our declarations.
const targetSchema: v.GenericSchema<unknown, QuestionTarget> = v.pipe(
  v.union([
    v.picklist(["user", "assistant", "assistant_with_escalation"]),
    v.array(v.union([v.picklist(["user", "assistant"]), targetTable])),
    v.object({
      ...targetTable.entries,
      escalation: v.optional(
        described("ask the user if the assistant says no or cannot answer", v.boolean()),
      ),
    }),
  ]),
  v.check((value) => !Array.isArray(value) || findOrder(value) !== undefined, LIST_FORM),
  v.check(
    (value) => explainItems(value) === undefined,
    ({ input }) => explainItems(input) ?? "",
  ),
  v.transform((value): QuestionTarget => {
    if (value === "user") return { type: "user" };
    if (value === "assistant") return { type: "assistant", assistant: {} };
    if (value === "assistant_with_escalation") return escalating("assistant");
    if (Array.isArray(value)) return toLadder(findOrder(value) ?? { people: [] });
    const people = findPeople(value);
    if (people !== undefined) return { type: "user", ...people };
    const { escalation, ...assistant } = value;
    return escalation === true ? escalating(assistant) : { type: "assistant", assistant };
  }),
  behaviour({ toJson: targetToJson }),
);

/** Why one of the items cannot be used. */
function explainItems(value: TargetItem | readonly TargetItem[]): string | undefined {
  const items: readonly TargetItem[] =
    typeof value === "object" && "length" in value ? value : [value];
  for (const item of items) {
    if (typeof item === "string" || findPeople(item) === undefined) continue;
    const isMixed = Object.keys(item).some((name) => !(name in peopleEntries));
    const problem = isMixed ? PEOPLE_ALONE : explainPeople(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The order in which a list is asked. */
interface Order {
  /** The assistant to ask before all people; `last` is asked after them. */
  readonly first?: TargetItem;
  readonly people: readonly PeopleTarget[];
  readonly last?: TargetItem;
}

/** Undefined if these cannot be asked in this order. */
function findOrder(items: readonly TargetItem[]): Order | undefined {
  const [first] = items;
  const last = items.at(-1);
  if (first === undefined || last === undefined || items.length < 2) return undefined;
  const isFirst = peopleIn(first) === undefined;
  const isLast = !isFirst && peopleIn(last) === undefined;
  const people = items.slice(isFirst ? 1 : 0, isLast ? -1 : undefined).flatMap((item) => {
    return peopleIn(item) ?? [];
  });
  const isComplete = people.length + (isFirst || isLast ? 1 : 0) === items.length;
  if (people.length === 0 || !isComplete) return undefined;
  if (explainLadder(people, !isLast) !== undefined) return undefined;
  return { people, ...(isFirst && { first }), ...(isLast && { last }) };
}

function toLadder({ first, people, last }: Order): QuestionTarget {
  const ladder = ladderOf(people);
  if (first !== undefined) return escalating(first, ladder);
  if (last === undefined) return { type: "user", ...ladder };
  return { type: "user", ...ladder, lastly: typeof last === "string" ? {} : last };
}

function escalating(assistant: string | AssistantConfig = {}, people?: PeopleTarget) {
  const config = typeof assistant === "string" ? {} : assistant;
  const target: QuestionTarget = { type: "assistant", assistant: config, escalates: true };
  return { ...target, ...people };
}

/** Undefined for an assistant. */
function peopleIn(item: TargetItem | undefined): PeopleTarget | undefined {
  if (typeof item === "object") return findPeople(item);
  return item === "user" ? {} : undefined;
}

function targetToJson(target: QuestionTarget): Json {
  if (target.type === "user") {
    const { lastly, type: _type, ...people } = target;
    if (lastly === undefined) return peopleToJson(people);
    return [...rungsOf(people).map(peopleToJson), assistantToJson(lastly)];
  }
  const assistant = assistantToJson(target.assistant);
  const { type: _type, assistant: _assistant, escalates = false, ...people } = target;
  return escalates ? [assistant, ...rungsOf(people).map(peopleToJson)] : assistant;
}

function assistantToJson(assistant: AssistantConfig): Json {
  const json = toJson(assistantGroup, assistant);
  return isJsonObject(json) && Object.keys(json).length > 0 ? json : "assistant";
}

const TIMEOUT_MODES = ["deny", "default", "escalate"] as const;

/** `deny`: the call fails. `default`: use the question's default. `escalate`: ask the user instead of a model. */
export type TimeoutMode = (typeof TIMEOUT_MODES)[number];

const questionSchema = group({
  target: described(
    'who answers: user, assistant, the settings of an assistant, { user = "NAME" } for one person only, ' +
      '{ role = "NAME" } for whoever has the role, { any = ["NAME", { role = "NAME" }] } for any of these, or ' +
      '["assistant", "user"] to ask the user if the assistant says no; people in a list, each with within = "2h", are asked in ' +
      "order, and an assistant only if it is the last of it",
    targetSchema,
  ),
  deadline: described("how long to wait for an answer, such as 30m or 2h", deadlineSchema),
  on_timeout: described(
    "after the deadline: deny (the default), default (take the question's default), or escalate (ask the " +
      "user instead of the assistant)",
    v.picklist(TIMEOUT_MODES),
  ),
  answer: described(
    "answer to use without asking; it must fit the question",
    v.pipe(v.unknown(), behaviour({ isPrivate: true })),
  ),
  exclusive: described(
    "true if no model may answer, false if one may; overrides the tool's own setting",
    v.boolean(),
  ),
  prompt_label: described("label shown with the question; changes only the display", v.string()),
});

/** One parameter of a tool, in JSON Schema keywords. */
export interface ParameterConfig {
  readonly type?: string | readonly string[] | undefined;
  readonly default?: unknown;
  readonly required?: boolean | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly examples?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly items?: ParameterConfig | undefined;
  readonly properties?: Readonly<Record<string, ParameterConfig>> | undefined;
}

/** Other JSON Schema keywords are passed through. */
const parameterSchema: v.GenericSchema<ParameterConfig> = openGroup({
  type: v.union([v.string(), v.array(v.string())]),
  default: v.unknown(),
  required: v.boolean(),
  summary: v.string(),
  description: v.string(),
  examples: v.unknown(),
  enum: v.array(v.unknown()),
  items: v.lazy(() => parameterSchema),
  properties: namedBy(v.lazy(() => parameterSchema)),
});

const EFFECTS = ["reads", "edits", "destroys"] as const;

/**
 * `reads`: it changes nothing. `edits`: it changes files of the workspace, and asks before each change. `destroys`: its
 * effects are irreversible, so no lasting permission is offered.
 */
export type ToolEffect = (typeof EFFECTS)[number];

const SOURCE_FORMS = "expected builtin, local or mcp.<server>, each optionally with .<name>";

const toolSchema = group({
  ...shared,
  enable: key(
    "enable",
    "whether the tool is offered to the model, and whether -t and -T can change that; of a group also read, for those of its tools that only read",
    toolEnableSchema,
  ),
  source: key(
    "tool",
    "builtin[.name], local[.name] or mcp.<server>[.<tool>]",
    v.pipe(v.string(), v.regex(/^(?:builtin|local)(?:\..+)?$|^mcp\.[^.]+(?:\..+)?$/, SOURCE_FORMS)),
  ),
  group: key("group", "group of the tool, for -t and -T", v.string()),
  command: key("tool", "the command a local tool runs", commandSchema),
  summary: key("harmless", "one sentence about the tool, sent with every request", v.string()),
  description: key("harmless", "more about the tool, sent when the model asks for it", v.string()),
  examples: key("harmless", "examples, sent when the model asks for them", v.string()),
  parameters: key("always", "parameters by name", namedBy(parameterSchema)),
  questions: key("questions", "settings for the tool's questions, by id", namedBy(questionSchema)),
  effect: key(
    "effect",
    "what the tool does: reads (changes nothing), edits (changes files of the workspace) or destroys (what cannot be had back)",
    v.pipe(v.picklist(EFFECTS), behaviour({ isMachineSpecific: true })),
  ),
  idempotent: key(
    "turned_on",
    "safe to run twice: if jp stops during a call, it runs the call again without asking",
    v.boolean(),
  ),
  parallel: key(
    "harmless",
    "whether its calls run while other calls of the same reply do: true: they wait for none, and none waits for them; " +
      "false: they run in order with those of all tools that say false, and with no others",
    v.pipe(v.boolean(), behaviour({ isMachineSpecific: true })),
  ),
  check: key(
    "turned_on",
    "a local tool can say what became of a call that jp stopped during: its command runs with the action check, and must " +
      "change nothing then; false: a person decides, whatever the tool can find out",
    v.boolean(),
  ),
  subject_ignore: key(
    "changed",
    "files of a local tool, relative to the workspace, that it writes itself: if one changes after you " +
      "allowed a call, the call still runs",
    v.array(v.string()),
  ),
  options: key("always", "values for a local tool, never shown to a model", namedBy(v.unknown())),
  access: v.pipe(
    unsupported("a local tool can access whatever you can", v.unknown()),
    trust("always"),
  ),
});

/** The config of one tool; every key is optional. */
export interface PartialToolConfig extends v.InferOutput<typeof toolSchema> {}

// Has its own name: inlined in the whole config, it is too deep for a compiler that reads our declarations.
const namedToolSchema: v.GenericSchema<unknown, PartialToolConfig> = toolSchema;

const allTools = v.objectWithRest({ "*": v.optional(group(shared)) }, namedToolSchema);

/** Named, because TypeScript limits the depth of inference. */
export type PartialTools = v.InferOutput<typeof allTools>;

export const toolsSchema: v.GenericSchema<unknown, PartialTools> = allTools;
