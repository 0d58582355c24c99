/** The whole of it: every key there is, what may stand there, and what it means. */
import * as v from "valibot";
import { assistantSchema } from "./assistant.ts";
import { behaviour } from "./behaviour.ts";
import { list } from "./list.ts";
import { modelIdSchema } from "./model-id.ts";
import { atLeast, described, group, namedBy, openGroup, table, wholeNumber } from "./node.ts";
import { providersSchema } from "./providers.ts";
import { editorSchema, interruptSchema, styleSchema } from "./style.ts";
import { toolsSchema } from "./tool.ts";

const conversation = group({
  title: group({
    generate: group({
      auto: described("give new conversations a title", v.boolean()),
      model: group({
        id: described("the model that does", modelIdSchema),
        parameters: v.pipe(openGroup({}), behaviour({ isPassedOn: true })),
      }),
    }),
  }),
  tools: toolsSchema,
  attachments: described(
    "documents that go along with every request",
    list.of(v.union([v.string(), openGroup({})])),
  ),
  inquiry: group({
    assistant: assistantSchema,
    schema: described(
      "stable (the same for every question of a type) or bound (names the inquiry)",
      v.picklist(["stable", "bound"]),
    ),
  }),
  limits: group({
    automatic_answers_per_call: described(
      "the most answers in one call that no person gives: of the config, remembered, a default or a model's",
      wholeNumber({ min: 0, max: 1000 }),
    ),
    automatic_answers_per_turn: described(
      "the same for all calls of a turn",
      wholeNumber({ min: 0, max: 10_000 }),
    ),
    record_bytes_per_call: described(
      "the most that one call adds to the record: its questions, their answers and its result",
      wholeNumber({ min: 1024, max: 67_108_864 }),
    ),
  }),
  start_local: described("keep new conversations for you alone", v.boolean()),
  default_id: described("the conversation to use where none is active", v.string()),
  max_cycles: described("the most requests to the model in one turn", atLeast(1)),
});

export const configSchema = group({
  inherit: described("false: what lower layers say does not count", v.boolean()),
  extends: described(
    "further files to read, relative to this one",
    v.array(
      v.union([
        v.string(),
        table(
          v.object({ path: v.string(), strategy: v.optional(v.picklist(["before", "after"])) }),
        ),
      ]),
    ),
  ),
  config_load_paths: described("where --cfg looks for names", v.array(v.string())),
  assistant: assistantSchema,
  conversation,
  style: styleSchema,
  editor: editorSchema,
  interrupt: interruptSchema,
  user: group({ name: described("your name, as conversations show it", v.string()) }),
  template: openGroup({
    values: described(
      "values for templates, by name",
      v.pipe(namedBy(v.unknown()), behaviour({ merge: "fields" })),
    ),
  }),
  plugins: openGroup({}),
  providers: providersSchema,
});

/** One layer, or several merged: any key may be absent. */
export type PartialConfig = v.InferOutput<typeof configSchema>;
