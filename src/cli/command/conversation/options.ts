/** The options of `jp conversation`. */
import { parseLabel } from "../../labels.ts";
import {
  COMPACT_OPTIONS,
  CONFIG_OPTIONS,
  FORMAT_OPTIONS,
  formatOptions,
  type Options,
  parseCount,
  parseWhole,
  TOOL_OPTIONS,
  TURN_OPTIONS,
} from "../../options.ts";

/** Which conversations are listed or searched. */
export const SELECTION = {
  "--label <label>": {
    description: "Only with this label: key or key=value; repeatable",
    parse: parseLabel,
    isRepeatable: true,
  },
  "--from <time>": "Only those started since then: today, 3d (ago), a date or an ID",
  "--until <time>": "Only those started before then",
} as const satisfies Options;

export const LIST = {
  ...SELECTION,
  "-a, --archived": "List archived conversations instead",
  "--local": "List only conversations stored outside the workspace, for you alone",
  "-n, --limit <count>": { description: "List only the last <count>", parse: parseCount },
  "--sort <key>": {
    description: "Sort by <key>",
    choices: ["activity", "created", "title"],
    default: "activity",
  },
  "-r, --reverse": "Reverse the order",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const PRINT = {
  ...TURN_OPTIONS,
  "--full": "Print tool results in full",
  "--no-reasoning": "Leave out the model's reasoning",
  "--compacted": "Print what the model sees: with compactions applied",
  ...formatOptions("text", "markdown", "json"),
} as const satisfies Options;

export const PATH = {
  "-e, --events": "Print the path of its events",
  "-m, --metadata": "Print the path of its metadata",
  "-b, --base-config": "Print the path of its base config",
} as const satisfies Options;

export const FILE = {
  "-o, --output <file>": {
    description: "Write to this file, which must not exist",
    isRequired: true,
  },
  "--id <target>": "The conversation (default: the active one)",
} as const satisfies Options;

export const LABEL = {
  "--id <target>": {
    description: "The conversation (default: the active one); repeatable",
    isRepeatable: true,
  },
} as const satisfies Options;

export const LIST_LABELS = {
  ...LABEL,
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const GREP = {
  ...SELECTION,
  "-r, --regex": "Treat the patterns as regular expressions",
  "-i, --ignore-case": "Ignore case (default unless a pattern has a capital letter)",
  "-s, --case-sensitive": "Match case",
  "--id <target>": { description: "Search only this conversation; repeatable", isRepeatable: true },
  "-a, --archived": "Also search archived conversations",
  "--scope <scope>": {
    description: "Search only this part; repeatable",
    choices: [
      "title",
      "user",
      "assistant",
      "reasoning",
      "structured",
      "tool-call",
      "tool-result",
      "inquiry",
    ],
    isRepeatable: true,
  },
  "-C, --context <lines>": {
    description: "Show <lines> lines around each match",
    parse: parseCount,
  },
  "-m, --max-count <count>": {
    description: "Stop after <count> matches per conversation",
    parse: parseCount,
  },
  "-l, --ids": "Print only the IDs of conversations that match",
  "-c, --count": {
    description: "Print only the number of matching lines per conversation",
    conflicts: ["ids"],
  },
} as const satisfies Options;

export const FORK = {
  ...TURN_OPTIONS,
  "-t, --title <title>": "Title of the copy",
  "--label <label>": {
    description: "Label the copy: key or key=value; repeatable",
    parse: parseLabel,
    isRepeatable: true,
  },
  "--reset-labels": "Do not copy the labels",
  "--activate": "Make the copy the active conversation",
  ...COMPACT_OPTIONS,
} as const satisfies Options;

export const COMPACT = {
  ...CONFIG_OPTIONS,
  ...TURN_OPTIONS,
  "--keep-first <turns>": "Keep this many turns at the start, or a duration such as 5h",
  "--keep-last <turns>": "Keep this many turns at the end, or a duration such as 2h",
  "--from <turn>": "Start here: 3, -3, 5h (ago) or last-compaction",
  "--to <turn>": "End here: 3, -3 or 2h (ago)",
  "-r, --reasoning": "Leave out the model's reasoning",
  "-t, --tools [mode]":
    "Empty tool calls: strip (default), strip-requests, strip-responses or omit",
  "-s, --summarize [focus]": "Replace the turns with a summary by a model",
  "-m, --model <model>": "Summarize with this model",
  ...COMPACT_OPTIONS,
  "--dry-run": "Show what would change, and change nothing",
  "--reset [number]": {
    description: "Undo all compactions, or the one with this number in `show`",
    parse: parsePosition,
  },
  ...FORMAT_OPTIONS,
} as const satisfies Options;

function parsePosition(text: string): number {
  const expected = "a positive number. Put the conversation before --reset";
  return parseWhole(text, { min: 1, max: 999_999, expected });
}

export const REMOVE = {
  "-y, --yes": "Do not ask for confirmation",
} as const satisfies Options;

export const EDIT = {
  "-t, --title <title>": "Set the title",
  "--no-title": "Remove the title",
  "--pin": "Pin it",
  "--no-pin": "Unpin it",
  "--local": "Move it out of the workspace, for you alone",
  "--no-local": "Move it into the workspace",
  "-e, --events": "Edit its events (default)",
  "-m, --metadata": "Edit its metadata",
  "-b, --base-config": "Edit its base config",
} as const satisfies Options;

const SOURCES = ["recorded", "live"] as const;

export const VERIFY = {
  ...CONFIG_OPTIONS,
  ...TOOL_OPTIONS,
  "--model <which>": {
    description: "Use the recorded replies, or ask the model again",
    choices: SOURCES,
    default: "recorded",
  },
  "--tools <which>": {
    description: "Use the recorded results, or run the tools again",
    choices: SOURCES,
    default: "recorded",
  },
  ...FORMAT_OPTIONS,
} as const satisfies Options;
