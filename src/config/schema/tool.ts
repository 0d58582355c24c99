/** `conversation.tools.<name>`, and `conversation.tools.'*'` for what all tools have in common. */
import * as v from "valibot";
import { commandSchema } from "./command.ts";
import { detachedSchema } from "./detached.ts";
import { enableSchema } from "./enable.ts";
import { atLeast, described, group, namedBy, table } from "./node.ts";
import { parameterSchema } from "./parameter.ts";
import { questionSchema } from "./question.ts";

const SOURCE_FORMS = "expected builtin, local or mcp.<server>, each optionally with .<name>";

const lines = v.union([
  v.boolean(),
  v.picklist(["off", "full"]),
  atLeast(0),
  table(v.object({ truncate: table(v.object({ lines: atLeast(0) })) })),
]);
const link = v.union([v.boolean(), v.picklist(["full", "osc8", "off"])]);

const style = group({
  hidden: described("show neither the call nor its result", v.boolean()),
  inline_results: described("how much of a result is shown: off, full or a number of lines", lines),
  results_file_link: described("a link to the whole result: full, osc8 or off", link),
  parameters: described(
    "how arguments are shown: json, function_call, off, or a command that formats them",
    v.union([v.picklist(["json", "function_call", "off"]), commandSchema]),
  ),
  error: group({
    inline_results: described("the same for results that are errors", lines),
    results_file_link: described("the same for results that are errors", link),
  }),
});

const shared = {
  enable: described(
    "whether the tool is offered, and which directives may change that",
    enableSchema,
  ),
  run: described(
    "before a call runs: ask, unattended (run it), edit (its arguments first) or skip",
    v.picklist(["ask", "unattended", "edit", "skip"]),
  ),
  format: described(
    "when a command formats the arguments: ask (after approval) or unattended (before)",
    v.picklist(["ask", "unattended"]),
  ),
  result: described(
    "before a result goes to the model: unattended (deliver it), ask, edit or skip",
    v.picklist(["unattended", "ask", "edit", "skip"]),
  ),
  cancellation_response: described(
    "what the model is told of a call that was cancelled",
    v.string(),
  ),
  detached: described("what happens to prompts when nobody is there", detachedSchema),
  timeout_secs: described(
    "how long a call may take, not counting the time a person is asked; 0 for no limit; for MCP tools 300 unless set",
    atLeast(0),
  ),
  style,
};

const toolDefaultsSchema = group(shared);

const toolSchema = group({
  ...shared,
  source: described(
    "builtin[.name], local[.name] or mcp.<server>[.<tool>]",
    v.pipe(v.string(), v.regex(/^(?:builtin|local)(?:\..+)?$|^mcp\.[^.]+(?:\..+)?$/, SOURCE_FORMS)),
  ),
  group: described("the group it belongs to, for -t and -T", v.string()),
  command: described("what a local tool runs", commandSchema),
  summary: described("a sentence about the tool, sent with every request", v.string()),
  description: described("more about the tool, given when the model asks", v.string()),
  examples: described("examples, given when the model asks", v.string()),
  parameters: described("its parameters by name", namedBy(parameterSchema)),
  questions: described("its questions by id", namedBy(questionSchema)),
  options: described("values for a local tool, never shown to a model", namedBy(v.unknown())),
  access: described("what a local tool may touch", v.unknown()),
});

/** What a config says of one tool: any key may be absent. */
export interface PartialToolConfig extends v.InferOutput<typeof toolSchema> {}

// Under a name of its own: written out within the whole config, it is too deep for a compiler that
// reads it from our declarations.
const namedToolSchema: v.GenericSchema<unknown, PartialToolConfig> = toolSchema;

export const toolsSchema = table(
  v.objectWithRest({ "*": v.optional(toolDefaultsSchema) }, namedToolSchema),
);
