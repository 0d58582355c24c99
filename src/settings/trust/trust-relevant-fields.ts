/**
 * Selects the fields of a workspace's config that need trust: those that run, connect to or allow more than the user's
 * own config does. Names, descriptions and stricter settings do not.
 */
import {
  isJsonArray,
  isJsonObject,
  isLoopback,
  isDeepEqual,
  type Json,
  type JsonObject,
} from "../../util/index.ts";

/** Fields of a workspace's own tool that never run, connect to or allow more. */
const HARMLESS_TOOL_FIELDS = new Set([
  "enable",
  "group",
  "summary",
  "description",
  "examples",
  "cancellation_response",
  "timeout_secs",
  "style",
]);

/** The user's own config for a tool that a workspace configures. */
export interface OwnTool {
  /** Its policy without the workspace: its own fields, else the defaults for all tools. */
  readonly policy: JsonObject;
  /** Its time limit without the workspace, or infinity. */
  readonly timeoutSecs: number;
  /** Whether the user's config sets this field, even to its default. */
  readonly isSetByUser: (key: string) => boolean;
  /** It ships with jp and only reads: a workspace may configure what the user has not. */
  readonly isReadOnly: boolean;
}

/** For a tool that the workspace brings, everything but harmless fields; for other tools, fields that relax them. */
export function trustRelevantToolFields(table: JsonObject, own: OwnTool): JsonObject {
  const fields = withWrittenRules(table);
  const isReplaced = ["source", "command"].some(
    (key) => fields[key] !== undefined && !isDeepEqual(fields[key], own.policy[key]),
  );
  const loosened = () => {
    const all = looserFields(fields, own);
    // Rules take precedence over plain modes.
    const isSet = (key: string) =>
      (key === "policy" ? [key, "run", "result"] : [key]).some(own.isSetByUser);
    return own.isReadOnly ? pick(all, isSet) : all;
  };
  const { parameters: formatter } = tableIn(fields, "style");
  const style = {
    // Trust in a workspace's own tool includes its style.
    ...(!isReplaced && deceptiveStyle(tableIn(fields, "style"), tableIn(own.policy, "style"))),
    ...(isJsonObject(formatter) && { parameters: formatter }), // A command.
  };
  return {
    ...(isReplaced ? pick(fields, (key) => !HARMLESS_TOOL_FIELDS.has(key)) : loosened()),
    ...(Object.keys(style).length > 0 && { style }),
  };
}

export function trustRelevantServerFields(fields: JsonObject): JsonObject {
  return pick(fields, (key) => key !== "optional" && key !== "startup_timeout_secs");
}

/** Settings that keep Ctrl-C from stopping a reply or a tool, the first or the second time. */
export function trustRelevantInterruptFields(fields: JsonObject): JsonObject {
  const { escalation_cooldown_secs: cooldown } = fields;
  const actions = ["streaming", "tool_call"].flatMap((during) => {
    const { action } = tableIn(fields, during);
    return action === "continue" || action === "restart" ? [[during, { action }] as const] : [];
  });
  return {
    ...Object.fromEntries(actions),
    ...(cooldown !== undefined && { escalation_cooldown_secs: cooldown }),
  };
}

/** Providers whose servers run on the user's machine. The keys of others open an account elsewhere. */
const LOCAL_PROVIDERS = new Set(["ollama", "llamacpp"]);

/**
 * The address and key of requests. A model server on this machine needs no trust, unless it gets a key meant for another:
 * any user of the machine can listen there. A variable needs trust: it can send any part of the environment anywhere.
 */
export function trustRelevantProviderFields(
  provider: string,
  fields: JsonObject,
  own: JsonObject,
): JsonObject {
  const { base_url, base_url_env, api_key_env } = fields;
  const isHarmless =
    LOCAL_PROVIDERS.has(provider) &&
    isLocalModelServer(base_url) &&
    isLocalModelServer(own["base_url"]);
  return {
    ...(base_url !== undefined && !isHarmless && { base_url }),
    ...(base_url_env !== undefined && { base_url_env }),
    ...(api_key_env !== undefined && { api_key_env }),
  };
}

