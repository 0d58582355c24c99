/**
 * Selects the values of a workspace that need trust, by the rule of each key's trust class: the part that runs, connects
 * to or allows more than the user's own config does. The schema declares the class of every key.
 */
import { type ClassifiedValue, type TrustClass, valueAt, withValue } from "../config/index.ts";
import {
  isDeepEqual,
  isJsonArray,
  isJsonObject,
  isLoopback,
  type Json,
  type JsonObject,
} from "../../util/index.ts";

/** Where a value is, and the facts that some rules need. */
export interface Context extends Facts {
  /** Its keys. */
  readonly path: readonly string[];
  /** Present for a tool. */
  readonly tool?: OwnTool;
}

/** Facts about the whole config. */
export interface Facts {
  /** A model may answer a question of a tool that does not come with the workspace. */
  readonly mayModelAnswer: () => boolean;
  /** A question or a decision is for a person by name. */
  readonly isPersonNamed: () => boolean;
  /** The user's config, or a model that may answer, uses this short name. */
  readonly isAliasUsed: (name: string) => boolean;
}

/** The user's own config for a tool that a workspace configures. */
export interface OwnTool {
  /** Its policy without the workspace: its own fields, else the defaults for all tools. */
  readonly policy: JsonObject;
  /** Finds its time limit without the workspace, or infinity. */
  readonly timeoutSecs: () => number;
  /** Whether the user's config sets this field, even to its default. */
  readonly isSetByUser: (key: string) => boolean;
  /** The workspace makes another tool of it, or brings it. */
  readonly isReplaced: boolean;
}

/** The part of the value that needs trust, if any. `own` is the user's value. */
type Rule = (value: Json, own: Json | undefined, context: Context) => Json | undefined;

/** A value that needs trust, or the part of it that does. */
export interface RelevantValue {
  readonly path: readonly string[];
  readonly value: Json;
}

/** `own` is the user's config that the values replace. `context` has the keys of the table that they are in. */
export function relevantValues(
  values: readonly ClassifiedValue[],
  own: unknown,
  context: Context,
): readonly RelevantValue[] {
  return values.flatMap(({ path, trust, value }) => {
    const before = valueAt(own, path) as Json | undefined; // JSON.
    const keys = [...context.path, ...path];
    const part = ruleOf(trust, context)(value, before, { ...context, path: keys });
    return part === undefined ? [] : [{ path, value: part }];
  });
}

/** The values in one table. One without keys is the whole table. */
export function tableOf(values: readonly RelevantValue[]): JsonObject {
  return values.reduce<JsonObject>((table, { path: keys, value }) => {
    if (keys.length > 0) return withValue(table, { keys, value });
    return isJsonObject(value) ? value : table;
  }, {});
}

function ruleOf(trust: TrustClass, { tool }: Context): Rule {
  return tool?.isReplaced === true ? (IN_NEW_TOOL[trust] ?? whole) : RULES[trust];
}

const nothing: Rule = () => undefined;
const whole: Rule = (value) => value;

function valueIf(isRelevant: (...of: Parameters<Rule>) => boolean): Rule {
  return (value, own, context) => (isRelevant(value, own, context) ? value : undefined);
}

const isHigher = (value: Json, own: Json | undefined) => !(Number(value) <= Number(own));

/** 0 means no limit. */
const isFurther = (value: Json, own: Json | undefined) =>
  isHigher(value === 0 ? Infinity : value, own === 0 ? Infinity : own);

