/** Schema of `assistant`: the model, its instructions, and how to make requests to it. */
import * as v from "valibot";
import { modelIdSchema } from "./model-id-schema.ts";
import { atLeast, behaviour, described, group, list, namedBy, openGroup } from "./node.ts";

const reasoning = v.union([
  v.boolean(),
  v.picklist(["off", "auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"]),
  v.object({
    effort: v.optional(v.union([v.string(), atLeast(0)])),
    exclude: v.optional(v.boolean()),
  }),
]);

const parameters = v.pipe(
  openGroup({
    max_tokens: described("maximum number of tokens per reply", atLeast(0)),
    reasoning: described(
      "how much to reason: off, auto, an effort, or {effort, exclude}",
      reasoning,
    ),
    temperature: described("sampling temperature", atLeast(0)),
    top_p: described(
      "nucleus sampling: sample only from the most likely tokens, up to this probability",
      atLeast(0),
    ),
    top_k: described("sample only from this many of the most likely tokens", atLeast(0)),
    stop_words: described(
      "stop sequences: the reply ends before any of these",
      v.array(v.string()),
    ),
    other: described("other parameters, passed through to the provider", namedBy(v.unknown())),
  }),
  behaviour({ isModelParameters: true }),
);

const model = group({
  id: described("provider/name, or an alias", modelIdSchema),
  parameters: described(
    "model parameters; unknown ones are passed through to the provider",
    parameters,
  ),
});

const request = group({
  max_retries: described("maximum number of retries after a failed request", atLeast(0)),
  base_backoff_ms: described("milliseconds to wait before the first retry", atLeast(0)),
  max_backoff_secs: described("maximum seconds to wait before a retry", atLeast(0)),
  stream_idle_timeout_secs: described(
    "give up on a stream after this many seconds of silence; 0 for never",
    atLeast(0),
  ),
  prompt_timeout_secs: described(
    "give up if no part of the reply arrives for this many seconds while a local model reads the prompt, or " +
      "while a server only sends keep-alives; 0 for never",
    atLeast(0),
  ),
  max_response_bytes: described("maximum size of a reply in bytes; 0 for no limit", atLeast(0)),
  cache: described(
    "prompt caching: true or short, long, false or off, or a duration",
    v.union([v.boolean(), v.string()]),
  ),
});

const section = v.object({
  title: v.optional(v.string()),
  tag: v.optional(v.string()),
  content: v.string(),
  position: v.optional(v.number()),
});

const instruction = group({
  title: v.string(),
  description: v.string(),
  position: v.number(),
  items: v.array(v.string()),
  examples: v.array(v.unknown()),
});

export const assistantGroup = group({
  name: described("name of the assistant, shown while jp waits for it", v.string()),
  system_prompt: described("the system prompt", list.text),
  system_prompt_sections: described("additional sections of the system prompt", list.of(section)),
  instructions: described(
    "groups of instructions, added to the system prompt",
    list.of(instruction),
  ),
  tool_choice: described("auto, none, required, or the name of a tool", v.string()),
  model,
  request,
});