/** Only with the usual paths: otherwise a request could reach any service on this machine. */
function isLocalModelServer(url: Json | undefined): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { hostname, pathname, search } = new URL(url);
  return (
    isLoopback(hostname) && search === "" && /^(?:\/api)?(?:\/v1(?:beta)?)?\/?$/.test(pathname)
  );
}

/** The model and its prompt. Parameters that need trust are separate claims. */
export function trustRelevantAssistantFields(fields: JsonObject): JsonObject {
  const { id } = tableIn(fields, "model");
  return {
    ...(id !== undefined && { model: { id } }),
    ...pick(fields, (key) => !HARMLESS_ASSISTANT_FIELDS.has(key)),
  };
}

const HARMLESS_ASSISTANT_FIELDS = new Set(["model", "name", "tool_choice", "request"]);

/** Whether config lets a model answer a question of the tool. Questions of tools that ship with jp are for a person. */
export function isAnsweredByModel(policy: JsonObject, isShipped: boolean): boolean {
  const isNamed = Object.values(tableIn(policy, "questions")).some(
    (question) =>
      isJsonObject(question) && (isForModel(question["target"]) || question["exclusive"] === false),
  );
  return isNamed || (!isShipped && tableIn(policy, "detached")["tool"] === "auto");
}

/** Whether a model is asked first, or after everyone else missed the deadline. */
export function isForModel(target: Json | undefined): boolean {
  return isJsonObject(target) && (target["type"] === "assistant" || target["lastly"] !== undefined);
}

/** A setting, and whether the workspace's value allows more than the user's own. */
interface LooserSetting {
  readonly path: readonly string[];
  readonly isLooser: (value: Json, own: unknown) => boolean;
}

const isHigher = (value: Json, own: unknown) => !(Number(value) <= Number(own));
/** 0 means no limit. */
const isFurther = (value: Json, own: unknown) =>
  isHigher(value === 0 ? Infinity : value, own === 0 ? Infinity : own);

/** For lists. */
const hasMore = (value: Json, own: unknown) =>
  !isJsonArray(value) || value.some((one) => !Array.isArray(own) || !own.includes(one));

/** Every setting outside tools, servers and models that limits something or keeps it private. */
export const LOOSER_SETTINGS: readonly LooserSetting[] = [
  ...["automatic_answers_per_call", "automatic_answers_per_turn", "record_bytes_per_call"].map(
    (key) => ({ path: ["conversation", "limits", key], isLooser: isHigher }),
  ),
  { path: ["conversation", "max_cycles"], isLooser: isHigher },
  // The next message would go to a conversation that the workspace names.
  { path: ["conversation", "default_id"], isLooser: (value) => value !== "ask" },
  // A conversation that the user keeps private would be stored in the workspace.
  {
    path: ["conversation", "start_local"],
    isLooser: (value, own) => value === false && own === true,
  },
  // A model could read pages that only this machine and its networks can reach.
  { path: ["web", "private_hosts"], isLooser: hasMore },
  // Changes by tools could not be undone.
  { path: ["undo", "keep"], isLooser: (value, own) => value === false && own !== false },
  { path: ["assistant", "request", "max_retries"], isLooser: isHigher },
  ...["max_response_bytes", "stream_idle_timeout_secs", "prompt_timeout_secs"].map((key) => ({
    path: ["assistant", "request", key],
    isLooser: isFurther,
  })),
];

