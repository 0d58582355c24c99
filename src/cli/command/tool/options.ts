/** The options of `jp tool` and `jp permissions`. */
import { CONFIG_OPTIONS, FORMAT_OPTIONS, type Options, TOOL_OPTIONS } from "../../options.ts";

export const LIST_TOOLS = {
  ...CONFIG_OPTIONS,
  ...TOOL_OPTIONS,
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const SHOW_TOOL = {
  ...CONFIG_OPTIONS,
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const ARGUMENT = {
  "-a, --arg <key=value>": {
    description: "Pass an argument as text, or as JSON with key:=JSON; repeatable",
    isRepeatable: true,
  },
  "--args <json>": "Pass all arguments as a JSON object",
} as const satisfies Options;

export const CHECK_TOOL = {
  ...CONFIG_OPTIONS,
  ...ARGUMENT,
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const RUN_TOOL = {
  ...CONFIG_OPTIONS,
  ...ARGUMENT,
  "--non-interactive": "Never prompt; use only configured answers",
} as const satisfies Options;

export const LIST_PERMISSIONS = {
  "--all": "Of all workspaces",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const REMOVE_PERMISSIONS = {
  "--expired": "Remove those of this workspace that no longer count",
  "--all": "Remove all of this workspace",
  "-y, --yes": "Do not ask for confirmation",
} as const satisfies Options;

/** Past decisions on this machine. */
export const PAST = {
  ...CONFIG_OPTIONS,
  "--from <time>": {
    description: "Only decisions since then: today, 3d (ago), a date or an ID",
    default: "8w",
  },
  "--until <time>": "Only decisions before then",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const PROPOSE = {
  ...PAST,
  "--save": "Save them all, without asking",
} as const satisfies Options;

export const TRY = {
  ...PAST,
  "--rules <file>": "Try the rules in this file, not the saved ones",
} as const satisfies Options;
