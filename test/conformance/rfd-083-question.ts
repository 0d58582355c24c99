// Requirements from RFD 083 on question policies, labels and routing.
import type { Requirement } from "./requirement.ts";

export const rfd083Question: readonly Requirement[] = [
  {
    id: "083/question/exclusive-can-be-declared",
    source: "RFD 083, Generic enrichments and scope table",
    text: "A question on the tool wire can declare itself exclusive.",
    state: "met",
  },
  {
    id: "083/question/exclusive-defaults-to-false",
    source: "RFD 083, Generic enrichments and phase 1, step 1",
    text: "A question without `exclusive` is not exclusive.",
    state: "met",
  },
  {
    id: "083/question/exclusive-written-only-when-true",
    source: "RFD 083, phase 1, step 1",
    text: "On the tool wire `exclusive` is written only when it is true.",
    state: "met",
  },
  {
    id: "083/question/persistence-defaults-to-turn",
    source: "RFD 083, Generic enrichments and phase 1, step 1",
    text: "A question without `persistence` has persistence `turn`.",
    state: "met",
  },
  {
    id: "083/question/persistence-values",
    source: "RFD 083, Generic enrichments",
    text: "On the tool wire `persistence` is `none` or `turn`.",
    state: "met",
  },
  {
    id: "083/question/persistence-written-only-when-none",
    source: "RFD 083, phase 1, step 1",
    text: "On the tool wire `persistence` is written only when it is not `turn`.",
    state: "met",
  },
  {
    id: "083/question/context-replaces-pre-amble",
    source: "RFD 083, phase 1, step 1",
    text: "The text shown above a question is called `context` instead of `pre_amble`.",
    state: "met",
    deviation:
      "We write `context` and still read `pre_amble`, so that existing tools continue to work.",
  },
  {
    id: "083/question/constructors-use-the-defaults",
    source: "RFD 083, phase 1, step 1",
    text:
      "Questions made by the text, boolean and select constructors are not exclusive and have " +
      "persistence `turn`.",
    state: "met",
  },
  {
    id: "083/question/builder-context",
    source: "RFD 083, phase 1, step 1",
    text: "A tool author can set the context of a constructed question.",
    state: "met",
  },
  {
    id: "083/question/builder-exclusive",
    source: "RFD 083, phase 1, step 1",
    text: "A tool author can mark a constructed question as exclusive.",
    state: "met",
  },
  {
    id: "083/question/builder-persistence",
    source: "RFD 083, phase 1, step 1",
    text: "A tool author can set the persistence of a constructed question.",
    state: "met",
  },
  {
    id: "083/question/older-payload-gets-the-defaults",
    source: "RFD 083, phase 1 tests",
    text:
      "A question payload from before these fields reads as not exclusive with persistence " +
      "`turn`.",
    state: "met",
  },
  {
    id: "083/question/any-tool-may-opt-in",
    source: "RFD 083, Generic enrichments and Alternatives",
    text:
      "Every tool that asks can use `exclusive` and `persistence`; they are not specific to " +
      "one tool.",
    state: "met",
    deviation:
      "Builtin and local tools can. The forms of MCP servers have no such fields, so their " +
      "questions use the defaults, and URLs to visit are exclusive.",
  },
  {
    id: "083/question/defaults-change-nothing",
    source: "RFD 083, Generic enrichments",
    text: "A question that sets none of the new fields is asked, shown and remembered as before.",
    state: "met",
  },
  {
    id: "083/record/question-context",
    source: "RFD 083, Propagating to the persisted shape",
    text:
      "A recorded question has the `context` that the person saw; without one, the field is " +
      "absent.",
    state: "met",
  },
  {
    id: "083/record/question-exclusive",
    source: "RFD 083, Propagating to the persisted shape",
    text: "A recorded question has `exclusive` only if it is true.",
    state: "met",
  },
  {
    id: "083/record/question-persistence",
    source: "RFD 083, Propagating to the persisted shape",
    text: "A recorded question has `persistence` only if it is `none`.",
    state: "met",
  },
  {
    id: "083/record/legacy-question-gets-the-defaults",
    source: "RFD 083, phase 1, step 5 and tests",
    text:
      "A recorded question from before these fields reads without context, as not exclusive, " +
      "with persistence `turn`.",
    state: "met",
  },
  {
    id: "083/record/default-question-keeps-its-old-form",
    source: "RFD 083, Propagating to the persisted shape",
    text: "A question that uses only the defaults is recorded with the same fields as before.",
    state: "met",
  },
  {
    id: "083/record/asked-question-recorded-with-its-policy",
    source: "RFD 083, phase 1, step 5 and tests",
    text:
      "Recording a question that is exclusive with persistence `none` stores both facts and its " +
      "context.",
    state: "met",
  },
  {
    id: "083/record/invalid-static-answer-tag",
    source: "RFD 083, Persisted recording and phase 1, step 7",
    text: "An invalid configured answer is stored with the reason `invalid_static_answer`.",
    state: "met",
  },
  {
    id: "083/label/optional-and-absent-by-default",
    source: "RFD 083, Generic enrichments and phase 1, step 2",
    text: "`prompt_label` is an optional setting of a question and has no value by default.",
    state: "met",
  },
  {
    id: "083/label/shown-above-the-question",
    source: "RFD 083, Generic enrichments",
    text: "A configured label is shown above the question as its sender.",
    state: "met",
  },
  {
    id: "083/label/absent-means-no-header",
    source: "RFD 083, Generic enrichments and phase 1, step 4",
    text: "Without a label the prompt has no line that says who asks.",
    state: "met",
  },
  {
    id: "083/label/looked-up-by-the-coordinator",
    source: "RFD 083, Generic enrichments and phase 1, step 4",
    text:
      "The coordinator looks the label up by question id and hands it to the prompter together " +
      "with the question.",
    state: "met",
  },
  {
    id: "083/label/display-only",
    source: "RFD 083, Generic enrichments",
    text: "The label changes neither the routing nor the recorded source.",
    state: "met",
  },
  {
    id: "083/label/merges-across-layers",
    source: "RFD 083, phase 1, step 2",
    text: "If a builtin tool, the user's file and a flag all set a label, the last one wins.",
    state: "met",
  },
  {
    id: "083/label/in-the-config-schema",
    source: "RFD 083, phase 1, step 2",
    text: "The published configuration schema contains `prompt_label`.",
    state: "met",
  },
  {
    id: "083/prompt/turn-offers-to-remember",
    source: "RFD 083, Generic enrichments",
    text:
      "A boolean question with persistence `turn` offers `y`, `Y`, `n` and `N`, and the capitals " +
      "remember the answer for the turn.",
    state: "met",
    deviation:
      "The line offers `y`, `a` and `n`, and `a` remembers a yes. `Y` and `N` work too, and `?` lists them. " +
      "Those that remember decide only with Enter.",
  },
  {
    id: "083/prompt/none-does-not-offer-to-remember",
    source: "RFD 083, Generic enrichments and phase 1, step 4",
    text: "A boolean question with persistence `none` offers neither `Y` nor `N`.",
    state: "met",
  },
  {
    id: "083/prompt/one-rendering-path",
    source: "RFD 083, Generic enrichments",
    text:
      "All questions are shown by the same prompter code, with label and persistence taken into " +
      "account.",
    state: "met",
  },
  {
    id: "083/prompt/combinations-pinned",
    source: "RFD 083, phase 1 tests",
    text:
      "Tests pin the appearance of the prompt for every combination of answer type, " +
      "persistence and label.",
    state: "met",
  },
  {
    id: "083/remember/none-is-asked-every-time",
    source: "RFD 083, phase 1, step 6 and tests",
    text: "A question with persistence `none` ignores a remembered answer.",
    state: "met",
  },
  {
    id: "083/remember/none-is-not-stored",
    source: "RFD 083, phase 1, step 6 and tests",
    text: "An answer to a question with persistence `none` is not remembered.",
    state: "met",
  },
  {
    id: "083/configured/validated-before-use",
    source: "RFD 083, phase 1, step 6",
    text:
      "A configured answer is checked against the answer type, and for select against the " +
      "options, before the tool receives it.",
    state: "met",
  },
  {
    id: "083/configured/misfit-fails-the-call",
    source: "RFD 083, phase 1, step 6 and tests",
    text: "A configured answer that does not fit fails the call with an error response.",
    state: "met",
  },
  {
    id: "083/configured/error-names-the-setting",
    source: "RFD 083, phase 1, step 6 and tests",
    text:
      "The error is `<tool_name>: the configured conversation.tools.<tool>.questions.<id>.answer " +
      "value does not match the question's answer_type. Update the configuration; do not retry.`",
    state: "met",
  },
  {
    id: "083/configured/misfit-recorded",
    source: "RFD 083, Persisted recording, reason table, and phase 1 tests",
    text:
      "A configured answer that does not fit is recorded as cancelled with " +
      "`invalid_static_answer`.",
    state: "met",
  },
  {
    id: "083/configured/allowed-for-exclusive",
    source: "RFD 083, Non-interactive behavior",
    text:
      "A configured answer is used for an exclusive question too, with or without a person " +
      "present.",
    state: "met",
  },
  {
    id: "083/configured/checked-before-the-tool-can-complain",
    source: "RFD 083, Arguments",
    text:
      "The coordinator reports an invalid configured answer, so the tool's own check only " +
      "catches other cases.",
    state: "met",
  },
  {
    id: "083/exclusive/means-a-person-only",
    source: "RFD 083, Non-interactive behavior",
    text:
      "An exclusive question is answered by a person or by a configured answer and never by a " +
      "model.",
    state: "met",
  },
  {
    id: "083/exclusive/no-new-target",
    source: "RFD 083, Non-interactive behavior",
    text:
      "Question targets stay `user` and `assistant`; being human-only is a property of the " +
      "question.",
    state: "met",
  },
  {
    id: "083/exclusive/nobody-there-fails-the-call",
    source: "RFD 083, Non-interactive behavior, precedence table, and phase 1 tests",
    text:
      "In a non-interactive run with target `user`, an exclusive question fails the call and " +
      "the inquiry model is not asked.",
    state: "met",
    deviation:
      "A person can be asked whenever `/dev/tty` opens and non-interactive mode is off, even " +
      "if standard output is piped, because the person is still there.",
  },
  {
    id: "083/exclusive/nobody-there-error-text",
    source: "RFD 083, Non-interactive behavior and phase 1, step 7",
    text:
      "The error is `<tool_name> cannot run because no interactive terminal is available. Do not " +
      "retry this tool call in this turn; continue without user input or explain what " +
      "information is missing.`",
    state: "met",
    deviation:
      "In a program without a terminal, the error gives the reason of the program's own prompter, or " +
      "`no user is available to answer`.",
  },
  {
    id: "083/exclusive/nobody-there-recorded",
    source: "RFD 083, Persisted recording, reason table, and phase 1 tests",
    text:
      "In a non-interactive run, an exclusive question is recorded as cancelled with " +
      "`no_prompt_backend`.",
    state: "met",
  },
  {
    id: "083/exclusive/assistant-target-fails-the-call",
    source: "RFD 083, Non-interactive behavior, precedence table, and phase 1 tests",
    text:
      "An exclusive question with target `assistant` fails the call before any routing, whether " +
      "or not a person is present.",
    state: "met",
  },
  {
    id: "083/exclusive/assistant-target-error-text",
    source: "RFD 083, phase 1, step 7",
    text:
      "The error is `<tool_name> requires a human answer and cannot be routed to the assistant. " +
      "Do not retry this tool call in this turn.`",
    state: "met",
  },
  {
    id: "083/exclusive/assistant-target-recorded",
    source: "RFD 083, Persisted recording, reason table, and phase 1 tests",
    text:
      "An exclusive question with target `assistant` is recorded as cancelled with " +
      "`assistant_routing_denied`.",
    state: "met",
  },
  {
    id: "083/exclusive/checks-are-generic",
    source: "RFD 083, Non-interactive behavior, scope table, and phase 1, step 7",
    text: "Both checks depend on the question being exclusive and apply to every tool.",
    state: "met",
  },
  {
    id: "083/exclusive/no-retry-flag",
    source: "RFD 083, phase 1, step 7",
    text:
      "The text of the error says that a refused call should not be retried, since no flag " +
      "reaches the model.",
    state: "met",
  },
  {
    id: "083/routing/configured-answer-first",
    source: "RFD 083, Non-interactive behavior, precedence table",
    text: "A question with a configured answer is not routed.",
    state: "met",
  },
  {
    id: "083/routing/user-target-with-a-person",
    source: "RFD 083, Non-interactive behavior, precedence table",
    text: "With target `user` and a person present the person is asked.",
    state: "met",
    deviation:
      "A person can be asked whenever `/dev/tty` opens and non-interactive mode is off, even " +
      "if standard output is piped, because the person is still there.",
  },
  {
    id: "083/routing/user-target-nobody-not-exclusive",
    source: "RFD 083, Non-interactive behavior, precedence table",
    text:
      "In a non-interactive run with target `user`, a question that is not exclusive goes to " +
      "the inquiry model.",
    state: "met",
    deviation:
      "This is the policy `auto`. The detached policies `defaults` and `deny` use the " +
      "question's default or refuse, so that an operator can exclude the model.",
  },
  {
    id: "083/routing/assistant-target-not-exclusive",
    source: "RFD 083, Non-interactive behavior, precedence table",
    text: "With target `assistant` a question that is not exclusive goes to the inquiry model.",
    state: "met",
  },
  {
    id: "083/scope/no-exclusive-in-config",
    source: "RFD 083, Non-interactive behavior, scope table",
    text:
      "The configuration of a question has no `exclusive` setting; only the tool's author " +
      "decides.",
    state: "met",
    deviation:
      "`questions.<id>.exclusive` exists, as RFD 049 describes it and this RFD anticipates. If " +
      "it is not set, the tool's author decides.",
  },
  {
    id: "083/scope/no-detached-policy",
    source: "RFD 083, Non-interactive behavior, scope table",
    text: "No setting decides what happens in a non-interactive run.",
    state: "met",
    deviation:
      "`detached` settings with `auto`, `defaults` and `deny` exist per tool and for all " +
      "tools, because unattended runs need an explicit policy. `auto` follows the precedence " +
      "table.",
  },
  {
    id: "083/scope/no-non-interactive-flag",
    source: "RFD 083, Non-interactive behavior, scope table",
    text: "No flag turns prompting off.",
    state: "met",
    deviation:
      "`--non-interactive` and `JP_NONINTERACTIVE=1` turn prompting off, because a script must " +
      "be able to disable prompts.",
  },
  {
    id: "083/merge/builtin-defaults-under-user-config",
    source: "RFD 083, phase 1, step 3",
    text: "The user's configuration of a builtin tool is merged over the tool's defaults.",
    state: "met",
  },
  {
    id: "083/merge/single-override-keeps-the-rest",
    source: "RFD 083, phase 1, step 3",
    text:
      "Overriding one field of a builtin tool, such as a label, keeps all its other defaults: " +
      "how it is run, enabled, delivered and shown.",
    state: "met",
  },
  {
    id: "083/merge/holds-for-every-builtin",
    source: "RFD 083, phase 1, step 3",
    text: "The merge works the same for every builtin tool.",
    state: "met",
  },
  {
    id: "083/merge/source-may-be-replaced",
    source: "RFD 083, phase 1, step 3",
    text:
      "A user may give a builtin's name another source, and calls then run that source instead " +
      "of the builtin code.",
    state: "met",
  },
  {
    id: "083/merge/replaced-source-keeps-other-defaults",
    source: "RFD 083, phase 1, step 3",
    text:
      "Replacing the source of a builtin keeps its parameters, questions, style, run and result " +
      "defaults unless these are replaced too.",
    state: "met",
  },
];
