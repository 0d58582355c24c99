/** Schema of a whole config: every key, its type and its description. */
import * as v from "valibot";
import { isJsonObject, isLoopback, type Json, type JsonObject } from "../../util/index.ts";
import { DEFAULTS } from "../defaults.ts";
import { modelIdSchema } from "../model-id.ts";
import { toJson } from "../schema-node.ts";
import { assistantSchema } from "./assistant.ts";
import {
  atLeast,
  behaviour,
  described,
  group,
  list,
  namedBy,
  openGroup,
  wholeNumber,
} from "./node.ts";
import { providersSchema } from "./providers.ts";
import { toolsSchema } from "./tool.ts";

const conversation = group({
  title: group({
    generate: group({
      auto: described("generate titles for new conversations", v.boolean()),
      model: group({
        id: described("the model that generates titles", modelIdSchema),
        parameters: v.pipe(openGroup({}), behaviour({ isModelParameters: true })),
      }),
    }),
  }),
  tools: toolsSchema,
  attachments: described(
    "documents to attach to every request",
    list.of(v.union([v.string(), openGroup({})])),
  ),
  inquiry: group({
    assistant: assistantSchema,
    schema: described(
      "stable (one schema per type of question, good for caching) or bound (the schema names the inquiry)",
      v.picklist(["stable", "bound"]),
    ),
    max_parallel: described(
      "how many questions to send to a model at once; by default 1 to a local model, any number to others",
      wholeNumber({ min: 1, max: 1000 }),
    ),
  }),
  limits: group({
    automatic_answers_per_call: described(
      "maximum number of automatic answers per call: from config, memory, a default or a model",
      wholeNumber({ min: 0, max: 1000 }),
    ),
    automatic_answers_per_turn: described(
      "the same, for all calls of a turn together",
      wholeNumber({ min: 0, max: 10_000 }),
    ),
    record_bytes_per_call: described(
      "maximum number of bytes a call adds to the record: its questions, answers and result",
      wholeNumber({ min: 1024, max: 67_108_864 }),
    ),
  }),
  start_local: described(
    "store new conversations outside the workspace, for you alone",
    v.boolean(),
  ),
  default_id: described("the conversation to use when none is active", v.string()),
  max_cycles: described("maximum number of requests to the model per turn", atLeast(1)),
});

const progress = group({
  show: described("show a progress indicator", v.boolean()),
  delay_secs: described("seconds to wait before showing it", atLeast(0)),
  interval_ms: described("milliseconds between updates", atLeast(0)),
});

const duration = v.union([
  v.string(),
  atLeast(0),
  v.object({ secs: atLeast(0), nanos: atLeast(0) }),
]);

const style = group({
  code: described("code blocks", openGroup({ color: v.boolean() })),
  markdown: described("rendered Markdown", openGroup({ wrap_width: atLeast(0) })),
  reasoning: group({
    display: described(
      "full, hidden, summary, static, progress, timer, or a number of characters",
      v.union([v.string(), atLeast(0), openGroup({})]),
    ),
    background: described("background color", v.union([v.number(), v.string()])),
    extend_across_tool_calls: described("keep reasoning together across tool calls", v.boolean()),
  }),
  streaming: group({ progress }),
  tool_call: group({
    show: described("show tool calls", v.boolean()),
    progress,
    preparing: progress,
  }),
  typewriter: group({
    text_delay: described("delay between characters", duration),
    code_delay: described("delay between characters of code", duration),
    max_latency: described("maximum time to fall behind", duration),
  }),
  mcp_startup: progress,
  lock_wait: group({
    timeout_secs: described("seconds to wait for a conversation that is in use", atLeast(0)),
  }),
  prompt: described(
    "how to ask questions: drawn, or plain (lines of text, for screen readers)",
    v.picklist(["drawn", "plain"]),
  ),
  notification: group({
    bell: described("ring the bell when a question is waiting", v.boolean()),
    desktop: described(
      "ask the terminal for a desktop notification when a question is waiting",
      v.boolean(),
    ),
  }),
});

const editor = group({
  cmd: described(
    "the editor command; without it, the first variable of envs that is set",
    v.string(),
  ),
  envs: described("environment variables that name the editor", v.array(v.string())),
  inline: openGroup({}),
});

const action = described("what Ctrl-C does: prompt, or one of its choices", v.string());

const interrupt = group({
  escalation_cooldown_secs: described(
    "a second Ctrl-C within this many seconds ends the turn",
    atLeast(0),
  ),
  streaming: group({ action }),
  tool_call: group({ action, compose_in_editor: v.union([v.boolean(), v.string()]) }),
});