/** The policy of a tool: its own fields, else the defaults for all tools. */
export function toolPolicy(defaults: JsonObject, tool: JsonObject): JsonObject {
  const merged = (key: string) => ({ ...tableIn(defaults, key), ...tableIn(tool, key) });
  return {
    ...defaults,
    ...tool,
    enable: merged("enable"),
    detached: merged("detached"),
    style: merged("style"),
    policy: Object.fromEntries(
      ["run", "result"].map((of) => {
        const wordOf = (entry: JsonObject) =>
          tableIn(tableIn(entry, "policy"), of)["mode"] ?? entry[of];
        const mode = wordOf(tool) ?? wordOf(defaults);
        return [of, mode === undefined ? {} : { mode }] as const;
      }),
    ),
  };
}

/** Whether a tool leaves this field, or a claimed part of it, to the defaults for all tools. */
export function usesDefault(tool: JsonObject, key: string, claimed: Json): boolean {
  const own = tool[key];
  if (own === undefined) return true;
  if (!isJsonObject(own) || !isJsonObject(claimed)) return false;
  return Object.keys(claimed).some((field) => own[field] === undefined);
}

function looserFields(fields: JsonObject, own: OwnTool): JsonObject {
  const { policy } = own;
  const { run, result, format, enable, group, timeout_secs, options, parameters, access } = fields;
  const { idempotent, check, subject_ignore: ignored, effect, target } = fields;
  const rules = looserPolicy(tableIn(fields, "policy"), policy);
  const ownFormat = policy["format"] ?? (policy["run"] === "unattended" ? "unattended" : "ask");
  const detached = pick(tableIn(fields, "detached"), (prompt, mode) =>
    isLooser(DETACHED, mode, tableIn(policy, "detached")[prompt]),
  );
  const questions = Object.entries(tableIn(fields, "questions"))
    .map(([id, question]) => {
      const before = tableIn(tableIn(policy, "questions"), id);
      const asked = before["target"] === undefined ? policy : before;
      return [id, withoutStricter(question, tableIn(asked, "target"))] as const;
    })
    .filter(([, question]) => Object.keys(question).length > 0);
  return {
    ...(isLooser(PROMPTS, run, policy["run"]) && { run }),
    ...(isLooser(PROMPTS, result, policy["result"]) && { result }),
    ...(isLooser(PROMPTS, format, ownFormat) && { format }),
    ...(Object.keys(rules).length > 0 && { policy: rules }),
    // For a destructive tool, no lasting permission is offered.
    ...(effect !== undefined && effect !== "destroys" && effect !== policy["effect"] && { effect }),
    ...(Object.keys(detached).length > 0 && { detached }),
    ...(questions.length > 0 && { questions: Object.fromEntries(questions) }),
    ...(isJsonObject(enable) && isEnabling(enable, own) && { enable }),
    // Users switch on tools by group name.
    ...(group !== undefined && group !== policy["group"] && { group }),
    ...(timeout_secs !== undefined && isLonger(timeout_secs, own.timeoutSecs) && { timeout_secs }),
    // Other people would decide about its calls.
    ...(isJsonObject(target) && !namesSame(target, tableIn(policy, "target")) && { target }),
    // A call that may have run would run again without asking.
    ...(idempotent === true && policy["idempotent"] !== true && { idempotent }),
    // The tool's report about such a call would replace a person's decision.
    ...(check === true && policy["check"] !== true && { check }),
    // A call would run although its program's file differs from the one shown.
    ...(ignored !== undefined &&
      !isDeepEqual(ignored, policy["subject_ignore"] ?? []) && { subject_ignore: ignored }),
    ...(options !== undefined && { options }),
    ...(parameters !== undefined && { parameters }),
    ...(access !== undefined && { access }),
  };
}

/** A rule's place is not part of its content. */
function withWrittenRules(fields: JsonObject): JsonObject {
  const { policy } = fields;
  if (!isJsonObject(policy)) return fields;
  const lists = Object.entries(policy).map(([of, list]): readonly [string, Json] => {
    if (!isJsonObject(list)) return [of, list];
    const rules = rulesIn(list["rules"]).map((rule) => {
      const { place: _place, ...written } = rule;
      return written;
    });
    return [of, { ...list, rules }];
  });
  return { ...fields, policy: Object.fromEntries(lists) };
}