const RULES = {
  harmless: nothing,
  always: whole,
  own: whole,
  own_mode: valueIf((value) => value !== "plan"),
  higher: valueIf(isHigher),
  further: valueIf(isFurther),
  more: valueIf(
    (value, own) =>
      !isJsonArray(value) || value.some((one) => !isJsonArray(own) || !own.includes(one)),
  ),
  turned_on: valueIf((value, own) => value === true && own !== true),
  turned_off: valueIf((value, own) => value === false && own !== false),
  // The next message would go to a conversation that the workspace names.
  default_conversation: valueIf((value) => value !== "ask"),
  address: addressPart,
  // The model and prompt that may approve something for the user's own tool must be the user's choice.
  answers: valueIf((_value, _own, { mayModelAnswer }) => mayModelAnswer()),
  // The user's alias for a model must not change its meaning.
  alias: valueIf((_value, _own, { isAliasUsed, path }) => isAliasUsed(path.at(-1) ?? "")),
  // Under another name, the user could answer questions meant for that person alone.
  person: valueIf((_value, _own, { isPersonNamed }) => isPersonNamed()),
  // Ctrl-C would not stop a reply or a tool.
  keeps_going: valueIf((value) => value === "continue" || value === "restart"),
  // Found by a function of their own.
  inherit: nothing,
  attachments: nothing,
  passthrough: nothing,
  // Differs only in a tool that is replaced.
  tool: nothing,
  prompt: valueIf((value, own) => isLooser(PROMPTS, value, own)),
  format: valueIf((value, own, { tool }) => {
    const byRun = tool?.policy["run"] === "unattended" ? "unattended" : "ask";
    return isLooser(PROMPTS, value, own ?? byRun);
  }),
  rules: looserRules,
  // For a destructive tool, no lasting permission is offered.
  effect: valueIf((value, own) => value !== "destroys" && value !== own),
  detached: (value, own) =>
    pick(value, (prompt, mode) => isLooser(DETACHED, mode, tableIn(own)[prompt])),
  questions: looserQuestions,
  // Other people would decide about its calls.
  deciders: valueIf((value, own) => isJsonObject(value) && !namesSame(value, tableIn(own))),
  changed: valueIf((value, own) => !isDeepEqual(value, own ?? [])),
  enable: valueIf((value, own, { tool }) => isEnabling(tableIn(value), tableIn(own), tool)),
  // Users switch on tools by group name.
  group: valueIf((value, own) => value !== own),
  call_time: valueIf((value, _own, { tool }) => isFurther(value, tool?.timeoutSecs())),
  hidden: valueIf((value, own) => value === true && own !== true),
  header: valueIf((value, own) => isOff(value) && !isOff(own)),
  // A tool's output would be shown as the assistant's own words.
  chat: (value, own) => (isChat(value) && !isChat(own) ? { user: "chat" } : undefined),
  formatter: valueIf(isJsonObject),
} as const satisfies Record<TrustClass, Rule>;

/** Rules for a tool that the workspace brings. Everything else in it needs trust. */
const IN_NEW_TOOL: Partial<Record<TrustClass, Rule>> = {
  harmless: nothing,
  enable: nothing,
  group: nothing,
  call_time: nothing,
  hidden: nothing,
  header: nothing,
  chat: nothing,
  formatter: RULES.formatter,
  rules: writtenRules,
};

/** Providers whose servers run on the user's machine. The keys of others open an account elsewhere. */
const LOCAL_PROVIDERS = new Set(["ollama", "llamacpp"]);

/**
 * A model server on this machine needs no trust, unless it gets a key meant for another: any user of the machine can
 * listen there.
 */
function addressPart(url: Json, own: Json | undefined, { path }: Context): Json | undefined {
  const isHarmless =
    LOCAL_PROVIDERS.has(path.at(-2) ?? "") && isLocalModelServer(url) && isLocalModelServer(own);
  return isHarmless ? undefined : url;
}

/** Only with the usual paths: otherwise a request could reach any service on this machine. */
function isLocalModelServer(url: Json | undefined): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { hostname, pathname, search } = new URL(url);
  return (
    isLoopback(hostname) && search === "" && /^(?:\/api)?(?:\/v1(?:beta)?)?\/?$/.test(pathname)
  );
}

/** A rule's place is not part of its content. */
function writtenRules(policy: Json): Json {
  const lists = Object.entries(tableIn(policy)).map(([of, list]): readonly [string, Json] => {
    if (!isJsonObject(list)) return [of, list];
    const rules = rulesIn(list).map(({ place: _place, ...written }) => written);
    return [of, { ...list, rules }];
  });
  return Object.fromEntries(lists);
}

function rulesIn(list: Json | undefined): readonly JsonObject[] {
  const { rules } = tableIn(list);
  return isJsonArray(rules) ? rules.filter(isJsonObject) : [];
}

