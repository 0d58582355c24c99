/** Schema of `assistant`: the model, its instructions, and how to make requests to it. */
import * as v from "valibot";
import { modelIdSchema } from "./model-id-schema.ts";
import { atLeast, described, group, key, list, namedBy, openGroup } from "./node.ts";

const reasoning = v.union([
  v.boolean(),
  v.picklist(["off", "auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"]),
  v.object({
    effort: v.optional(v.union([v.string(), atLeast(0)])),
    exclude: v.optional(v.boolean()),
  }),
]);

const parameters = openGroup({
  max_tokens: described("maximum number of tokens per reply", atLeast(0)),
  reasoning: described("how much to reason: off, auto, an effort, or {effort, exclude}", reasoning),
  temperature: described("sampling temperature", atLeast(0)),
  top_p: described(
    "nucleus sampling: sample only from the most likely tokens, up to this probability",
    atLeast(0),
  ),
  top_k: described("sample only from this many of the most likely tokens", atLeast(0)),
  stop_words: described("stop sequences: the reply ends before any of these", v.array(v.string())),
  other: described("other parameters, passed through to the provider", namedBy(v.unknown())),
});

const model = group({
  id: key("answers", "provider/name, or an alias", modelIdSchema),
  parameters: key(
    "passthrough",
    "model parameters; unknown ones are passed through to the provider",
    parameters,
  ),
});

const request = group({
  max_retries: key("higher", "maximum number of retries after a failed request", atLeast(0)),
  base_backoff_ms: key("harmless", "milliseconds to wait before the first retry", atLeast(0)),
  max_backoff_secs: key("harmless", "maximum seconds to wait before a retry", atLeast(0)),
  stream_idle_timeout_secs: key(
    "further",
    "give up on a stream after this many seconds of silence; 0 for never",
    atLeast(0),
  ),
  prompt_timeout_secs: key(
    "further",
    "give up if no part of the reply arrives for this many seconds while a local model reads the prompt, or " +
      "while a server only sends keep-alives; 0 for never",
    atLeast(0),
  ),
  max_response_bytes: key(
    "further",
    "maximum size of a reply in bytes; 0 for no limit",
    atLeast(0),
  ),
  cache: key(
    "harmless",
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
  name: key("harmless", "name of the assistant, shown while jp waits for it", v.string()),
  system_prompt: key("answers", "the system prompt", list.text),
  system_prompt_sections: key(
    "answers",
    "additional sections of the system prompt",
    list.of(section),
  ),
  instructions: key(
    "answers",
    "groups of instructions, added to the system prompt",
    list.of(instruction),
  ),
  tool_choice: key("harmless", "auto, none, required, or the name of a tool", v.string()),
  model,
  request,
});
