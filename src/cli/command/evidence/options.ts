/** The options of `jp evidence`. */
import { DECIDERS } from "../../../record/conversation/index.ts";
import { FORMAT_OPTIONS, formatOptions, type Options, parseCount } from "../../options.ts";

export const SELECTION = {
  "-c, --conversation <target>": {
    description: "Only this conversation; repeatable",
    isRepeatable: true,
  },
  "--since <time>": "Only conversations that have changed since: 3d, 2026-01-31, …",
} as const satisfies Options;

export const EXPORT = {
  ...SELECTION,
  "--content": "With what was asked, answered and done, and not only its digests",
  "-o, --output <file>": "Write to this file, which must not exist (default: print)",
} as const satisfies Options;

export const VERIFY = {
  "--key <key>": "Key that must have signed it: its ID, or a public key in a PEM file",
  "--tsa-cert <file>": "Certificates of the authorities that time stamps must come from",
  "--git <folder>": "Clone of the repository that must have the anchors",
  "--seen": "Fail if a turn is older than this machine had seen it before the export",
  "--strict": "Fail if the owner of the machine stood in for people",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

/** The usual size of an audit sample. */
const SAMPLE = 25;

export const REPORT = {
  ...SELECTION,
  "--sample <count>": {
    description: "How many decisions to choose",
    parse: parseCount,
    default: SAMPLE,
  },
  "--seed <text>": {
    description: "Choose by this text, such as one from the auditor",
    default: "",
  },
  "--by <who>": {
    description: "Only decided by this party; repeatable",
    choices: DECIDERS,
    isRepeatable: true,
  },
  "--key <key>": "Key that must have signed the file",
  ...formatOptions("markdown", "csv"),
} as const satisfies Options;

export const KEY = formatOptions("text", "json", "pem");
