/**
 * Schema of the config that the Rust original supports, as of its commit 4c1c39f1. Its types reject every other key, and
 * one unknown key makes it drop the whole config of a conversation. A value that it replaces as a whole is a union here,
 * even with a single member.
 */
import * as v from "valibot";
import { namedBy } from "./node.ts";

type Entries = Record<string, v.GenericSchema>;

/** Allows any of these keys, and no others. */
function keys(entries: Entries): v.GenericSchema {
  return v.partial(v.strictObject(entries));
}

/** Replaced as a whole. */
function whole(...schemas: readonly v.GenericSchema[]): v.GenericSchema {
  return v.union([...schemas]);
}

/** A list that layers add to, as stored by jp-ts. */
function wholeList(item: v.GenericSchema): v.GenericSchema {
  return whole(v.strictObject({ value: v.array(item), strategy: v.literal("replace") }));
}

function integer(min: number, max: number) {
  return v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
}

const u32 = integer(0, 2 ** 32 - 1);
const i32 = integer(-(2 ** 31), 2 ** 31 - 1);
const count = integer(0, Number.MAX_SAFE_INTEGER);
const flag = v.boolean();
const text = v.string();
const texts = v.array(text);
const duration = v.pipe(text, v.regex(/^\d+(?:ns|us|ms|s|m|h|d)(?: \d+(?:ns|us|ms|s|m|h|d))*$/));
const colour = v.union([integer(0, 255), v.pipe(text, v.regex(/^#[\da-f]{6}$/i))]);

const command = v.strictObject({ program: text, args: texts, shell: flag });

const modelId = v.strictObject({
  provider: v.picklist([
    "anthropic",
    "cerebras",
    "deepseek",
    "google",
    "llamacpp",
    "ollama",
    "openai",
    "openrouter",
    "xai",
  ]),
  name: v.pipe(text, v.regex(/^[\w.:/~-]+$/)),
});

const reasoning = whole(
  v.picklist(["off", "auto"]),
  v.strictObject({
    effort: v.picklist(["none", "auto", "max", "xhigh", "high", "medium", "low", "xlow"]),
    exclude: flag,
  }),
);

/** It accepts any other parameter, and would send one named `other` to the provider. */
const parameters = v.objectWithRest(
  {
    max_tokens: v.optional(u32),
    reasoning: v.optional(reasoning),
    temperature: v.optional(v.number()),
    top_p: v.optional(v.number()),
    top_k: v.optional(u32),
    stop_words: v.optional(texts),
    other: v.optional(v.never()),
  },
  v.unknown(),
);

/** An optional model needs an id if it is present. */
const optionalModel = whole(v.strictObject({ id: modelId, parameters: v.optional(parameters) }));

const request = keys({
  max_retries: u32,
  base_backoff_ms: u32,
  max_backoff_secs: u32,
  // It rejects a config with a lower value.
  stream_idle_timeout_secs: v.union([v.literal(0), integer(10, 2 ** 32 - 1)]),
  max_response_bytes: u32,
  cache: v.union([flag, v.picklist(["short", "long", "off"]), duration]),
});

const section = keys({ content: text, tag: text, title: text, position: i32 });

const instruction = keys({
  title: text,
  description: text,
  position: i32,
  items: texts,
  examples: v.array(
    v.union([text, v.strictObject({ good: text, bad: text, reason: v.optional(text) })]),
  ),
});

function assistant(id: v.GenericSchema): v.GenericSchema {
  return keys({
    name: text,
    system_prompt: text,
    system_prompt_sections: wholeList(section),
    instructions: wholeList(instruction),
    tool_choice: text,
    model: keys({ id: whole(id), parameters }),
    request,
  });
}

const alias = v.pipe(text, v.regex(/^[^/]+$/));

const style = keys({
  hidden: flag,
  inline_results: lines(),
  results_file_link: link(),
  parameters: whole(v.picklist(["json", "function_call", "off"]), command),
  error: keys({ inline_results: lines(), results_file_link: link() }),
});

function lines() {
  const truncated = v.strictObject({ truncate: v.strictObject({ lines: count }) });
  return whole(flag, v.picklist(["off", "full"]), count, truncated);
}

function link() {
  return whole(flag, v.picklist(["full", "osc8", "off"]));
}

const ofEveryTool = {
  enable: whole(
    keys({
      state: flag,
      allow_toggle: v.picklist(["any", "never", "if_named", "if_named_or_group"]),
    }),
  ),
  run: v.picklist(["ask", "unattended", "edit", "skip"]),
  format: v.picklist(["ask", "unattended"]),
  result: v.picklist(["unattended", "ask", "edit", "skip"]),
  cancellation_response: text,
  style,
};

export const sharedToolDefaultsSchema = keys(ofEveryTool);

const parameter: v.GenericSchema = keys({
  type: whole(text, texts),
  default: v.unknown(),
  required: flag,
  summary: text,
  description: text,
  examples: text,
  enum: v.array(v.unknown()),
  items: v.lazy(() => parameter),
  properties: namedBy(v.lazy(() => parameter)),
});

const toolKeys = {
  ...ofEveryTool,
  source: text,
  command: whole(command),
  summary: text,
  description: text,
  examples: text,
  parameters: namedBy(parameter),
  questions: namedBy(
    keys({
      target: whole(v.picklist(["user", "assistant"]), assistant(v.union([modelId, alias]))),
    }),
  ),
  options: namedBy(v.unknown()),
};

const access = keys({
  fs: v.array(
    v.strictObject({
      path: text,
      external: v.optional(flag),
      read: v.optional(flag),
      write: v.optional(flag),
      create: v.optional(flag),
      update: v.optional(flag),
      delete: v.optional(flag),
      execute: v.optional(flag),
    }),
  ),
});

/** It rejects a tool with `access` that is not local. */
export const sharedToolSchemas = {
  local: keys({ ...toolKeys, access: whole(access) }),
  mcp: keys(toolKeys),
};

const url = v.pipe(
  text,
  v.check((address) => URL.canParse(address)),
);

/** Leaves out tools, whose keys depend on their source. */
const conversation = keys({
  title: keys({ generate: keys({ auto: flag, model: optionalModel }), from_heading: flag }),
  attachments: wholeList(
    v.union([
      url,
      v.strictObject({ type: text, path: text, params: v.optional(namedBy(v.unknown())) }),
    ]),
  ),
  inquiry: keys({
    assistant: keys({ system_prompt: text, tool_choice: text, model: optionalModel, request }),
  }),
  start_local: flag,
  // It reads any other id but cannot save it.
  default_id: v.picklist(["ask", "last_activated", "last_created", "previous"]),
});

const progress = { show: flag, delay_secs: u32, interval_ms: u32 };

const delay = whole(duration, v.strictObject({ secs: count, nanos: u32 }));

const styles = keys({
  code: keys({ color: flag, line_numbers: flag, file_link: link(), copy_link: link() }),
  inline_code: keys({ background: colour }),
  markdown: keys({
    wrap_width: count,
    table_max_column_width: count,
    table_continuation_edge: flag,
    theme: text,
    hr_style: v.picklist(["markdown", "line"]),
  }),
  mcp_startup: keys(progress),
  reasoning: keys({
    display: whole(
      v.picklist(["hidden", "summary", "static", "progress", "timer", "full"]),
      v.strictObject({ truncate: v.strictObject({ characters: count }) }),
    ),
    background: colour,
    extend_across_tool_calls: flag,
  }),
  streaming: keys({ progress: keys(progress) }),
  lock_wait: keys({ ...progress, timeout_secs: u32 }),
  tool_call: keys({ show: flag, progress: keys(progress), preparing: keys(progress) }),
  typewriter: keys({ text_delay: delay, code_delay: delay, max_latency: delay }),
});

const inEditor = v.union([flag, v.picklist(["always", "never"])]);

export const sharedSchema = keys({
  assistant: assistant(modelId),
  conversation,
  style: styles,
  editor: keys({
    cmd: text,
    envs: texts,
    inline: keys({ edit_mode: v.picklist(["emacs", "vi"]) }),
  }),
  interrupt: keys({
    escalation_cooldown_secs: u32,
    streaming: keys({
      action: v.picklist(["prompt", "continue", "stop", "abort", "reply"]),
      compose_in_editor: inEditor,
    }),
    tool_call: keys({
      action: v.picklist(["prompt", "continue", "restart", "respond", "stop"]),
      compose_in_editor: inEditor,
    }),
  }),
  user: keys({ name: text }),
  template: keys({ values: namedBy(v.unknown()) }),
});
