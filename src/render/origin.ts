/** Where a tool comes from, in words, for whoever decides about a call of it. */
import type { Confinement, ToolOrigin } from "../tool/index.ts";
import { assertNever } from "../util/index.ts";
import { verbatim } from "./verbatim.ts";

/** `local command "sh deploy.sh"`: on one line, verbatim, with all names quoted. */
export function describeOrigin(origin: ToolOrigin): string {
  switch (origin.type) {
    case "builtin":
      return `built into jp${describeConfinement(origin)}`;
    case "program":
      return "defined by the program that runs jp";
    case "local":
      return `local command ${quote(origin.command)}`;
    case "mcp": {
      const { server, tool, command } = origin;
      return `MCP server ${quote(server)} (${quote(command)}), tool ${quote(tool)}`;
    }
    default:
      return assertNever(origin);
  }
}

function describeConfinement({ confinement, network }: Confinement): string {
  switch (confinement) {
    case undefined:
      return "";
    case "none":
      return ", not sandboxed";
    case "sandbox":
      return network === true ? ", in the sandbox with a network" : ", in the sandbox";
    default:
      return assertNever(confinement);
  }
}

/** Lines below a call: what would start it, unless that is jp itself, how it is confined, and the folder that it would run in. */
export function originLines(origin: ToolOrigin, folder?: string): readonly string[] {
  const isShown =
    origin.type === "local" ||
    origin.type === "mcp" ||
    (origin.type === "builtin" && origin.confinement !== undefined);
  return sourceLines(isShown ? origin : undefined, folder);
}

/** `Source: …` and `Folder: …`, each if known. */
export function sourceLines(
  origin: ToolOrigin | undefined,
  folder: string | undefined,
): readonly string[] {
  return [
    ...(origin === undefined ? [] : [`Source: ${describeOrigin(origin)}`]),
    ...(folder === undefined ? [] : [`Folder: ${quote(folder)}`]),
  ];
}

function quote(text: string): string {
  return verbatim(JSON.stringify(text));
}
