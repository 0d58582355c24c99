// Requirements from RFD 082 on who asks and on secret questions.
import type { Requirement } from "./requirement.ts";

export const rfd082Source: readonly Requirement[] = [
  {
    id: "082/source/follows-from-the-code-path",
    source: "RFD 082, Source attribution",
    text:
      "The recorded source depends on the code that raises the question, not on what the tool " +
      "says in it.",
    state: "met",
  },
  {
    id: "082/source/builtin-default-is-the-tool",
    source: "RFD 082, Source attribution and phase 1",
    text:
      "Questions of a builtin tool are recorded with source `tool` and the tool's name unless " +
      "its author declares otherwise.",
    state: "met",
  },
  {
    id: "082/source/builtin-may-speak-for-the-assistant",
    source: "RFD 082, Source attribution and phase 3",
    text:
      "The author of a builtin tool can declare its questions to be the assistant's, and they " +
      "are recorded with source `assistant`.",
    state: "met",
  },
  {
    id: "082/source/local-tool-is-always-the-tool",
    source: "RFD 082, Source attribution",
    text: "Questions of a local tool are always recorded with source `tool` and the tool's name.",
    state: "met",
  },
  {
    id: "082/source/local-tool-cannot-change-it",
    source: "RFD 082, Source attribution",
    text:
      "Neither the command nor the arguments nor the output of a local tool can change the " +
      "recorded source.",
    state: "met",
  },
  {
    id: "082/source/mcp-tool-is-always-the-tool",
    source: "RFD 082, Source attribution",
    text: "Questions of an MCP tool are always recorded with source `tool` and the tool's name.",
    state: "met",
  },
  {
    id: "082/source/mcp-server-cannot-claim-the-assistant",
    source: "RFD 082, Source attribution",
    text: "Nothing an MCP server sends can make its question appear as the assistant's.",
    state: "met",
  },
  {
    id: "082/source/config-has-no-say",
    source: "RFD 082, Source attribution",
    text: "No configuration value changes the recorded source of a question.",
    state: "met",
  },
  {
    id: "082/source/label-is-separate",
    source: "RFD 082, Source attribution",
    text:
      "The label shown at the prompt comes from `prompt_label`, can be changed by the user and " +
      "leaves the recorded source alone.",
    state: "met",
  },
  {
    id: "082/source/executor-decides",
    source: "RFD 082, Crossing the executor boundary and phase 1",
    text:
      "The executor adds the source to its needs-input result before the coordinator sees the " +
      "question.",
    state: "met",
  },
  {
    id: "082/source/builtin-asked-through-the-registry",
    source: "RFD 082, Crossing the executor boundary",
    text:
      "For a builtin tool the executor takes the source from the registered tool; for local and " +
      "MCP tools it uses the tool's name.",
    state: "met",
  },
  {
    id: "082/source/coordinator-copies-it",
    source: "RFD 082, Crossing the executor boundary",
    text:
      "The coordinator records the source exactly as it received it and never looks at the kind " +
      "of tool.",
    state: "met",
  },
  {
    id: "082/source/rule-in-one-place",
    source: "RFD 082, Crossing the executor boundary",
    text:
      "The rule that turns a kind of tool into a source exists once, so a new kind of tool " +
      "changes only the executor.",
    state: "met",
    deviation:
      "Each kind of tool has the rule in its own executor and nowhere else, so a new kind " +
      "brings its own.",
  },
  {
    id: "082/source/doubles-set-it-directly",
    source: "RFD 082, Crossing the executor boundary and phase 1",
    text:
      "A scripted executor in a test can use any source, so the assistant's path can be tested " +
      "without a real builtin tool.",
    state: "met",
  },
  {
    id: "082/secret/declared-by-the-tool-author",
    source: "RFD 082, Secret questions",
    text: "Whether a question is secret is decided by the code that asks it.",
    state: "met",
  },
  {
    id: "082/secret/config-has-no-say",
    source: "RFD 082, Secret questions",
    text: "No setting makes a question secret, or makes a secret question an ordinary one.",
    state: "met",
  },
  {
    id: "082/secret/builtin-declares-it-in-the-question",
    source: "RFD 082, Secret questions",
    text: "A builtin tool asks for a secret by giving its question the secret answer type.",
    state: "met",
  },
  {
    id: "082/secret/local-tool-declares-it-in-its-output",
    source: "RFD 082, Secret questions and phase 3 tests",
    text:
      'A local tool asks a secret by printing `{"type":"secret"}` as the answer type of its ' +
      "question.",
    state: "met",
  },
  {
    id: "082/secret/mcp-tool-cannot-declare-it",
    source: "RFD 082, Secret questions",
    text: "An MCP tool has no way to ask a secret question.",
    state: "met",
    deviation:
      "A form of an MCP server may ask for a secret if the user sets `allow_secrets` for that " +
      "server, because some servers cannot be used without one. Otherwise it is refused.",
  },
  {
    id: "082/secret/default-copied-as-it-is",
    source: "RFD 082, Secret questions",
    text: "The default of a question is recorded unchanged, even if the question is secret.",
    state: "met",
  },
  {
    id: "082/secret/default-is-the-authors-duty",
    source: "RFD 082, Secret questions",
    text:
      "The guide for tool authors says that the default of a secret question must not hold " +
      "anything sensitive, since it is not redacted.",
    state: "met",
  },
  {
    id: "082/secret/no-echo-at-the-prompt",
    source: "RFD 082, Secret questions and phase 3",
    text: "Typing the answer to a secret question shows nothing on the terminal.",
    state: "met",
  },
  {
    id: "082/secret/prompter-picks-no-echo-by-type",
    source: "RFD 082, Secret questions and phase 3",
    text: "The prompter chooses the no-echo input for the secret answer type and for no other.",
    state: "met",
  },
  {
    id: "082/secret/prompter-double-answers-normally",
    source: "RFD 082, Secret questions",
    text: "A scripted prompter answers a secret question from its queue like any other question.",
    state: "met",
  },
  {
    id: "082/secret/prompt-answer-redacted",
    source: "RFD 082, Recording lifecycle and phase 3 tests",
    text: "A secret typed at the prompt reaches the tool and is recorded as redacted.",
    state: "met",
  },
  {
    id: "082/secret/configured-answer-redacted",
    source: "RFD 082, Recording lifecycle and phase 3 tests",
    text: "A configured answer to a secret question reaches the tool and is recorded as redacted.",
    state: "met",
  },
  {
    id: "082/secret/every-answered-path-redacts",
    source: "RFD 082, Secret questions",
    text:
      "Wherever another question would be recorded as answered, a secret one is recorded as " +
      "redacted.",
    state: "met",
  },
  {
    id: "082/secret/value-nowhere-in-the-record",
    source: "RFD 082, phase 3 tests",
    text: "The answer to a secret question appears nowhere in the stored conversation.",
    state: "met",
  },
  {
    id: "082/secret/local-tool-gets-it-on-the-next-run",
    source: "RFD 082, phase 3 tests",
    text:
      "A local tool that asked for a secret finds the answer in `tool.answers` of the JSON " +
      "context of its next run.",
    state: "met",
    deviation:
      "The secret is in the document on standard input only; argument templates and the " +
      "environment never see it, because other processes can read those.",
  },
  {
    id: "082/secret/not-remembered",
    source: "RFD 082, Recording lifecycle and phase 3 tests",
    text: "An answer to a secret question is never remembered for the turn.",
    state: "met",
  },
  {
    id: "082/secret/remembered-answer-not-used",
    source: "RFD 082, Recording lifecycle and phase 3 tests",
    text: "A secret question does not use a remembered answer even if one exists under its key.",
    state: "met",
  },
  {
    id: "082/secret/never-asked-of-the-model",
    source: "RFD 082, Secret questions",
    text: "A secret question is never sent to the inquiry model.",
    state: "met",
  },
  {
    id: "082/secret/nobody-there-is-refused",
    source: "RFD 082, Secret questions, reason table and phase 3 tests",
    text:
      "In a non-interactive run, a secret question fails the call with a tool error and is " +
      "recorded as cancelled with `no_prompt_backend`.",
    state: "met",
    deviation:
      "A person can be asked whenever `/dev/tty` opens and non-interactive mode is off, even " +
      "if standard output is piped, because the person is still there.",
  },
  {
    id: "082/secret/assistant-target-is-refused",
    source: "RFD 082, Secret questions, reason table and phase 3 tests",
    text:
      "A secret question with target `assistant` fails the call with a tool error and is " +
      "recorded as cancelled with `assistant_routing_denied`.",
    state: "met",
  },
  {
    id: "082/secret/guard-looks-at-the-type-only",
    source: "RFD 082, Secret questions",
    text:
      "Secret questions are refused because of their answer type, never because of a tool's " +
      "name.",
    state: "met",
  },
  {
    id: "082/secret/guard-shared-with-exclusive",
    source: "RFD 082, Secret questions",
    text:
      "Secret questions and exclusive questions are refused by the same rule with the same " +
      "reasons.",
    state: "met",
  },
  {
    id: "082/secret/other-types-still-answered-and-remembered",
    source: "RFD 082, phase 3 tests",
    text:
      "Boolean, select and text answers are still recorded as answered and can still be " +
      "remembered.",
    state: "met",
  },
];
