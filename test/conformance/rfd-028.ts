// Requirements from RFD 028 (structured inquiry system).
import type { Requirement } from "./requirement.ts";

export const rfd028: readonly Requirement[] = [
  {
    id: "028/goal/arguments-sent-once",
    source: "RFD 028, Design Goals",
    text:
      "Answering a tool's question never requires the model to send the arguments of the call " +
      "again.",
    state: "met",
  },
  {
    id: "028/goal/answers-are-typed",
    source: "RFD 028, Design Goals",
    text:
      "An answer from the model always has the type that the question declared, or the inquiry " +
      "fails.",
    state: "met",
  },
  {
    id: "028/goal/full-context",
    source: "RFD 028, Design Goals",
    text: "The model that answers sees the history of the conversation.",
    state: "met",
  },
  {
    id: "028/goal/shared-prefix",
    source: "RFD 028, Design Goals",
    text:
      "The inquiry request begins with the same messages as the main conversation, so a prompt " +
      "cache can serve both.",
    state: "met",
  },
  {
    id: "028/goal/invisible-to-the-turn-loop",
    source: "RFD 028, Design Goals",
    text: "The turn loop does not handle inquiries; the tool coordinator does.",
    state: "met",
  },
  {
    id: "028/goal/nothing-printed",
    source: "RFD 028, Design Goals",
    text: "The exchange with the inquiry model is not printed on the terminal.",
    state: "met",
  },
  {
    id: "028/goal/conversation-untouched",
    source: "RFD 028, Design Goals",
    text: "The exchange with the inquiry model does not change the stored conversation.",
    state: "met",
    deviation:
      "The exchange itself stays on a copy, but the question and its outcome are recorded as an " +
      "inquiry pair, because an audit needs every decision.",
  },
  {
    id: "028/goal/parallel-inquiries",
    source: "RFD 028, Design Goals and Data Flow",
    text:
      "Several tools can have an inquiry in progress at the same time, and none waits for or " +
      "blocks another.",
    state: "met",
    deviation:
      "Calls of one reply that could disturb each other run in order: to one MCP server, on the " +
      "same files, and around commands. All others run at the same time.",
  },
  {
    id: "028/inquiry/started-by-assistant-target",
    source: "RFD 028, Overview",
    text:
      "A tool that needs input for a question with target `assistant` starts an inquiry instead " +
      "of ending the call.",
    state: "met",
  },
  {
    id: "028/inquiry/no-second-call-by-the-model",
    source: "RFD 028, Overview and phase 5",
    text:
      "No question is handed back to the main model as a tool response that it must answer with " +
      "a new call.",
    state: "met",
  },
  {
    id: "028/inquiry/tool-reentered-with-the-answer",
    source: "RFD 028, Overview and ToolCoordinator Integration",
    text:
      "After the answer arrives the same call is executed again with its original arguments and " +
      "the answers so far.",
    state: "met",
  },
  {
    id: "028/inquiry/one-response-per-call",
    source: "RFD 028, Overview",
    text:
      "The conversation receives exactly one response for the original call id, however many " +
      "questions the call asked.",
    state: "met",
  },
  {
    id: "028/inquiry/answers-accumulate",
    source: "RFD 028, Data Flow",
    text:
      "Each of several questions repeats the same cycle, and a later attempt receives all " +
      "earlier answers.",
    state: "met",
  },
  {
    id: "028/inquiry/results-handled-one-at-a-time",
    source: "RFD 028, Data Flow",
    text: "Results of parallel inquiries are handled one at a time, in the order of arrival.",
    state: "met",
    deviation:
      "Each call handles its own result. Only shared state, the record and the remembered " +
      "answers, is updated one result at a time, in the order of arrival.",
  },
  {
    id: "028/backend/is-a-port",
    source: "RFD 028, InquiryBackend Trait",
    text:
      "The coordinator reaches the inquiry model only through a port, which a test can replace " +
      "with a double.",
    state: "met",
  },
  {
    id: "028/backend/inputs",
    source: "RFD 028, InquiryBackend Trait",
    text:
      "The port receives a copy of the events, the inquiry id, the question and a cancellation " +
      "signal.",
    state: "met",
    deviation:
      "It receives a read-only view of the record, the call and the target of the question. " +
      "The backend makes the copy, because only it knows how much of it fits the model.",
  },
  {
    id: "028/backend/failure-is-a-result",
    source: "RFD 028, InquiryBackend Trait",
    text: "An inquiry returns either a JSON value or a typed failure.",
    state: "met",
  },
  {
    id: "028/backend/cancellation-stops-it",
    source: "RFD 028, InquiryBackend Trait",
    text: "Firing the cancellation signal ends a running inquiry without an answer.",
    state: "met",
  },
  {
    id: "028/backend/thread-parts-fixed-for-the-turn",
    source: "RFD 028, InquiryBackend Trait",
    text:
      "The model details, system prompt, sections and attachments used for inquiries are set " +
      "once per turn.",
    state: "met",
    deviation:
      "Each of model, system prompt, parameters and cache policy is taken from the question's " +
      "target, else from the inquiry settings, else from the main assistant, because questions " +
      "differ in the model they need.",
  },
  {
    id: "028/backend/one-backend-serves-the-turn",
    source: "RFD 028, phase 4",
    text:
      "One backend is built before the turn loop starts and is used in every execution phase of " +
      "the turn.",
    state: "met",
  },
  {
    id: "028/backend/question-appended-as-chat-request",
    source: "RFD 028, InquiryBackend Trait",
    text:
      "The question goes to the model as a chat request at the end of the copied stream, with " +
      "the answer schema attached.",
    state: "met",
    deviation:
      "If a provider turns the schema into part of the prompt, only the last of three attempts " +
      "sends it; if it would replace the tools, none does. The others describe it in words, " +
      "because a schema in the prompt would invalidate the cache of the conversation.",
  },
  {
    id: "028/backend/structured-call-is-retried",
    source: "RFD 028, InquiryBackend Trait",
    text:
      "A structured call that fails with a retryable error is retried before the inquiry " +
      "fails.",
    state: "met",
  },
  {
    id: "028/backend/answer-extracted-and-validated",
    source: "RFD 028, InquiryBackend Trait",
    text:
      "The answer is taken from the structured reply and checked against the question before " +
      "it is used.",
    state: "met",
  },
  {
    id: "028/backend/double-answers-by-inquiry-id",
    source: "RFD 028, InquiryBackend Trait",
    text: "A test double returns answers prepared in advance under the inquiry id.",
    state: "met",
  },
  {
    id: "028/schema/object-with-required-answer",
    source: "RFD 028, Schema Generation",
    text:
      "The schema is an object with a required `answer` property and `additionalProperties` set " +
      "to false.",
    state: "met",
    deviation: "It also requires `reason`, one sentence that the record keeps beside the answer.",
  },
  {
    id: "028/schema/boolean",
    source: "RFD 028, Schema Generation",
    text: "For a boolean question, the schema requires a boolean `answer`.",
    state: "met",
  },
  {
    id: "028/schema/select",
    source: "RFD 028, Schema Generation",
    text: "For a select question the schema allows only the values of the options as `answer`.",
    state: "met",
  },
  {
    id: "028/schema/text",
    source: "RFD 028, Schema Generation",
    text: "For a text question, the schema requires a string `answer`.",
    state: "met",
  },
  {
    id: "028/schema/inquiry-id-is-constant",
    source: "RFD 028, Schema Generation and Overview",
    text:
      "The schema has a required `inquiry_id` property fixed by `const` to the id of the " +
      "inquiry, and the reply repeats it.",
    state: "met",
    deviation:
      "The schema holds only `answer` by default, so that it is the same for each answer type " +
      'and caches are reused; `conversation.inquiry.schema = "bound"` adds the `inquiry_id` ' +
      "constant.",
  },
  {
    id: "028/schema/const-becomes-one-value-enum",
    source: "RFD 028, Schema Generation",
    text: "A provider that does not support `const` gets an `enum` with a single value instead.",
    state: "met",
  },
  {
    id: "028/coordinator/same-path-as-a-person",
    source: "RFD 028, ToolCoordinator Integration",
    text:
      "A result of the inquiry model continues the call in the same way as an answer typed by a " +
      "person.",
    state: "met",
  },
  {
    id: "028/coordinator/failure-ends-the-call-with-an-error",
    source: "RFD 028, ToolCoordinator Integration",
    text: "When the inquiry fails, the call is completed with an error response.",
    state: "met",
  },
  {
    id: "028/coordinator/nobody-there-goes-to-the-model",
    source: "RFD 028, phase 5",
    text: "A question meant for the user goes to the inquiry model when no person can be asked.",
    state: "met",
    deviation:
      "This applies to the detached policy `auto`, and never to secret or exclusive questions. " +
      "With `defaults` and `deny` the model is not asked, so that an operator can exclude it.",
  },
  {
    id: "028/snapshot/copied-only-when-asked",
    source: "RFD 028, Conversation Snapshot",
    text:
      "The conversation is copied when an inquiry starts, and no copy is made in a cycle without " +
      "questions.",
    state: "met",
    deviation:
      "The coordinator passes on the record only when a model is asked, and the backend copies " +
      "it.",
  },
  {
    id: "028/snapshot/reflects-the-moment-of-asking",
    source: "RFD 028, Conversation Snapshot",
    text: "The copy holds the events as they are when the inquiry starts.",
    state: "met",
    deviation:
      "The copy is made when the first request is built, after the model is set up, so that a " +
      "call that has ended by then shows its result. Corrections reuse that copy.",
  },
  {
    id: "028/snapshot/paused-response-closes-the-call",
    source: "RFD 028, ToolCoordinator Integration",
    text:
      "On the copy the asking call is closed by a synthetic response that begins with `Tool " +
      "paused: `, placed before the question.",
    state: "met",
  },
  {
    id: "028/snapshot/paused-response-never-stored",
    source: "RFD 028, Conversation Snapshot",
    text: "The synthetic paused response exists on the copy only.",
    state: "met",
  },
  {
    id: "028/snapshot/calls-well-formed",
    source: "RFD 028, Conversation Snapshot",
    text: "On the copy, every tool call has a response.",
    state: "met",
    deviation:
      "Sibling calls that have already finished show their real results instead of being " +
      "treated as interrupted, so that the model has all information for its answer.",
  },
  {
    id: "028/tool-answers/old-field-ignored",
    source: "RFD 028, Removal of tool_answers",
    text:
      "A `tool_answers` field in an old conversation file is ignored and does not prevent the " +
      "file from loading.",
    state: "met",
    deviation:
      "The field is ignored, but kept when the file is written again, like every unknown " +
      "field.",
  },
  {
    id: "028/tool-answers/not-mixed-into-arguments",
    source: "RFD 028, Motivation and Removal of tool_answers",
    text: "Reading a tool call never adds `tool_answers` to its arguments, empty or not.",
    state: "met",
  },
  {
    id: "028/tool-answers/arguments-written-as-they-are",
    source: "RFD 028, Removal of tool_answers",
    text: "Writing a tool call neither splits off nor adds a `tool_answers` field.",
    state: "met",
  },
  {
    id: "028/tool-answers/strings-not-recoded",
    source: "RFD 028, Removal of tool_answers",
    text:
      "Strings inside an old `tool_answers` field are neither decoded from base64 nor encoded " +
      "again.",
    state: "met",
  },
  {
    id: "028/tool-answers/never-shown-to-the-model",
    source: "RFD 028, Motivation",
    text: "No request to a model contains `tool_answers`.",
    state: "met",
  },
];
