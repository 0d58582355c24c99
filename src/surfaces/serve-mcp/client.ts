/** The client of a connection or request: its stated name and its capabilities. */
import type { ClientCapabilities, Server, ServerContext } from "@modelcontextprotocol/server";
import { isJsonObject, oneLine } from "../../util/index.ts";
import type { Sdk } from "./setup.ts";

/** `modern`: the protocol since 2026-07-28, where a question is a result and its answer a new request. */
type Era = "legacy" | "modern";

export interface Client {
  /** One short line, safe to show. Chosen by the client and not verified. */
  readonly name: string;
  readonly era: Era;
  /** It can show forms to its user. */
  readonly hasForms: boolean;
  /** It does not support option titles, only `enumNames`. */
  readonly knowsEnumNamesOnly: boolean;
}

const MAX_NAME_LENGTH = 60;

export interface Connection {
  readonly sdk: Sdk;
  readonly server: Server;
  readonly era: Era;
}

export function clientOf({ sdk, server, era }: Connection, { mcpReq }: ServerContext): Client {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const info = era === "modern" ? envelope[sdk.CLIENT_INFO_META_KEY] : server.getClientVersion();
  const capabilities =
    era === "modern" ? envelope[sdk.CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
  return {
    name: nameOf(info),
    era,
    hasForms: hasForms(capabilities as ClientCapabilities | undefined), // Checked by the SDK.
    knowsEnumNamesOnly: server.getNegotiatedProtocolVersion() === "2025-06-18",
  };
}

function nameOf(info: unknown): string {
  const { name } = isJsonObject(info) ? info : {};
  const line = typeof name === "string" ? oneLine(name) : "";
  return line === "" ? "unnamed client" : line.slice(0, MAX_NAME_LENGTH).toWellFormed();
}

/** Forms are the older kind: a client that names no kind supports them. */
function hasForms(capabilities: ClientCapabilities | undefined): boolean {
  const { elicitation } = capabilities ?? {};
  if (elicitation === undefined) return false;
  return elicitation.form !== undefined || elicitation.url === undefined;
}
