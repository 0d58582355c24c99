/** The options of the smaller commands. */
import { DECIDERS, DECISION_KINDS } from "../../record/conversation/index.ts";
import { INQUIRY_STATES } from "../../surfaces/render/index.ts";
import {
  CONFIG_OPTIONS,
  CONFIG_PLACES,
  FORMAT_OPTIONS,
  type Options,
  parseCount,
  TURN_OPTIONS,
} from "../options.ts";

export const INIT = {
  "--non-interactive": "Never prompt; leave the choices open in the config",
  "--allow <what>": {
    description:
      "What models may do there, kept in your own config; run: commands too, asking before each",
    choices: ["read", "edit", "run", "sandbox", "nothing"],
  },
  "--commit-conversations": "Let Git see the conversations; by default it ignores them",
} as const satisfies Options;

export const UNDO = {
  "-y, --yes": "Do not ask for confirmation",
  "--force": "Also replace what has changed since the turn",
  "--with-message": "Also go back in the conversation: models no longer see the last turn",
} as const satisfies Options;

export const DIFF = {
  "--stat": "Print only the changed files, with the number of changed lines",
} as const satisfies Options;

export const LIST_INQUIRIES = {
  "-c, --conversation <target>": {
    description: "Only from this conversation; repeatable",
    isRepeatable: true,
  },
  "--outcome <outcome>": {
    description: "Only with this outcome; repeatable",
    choices: INQUIRY_STATES,
    isRepeatable: true,
  },
  "--by <who>": {
    description: "Only decided by this party; repeatable",
    choices: DECIDERS,
    isRepeatable: true,
  },
  "--kind <kind>": {
    description: "Only of this kind; repeatable",
    choices: DECISION_KINDS,
    isRepeatable: true,
  },
  "--pending": {
    description: "Only what is waiting for you: questions, permissions, results, calls in doubt",
    conflicts: ["outcome", "by", "kind"],
  },
  "--all": {
    description:
      "With --pending: from all workspaces that jp knows on this machine, or in the database",
    conflicts: ["conversation"],
  },
  "--mine": "With --pending: only what you may decide",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const SHOW_INQUIRY = {
  "-c, --conversation <target>": {
    description: "Only in this conversation; repeatable",
    isRepeatable: true,
  },
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const ANSWER = {
  "--note <text>": "Add a note, or a reason for saying no",
  "--cancel": "Cancel it instead of answering",
  "--digest <hex>": "Answer only if its digest is still this one; the first 16 digits are enough",
  "--continue": "Continue the turn afterwards",
} as const satisfies Options;

export const EXPORT_ANSWERS = {
  ...TURN_OPTIONS,
  "--answers [file]": "Write answers, permissions and deliveries to this file (default: stdout)",
} as const satisfies Options;

export const USAGE = {
  ...CONFIG_OPTIONS,
  "--by <group>": {
    description: "Group by model, day or conversation",
    choices: ["model", "day", "conversation"],
    default: "model",
  },
  "--from <time>": "Only since then: today, 3d (ago), a date or an ID",
  "--until <time>": "Only before then",
  "--all": "Include all workspaces that you have used, or that the database has",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const LIST_MODELS = {
  ...CONFIG_OPTIONS,
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const SHOW_CONFIG = {
  ...CONFIG_OPTIONS,
  "--explain": "Show where each value comes from and what it overrides",
  "--id <target>": "Include the config that this conversation remembers",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const GET_CONFIG = {
  ...CONFIG_OPTIONS,
  "--id <target>": "Include the config that this conversation remembers",
} as const satisfies Options;

export const SET_CONFIG = {
  "--in <place>": {
    description:
      "File to change: the workspace's (default), your own for this workspace (default without one), or your own for all",
    choices: CONFIG_PLACES,
  },
  "--json": "Parse the value as JSON",
} as const satisfies Options;

export const ATTACHMENT = {
  "--id <target>": "Use this conversation (default: the active one)",
} as const satisfies Options;

export const LIST_ATTACHMENTS = {
  ...CONFIG_OPTIONS,
  ...ATTACHMENT,
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const NOTIFY = {
  ...CONFIG_OPTIONS,
  "--channel <channel>": {
    description: "Only through this channel; repeatable",
    choices: ["command", "webhook"],
    isRepeatable: true,
  },
} as const satisfies Options;

export const TRUST = {
  "-y, --yes": "Trust everything without asking",
  "--id <target>": "Include the config that this conversation remembers (default: the active one)",
  "--forget": "Revoke all trust in this workspace",
} as const satisfies Options;

export const DOCTOR = {
  "--timeout <seconds>": {
    description: "How long to wait for MCP servers to start",
    parse: parseCount,
    default: 15,
  },
  ...FORMAT_OPTIONS,
} as const satisfies Options;
