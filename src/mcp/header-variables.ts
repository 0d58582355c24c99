/** The headers of a server, with `$NAME` and `${NAME}` taken from the environment. */
import type { McpServerSettings } from "../config/index.ts";
import { McpError } from "./mcp-error.ts";
import type { Variables } from "./server-environment.ts";

type HttpSettings = Extract<McpServerSettings, { type: "http" }>;

const VARIABLE = /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

/** Throws `mcp_variable_unset`, `mcp_invalid_header`; no value of a variable is in a message. */
export function serverHeaders(settings: HttpSettings, variables: Variables): Headers {
  const headers = new Headers();
  for (const [header, template] of Object.entries(settings.headers)) {
    const value = template.replaceAll(VARIABLE, (_, braced?: string, bare?: string) =>
      variableOf(
        braced ?? bare ?? "",
        variables,
        `providers.mcp.${settings.name}.headers.${header}`,
      ),
    );
    try {
      headers.set(header, value);
    } catch {
      throw invalidHeader(settings.name, header); // The cause would quote the value.
    }
  }
  return headers;
}

function variableOf(name: string, variables: Variables, place: string): string {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value !== undefined) return value;
  throw new McpError(
    "mcp_variable_unset",
    `${place} needs the variable ${name}, which is not set.`,
    {
      hint: `Set ${name}, or take it out of the header.`,
    },
  );
}

function invalidHeader(name: string, header: string): McpError {
  return new McpError(
    "mcp_invalid_header",
    `providers.mcp.${name}.headers.${header} cannot be sent as a header.`,
    { hint: "A header has a name without spaces and a value of one line." },
  );
}
