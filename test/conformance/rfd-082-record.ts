// Requirements from RFD 082 on stored forms, pairing, repair, readers and the tool wire.
import type { Requirement } from "./requirement.ts";

export const rfd082Record: readonly Requirement[] = [
  {
    id: "082/response/new-writes-are-tagged",
    source: "RFD 082, InquiryResponse serialization",
    text: "Every response we write names its outcome in an `outcome` field.",
    state: "met",
  },
  {
    id: "082/response/answered-form",
    source: "RFD 082, InquiryResponse serialization and phase 2 tests",
    text: "An answered response is written as `outcome` `answered` with `id` and `answer`.",
    state: "met",
    deviation:
      "An optional `answered_by` says who decided, because an audit needs that as well as who " +
      "asked.",
  },
  {
    id: "082/response/cancelled-form",
    source: "RFD 082, InquiryResponse serialization and phase 2 tests",
    text: "A cancelled response is written as `outcome` `cancelled` with `id` and `reason`.",
    state: "met",
    deviation: "It also has an `answer` of null, because the Rust original requires one.",
  },
  {
    id: "082/response/redacted-form",
    source: "RFD 082, InquiryResponse serialization and phase 2 tests",
    text:
      "A redacted response is written as `outcome` `redacted` with `id`, and with neither an " +
      "answer nor a reason.",
    state: "met",
    deviation:
      "An optional `answered_by` says who decided, because an audit needs that as well as who " +
      "asked. There is also an `answer` of null, because the Rust original requires one.",
  },
  {
    id: "082/response/redacted-yields-no-answer",
    source: "RFD 082, phase 2 tests",
    text: "Reading a redacted response never produces an answer value.",
    state: "met",
  },
  {
    id: "082/response/exactly-one-outcome",
    source: "RFD 082, InquiryResponse serialization",
    text: "A response in memory is exactly one of answered, cancelled and redacted.",
    state: "met",
  },
  {
    id: "082/response/legacy-flat-form-is-answered",
    source: "RFD 082, InquiryResponse serialization and phase 2 tests",
    text: "A response with `id` and `answer` but no `outcome` reads as answered.",
    state: "met",
    deviation:
      "Null without an outcome reads as no answer: the Rust original writes it for a response " +
      "without one.",
  },
  {
    id: "082/response/no-migration-step",
    source: "RFD 082, InquiryResponse serialization",
    text:
      "Old streams are readable without being converted first, while every new response uses the " +
      "tagged form.",
    state: "met",
    deviation:
      "An old response stays in its flat form, byte for byte, when the file is saved, so that " +
      "using a conversation does not rewrite its history.",
  },
  {
    id: "082/response/unrecognisable-is-an-error",
    source: "RFD 082, InquiryResponse serialization and phase 2 tests",
    text: "A response with no `outcome` and no `answer` is rejected as unreadable.",
    state: "met",
  },
  {
    id: "082/response/missing-reason-is-user",
    source: "RFD 082, InquiryResponse serialization and phase 2 tests",
    text: "A cancelled response without a `reason` reads as cancelled by `user`.",
    state: "met",
  },
  {
    id: "082/reason/user-tag",
    source: "RFD 082, InquiryResponse serialization",
    text: "Cancellation by the person at the prompt is stored with the reason `user`.",
    state: "met",
  },
  {
    id: "082/reason/backend-error-tag",
    source: "RFD 082, InquiryResponse serialization",
    text: "A failing prompter or inquiry model is stored with the reason `backend_error`.",
    state: "met",
  },
  {
    id: "082/reason/no-prompt-backend-tag",
    source: "RFD 082, InquiryResponse serialization",
    text:
      "A human-only question in a non-interactive run is stored with the reason " +
      "`no_prompt_backend`.",
    state: "met",
  },
  {
    id: "082/reason/assistant-routing-denied-tag",
    source: "RFD 082, InquiryResponse serialization",
    text:
      "A human-only question that was directed to the assistant is stored with the reason " +
      "`assistant_routing_denied`.",
    state: "met",
  },
  {
    id: "082/reason/unknown-tag-survives-verbatim",
    source: "RFD 082, InquiryResponse serialization and phase 2 tests",
    text: "A reason that this build does not know is kept as it is and written again unchanged.",
    state: "met",
  },
  {
    id: "082/reason/unknown-tag-does-not-fail-the-load",
    source: "RFD 082, InquiryResponse serialization",
    text:
      "A response with an unknown reason loads as cancelled instead of making the stream " +
      "unreadable.",
    state: "met",
  },
  {
    id: "082/reason/unknown-tag-never-originates-here",
    source: "RFD 082, InquiryResponse serialization",
    text: "A response that we create ourselves always has a reason known to this build.",
    state: "met",
  },
  {
    id: "082/reason/unknown-tag-is-opaque",
    source: "RFD 082, InquiryResponse serialization",
    text: "No behaviour depends on the text of an unknown reason.",
    state: "met",
  },
  {
    id: "082/reason/set-may-grow",
    source: "RFD 082, InquiryResponse serialization",
    text: "New reasons can be added beside the existing ones without changing the stored form.",
    state: "met",
    deviation:
      "Besides the documented reasons there are `interrupted` (the process ended first), " +
      "`attempts_exhausted` (the tool kept asking), `timed_out` (the deadline passed), `subject_unstable` (what was " +
      "asked about kept changing) and `declined_by_client` (an MCP client declined, and may not have asked its user), " +
      "so that every non-answer has a name.",
  },
  {
    id: "082/question/secret-stored-as-its-own-type",
    source: "RFD 082, Secret questions and phase 3",
    text: 'A secret question is stored with the answer type `{"type":"secret"}`.',
    state: "met",
  },
  {
    id: "082/question/other-types-unchanged-on-disk",
    source: "RFD 082, Drawbacks",
    text: "Boolean, select and text questions keep the stored form they had before.",
    state: "met",
  },
  {
    id: "082/question/request-form",
    source: "RFD 082, Recording lifecycle",
    text: "A stored request carries `id`, `source` and `question`.",
    state: "met",
    deviation:
      "It also carries optional `tool_call_id` and `question_id`, so that a reader or a " +
      "resumed turn never has to split an id.",
  },
  {
    id: "082/pairing/request-and-response-share-the-id",
    source: "RFD 082, What changes for stream readers",
    text: "A response belongs to the request with the same id in the same turn.",
    state: "met",
  },
  {
    id: "082/pairing/ids-are-opaque-to-readers",
    source: "RFD 082, Inquiry ID format",
    text: "A reader compares inquiry ids as whole strings and never splits them.",
    state: "met",
  },
  {
    id: "082/pairing/legacy-two-segment-ids",
    source: "RFD 082, Inquiry ID format and phase 3 tests",
    text:
      "Pairs whose ids have the old form without an attempt number read back intact, next to " +
      "pairs with the new form.",
    state: "met",
  },
  {
    id: "082/pairing/colliding-legacy-ids-pair-by-order",
    source: "RFD 082, Inquiry ID format and phase 3 tests",
    text:
      "Where requests of one turn share an id, the first response belongs to the first request, " +
      "the second to the second, and so on.",
    state: "met",
  },
  {
    id: "082/pairing/never-across-turns",
    source: "RFD 082, Inquiry ID format and phase 3",
    text:
      "A request of one turn is never paired with a response of another, and every index over " +
      "inquiry ids is built per turn.",
    state: "met",
  },
  {
    id: "082/pairing/ids-may-repeat-in-other-turns",
    source: "RFD 082, Inquiry ID format",
    text:
      "The same inquiry id may occur again in a later turn without confusing the pairs of either " +
      "turn.",
    state: "met",
  },
  {
    id: "082/sanitize/works-turn-by-turn",
    source: "RFD 082, phase 3",
    text: "Repairing unpaired inquiry events looks only at the events of the turn they are in.",
    state: "met",
    deviation:
      "Repair produces a view and leaves the record as it is, because the record is evidence.",
  },
  {
    id: "082/sanitize/orphan-repaired-in-own-turn",
    source: "RFD 082, phase 3 tests",
    text:
      "An unanswered request is repaired in its own turn even if a later turn has a complete " +
      "pair under the same id.",
    state: "met",
    deviation:
      "The repair is a synthetic `cancelled` response with reason `interrupted` in the view that " +
      "is returned; the record keeps the request, because nothing recorded is ever deleted.",
  },
  {
    id: "082/sanitize/orphaned-response-removed-in-own-turn",
    source: "RFD 082, phase 3",
    text:
      "A response without a request in its turn is left out even if another turn has a request " +
      "with its id.",
    state: "met",
    deviation:
      "It is left out of the returned view only; the record keeps it, because nothing recorded " +
      "is ever deleted.",
  },
  {
    id: "082/sanitize/duplicate-legacy-ids-keep-the-matched-pair",
    source: "RFD 082, phase 3 tests",
    text:
      "With two requests under one legacy id and one response, the pair matched by order stays " +
      "and the other request is repaired within the turn.",
    state: "met",
    deviation:
      "The repair is a synthetic `cancelled` response with reason `interrupted` in the view that " +
      "is returned; the record keeps the request, because nothing recorded is ever deleted.",
  },
  {
    id: "082/markdown/answered-line",
    source: "RFD 082, Reader behavior",
    text: "Markdown export shows an answered inquiry as `Answer: <value>`.",
    state: "met",
  },
  {
    id: "082/markdown/redacted-line",
    source: "RFD 082, Reader behavior",
    text: "Markdown export shows a redacted inquiry as `Answer: <redacted>`.",
    state: "met",
  },
  {
    id: "082/markdown/cancelled-line",
    source: "RFD 082, Reader behavior",
    text:
      "Markdown export shows a cancelled inquiry as `Cancelled (<reason>)` with the stored tag " +
      "of the reason.",
    state: "met",
  },
  {
    id: "082/markdown/unknown-reason-shown-verbatim",
    source: "RFD 082, Reader behavior",
    text: "Markdown export shows an unknown reason with the tag found in the stream.",
    state: "met",
  },
  {
    id: "082/markdown/new-reason-needs-no-code",
    source: "RFD 082, Reader behavior",
    text:
      "The exported line is derived from the stored tag, so a reason added later shows correctly " +
      "without a change to the export.",
    state: "met",
  },
  {
    id: "082/grep/ignores-responses",
    source: "RFD 082, Reader behavior",
    text: "Searching conversations never looks into inquiry responses.",
    state: "met",
  },
  {
    id: "082/render/terminal-view-skips-inquiries",
    source: "RFD 082, Reader behavior; RFD 005, Non-Goals",
    text: "The terminal view of a turn omits inquiry events.",
    state: "met",
    deviation:
      "The terminal view shows each inquiry folded to one line, because a reader should see that " +
      "something was asked.",
  },
  {
    id: "082/reader/every-reader-handles-all-outcomes",
    source: "RFD 082, Reader behavior",
    text: "Each consumer of inquiry responses handles answered, cancelled and redacted.",
    state: "met",
  },
  {
    id: "082/wire/boolean-tag",
    source: "RFD 082, phase 3",
    text: 'On the tool wire a boolean answer type is `{"type":"boolean"}`.',
    state: "met",
  },
  {
    id: "082/wire/text-tag",
    source: "RFD 082, phase 3",
    text: 'On the tool wire a text answer type is `{"type":"text"}`.',
    state: "met",
  },
  {
    id: "082/wire/select-tag",
    source: "RFD 082, phase 3",
    text: "On the tool wire a select answer type is `type` `select` with its `options`.",
    state: "met",
    deviation:
      "An option may be a string or an object with `value` and an optional `description`, " +
      "because a person choosing needs to know what an option means.",
  },
  {
    id: "082/wire/secret-tag",
    source: "RFD 082, Secret questions and phase 3",
    text: 'On the tool wire a secret answer type is `{"type":"secret"}`.',
    state: "met",
  },
  {
    id: "082/wire/older-notation-still-read",
    source: "RFD 082, Drawbacks and phase 3",
    text:
      'The tagged notation replaces `"Boolean"`, `"Text"` and ' +
      '`{"Select":{"options":[…]}}` on the tool wire.',
    state: "met",
    deviation:
      "We write the tagged notation and still read the older one, so that existing tools " +
      "continue to work.",
  },
  {
    id: "082/wire/needs-input-carries-the-question",
    source: "RFD 082, phase 3 tests",
    text:
      "A tool asks with an outcome of type `needs_input`, whose `question` has an " +
      "`answer_type`.",
    state: "met",
  },
  {
    id: "082/wire/secret-constructor",
    source: "RFD 082, phase 3",
    text: "There is a constructor for secret questions, as for text, boolean and select questions.",
    state: "met",
  },
  {
    id: "082/wire/constructors-hide-the-notation",
    source: "RFD 082, Drawbacks and phase 3",
    text:
      "A tool author who uses the question constructors never has to write the notation of " +
      "answer types.",
    state: "met",
  },
  {
    id: "082/wire/no-secret-flag",
    source: "RFD 082, Secret questions and phase 3",
    text:
      "Secret is a separate answer type and not a flag, so a secret boolean or select cannot " +
      "be expressed.",
    state: "met",
  },
];
