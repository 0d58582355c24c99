// Requirements from RFD 082 on ids, recording, cancellation and remembering.
import type { Requirement } from "./requirement.ts";

export const rfd082Lifecycle: readonly Requirement[] = [
  {
    id: "082/id/three-segments",
    source: "RFD 082, Inquiry ID format and phase 3",
    text: "A new inquiry id is the tool call id, the question id and the attempt, joined by dots.",
    state: "met",
  },
  {
    id: "082/id/first-attempt-is-one",
    source: "RFD 082, Inquiry ID format",
    text: "The first time a question of a call is recorded in a turn, its attempt is 1.",
    state: "met",
  },
  {
    id: "082/id/asking-again-counts-up",
    source: "RFD 082, Inquiry ID format and phase 3 tests",
    text:
      "A call that asks the same question twice gets ids ending in `.1` and `.2`, each with its " +
      "own response.",
    state: "met",
  },
  {
    id: "082/id/later-cycle-continues-the-count",
    source: "RFD 082, Inquiry ID format and phase 3 tests",
    text:
      "If a provider reuses a call id in a later cycle of the turn, the count for the same " +
      "question continues instead of restarting.",
    state: "met",
  },
  {
    id: "082/id/count-starts-over-in-each-turn",
    source: "RFD 082, Inquiry ID format and phase 3 tests",
    text: "Every turn starts counting attempts at 1 for every question of every call.",
    state: "met",
  },
  {
    id: "082/id/unique-within-the-turn",
    source: "RFD 082, Inquiry ID format",
    text: "No two inquiries that we record in one turn have the same id.",
    state: "met",
  },
  {
    id: "082/id/final-before-the-request-is-stored",
    source: "RFD 082, Inquiry ID format",
    text: "The id of an inquiry is final before its request is written.",
    state: "met",
  },
  {
    id: "082/id/count-not-stored",
    source: "RFD 082, Inquiry ID format",
    text: "The attempt count is kept in memory; on disk only the ids themselves show it.",
    state: "met",
    deviation:
      "The next attempt is derived from the recorded requests of the turn, so that a turn " +
      "resumed after a crash continues the count.",
  },
  {
    id: "082/id/not-the-key-of-remembered-answers",
    source: "RFD 082, Inquiry ID format and Splitting the turn-cache state",
    text:
      "The inquiry id, the key of a remembered answer and the key of an answer given to a tool " +
      "are three different things.",
    state: "met",
  },
  {
    id: "082/answers/keyed-by-question-id",
    source: "RFD 082, Inquiry ID format and Coordinator plumbing",
    text: "A tool receives its answers under the bare question id.",
    state: "met",
  },
  {
    id: "082/answers/latest-wins",
    source: "RFD 082, Inquiry ID format",
    text:
      "If a tool asks the same question again, the newer answer replaces the older one in what " +
      "the tool receives.",
    state: "met",
  },
  {
    id: "082/answers/tool-sees-no-attempt",
    source: "RFD 082, Inquiry ID format",
    text: "A tool receives neither the inquiry id nor the attempt.",
    state: "met",
  },
  {
    id: "082/answers/record-keeps-every-attempt",
    source: "RFD 082, Inquiry ID format",
    text:
      "The record keeps all attempts at a question even though the tool only receives the latest " +
      "answer.",
    state: "met",
  },
  {
    id: "082/record/pair-for-every-question",
    source: "RFD 082, What changes for stream readers and phase 4",
    text: "Every question of a tool is recorded as a request and a response, whatever resolves it.",
    state: "met",
  },
  {
    id: "082/record/request-before-routing",
    source: "RFD 082, Recording lifecycle and phase 3",
    text:
      "The request is recorded before routing, and before remembered and configured answers " +
      "are looked up.",
    state: "met",
  },
  {
    id: "082/record/request-keeps-the-answer-type",
    source: "RFD 082, Recording lifecycle",
    text:
      "The recorded question has the same answer type as the question that the tool asked, " +
      "secret included.",
    state: "met",
  },
  {
    id: "082/record/remembered-answer",
    source: "RFD 082, Recording lifecycle and phase 3",
    text:
      "A remembered answer is recorded as answered with the remembered value, the call " +
      "continues and no prompt appears.",
    state: "met",
  },
  {
    id: "082/record/configured-answer",
    source: "RFD 082, Recording lifecycle and phase 3",
    text:
      "A configured answer to a question that is not secret is recorded as answered, the call " +
      "continues and no prompt appears.",
    state: "met",
    deviation:
      "A call that gets three automatic answers in a row to the same question fails with " +
      "`attempts_exhausted` if it asks again, because a tool that ignores its answers would " +
      "never end.",
  },
  {
    id: "082/record/remembered-before-configured",
    source: "RFD 082, Recording lifecycle",
    text: "A remembered answer takes precedence over a configured one.",
    state: "met",
  },
  {
    id: "082/record/otherwise-routed",
    source: "RFD 082, Recording lifecycle",
    text:
      "A question with neither a remembered nor a configured answer goes to a person or to the " +
      "inquiry model.",
    state: "met",
  },
  {
    id: "082/record/prompt-answer",
    source: "RFD 082, Recording lifecycle and phase 3",
    text:
      "An answer given at the prompt to a question that is not secret is recorded as answered " +
      "with its value.",
    state: "met",
  },
  {
    id: "082/record/model-answer",
    source: "RFD 082, Recording lifecycle and phase 3",
    text: "An answer from the inquiry model is recorded as answered with its value.",
    state: "met",
  },
  {
    id: "082/record/non-answer-is-cancelled",
    source: "RFD 082, Recording lifecycle",
    text:
      "A question that ends without an answer is recorded as cancelled with a reason, so a " +
      "failure leaves no request open.",
    state: "met",
  },
  {
    id: "082/record/tool-response-not-changed-by-cancelling",
    source: "RFD 082, Recording lifecycle",
    text:
      "Recording a cancellation does not alter the text that the model receives as the tool's " +
      "response.",
    state: "met",
  },
  {
    id: "082/cancel/prompt-cancelled-is-user",
    source: "RFD 082, Recording lifecycle, reason table",
    text: "Ctrl-C at the prompt is recorded with the reason `user`.",
    state: "met",
  },
  {
    id: "082/cancel/end-of-input-is-user",
    source: "RFD 082, Recording lifecycle, reason table",
    text: "An end of input or another read error at the prompt is recorded with the reason `user`.",
    state: "met",
    deviation:
      "Ctrl-D opens a menu first, in which the user can cancel. A closed terminal is recorded with the " +
      "separate reason `interrupted`, which the RFD leaves room for.",
  },
  {
    id: "082/cancel/signal-is-user",
    source: "RFD 082, Recording lifecycle, reason table, and phase 3 tests",
    text:
      "An inquiry stopped by the cancellation signal (restart, tool cancel, quit) is recorded " +
      "with the reason `user` and not as a failure.",
    state: "met",
    deviation:
      "This applies if the user caused it. SIGTERM, SIGHUP, a client that disconnects and an " +
      "embedding program are recorded as `interrupted`, because the user did nothing.",
  },
  {
    id: "082/cancel/provider-failure-is-backend-error",
    source: "RFD 082, Recording lifecycle, reason table, and phase 3 tests",
    text: "A provider failure during an inquiry is recorded with the reason `backend_error`.",
    state: "met",
  },
  {
    id: "082/cancel/missing-structured-data-is-backend-error",
    source: "RFD 082, Recording lifecycle, reason table, and phase 3 tests",
    text: "An inquiry reply without structured data is recorded with the reason `backend_error`.",
    state: "met",
  },
  {
    id: "082/cancel/unusable-answer-is-backend-error",
    source: "RFD 082, Recording lifecycle, reason table, and phase 3 tests",
    text: "An inquiry reply without a usable answer is recorded with the reason `backend_error`.",
    state: "met",
  },
  {
    id: "082/cancel/any-other-failure-is-backend-error",
    source: "RFD 082, Recording lifecycle, reason table, and phase 3 tests",
    text: "Any other failure of the inquiry backend is recorded with the reason `backend_error`.",
    state: "met",
  },
  {
    id: "082/cancel/says-nothing-about-retrying",
    source: "RFD 082, Recording lifecycle",
    text: "A cancellation reason is only for the record and implies no retry policy.",
    state: "met",
  },
  {
    id: "082/cancel/retry-advice-only-in-the-tool-response",
    source: "RFD 082, Recording lifecycle",
    text: "Only the text of the tool response tells the model whether it may try again.",
    state: "met",
  },
  {
    id: "082/cancel/transient-flag-not-recorded",
    source: "RFD 082, Recording lifecycle",
    text: "The `transient` flag of a tool error is not part of any inquiry event.",
    state: "met",
  },
  {
    id: "082/remember/answers-keyed-by-tool-and-question",
    source: "RFD 082, Splitting the turn-cache state and phase 2",
    text:
      "A remembered answer is keyed by tool name and question id, across all calls of the tool " +
      "in the turn.",
    state: "met",
  },
  {
    id: "082/remember/ends-with-the-turn",
    source: "RFD 082, Splitting the turn-cache state",
    text: "Remembered answers and remembered permissions last until the end of the turn.",
    state: "met",
  },
  {
    id: "082/remember/permissions-kept-apart",
    source: "RFD 082, Splitting the turn-cache state and phase 2 tests",
    text: "Remembered answers and remembered permissions are stored separately and never mix.",
    state: "met",
  },
  {
    id: "082/remember/permissions-keyed-by-tool",
    source: "RFD 082, Splitting the turn-cache state",
    text: "A remembered permission is keyed by tool name and is yes or no.",
    state: "met",
  },
  {
    id: "082/remember/permission-only-on-request",
    source: "RFD 082, Splitting the turn-cache state",
    text:
      "A permission is remembered only if the person chose to remember it at the permission " +
      "prompt.",
    state: "met",
  },
  {
    id: "082/remember/never-a-non-answer",
    source: "RFD 082, Splitting the turn-cache state and phase 2 tests",
    text: "A cancelled or redacted response never becomes a remembered answer or permission.",
    state: "met",
  },
  {
    id: "082/permission/is-not-an-inquiry",
    source: "RFD 082, Non-Goals",
    text: "Permission and result delivery prompts are not recorded as inquiries.",
    state: "met",
    deviation:
      "They are not, but each permission decision is recorded as a `permission_decision` " +
      "event, because an audit needs to know who allowed a tool to run.",
  },
  {
    id: "082/configured/not-given-on-the-first-attempt",
    source: "RFD 082, Pre-seed removal and phase 3",
    text:
      "The first attempt does not receive a configured answer; the tool has to ask for it " +
      "first.",
    state: "met",
  },
  {
    id: "082/configured/given-on-the-next-attempt",
    source: "RFD 082, Pre-seed removal",
    text:
      "Once the tool asks, the next attempt, which follows immediately, receives the " +
      "configured answer.",
    state: "met",
  },
  {
    id: "082/configured/one-extra-attempt-per-answer",
    source: "RFD 082, Pre-seed removal",
    text:
      "Each configured answer costs one more attempt of the tool and neither a prompt nor a " +
      "request to a model.",
    state: "met",
  },
  {
    id: "082/configured/two-step-tools-unaffected",
    source: "RFD 082, Pre-seed removal",
    text:
      "A tool that asks first and finishes when it has the answer behaves the same with a " +
      "configured answer as with a typed one.",
    state: "met",
  },
  {
    id: "082/configured/local-tool-reads-answers-from-context",
    source: "RFD 082, Pre-seed removal",
    text: "A local tool finds the answers so far under `tool.answers` of its JSON context.",
    state: "met",
  },
  {
    id: "082/configured/mcp-tools-receive-no-answers",
    source: "RFD 082, Pre-seed removal",
    text: "An MCP tool is never given answers.",
    state: "met",
    deviation:
      "An MCP server may ask through elicitation or an `input_required` result. Its question " +
      "is recorded with source `tool`, and it gets the answer, so that its questions are " +
      "handled like those of other tools.",
  },
  {
    id: "082/configured/contract-documented",
    source: "RFD 082, Pre-seed removal",
    text:
      "The documentation of `questions.<id>.answer` says that the tool must ask before the value " +
      "is delivered.",
    state: "met",
  },
  {
    id: "082/prompt/id-allocated-once",
    source: "RFD 082, Coordinator plumbing and phase 3",
    text: "The id of an inquiry is created once, where the request is recorded.",
    state: "met",
  },
  {
    id: "082/prompt/queued-prompt-carries-the-id",
    source: "RFD 082, Coordinator plumbing",
    text: "A question waiting for its turn at the prompt carries the id of its inquiry.",
    state: "met",
  },
  {
    id: "082/prompt/answer-carries-the-id",
    source: "RFD 082, Coordinator plumbing and phase 3 tests",
    text:
      "The answer from the prompt comes back with the unchanged id of its request, and the " +
      "response is recorded under it.",
    state: "met",
  },
  {
    id: "082/prompt/cancellation-carries-the-id",
    source: "RFD 082, Coordinator plumbing",
    text:
      "A cancelled prompt comes back with the unchanged id of its request, and the cancellation " +
      "is recorded under it.",
    state: "met",
  },
  {
    id: "082/prompt/id-never-rebuilt",
    source: "RFD 082, Coordinator plumbing",
    text:
      "Code that handles an answer or a cancellation never rebuilds an inquiry id from its " +
      "parts.",
    state: "met",
  },
  {
    id: "082/prompt/cancelling-does-not-count",
    source: "RFD 082, Coordinator plumbing",
    text: "Only recording a request advances the attempt count; cancelling does not change it.",
    state: "met",
  },
];
