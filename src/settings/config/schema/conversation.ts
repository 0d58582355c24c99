/** Schema of `conversation`: its tools, attachments, limits and compaction. */
import * as v from "valibot";
import { parseTurnBound, TOOL_CALL_MODE_NAMES } from "../compaction-notation.ts";
import { modelIdSchema } from "./model-id-schema.ts";
import { assistantGroup } from "./assistant.ts";
import {
  atLeast,
  behaviour,
  described,
  group,
  key,
  list,
  namedBy,
  openGroup,
  trust,
  wholeNumber,
} from "./node.ts";
import { MODE_NAMES } from "../policy-list.ts";
import { toolsSchema } from "./tool.ts";

const NO_LABEL_RULES = "label conversations with jp conversation label or --label";

const turnBound = v.pipe(
  v.union([v.number(), v.string()]),
  v.check(
    (written) => parseTurnBound(written) !== undefined,
    "expected a number of turns, a duration like 5h, or last-compaction",
  ),
);

const rule = group({
  keep_first: key(
    "harmless",
    "how many turns to keep at the start, or a duration such as 5h; last-compaction starts where the last one ends",
    turnBound,
  ),
  keep_last: key(
    "harmless",
    "how many turns to keep at the end, or a duration such as 2h",
    turnBound,
  ),
  reasoning: key("harmless", "strip leaves out reasoning", v.picklist(["strip"])),
  tool_calls: key(
    "harmless",
    "strip empties arguments and results, strip-requests or strip-responses one of them; omit leaves out the calls",
    v.picklist(TOOL_CALL_MODE_NAMES),
  ),
  summary: described(
    "replace the turns with a summary by a model",
    group({
      model: group({
        id: key("harmless", "the model that writes it; by default the main one", modelIdSchema),
        parameters: v.pipe(openGroup({}), trust("passthrough")),
      }),
      instructions: key("harmless", "system prompt for the summary", v.string()),
      context: key("harmless", "what else to tell the model, such as what to focus on", v.string()),
    }),
  ),
});

const compactionGroup = group({
  rules: key("harmless", "rules for jp conversation compact and jp query --compact", list.of(rule)),
  auto: group({
    enabled: key("harmless", "compact before the model's context window is full", v.boolean()),
    trigger_ratio: key(
      "harmless",
      "share of the context window that may be full before jp compacts",
      v.pipe(
        v.number(),
        v.minValue(0.05, "expected 0.05 to 1"),
        v.maxValue(1, "expected 0.05 to 1"),
      ),
    ),
    context_window: key(
      "harmless",
      "size of the context window in tokens; by default, what jp knows about the model",
      wholeNumber({ min: 1000, max: 100_000_000 }),
    ),
    rule: described("the rule to apply first; a summary follows if that is not enough", rule),
  }),
});

/** `conversation.compaction` as written. Named, because TypeScript limits the depth of inference. */
export interface WrittenCompaction extends v.InferOutput<typeof compactionGroup> {}

const compactionSchema: v.GenericSchema<unknown, WrittenCompaction> = compactionGroup;

/** An address in parts. `params` becomes its query. */
const attachment = v.object({
  type: v.pipe(v.string(), v.nonEmpty()),
  path: v.string(),
  params: v.optional(namedBy(v.union([v.string(), v.array(v.string())]))),
});

export const conversationGroup = group({
  title: group({
    from_heading: key(
      "harmless",
      "use the Markdown heading that a message starts with as the title of a new conversation",
      v.boolean(),
    ),
    generate: group({
      auto: key(
        "harmless",
        "ask a model for the title of a new conversation; by default, only if one is named below",
        v.boolean(),
      ),
      model: group({
        id: key("harmless", "the model that generates titles", modelIdSchema),
        parameters: key("passthrough", "its parameters", openGroup({})),
      }),
    }),
  }),
  // Its rules can run commands, so they must not come from a conversation.
  labels: v.pipe(
    described(`not supported: ${NO_LABEL_RULES}`, openGroup({})),
    behaviour({ unsupported: NO_LABEL_RULES, isMachineSpecific: true }),
    trust("harmless"),
  ),
  tools: toolsSchema,
  attachments: key(
    "attachments",
    "what to attach to the conversation: paths in the workspace (files, folders, patterns such as docs/**/*.md), " +
      "https:// pages, cmd:<command>, mcp+<server>+<resource>, or a table with type, path and params",
    list.of(v.union([v.string(), attachment])),
  ),
  inquiry: group({
    assistant: assistantGroup,
    schema: key(
      "harmless",
      "stable (one schema per type of question, good for caching) or bound (the schema names the inquiry)",
      v.picklist(["stable", "bound"]),
    ),
    max_parallel: key(
      "harmless",
      "how many questions to send to a model at once; by default 1 to a local model, any number to others",
      wholeNumber({ min: 1, max: 1000 }),
    ),
  }),
  limits: group({
    automatic_answers_per_call: key(
      "higher",
      "maximum number of automatic answers per call: from config, memory, a default or a model",
      wholeNumber({ min: 0, max: 1000 }),
    ),
    automatic_answers_per_turn: key(
      "higher",
      "the same, for all calls of a turn together",
      wholeNumber({ min: 0, max: 10_000 }),
    ),
    record_bytes_per_call: key(
      "higher",
      "maximum number of bytes a call adds to the record: its questions, answers and result",
      wholeNumber({ min: 1024, max: 67_108_864 }),
    ),
  }),
  compaction: compactionSchema,
  surroundings: group({
    folder: key("turned_on", "tell the model the current folder", v.boolean()),
    platform: key("turned_on", "tell the model the operating system", v.boolean()),
    date: key("turned_on", "tell the model the date", v.boolean()),
    git: key(
      "turned_on",
      "tell the model the branch, and how many files have changed",
      v.boolean(),
    ),
    agents_md: key(
      "turned_on",
      "give the model the AGENTS.md of the workspace, and the one nearest to the current folder; CLAUDE.md where there is none",
      v.boolean(),
    ),
  }),
  start_local: key(
    "turned_off",
    "store new conversations outside the workspace, for you alone",
    v.boolean(),
  ),
  default_id: key(
    "default_conversation",
    "the conversation to use when none is active in this terminal: last_activated, " +
      "last_created, previous, an id, or ask (you name one with --id)",
    v.string(),
  ),
  max_cycles: key("higher", "maximum number of requests to the model per turn", atLeast(1)),
  mode: key(
    "own_mode",
    "what runs without asking: ask (as each tool is configured), plan (only tools that read, and commands that your rules allow), edits (files of the workspace are " +
      "changed unasked, and can be undone) or sandbox (what runs inside the sandbox)",
    v.pipe(v.picklist(MODE_NAMES), behaviour({ isMachineSpecific: true })),
  ),
});