function rulesIn(rules: Json | undefined): readonly JsonObject[] {
  return Array.isArray(rules) ? rules.filter(isJsonObject) : [];
}

/**
 * Rules that skip a prompt or name who decides, and a plain mode that is looser than the user's. Includes the rules
 * before them, without which they would allow more.
 */
function looserPolicy(fields: JsonObject, own: JsonObject): JsonObject {
  const looser = ["run", "result"].map((of) => {
    const { mode, rules } = tableIn(fields, of);
    const written = rulesIn(rules);
    const last = written.findLastIndex(
      (rule) => rule["mode"] === "unattended" || rule["target"] !== undefined,
    );
    const letting = written.slice(0, last + 1);
    const before = tableIn(tableIn(own, "policy"), of)["mode"] ?? own[of];
    const entry = {
      ...(isLooser(PROMPTS, mode, before) && { mode }),
      ...(letting.length > 0 && { rules: letting }),
    };
    return [of, entry] as const;
  });
  return Object.fromEntries(looser.filter(([, entry]) => Object.keys(entry).length > 0));
}

function isOff(header: Json | undefined): boolean {
  return header === false || header === "off";
}

function isChat(style: JsonObject): boolean {
  return tableIn(style, "inline_results")["user"] === "chat";
}

/** Settings that hide calls from the user, or show a tool's output as the assistant's own words. */
function deceptiveStyle(style: JsonObject, own: JsonObject): JsonObject {
  const chat = { inline_results: { user: "chat" } };
  const { hidden, header } = style;
  return {
    ...(hidden === true && own["hidden"] !== true && { hidden }),
    ...(header !== undefined && isOff(header) && !isOff(own["header"]) && { header }),
    ...(isChat(style) && !isChat(own) && chat),
    ...(isChat(tableIn(style, "error")) && !isChat(tableIn(own, "error")) && { error: chat }),
  };
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

/** 0 means no limit. */
function isLonger(seconds: Json | undefined, own: number): seconds is number {
  return typeof seconds === "number" && (seconds === 0 ? Infinity : seconds) > own;
}

/** The tool would be on, or stay on although the user switches it off. */
function isEnabling(enable: JsonObject, { policy, isSetByUser }: OwnTool): boolean {
  const { state: wasOn, allow_toggle: before } = tableIn(policy, "enable");
  const { state: isOn = wasOn, allow_toggle: after = before } = enable;
  if (isOn === true && wasOn !== true) return true;
  // A tool that is on could be locked on, and one that is off could be unlocked.
  return isOn === true
    ? isLooser(TOGGLES, before, after)
    : isLooser(TOGGLES, after, before) && isSetByUser("enable");
}

/**
 * Asking only the user is the strictest setting, unless the user has named someone to answer. Anyone the workspace names
 * may approve more readily than the user.
 */
function withoutStricter(question: Json, ownTarget: JsonObject): JsonObject {
  if (!isJsonObject(question)) return {};
  return pick(question, (key, value) => {
    if (key === "target") {
      const isUser = isJsonObject(value) && value["type"] === "user";
      return !isUser || !namesSame(value, ownTarget);
    }
    if (key === "on_timeout") return value !== "deny";
    return !(key === "exclusive" && value === true);
  });
}

const PEOPLE = ["user", "any", "terms", "withinMs", "next", "lastly"];

/** Whether both name the same people on the same terms and in the same order, or neither names anyone. */
function namesSame(target: JsonObject, own: JsonObject): boolean {
  return PEOPLE.every((key) => isDeepEqual(target[key] ?? null, own[key] ?? null));
}

function pick(entry: JsonObject, isWanted: (key: string, value: Json) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key, value]) => isWanted(key, value)));
}

function tableIn(entry: JsonObject, key: string): JsonObject {
  const table = Object.hasOwn(entry, key) ? entry[key] : undefined;
  return isJsonObject(table) ? table : {};
}
