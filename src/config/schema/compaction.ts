/** Schema of `conversation.compaction`. */
import * as v from "valibot";
import { parseTurnBound, TOOL_CALL_MODE_NAMES } from "../compaction-settings.ts";
import { modelIdSchema } from "../model-id.ts";
import { behaviour, described, group, list, openGroup, wholeNumber } from "./node.ts";

const turnBound = v.pipe(
  v.union([v.number(), v.string()]),
  v.check(
    (written) => parseTurnBound(written) !== undefined,
    "expected a number of turns, a duration like 5h, or last-compaction",
  ),
);

const rule = group({
  keep_first: described(
    "how many turns to keep at the start, or a duration such as 5h; last-compaction starts where the last one ends",
    turnBound,
  ),
  keep_last: described("how many turns to keep at the end, or a duration such as 2h", turnBound),
  reasoning: described("strip leaves out reasoning", v.picklist(["strip"])),
  tool_calls: described(
    "strip empties arguments and results, strip-requests or strip-responses one of them; omit leaves out the calls",
    v.picklist(TOOL_CALL_MODE_NAMES),
  ),
  summary: described(
    "replace the turns with a summary by a model",
    group({
      model: group({
        id: described("the model that writes it; by default the main one", modelIdSchema),
        parameters: v.pipe(openGroup({}), behaviour({ isModelParameters: true })),
      }),
      instructions: described("system prompt for the summary", v.string()),
      context: described("what else to tell the model, such as what to focus on", v.string()),
    }),
  ),
});

const compactionGroup = group({
  rules: described("rules for jp conversation compact and jp query --compact", list.of(rule)),
  auto: group({
    enabled: described("compact before the model's context window is full", v.boolean()),
    trigger_ratio: described(
      "share of the context window that may be full before jp compacts",
      v.pipe(
        v.number(),
        v.minValue(0.05, "expected 0.05 to 1"),
        v.maxValue(1, "expected 0.05 to 1"),
      ),
    ),
    context_window: described(
      "size of the context window in tokens; by default what is known of the model",
      wholeNumber({ min: 1000, max: 100_000_000 }),
    ),
    rule: described("the rule to apply first; a summary follows if that is not enough", rule),
  }),
});

/** `conversation.compaction` as it is written. Named, because TypeScript resolves inferred types only so deep. */
export interface WrittenCompaction extends v.InferOutput<typeof compactionGroup> {}

export const compactionSchema: v.GenericSchema<unknown, WrittenCompaction> = compactionGroup;
