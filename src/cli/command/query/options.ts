/** The options of `jp query`. */
import { InvalidArgumentError } from "commander";
import { parseLabel } from "../../labels.ts";
import {
  COMPACT_OPTIONS,
  CONFIG_OPTIONS,
  FORMAT_OPTIONS,
  MODE_OPTIONS,
  type Options,
  parseCount,
  TOOL_OPTIONS,
} from "../../options.ts";

export const QUERY = {
  ...CONFIG_OPTIONS,
  ...TOOL_OPTIONS,
  "-n, --new": "Start a new conversation",
  "--id <target>": "Continue this conversation",
  "-r, --replay": "Send the last message again; words add to it, -e edits it",
  "--fork [turns]": {
    description: "Ask in a copy of the conversation, or of its last <turns> turns",
    parse: parseForkTurns,
  },
  "--label <label>": {
    description: "Label the conversation: key or key=value; repeatable",
    parse: parseLabel,
    isRepeatable: true,
  },
  "--title <title>": "Title of a new conversation",
  "-l, --local": "Store a new conversation outside the workspace, for you alone",
  "-m, --model <model>": "Use this model: provider/name or an alias",
  "-p, --param <key=value>": {
    description: "Set a model parameter; repeatable",
    isRepeatable: true,
  },
  ...MODE_OPTIONS,
  "-a, --attach <what>": {
    description: "Attach a path, a pattern, https://…, cmd:… or an MCP resource; repeatable",
    isRepeatable: true,
  },
  /** The Rust original's name for `--attach`. */
  "--attachment <what>": { description: "", isRepeatable: true, isHidden: true },
  "-e, --edit": "Write the message in your editor",
  "-E, --no-edit": "Never open the editor",
  "-s, --schema <schema>": "Answer in JSON that matches this JSON Schema, or @file",
  ...FORMAT_OPTIONS,
  "--hide-reasoning": "Hide the model's reasoning",
  "--non-interactive": "Never prompt; apply the configured policy",
  "--defer": "Never prompt; leave questions for later and exit with status 4",
  "--enqueue": "Leave the turn to a worker and print the conversation's id",
  "--queue <name>": "With --enqueue: leave it to the workers of this name",
  "--follow": "With --enqueue: show what the worker does until the turn ends or waits",
  "--continue-turn": "Continue an incomplete turn",
  "--discard-turn": "Discard an incomplete turn and start a new one",
  "--answers <file>": "Take all answers from a file; fail if one is missing",
  ...COMPACT_OPTIONS,
  "--show-prompt": "Print what would be sent to the model, and send nothing",
  "--no-persist": "Do not save anything to disk",
  "-v, --verbose": "Print token usage",
} as const satisfies Options;

/** The word after `--fork` may be a misplaced message. */
function parseForkTurns(text: string): number {
  if (/^\d+$/.test(text)) return parseCount(text);
  throw new InvalidArgumentError(
    "Expected a number of turns. Write your message before --fork, or after `--`.",
  );
}
