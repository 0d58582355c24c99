// Requirements from RFD 058 (typed content blocks), and from RFD 094 (`tell_user`), which extends it.
import type { Requirement } from "./requirement.ts";

export const rfd058: readonly Requirement[] = [
  {
    id: "058/response/content",
    source: "RFD 058, Response format",
    text: "The output of a tool may be a JSON object whose `content` is a list of typed blocks.",
    state: "met",
  },
  {
    id: "058/response/text-otherwise",
    source: "RFD 058, Response format",
    text: "Any other output is one text, as it is.",
    state: "met",
    deviation: "The outcomes of RFD 028 (`success`, `error`, `needs_input`) are read too.",
  },
  {
    id: "058/text/as-it-is",
    source: "RFD 058, `text`",
    text: "The model gets texts as they are, whatever their type.",
    state: "met",
  },
  {
    id: "058/resource/as-code",
    source: "RFD 058, `resource`",
    text: "The model gets a resource as a code block in the language of its type.",
    state: "met",
    deviation:
      "Its address is above the block. Images and PDFs are sent as files to models that take them.",
  },
  {
    id: "058/resource/formatted",
    source: "RFD 058, Tool-provided formatting",
    text: "If the block has a text in `formatted`, the model gets that instead.",
    state: "met",
  },
  {
    id: "058/question/among-content",
    source: "RFD 058, `question`",
    text:
      "Questions may be among the content, several at once and in order. What is before a question is " +
      "shown with it. The tool runs again with the answers.",
    state: "met",
  },
  {
    id: "058/question/schema",
    source: "RFD 058, Question schema",
    text: "The schema of a question says how to ask it: a boolean, an enum or a text.",
    state: "met",
    deviation:
      "A list of an enum's values works too. Any other schema is an error that says what to do.",
  },
  {
    id: "058/error/is-error",
    source: "RFD 058, Error responses",
    text:
      "`isError` makes it an error. `computer.jp/error` in `_meta` may say whether a retry helps, and what " +
      "caused it.",
    state: "met",
  },
  {
    id: "058/record/blocks",
    source: "RFD 058, `ToolCallResponse` migration",
    text: "The record keeps the blocks.",
    state: "met",
    deviation:
      "The content of the response stays a text, so that the Rust original can read it. The blocks are an additional field.",
  },
  {
    id: "094/tool/message-and-confirmation",
    source: "RFD 094, Tool response shape",
    text: "The message is Markdown for the user alone, and the model gets a confirmation.",
    state: "met",
  },
  {
    id: "094/tool/configuration",
    source: "RFD 094, Tool configuration",
    text: "The tool is on by default, switched off only by its name, and runs without asking.",
    state: "met",
  },
  {
    id: "094/view/shown-as-chat",
    source: "RFD 094, User-visible behavior",
    text: "The message is shown as the assistant's words on standard output, without a line for the call.",
    state: "met",
  },
  {
    id: "094/audience/each-side-its-own",
    source: "RFD 094, Audience honoring",
    text: "A block with an audience is left out for everyone else, whichever tool it comes from.",
    state: "met",
  },
  {
    id: "094/audience/nothing-for-the-model",
    source: "RFD 094, Audience honoring",
    text: "If nothing is for the model, it learns only whether the tool succeeded.",
    state: "met",
  },
  {
    id: "094/view/user-view",
    source: "RFD 094, The user view as a canonical API",
    text: "One function says what of a conversation is for the user: messages, and their part of results.",
    state: "met",
  },
  {
    id: "094/style/by-audience",
    source: "RFD 094, Result display and audience",
    text:
      "`style.inline_results` may say for each audience how much is shown, and `chat` for the user. " +
      "`style.hidden` hides everything.",
    state: "met",
  },
];
