/**
 * The config of the Rust original, hand-written from the types in its `crates/jp_config` at 4c1c39f1: every key, its
 * enums, its required keys, and what it refuses to load. It is independent of our code, so that our misconceptions about
 * the original are not repeated.
 */
import { isJsonArray, isJsonObject, type Json, type JsonObject } from "../../util/index.ts";

/** Why the original would not load this conversation's config as intended; empty if it would. */
export function configProblems(
  baseConfig: JsonObject,
  elements: readonly JsonObject[],
): readonly string[] {
  const deltas = elements
    .filter(({ type }) => type === "config_delta")
    .map(({ delta }) => (isJsonObject(delta) ? delta : {}));
  return [
    ...[baseConfig, ...deltas].flatMap((part, index) => misfits(APP, part, `#${index}`)),
    ...missing(baseConfig),
    ...refusals([baseConfig, ...deltas]),
  ];
}

type Spec =
  | { readonly is: (value: Json) => boolean; readonly called: string }
  | {
      readonly keys: Readonly<Record<string, Spec>>;
      readonly required?: readonly string[];
      readonly rest?: Spec;
    }
  | { readonly each: Spec }
  | { readonly named: Spec }
  | { readonly anyOf: readonly Spec[] }
  | { readonly lazily: () => Spec };