const webAddress = v.pipe(
  v.string(),
  v.check(isWebAddress, "expected an address that starts with https:// or http://"),
);

/** Never recorded with a conversation, which could come from another machine and send elsewhere. */
const notify = v.pipe(
  group({
    content: described(
      "how much a notification says: none (only how many questions wait), title (also who asks, and in which " +
        "conversation) or question (also the text of the question)",
      v.picklist(["none", "title", "question"]),
    ),
    debounce_secs: described(
      "seconds to collect questions for one notification; questions answered by then are left out",
      wholeNumber({ min: 0, max: 3600 }),
    ),
    link: described(
      "address of the desk in links; by default, the one jp serve prints",
      webAddress,
    ),
    command: group({
      program: described("program to run for a notification", v.pipe(v.string(), v.nonEmpty())),
      args: described("arguments of the program", v.array(v.string())),
    }),
    webhook: group({
      url: described(
        "address to post notifications to",
        v.pipe(
          webAddress,
          v.check(
            isPrivateAddress,
            "expected https://, or http:// to this machine, without a password",
          ),
        ),
      ),
      secret_env: described(
        "environment variable that holds the secret for signatures",
        v.string(),
      ),
    }),
    email: group({
      from: described("sender of e-mails", v.string()),
      to: described("recipients of e-mails", v.array(v.string())),
      server: described("host name of the SMTP server", v.string()),
      port: described(
        "port of the SMTP server; TLS from the start on 465, STARTTLS on others",
        wholeNumber({ min: 1, max: 65_535 }),
      ),
      user: described("user name at the SMTP server; without it, jp does not log in", v.string()),
      password_env: described("environment variable that holds the password", v.string()),
    }),
  }),
  behaviour({ isMachineSpecific: true }),
);

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Whether no one on the way can read what is sent there. */
function isPrivateAddress(text: string): boolean {
  if (!isWebAddress(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return (protocol === "https:" || isLoopback(hostname)) && username === "" && password === "";
}

export const configSchema = group({
  inherit: described("set to false to ignore lower layers", v.boolean()),
  extends: described(
    "other files to read, relative to this one",
    v.array(
      v.union([
        v.string(),
        v.object({ path: v.string(), strategy: v.optional(v.picklist(["before", "after"])) }),
      ]),
    ),
  ),
  config_load_paths: described("folders where --cfg looks up names", v.array(v.string())),
  assistant: assistantSchema,
  conversation,
  style,
  editor,
  interrupt,
  user: group({ name: described("your name, recorded with your messages", v.string()) }),
  template: openGroup({
    values: described(
      "values for templates, by name",
      v.pipe(namedBy(v.unknown()), behaviour({ merge: "fields" })),
    ),
  }),
  plugins: openGroup({}),
  providers: providersSchema,
  notify,
});

/** One layer, or several merged: any key may be absent. */
export type PartialConfig = v.InferOutput<typeof configSchema>;

/**
 * The JSON Schema of a config file, for editors. It accepts every file that jp accepts: unknown keys are only
 * warnings, so the schema allows them.
 */
export async function configJsonSchema(): Promise<JsonObject> {
  const { toJsonSchema } = await import("@valibot/to-json-schema");
  const schema = toJsonSchema(configSchema, {
    errorMode: "ignore",
    typeMode: "input",
    ignoreActions: ["metadata"],
  }) as JsonObject; // A JSON Schema is JSON.
  const {
    $schema = "",
    type = "object",
    properties,
    ...rest
  } = withDefaults(schema, toJson(configSchema, DEFAULTS));
  const keys = { ...(isJsonObject(properties) && properties), $schema: SCHEMA_ADDRESS };
  return { $schema, title: "jp configuration", type, properties: keys, ...rest };
}

const SCHEMA_ADDRESS: JsonObject = {
  type: "string",
  description: "address of the JSON Schema, for editors; jp ignores it",
};

/** Adds the default of each key; a table has none itself. */
function withDefaults(schema: JsonObject, value: Json | undefined): JsonObject {
  if (value === undefined) return schema;
  const { properties } = schema;
  if (!isJsonObject(properties) || !isJsonObject(value)) return { ...schema, default: value };
  const members = Object.entries(properties).map(([key, member]) => [
    key,
    isJsonObject(member) ? withDefaults(member, value[key]) : member,
  ]);
  return { ...schema, properties: Object.fromEntries(members) as JsonObject }; // The same keys.
}
