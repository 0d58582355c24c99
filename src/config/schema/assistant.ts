/** `assistant`: the model, what it is told, and how requests to it are made. */
import * as v from "valibot";
import { behaviour } from "./behaviour.ts";
import { list } from "./list.ts";
import { modelIdSchema } from "./model-id.ts";
import { atLeast, described, group, namedBy, openGroup, table } from "./node.ts";

const reasoning = v.union([
  v.boolean(),
  v.picklist(["off", "auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"]),
  table(
    v.object({
      effort: v.optional(v.union([v.string(), atLeast(0)])),
      exclude: v.optional(v.boolean()),
    }),
  ),
]);

const parameters = v.pipe(
  openGroup({
    max_tokens: described("the most tokens of a reply", atLeast(0)),
    reasoning: described(
      "how much to think: off, auto, an effort, or {effort, exclude}",
      reasoning,
    ),
    temperature: described("sampling temperature", atLeast(0)),
    top_p: described("nucleus sampling", atLeast(0)),
    top_k: described("sample among so many tokens", atLeast(0)),
    stop_words: described("texts that end a reply", v.array(v.string())),
    other: described("further parameters, passed on as they are", namedBy(v.unknown())),
  }),
  behaviour({ isPassedOn: true }),
);

const model = group({
  id: described("provider/name, or an alias", modelIdSchema),
  parameters: described("parameters of the model; unknown ones are passed on", parameters),
});

const request = group({
  max_retries: described("how often a failed request is tried again", atLeast(0)),
  base_backoff_ms: described("the first pause before trying again", atLeast(0)),
  max_backoff_secs: described("the longest pause before trying again", atLeast(0)),
  stream_idle_timeout_secs: described(
    "give up on a stream that is silent for so long; 0 never",
    atLeast(0),
  ),
  max_response_bytes: described("the most bytes of a reply; 0 for no limit", atLeast(0)),
  cache: described(
    "prompt caching: true or short, long, false or off, or a duration",
    v.union([v.boolean(), v.string()]),
  ),
});

const section = table(
  v.object({
    title: v.optional(v.string()),
    tag: v.optional(v.string()),
    content: v.string(),
    position: v.optional(v.number()),
  }),
);

const instruction = group({
  title: v.string(),
  description: v.string(),
  position: v.number(),
  items: v.array(v.string()),
  examples: v.array(v.unknown()),
});

export const assistantSchema = group({
  name: described("what the assistant is called", v.string()),
  system_prompt: described("what the assistant is told first", list.text),
  system_prompt_sections: described("further parts of the system prompt", list.of(section)),
  instructions: described("instructions in groups", list.of(instruction)),
  tool_choice: described("auto, none, required, or the name of a tool", v.string()),
  model,
  request,
});
