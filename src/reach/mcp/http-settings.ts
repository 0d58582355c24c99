/** The address and headers of a server, from its settings and the environment. */
import type { McpServerSettings } from "../../settings/config/index.ts";
import { McpError } from "./mcp-error.ts";
import type { Variables } from "./port.ts";

type HttpSettings = Extract<McpServerSettings, { readonly type: "http" }>;

const VARIABLE = /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

/** Throws `mcp_invalid_address`. */
export function parseUrl({ name, url }: HttpSettings): URL {
  const address = URL.parse(url);
  const isUsable = address?.protocol === "http:" || address?.protocol === "https:";
  if (address !== null && isUsable && address.username === "" && address.password === "") {
    return address;
  }
  throw new McpError("mcp_invalid_address", `providers.mcp.${name}.url is not a valid URL.`, {
    hint: "It must start with https:// or http:// and have no user name or password; use headers.",
  });
}

/** Expands `$NAME` and `${NAME}` from the environment. Errors never contain the value of a variable. */
export function serverHeaders(settings: HttpSettings, variables: Variables): Headers {
  const headers = new Headers();
  for (const [header, template] of Object.entries(settings.headers)) {
    const key = `providers.mcp.${settings.name}.headers.${header}`;
    const value = template.replaceAll(VARIABLE, (_, braced?: string, bare?: string) =>
      getVariable(braced ?? bare ?? "", variables, key),
    );
    try {
      headers.set(header, value);
    } catch {
      // No cause: it would quote the value.
      throw new McpError("mcp_invalid_header", `${key} is not a valid HTTP header.`, {
        hint: "A header needs a name without spaces and a value on one line.",
      });
    }
  }
  return headers;
}

/** The names of the variables in headers. */
export function variablesIn(headers: Readonly<Record<string, string>>): readonly string[] {
  const templates = Object.values(headers);
  const names = templates.flatMap((template) =>
    [...template.matchAll(VARIABLE)].map(([, braced, bare]) => braced ?? bare ?? ""),
  );
  return [...new Set(names)];
}

function getVariable(name: string, variables: Variables, key: string): string {
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value !== undefined) return value;
  throw new McpError("mcp_variable_unset", `${key} needs the variable ${name}, which is not set.`, {
    hint: `Set ${name}, or remove it from the header.`,
  });
}

/** A configured Authorization header replaces the user's login. */
export function usesLogins(settings: McpServerSettings): settings is HttpSettings {
  if (settings.type !== "http") return false;
  return !Object.keys(settings.headers).some((name) => name.toLowerCase() === "authorization");
}