const leaf = (called: string, is: (value: Json) => boolean): Spec => ({ called, is });
const whole = (bits: number): Spec =>
  leaf(
    `u${bits}`,
    (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** bits,
  );
const oneOf = (...members: readonly string[]): Spec =>
  leaf(members.join("|"), (value) => typeof value === "string" && members.includes(value));
const matching = (pattern: RegExp): Spec =>
  leaf(String(pattern), (value) => typeof value === "string" && pattern.test(value));
const keys = (entries: Readonly<Record<string, Spec>>, ...required: readonly string[]): Spec => ({
  keys: entries,
  required,
});
const anyOf = (...specs: readonly Spec[]): Spec => ({ anyOf: specs });

const bool = leaf("bool", (value) => typeof value === "boolean");
const string = leaf("string", (value) => typeof value === "string");
const float = leaf("f32", (value) => typeof value === "number");
const signed = leaf("i32", (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31);
const json = leaf("any", () => true);
const u16 = whole(16);
const u32 = whole(32);
const usize = whole(53);
const strings: Spec = { each: string };

// types/
const humantime = matching(/^(?:\s*\d+\s*(?:ns|us|ms|s|sec|m|min|h|hr|d|day)s?)+$/);
const color = anyOf(whole(8), matching(/^#[\dA-Fa-f]{6}$/), matching(/^\d{1,3}$/));
const command = keys({ program: string, args: strings, shell: bool }, "program", "args", "shell");
const commandOrString = anyOf(string, command);
const mergedString = anyOf(
  string,
  keys({
    value: string,
    strategy: oneOf("append", "prepend", "replace"),
    separator: oneOf("none", "space", "line", "paragraph"),
    discard_when_merged: bool,
  }),
);
const vecOf = (item: Spec): Spec =>
  anyOf(
    { each: item },
    keys({
      value: { each: item },
      strategy: oneOf("append", "prepend", "replace"),
      dedup: anyOf(bool, oneOf("true", "false", "inherit")),
      discard_when_merged: bool,
    }),
  );

// model/
const name = matching(/^[A-Za-z0-9_.:/~-]+$/);
const provider = oneOf(
  "anthropic",
  "cerebras",
  "deepseek",
  "google",
  "llamacpp",
  "ollama",
  "openai",
  "openrouter",
  "xai",
);
const modelId = keys({ provider, name }, "provider", "name");
const modelIdOrAlias = anyOf(modelId, matching(/^[^/]+$/));
const effort = anyOf(
  oneOf("none", "auto", "max", "xhigh", "high", "medium", "low", "xlow"),
  keys({ absolute: u32 }, "absolute"),
);
const parameters: Spec = {
  keys: {
    max_tokens: u32,
    reasoning: anyOf(oneOf("off", "auto"), keys({ effort, exclude: bool })),
    temperature: float,
    top_p: float,
    top_k: u32,
    stop_words: strings,
  },
  rest: json,
};
// It panics on an unresolved alias, so ours are resolved where it looks for a model.
const model = keys({ id: modelId, parameters });
const optionalModel = keys({ id: modelId, parameters }, "id");

// assistant/
const section = keys({ content: string, tag: string, title: string, position: signed });
const instructions = keys({
  title: string,
  description: string,
  position: signed,
  items: strings,
  examples: {
    each: anyOf(string, keys({ good: string, bad: string, reason: string }, "good", "bad")),
  },
});
const request = keys({
  max_retries: u32,
  base_backoff_ms: u32,
  max_backoff_secs: u32,
  stream_idle_timeout_secs: u32,
  max_response_bytes: u32,
  cache: anyOf(bool, oneOf("true", "short", "false", "off", "long"), humantime),
});
const assistantWith = (ofModel: Spec): Spec =>
  keys({
    name: string,
    system_prompt: mergedString,
    system_prompt_sections: vecOf(section),
    instructions: vecOf(instructions),
    tool_choice: string,
    model: ofModel,
    request,
  });

// conversation/tool.rs
const lines = anyOf(
  bool,
  oneOf("off", "full"),
  usize,
  keys({ truncate: keys({ lines: usize }, "lines") }, "truncate"),
);
const link = anyOf(bool, oneOf("off", "full", "osc8"));
const shared = {
  enable: anyOf(
    bool,
    oneOf("true", "on", "false", "off", "always", "explicit"),
    keys({ state: bool, allow_toggle: oneOf("any", "never", "if_named", "if_named_or_group") }),
  ),
  run: oneOf("ask", "unattended", "edit", "skip"),
  format: oneOf("ask", "unattended"),
  result: oneOf("unattended", "ask", "edit", "skip"),
  cancellation_response: string,
  style: keys({
    hidden: bool,
    inline_results: lines,
    results_file_link: link,
    parameters: anyOf(oneOf("json", "function_call", "off"), commandOrString),
    error: keys({ inline_results: lines, results_file_link: link }),
  }),
};
const parameter: Spec = keys({
  type: anyOf(string, strings),
  default: json,
  required: bool,
  summary: string,
  description: string,
  examples: string,
  enum: { each: json },
  items: { lazily: () => parameter },
  properties: { named: { lazily: () => parameter } },
});
const rule = keys(
  {
    path: string,
    external: bool,
    read: bool,
    write: bool,
    create: bool,
    update: bool,
    delete: bool,
    execute: bool,
  },
  "path",
);
const tool = keys(
  {
    ...shared,
    source: matching(/^(?:builtin|local)(?:\..*)?$|^mcp\.[^.]+(?:\..*)?$/),
    command: commandOrString,
    summary: string,
    description: string,
    examples: string,
    parameters: { named: parameter },
    // A configured answer may be a secret: the original knows the key, and we never write it.
    questions: {
      named: keys({
        target: anyOf(
          oneOf("user", "assistant"),
          assistantWith(keys({ id: modelIdOrAlias, parameters })),
        ),
      }),
    },
    options: { named: json },
    access: keys({ fs: vecOf(rule) }),
  },
  "source",
);

// conversation.rs
const attachment = anyOf(
  leaf("url", (value) => typeof value === "string" && URL.canParse(value)),
  keys({ type: string, path: string, params: { named: json } }, "type", "path"),
);
const conversation = keys({
  title: keys({ generate: keys({ auto: bool, model: optionalModel }), from_heading: bool }),
  tools: { keys: { "*": keys(shared) }, rest: tool },
  attachments: vecOf(attachment),
  inquiry: keys({
    assistant: keys({
      system_prompt: string,
      system_prompt_sections: { each: section },
      tool_choice: string,
      model: optionalModel,
      request,
    }),
  }),
  start_local: bool,
  // Any other string is read as an id, which it then cannot write back.
  default_id: oneOf("ask", "last", "last_activated", "last_created", "previous", "prev"),
});

// style/
const progress = { show: bool, delay_secs: u32, interval_ms: u32 };
const delay = anyOf(humantime, keys({ secs: usize, nanos: u32 }));
const style = keys({
  code: keys({ color: bool, line_numbers: bool, file_link: link, copy_link: link }),
  inline_code: keys({ background: color }),
  markdown: keys({
    wrap_width: usize,
    table_max_column_width: usize,
    table_continuation_edge: bool,
    theme: string,
    hr_style: oneOf("markdown", "line"),
  }),
  mcp_startup: keys(progress),
  reasoning: keys({
    display: anyOf(
      oneOf("hidden", "summary", "static", "progress", "timer", "full"),
      keys({ truncate: keys({ characters: usize }, "characters") }, "truncate"),
    ),
    summary_model: optionalModel,
    background: color,
    extend_across_tool_calls: bool,
  }),
  streaming: keys({ progress: keys(progress) }),
  lock_wait: keys({ ...progress, timeout_secs: u32 }),
  tool_call: keys({ show: bool, progress: keys(progress), preparing: keys(progress) }),
  typewriter: keys({ text_delay: delay, code_delay: delay, max_latency: delay }),
});

const inEditor = anyOf(bool, oneOf("true", "false", "always", "never"));

/** Leaves out `providers`, labels, compaction rules and references between files: we write none of these. */
const APP = keys({
  assistant: assistantWith(model),
  conversation,
  style,
  interrupt: keys({
    escalation_cooldown_secs: u32,
    streaming: keys({
      action: oneOf("prompt", "continue", "stop", "abort", "reply"),
      compose_in_editor: inEditor,
    }),
    tool_call: keys({
      action: oneOf("prompt", "continue", "restart", "respond", "stop"),
      compose_in_editor: inEditor,
    }),
  }),
  editor: keys({
    cmd: commandOrString,
    envs: strings,
    inline: keys({ edit_mode: oneOf("emacs", "vi") }),
  }),
  template: keys({ values: { named: json } }),
  plugins: keys({ auto_install: bool, shutdown_timeout_secs: u16 }),
  user: keys({ name: string }),
});

function misfits(spec: Spec, value: Json, path: string): readonly string[] {
  if ("lazily" in spec) return misfits(spec.lazily(), value, path);
  if ("is" in spec) return spec.is(value) ? [] : [`${path}: expected ${spec.called}`];
  if ("anyOf" in spec) {
    const each = spec.anyOf.map((one) => misfits(one, value, path));
    return each.some((problems) => problems.length === 0) ? [] : each.flat();
  }
  if ("each" in spec) {
    if (!isJsonArray(value)) return [`${path}: expected a list`];
    return value.flatMap((item, index) => misfits(spec.each, item, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return [`${path}: expected a table`];
  const rest = "named" in spec ? spec.named : spec.rest;
  const known = "named" in spec ? {} : spec.keys;
  const required = "named" in spec ? [] : (spec.required ?? []);
  return [
    ...required.filter((key) => !Object.hasOwn(value, key)).map((key) => `${path}: needs ${key}`),
    ...Object.entries(value).flatMap(([key, member]) => {
      const child = Object.hasOwn(known, key) ? known[key] : rest;
      const place = `${path}.${key}`;
      return child === undefined ? [`${place}: unknown key`] : misfits(child, member, place);
    }),
  ];
}

function missing(baseConfig: JsonObject): readonly string[] {
  const required = [
    ["assistant", "model", "id", "provider"],
    ["assistant", "model", "id", "name"],
    ["conversation", "tools", "*", "run"],
  ];
  return required
    .filter((path) => at(baseConfig, path) === undefined)
    .map((path) => `#0: needs ${path.join(".")}`);
}

/** The checks that it makes after merging all parts, and tools that it could offer but not run. */
function refusals(parts: readonly JsonObject[]): readonly string[] {
  return parts.flatMap((part, index) => {
    const idle = at(part, ["assistant", "request", "stream_idle_timeout_secs"]);
    const isTooShort = typeof idle === "number" && idle > 0 && idle < 10;
    const tools = at(part, ["conversation", "tools"]);
    const ofTools = Object.entries(isJsonObject(tools) ? tools : {}).flatMap(
      ([toolName, entry]) => {
        const source = at(entry, ["source"]);
        const isOf = (kind: string) => typeof source === "string" && source.startsWith(kind);
        return [
          ...(at(entry, ["access"]) === undefined || isOf("local")
            ? []
            : [`${toolName} has access`]),
          ...(isOf("builtin") ? [`${toolName} is not one of its builtins`] : []),
        ];
      },
    );
    return [...(isTooShort ? ["the idle timeout is too short"] : []), ...ofTools].map(
      (problem) => `#${index}: ${problem}`,
    );
  });
}

function at(value: Json | undefined, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (inner, key) => (isJsonObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    value,
  );
}
