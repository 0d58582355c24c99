// Requirements from RFD 083 on the ask_user tool and its configuration.
import type { Requirement } from "./requirement.ts";

export const rfd083AskUser: readonly Requirement[] = [
  {
    id: "083/ask-user/called-like-any-tool",
    source: "RFD 083, User-visible behavior",
    text: "The assistant can call `ask_user` in the middle of a turn like any other tool.",
    state: "met",
  },
  {
    id: "083/ask-user/shown-as-inline-prompt",
    source: "RFD 083, User-visible behavior",
    text: "The question appears at the prompt used for tools, attributed to the assistant.",
    state: "met",
  },
  {
    id: "083/ask-user/answer-becomes-the-result",
    source: "RFD 083, User-visible behavior",
    text:
      "The person's answer becomes the result of the call, and the turn continues without a " +
      "new query.",
    state: "met",
  },
  {
    id: "083/ask-user/parameter-question",
    source: "RFD 083, Tool configuration, parameters",
    text: "The schema offers `question` as a required string.",
    state: "met",
  },
  {
    id: "083/ask-user/parameter-context",
    source: "RFD 083, Tool configuration, parameters",
    text: "The schema offers `context` as an optional string that may have several lines.",
    state: "met",
  },
  {
    id: "083/ask-user/parameter-answer-type",
    source: "RFD 083, Tool configuration, parameters",
    text: "The schema offers `answer_type` as an optional string: `boolean`, `select` or `text`.",
    state: "met",
  },
  {
    id: "083/ask-user/parameter-options",
    source: "RFD 083, Tool configuration, parameters",
    text: "The schema offers `options` as an optional array of strings.",
    state: "met",
    deviation:
      "The schema offers objects with a `value`, a `description` and a `preview`. A string counts as an object with " +
      "that `value`.",
  },
  {
    id: "083/ask-user/parameter-default",
    source: "RFD 083, Tool configuration, parameters",
    text: "The schema offers `default` as an optional boolean or string.",
    state: "met",
    deviation:
      "The schema offers a string, as some chat templates cannot render several types. A boolean counts as its name.",
  },
  {
    id: "083/ask-user/schema-accepted-by-providers",
    source: "RFD 083, Tool configuration, parameters",
    text:
      "The schema uses neither a type `any` nor conditional requirements; rules across fields " +
      "are checked when the tool runs.",
    state: "met",
  },
  {
    id: "083/ask-user/answer-type-defaults-to-text",
    source: "RFD 083, Arguments",
    text: "A call without `answer_type` asks for text.",
    state: "met",
  },
  {
    id: "083/ask-user/three-answer-types-only",
    source: "RFD 083, Arguments and Non-Goals",
    text: "The tool asks boolean, select and text questions and no others.",
    state: "met",
  },
  {
    id: "083/ask-user/context-shown-above-the-question",
    source: "RFD 083, Arguments",
    text: "The `context` of a call is shown above the question line and is never mixed into it.",
    state: "met",
  },
  {
    id: "083/ask-user/default-fills-the-prompt",
    source: "RFD 083, Arguments",
    text: "A `default` is offered at the prompt as the answer to accept or change.",
    state: "met",
  },
  {
    id: "083/ask-user/missing-question-is-an-error",
    source: "RFD 083, Arguments",
    text: "A call without `question` ends in an error.",
    state: "met",
  },
  {
    id: "083/ask-user/empty-question-is-an-error",
    source: "RFD 083, Arguments",
    text: "A call with an empty `question` ends in an error.",
    state: "met",
  },
  {
    id: "083/ask-user/newline-in-question-is-an-error",
    source: "RFD 083, Arguments",
    text: "A call whose `question` contains a newline ends in an error that points to `context`.",
    state: "met",
  },
  {
    id: "083/ask-user/select-without-options-is-an-error",
    source: "RFD 083, Arguments",
    text: "A select call whose `options` are missing or empty ends in an error.",
    state: "met",
  },
  {
    id: "083/ask-user/options-without-select-is-an-error",
    source: "RFD 083, Arguments",
    text: "A call with `options` and an answer type other than `select` ends in an error.",
    state: "met",
  },
  {
    id: "083/ask-user/default-of-wrong-type-is-an-error",
    source: "RFD 083, Arguments",
    text: "A call whose `default` does not have the type of the answer ends in an error.",
    state: "met",
  },
  {
    id: "083/ask-user/default-outside-options-is-an-error",
    source: "RFD 083, Arguments",
    text: "A select call whose `default` is not one of the `options` ends in an error.",
    state: "met",
  },
  {
    id: "083/ask-user/errors-tell-the-model-what-to-change",
    source: "RFD 083, Arguments",
    text: "Each error about arguments tells the model what to do differently.",
    state: "met",
  },
  {
    id: "083/ask-user/answer-of-wrong-type-is-an-error",
    source: "RFD 083, Arguments",
    text:
      "If the tool is run with an answer that does not have the requested type, it ends in an " +
      "error.",
    state: "met",
  },
  {
    id: "083/ask-user/answer-outside-options-is-an-error",
    source: "RFD 083, Arguments",
    text:
      "If the tool is run with a select answer that is not one of the options, it ends in an " +
      "error.",
    state: "met",
    deviation:
      "A person may answer a select question with their own text, and the result then says " +
      "`other`; with `strict`, only the options are allowed. Configured answers and defaults " +
      "must always be options.",
  },
  {
    id: "083/ask-user/answer-error-wording-is-generic",
    source: "RFD 083, Arguments",
    text:
      "The tool's own error about an answer says `the accumulated answer does not match the " +
      "requested answer type` and names no source.",
    state: "met",
  },
  {
    id: "083/ask-user/first-entry-asks",
    source: "RFD 083, Execution flow and phase 2 tests",
    text: "Run without answers and with valid arguments, the tool asks its question.",
    state: "met",
  },
  {
    id: "083/ask-user/second-entry-succeeds",
    source: "RFD 083, Execution flow and phase 2 tests",
    text: "Run again with the answer, the tool succeeds with that answer.",
    state: "met",
  },
  {
    id: "083/ask-user/one-question-named-answer",
    source: "RFD 083, Execution flow",
    text: "The tool always asks one question, and its id is `answer`.",
    state: "met",
    deviation:
      "With `more` a call may ask up to three further questions, called `answer_2` to `answer_4`, " +
      "which are asked together with it as one form.",
  },
  {
    id: "083/ask-user/question-is-exclusive",
    source: "RFD 083, Execution flow and phase 2",
    text: "The question of the tool is marked exclusive.",
    state: "met",
  },
  {
    id: "083/ask-user/question-is-not-remembered",
    source: "RFD 083, Execution flow and phase 2",
    text: "The question of the tool has persistence `none`.",
    state: "met",
  },
  {
    id: "083/ask-user/policy-set-by-the-author",
    source: "RFD 083, Tool configuration",
    text:
      "The tool's code, not configuration, makes the question exclusive and keeps its answer " +
      "from being remembered.",
    state: "met",
    deviation:
      "A person's own config may lift it with `questions.<id>.exclusive = false`, which RFD 049 adds " +
      "for every tool.",
  },
  {
    id: "083/ask-user/boolean-result",
    source: "RFD 083, Execution flow and phase 2 tests",
    text:
      "A boolean answer gives a JSON result with `answer_type` `boolean` and true or false as " +
      "`answer`.",
    state: "met",
  },
  {
    id: "083/ask-user/select-result",
    source: "RFD 083, Execution flow and phase 2 tests",
    text:
      "A select answer gives a JSON result with `answer_type` `select` and the chosen option as " +
      "`answer`.",
    state: "met",
  },
  {
    id: "083/ask-user/text-result",
    source: "RFD 083, Execution flow and phase 2 tests",
    text:
      "A text answer gives a JSON result with `answer_type` `text` and the typed string as " +
      "`answer`.",
    state: "met",
  },
  {
    id: "083/ask-user/result-tells-types-apart",
    source: "RFD 083, Execution flow",
    text: "The boolean true, the option `true` and the text `true` give three different results.",
    state: "met",
  },
  {
    id: "083/ask-user/coordinator-does-the-rest",
    source: "RFD 083, Execution flow",
    text:
      "The coordinator prompts, passes on the answer, runs the tool again and records the " +
      "response, without a special case for the tool.",
    state: "met",
  },
  {
    id: "083/ask-user/recorded-as-the-assistants",
    source: "RFD 083, Persisted recording and phase 2 tests",
    text: "Inquiries of the tool are recorded with source `assistant`.",
    state: "met",
  },
  {
    id: "083/config/source-is-builtin",
    source: "RFD 083, Tool configuration",
    text: "The tool is registered with source `builtin`.",
    state: "met",
  },
  {
    id: "083/config/enabled-by-default",
    source: "RFD 083, Tool configuration",
    text: "The tool is enabled without any configuration.",
    state: "met",
  },
  {
    id: "083/config/bare-disable-all-keeps-it",
    source: "RFD 083, Tool configuration and Drawbacks",
    text: "Bare `-T` disables other tools and leaves `ask_user` enabled.",
    state: "met",
  },
  {
    id: "083/config/disabled-by-name",
    source: "RFD 083, Tool configuration",
    text: "`-T ask_user` disables the tool.",
    state: "met",
  },
  {
    id: "083/config/disable-all-and-by-name",
    source: "RFD 083, Drawbacks",
    text: "`-T -T ask_user` disables every tool that can be disabled.",
    state: "met",
  },
  {
    id: "083/config/disabled-by-state",
    source: "RFD 083, Tool configuration",
    text:
      "Setting `enable = { state = false }` disables the tool and keeps the rule that only its " +
      "name toggles it.",
    state: "met",
  },
  {
    id: "083/config/bool-shorthand-resets-the-rule",
    source: "RFD 083, Tool configuration",
    text:
      "Setting `enable = false` disables the tool and resets its toggle rule to `always`, " +
      "which allows any toggle.",
    state: "met",
    deviation:
      "The rule that allows any toggle is called `any`, because the shorthand `always` already " +
      "means locked on.",
  },
  {
    id: "083/config/runs-without-permission-prompt",
    source: "RFD 083, Tool configuration",
    text: "A call of the tool runs without a permission prompt.",
    state: "met",
  },
  {
    id: "083/config/result-delivered-without-prompt",
    source: "RFD 083, Tool configuration",
    text: "The result of the tool is delivered without a prompt.",
    state: "met",
  },
  {
    id: "083/config/hidden-from-the-display",
    source: "RFD 083, Tool configuration",
    text:
      "Neither the call nor its result is shown as a tool call; the person sees the prompt and " +
      "the answer.",
    state: "met",
  },
  {
    id: "083/config/label-is-assistant",
    source: "RFD 083, Tool configuration and phase 2",
    text: "The prompt of the tool carries the label `Assistant` unless the user changes it.",
    state: "met",
  },
  {
    id: "083/config/description-limits-use",
    source: "RFD 083, Tool configuration and Drawbacks",
    text:
      "The description tells the model to ask only when the conversation does not hold the " +
      "information, and not for obvious next steps.",
    state: "met",
  },
  {
    id: "083/config/description-warns-about-secrets",
    source: "RFD 083, Tool configuration and Risks",
    text:
      "The description tells the model not to collect secrets, since answers are sent to the " +
      "model and stored.",
    state: "met",
  },
  {
    id: "083/config/description-reaches-the-model",
    source: "RFD 083, Tool configuration and phase 2 tests",
    text:
      "The tool has a description and no summary, so every request to a provider carries the " +
      "full description and the parameter schema.",
    state: "met",
  },
  {
    id: "083/config/registered-for-every-turn",
    source: "RFD 083, phase 2",
    text: "The tool is available in every turn unless it is disabled.",
    state: "met",
  },
  {
    id: "083/config/lookup-by-config-key",
    source: "RFD 083, Built-in aliasing",
    text:
      "A builtin tool is found by its configuration key, and a builtin configured under another " +
      "name fails as not found when it is called.",
    state: "met",
    deviation:
      "The source `builtin.ask_user` names the builtin, so that it can be configured under " +
      "another name. Otherwise the key decides.",
  },
  {
    id: "083/answer-config/fixed-answer-supported",
    source: "RFD 083, Supported questions.answer configuration",
    text: "With a configured `answer` the tool never shows its prompt.",
    state: "met",
  },
  {
    id: "083/answer-config/user-target-supported",
    source: "RFD 083, Supported questions.answer configuration",
    text:
      "The target of the tool's question is `user` unless configured otherwise, and the prompt " +
      "is shown to the person.",
    state: "met",
  },
  {
    id: "083/answer-config/assistant-target-rejected",
    source: "RFD 083, Supported questions.answer configuration",
    text: "With target `assistant` the tool's question is refused.",
    state: "met",
  },
  {
    id: "083/answer-config/label-supported",
    source: "RFD 083, Supported questions.answer configuration",
    text: "The user may change the label of the tool's prompt.",
    state: "met",
  },
  {
    id: "083/answer-config/no-tool-name-in-routing",
    source: "RFD 083, Supported questions.answer configuration and Alternatives",
    text:
      "Routing never looks at the name of the tool; the question is refused because it is " +
      "exclusive.",
    state: "met",
  },
];
