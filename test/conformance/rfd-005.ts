// Requirements from RFD 005 (first-class inquiry events).
import type { Requirement } from "./requirement.ts";

export const rfd005: readonly Requirement[] = [
  {
    id: "005/visibility/four-kinds-reach-providers",
    source: "RFD 005, Event Visibility",
    text:
      "Of all event kinds only `chat_request`, `chat_response`, `tool_call_request` and " +
      "`tool_call_response` may reach a provider.",
    state: "met",
  },
  {
    id: "005/visibility/turn-markers-hidden",
    source: "RFD 005, Event Visibility",
    text: "A `turn_start` event never reaches a provider.",
    state: "met",
  },
  {
    id: "005/visibility/inquiry-events-hidden",
    source: "RFD 005, Event Visibility and Non-Goals",
    text: "No `inquiry_request` and no `inquiry_response` ever reaches a provider.",
    state: "met",
  },
  {
    id: "005/visibility/new-kinds-hidden-by-default",
    source: "RFD 005, Event Visibility",
    text:
      "Providers see only the event kinds that are listed as visible; all others, unknown ones " +
      "included, are hidden.",
    state: "met",
  },
  {
    id: "005/visibility/decided-by-kind",
    source: "RFD 005, Overview",
    text: "Visibility depends only on the kind of an event; no flag on an event can change it.",
    state: "met",
  },
  {
    id: "005/goal/complete-audit-trail",
    source: "RFD 005, Design Goals",
    text: "Every inquiry is stored in the conversation.",
    state: "met",
  },
  {
    id: "005/goal/provider-contract-intact",
    source: "RFD 005, Design Goals",
    text:
      "In the events handed to a provider, a tool call and its response follow each other as if " +
      "no question had been asked between them.",
    state: "met",
  },
  {
    id: "005/goal/single-filtering-point",
    source: "RFD 005, Design Goals",
    text: "One list in one place decides which kinds are visible, and every consumer uses it.",
    state: "met",
  },
  {
    id: "005/goal/no-provider-regression",
    source: "RFD 005, Design Goals",
    text: "Adding an internal event kind changes the one visibility list and no provider.",
    state: "met",
  },
  {
    id: "005/thread/parts-split-system-from-events",
    source: "RFD 005, Thread Decomposition",
    text:
      "A thread decomposes into rendered system parts and a list of events, as two separate " +
      "values.",
    state: "met",
  },
  {
    id: "005/thread/system-prompt-and-sections-rendered",
    source: "RFD 005, Thread Decomposition",
    text:
      "The system prompt and the sections come out as strings, the prompt first and the sections " +
      "in their order.",
    state: "met",
  },
  {
    id: "005/thread/attachments-rendered",
    source: "RFD 005, Thread Decomposition",
    text:
      "Attachments come out as rendered XML text. The RFD has them among the system parts; the original has since " +
      "moved them into messages of the user, before the conversation, and so do we.",
    state: "met",
  },
  {
    id: "005/thread/events-filtered",
    source: "RFD 005, Thread Decomposition",
    text: "The events of a decomposed thread are the visible ones only, in their original order.",
    state: "met",
  },
  {
    id: "005/thread/no-way-around-the-filter",
    source: "RFD 005, Thread Decomposition and Alternatives",
    text: "A provider can get the events of a thread only through the filtering decomposition.",
    state: "met",
  },
  {
    id: "005/thread/messages-delegate-to-parts",
    source: "RFD 005, Thread Decomposition",
    text:
      "Building one flat message list goes through the same decomposition, so hidden events " +
      "cannot appear in it.",
    state: "met",
  },
  {
    id: "005/thread/messages-system-first",
    source: "RFD 005, Thread Decomposition",
    text:
      "The flat message list holds the converted system parts first and the converted events " +
      "after them.",
    state: "met",
  },
  {
    id: "005/thread/events-keep-their-config",
    source: "RFD 005, Provider Migration, Anthropic",
    text:
      "For each filtered event, a provider can still find the configuration that applied when " +
      "it was written.",
    state: "met",
    deviation:
      "Events carry no config. What a provider needs to get an event back, such as its " +
      "signature, is in the metadata of the event, so the config of that time is not needed.",
  },
  {
    id: "005/schema/trailing-inquiry-does-not-hide-the-schema",
    source: "RFD 005, Schema Extraction Edge Case",
    text:
      "A structured output request is recognised by its schema even when inquiry events come " +
      "after it at the end of the stream.",
    state: "met",
  },
  {
    id: "005/event/both-kinds-stored-with-the-stream",
    source: "RFD 005, Serialization",
    text:
      "Inquiry requests and responses are ordinary kinds of the stored stream and survive " +
      "writing and reading.",
    state: "met",
  },
  {
    id: "005/event/request-names-source-and-question",
    source: "RFD 005, Recording Inquiry Events",
    text:
      "A stored request carries its id, who asks, the question text and the kind of answer " +
      "wanted.",
    state: "met",
  },
  {
    id: "005/pairing/interleaved-pairs-match-by-id",
    source: "RFD 005, Recording Inquiry Events and Risks",
    text:
      "Requests and responses of different tool calls may interleave and are still paired " +
      "correctly through their ids.",
    state: "met",
  },
  {
    id: "005/record/request-when-the-inquiry-starts",
    source: "RFD 005, Recording Inquiry Events",
    text:
      "When a question goes to the inquiry model, its request is recorded before the model is " +
      "asked.",
    state: "met",
  },
  {
    id: "005/record/response-when-the-answer-arrives",
    source: "RFD 005, Recording Inquiry Events",
    text: "When the inquiry model answers, the response is recorded under the id of the request.",
    state: "met",
  },
  {
    id: "005/record/into-the-real-conversation",
    source: "RFD 005, Recording Inquiry Events",
    text:
      "The coordinator writes inquiry events to the conversation that is kept, not to the copy " +
      "used for asking the model.",
    state: "met",
  },
  {
    id: "005/record/inside-the-tool-call",
    source: "RFD 005, Recording Inquiry Events; RFD 082, What changes for stream readers",
    text:
      "The events of an inquiry come after the tool call that asked and before the response to " +
      "that call.",
    state: "met",
  },
  {
    id: "005/record/one-pair-per-question",
    source: "RFD 005, Recording Inquiry Events",
    text:
      "A call that asks several questions leaves one pair per question, in the order in which " +
      "they were asked.",
    state: "met",
  },
  {
    id: "005/record/parallel-calls-may-interleave",
    source: "RFD 005, Recording Inquiry Events",
    text:
      "Pairs of calls that run at the same time are recorded as they happen and are not " +
      "reordered by tool.",
    state: "met",
  },
  {
    id: "005/record/model-exchange-stays-on-the-copy",
    source: "RFD 005, Non-Goals",
    text:
      "The chat request with a schema and the structured reply of an inquiry exist only on the " +
      "copied stream; the stored conversation holds the inquiry pair.",
    state: "met",
  },
  {
    id: "005/provider/all-consume-thread-parts",
    source: "RFD 005, Provider Migration",
    text: "All six providers build their requests from the decomposed thread.",
    state: "met",
  },
  {
    id: "005/provider/no-filters-of-their-own",
    source: "RFD 005, Design Goals and phases 3 to 5",
    text: "No provider names hidden event kinds or carries a catch-all branch to skip them.",
    state: "met",
  },
  {
    id: "005/provider/flat-list-users-get-filtering",
    source: "RFD 005, Thread Decomposition",
    text:
      "Providers that take one flat message list (OpenAI, Ollama, llama.cpp) receive filtered " +
      "events without provider-specific code.",
    state: "met",
  },
  {
    id: "005/provider/openrouter-system-message",
    source: "RFD 005, Provider Migration, OpenRouter",
    text: "OpenRouter receives the system parts as a system message in the message list.",
    state: "met",
  },
  {
    id: "005/provider/openrouter-cache-marks-per-part",
    source: "RFD 005, Provider Migration, OpenRouter",
    text: "OpenRouter cache marks are set on individual system parts.",
    state: "met",
  },
  {
    id: "005/provider/openrouter-strips-cache-marks",
    source: "RFD 005, Provider Migration, OpenRouter",
    text:
      "After the messages are built, cache marks are removed for OpenRouter models that do not " +
      "accept them.",
    state: "met",
  },
  {
    id: "005/provider/google-system-instruction",
    source: "RFD 005, Provider Migration, Google",
    text: "Google receives the system parts in `system_instruction` and the events as contents.",
    state: "met",
  },
  {
    id: "005/provider/google-names-responses-by-call",
    source: "RFD 005, Provider Migration, Google",
    text: "A Google function response names the tool that was called under the same id.",
    state: "met",
  },
  {
    id: "005/provider/google-thought-signature",
    source: "RFD 005, Provider Migration, Google",
    text: "A Google thought signature is sent back with the event that it was stored with.",
    state: "met",
  },
  {
    id: "005/provider/anthropic-system-field",
    source: "RFD 005, Provider Migration, Anthropic",
    text: "Anthropic receives the system parts in the separate system field of the request.",
    state: "met",
  },
  {
    id: "005/provider/anthropic-four-cache-points",
    source: "RFD 005, Provider Migration, Anthropic",
    text: "An Anthropic request never carries more than four cache control points.",
    state: "met",
  },
  {
    id: "005/provider/anthropic-shared-cache-budget",
    source: "RFD 005, Provider Migration, Anthropic",
    text:
      "The Anthropic cache points are spent on system content and tools first, and the last " +
      "message gets one only if any is left.",
    state: "met",
  },
  {
    id: "005/provider/anthropic-budget-is-its-own",
    source: "RFD 005, Provider Migration, Anthropic",
    text:
      "Counting cache points happens inside the Anthropic adapter and does not appear in the " +
      "shared thread types.",
    state: "met",
    deviation:
      "The request builder counts the points for every API that accepts cache marks, because " +
      "OpenRouter accepts Claude's too. The thread types do not contain them.",
  },
  {
    id: "005/provider/anthropic-signature-by-event-model",
    source: "RFD 005, Provider Migration, Anthropic",
    text:
      "How a thinking signature is sent to Anthropic depends on the model that was configured " +
      "when the event was written.",
    state: "met",
    deviation:
      "It depends on what the event carries, a signature or redacted thinking, and not on the " +
      "configured model: the API expects back what it sent.",
  },
];
