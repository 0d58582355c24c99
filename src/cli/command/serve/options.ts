/** The options of `jp serve`. */
import { FORMAT_OPTIONS, type Options, parsePort } from "../../options.ts";

export const SERVE = {
  "--host <address>": { description: "Address to listen on", default: "127.0.0.1" },
  "--port <number>": {
    description: "Port to listen on (default: any free port)",
    parse: parsePort,
  },
  "--run": "Continue a turn once its last open question is answered",
  "--all": "Serve all workspaces that jp knows on this machine, or in the database",
  "--tls-cert <file>": "Serve HTTPS with this certificate (PEM)",
  "--tls-key <file>": "Private key of the certificate (PEM)",
  "--origin <url>": "Address that people open, if it differs: behind a proxy or tunnel",
  "--qr": {
    description: "Print the link as a QR code too, also if only this machine can open it",
    conflicts: ["format"],
  },
  "--no-qr": "Print no QR code",
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const ADD_PERSON = {
  "--rights <list>": "What they may do (default: see,answer,approve)",
  "--roles <list>": "What they decide for others, such as finance,operations",
  "--os-user <name>": "Their user name on this machine, for terminals",
} as const satisfies Options;

export const SET_PERSON = {
  "--rights <list>": "What they may do",
  "--roles <list>": "Their roles; an empty list removes all",
  "--os-user <name>": "Their user name on this machine; an empty one removes it",
} as const satisfies Options;

export const AWAY = {
  "--to <person>": { description: "Who decides in their place", isRequired: true },
  "--until <time>": {
    description: "A date (2026-01-31, 2026-01-31T09:00), or how long (3d)",
    isRequired: true,
  },
} as const satisfies Options;

export const LINK = {
  // Not `isRequired`: it is also one of `jp serve`, which takes it first.
  "--origin <url>": "Address of the page, as they open it (required)",
} as const satisfies Options;

export const ADD_KEY = {
  "--ssh-agent [fingerprint]": {
    description: "A key of the SSH agent; the fingerprint may be left out if it has only one",
    conflicts: ["file", "new"],
  },
  "--file <path>": { description: "A key in a file of yours", conflicts: ["new"] },
  "--new": "Make a key, in a file that only you can read",
} as const satisfies Options;