/**
 * Rules that skip a prompt or name who decides, and a plain mode that is looser than the user's. Includes the rules
 * before them, without which they would allow more.
 */
function looserRules(policy: Json, own: Json | undefined): Json | undefined {
  const looser = Object.entries(tableIn(writtenRules(policy))).map(([of, list]) => {
    const { mode } = tableIn(list);
    const rules = rulesIn(list);
    const last = rules.findLastIndex(
      (rule) => rule["mode"] === "unattended" || rule["target"] !== undefined,
    );
    const letting = rules.slice(0, last + 1);
    const entry = {
      ...(isLooser(PROMPTS, mode, tableIn(tableIn(own)[of])["mode"]) && { mode }),
      ...(letting.length > 0 && { rules: letting }),
    };
    return [of, entry] as const;
  });
  return pick(Object.fromEntries(looser), (_of, entry) => Object.keys(tableIn(entry)).length > 0);
}

function looserQuestions(
  questions: Json,
  own: Json | undefined,
  { tool }: Context,
): Json | undefined {
  const looser = Object.entries(tableIn(questions)).flatMap(([id, question]) => {
    const { target = tool?.policy["target"] } = tableIn(tableIn(own)[id]);
    const part = withoutStricter(question, tableIn(target));
    return part === undefined ? [] : [[id, part] as const];
  });
  return looser.length === 0 ? undefined : Object.fromEntries(looser);
}

/**
 * Asking only the user is the strictest setting, unless the user has named someone to answer. Anyone the workspace names
 * may approve more readily than the user.
 */
function withoutStricter(question: Json, ownTarget: JsonObject): Json | undefined {
  return pick(question, (key, value) => {
    if (key === "target") return tableIn(value)["type"] !== "user" || !namesSame(value, ownTarget);
    if (key === "on_timeout") return value !== "deny";
    return !(key === "exclusive" && value === true);
  });
}

const PEOPLE = ["user", "any", "terms", "withinMs", "next", "lastly"];

/** Whether both name the same people on the same terms and in the same order, or neither names anyone. */
function namesSame(target: Json, own: JsonObject): boolean {
  const named = tableIn(target);
  return PEOPLE.every((key) => isDeepEqual(named[key] ?? null, own[key] ?? null));
}

function isOff(header: Json | undefined): boolean {
  return header === false || header === "off";
}

function isChat(lines: Json | undefined): boolean {
  return tableIn(lines)["user"] === "chat";
}

/** From strictest to loosest. */
const PROMPTS = [["skip"], ["ask", "edit"], ["unattended"]];
const DETACHED = [["deny"], ["defer"], ["defaults"], ["auto"]];
const TOGGLES = [["never"], ["if_named"], ["if_named_or_group"], ["any"]];

/** An unknown value counts as the loosest. */
function isLooser(
  order: readonly (readonly string[])[],
  value: Json | undefined,
  own: Json | undefined,
): value is Json {
  const rank = (one: Json | undefined, unknown: number) => {
    const found = order.findIndex((values) => values.some((known) => known === one));
    return found === -1 ? unknown : found;
  };
  return value !== undefined && rank(value, order.length) > rank(own, -1);
}

/** The tool would be on, or stay on although the user switches it off. */
function isEnabling(enable: JsonObject, own: JsonObject, tool: OwnTool | undefined): boolean {
  const { state: wasOn, allow_toggle: before } = own;
  const { state: isOn = wasOn, allow_toggle: after = before } = enable;
  if (isOn === true && wasOn !== true) return true;
  // A tool that is on could be locked on, and one that is off could be unlocked.
  return isOn === true
    ? isLooser(TOGGLES, before, after)
    : isLooser(TOGGLES, after, before) && tool?.isSetByUser("enable") === true;
}

/** The fields of a table that are wanted; undefined if there are none. */
function pick(
  table: Json,
  isWanted: (key: string, value: Json) => boolean,
): JsonObject | undefined {
  const wanted = Object.entries(tableIn(table)).filter(([key, value]) => isWanted(key, value));
  return wanted.length === 0 ? undefined : Object.fromEntries(wanted);
}

function tableIn(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
