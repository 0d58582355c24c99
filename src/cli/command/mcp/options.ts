/** The options of `jp mcp`. */
import {
  CONFIG_OPTIONS,
  CONFIG_PLACES,
  FORMAT_OPTIONS,
  type Options,
  parsePort,
} from "../../options.ts";

const PLACES = "the workspace's, your own for this workspace, or your own for all";

export const ADD_SERVER = {
  "--in <place>": {
    description: `File to add it to: ${PLACES}`,
    choices: CONFIG_PLACES,
    default: "user",
  },
  "--env <name>": {
    description: "Pass this environment variable to the server; repeatable",
    isRepeatable: true,
  },
  "--header <header>": {
    description: "Send this header, such as 'Authorization: Bearer $TOKEN'; repeatable",
    isRepeatable: true,
  },
  "--optional": "Only a warning of `jp doctor` if the server does not start",
  "--no-tools": "Do not offer its tools until you configure them one by one",
  "--force": "Replace a server of the same name",
} as const satisfies Options;

export const LIST_SERVERS = {
  ...CONFIG_OPTIONS,
  ...FORMAT_OPTIONS,
} as const satisfies Options;

export const LOG_IN = {
  ...CONFIG_OPTIONS,
  "--scope <scope>": {
    description: "Ask for this scope as well, such as one that a server has missed; repeatable",
    isRepeatable: true,
  },
  "--authorization-server <url>": "Log in at this address only",
  "--client-secret-env <name>": "Take the secret of your own client from this variable",
  "--no-browser": "Only print the link",
} as const satisfies Options;

export const LOG_OUT = CONFIG_OPTIONS;

export const REMOVE_SERVER = {
  "--in <place>": {
    description: `File to remove it from (default: the only one that has it): ${PLACES}`,
    choices: CONFIG_PLACES,
  },
} as const satisfies Options;

export const SERVE_MCP = {
  ...CONFIG_OPTIONS,
  "--http": "Listen on this machine for any number of clients, instead of using stdin",
  "--port <number>": {
    description: "Port to listen on (default: any free port)",
    parse: parsePort,
  },
  "--token-env <name>": "Take the client token from this variable, instead of generating one",
  "--non-interactive": "Never prompt on this terminal",
} as const satisfies Options;
