/** Who is at the other end of a connection, by its own words. */
import type { ClientCapabilities, Server, ServerContext } from "@modelcontextprotocol/server";
import { oneLine } from "../render/index.ts";
import { isJsonObject } from "../util/index.ts";
import type { Sdk } from "./sdk.ts";

/** `modern`: the protocol since 2026-07-28, where a question is a result and its answer a new request. */
type Era = "legacy" | "modern";

export interface Client {
  /** One short line that is harmless to show. Nothing is known of whether it is true. */
  readonly name: string;
  readonly era: Era;
  /** It can put a form before its user. */
  readonly hasForms: boolean;
  /** It was made before options of a form could have titles of their own. */
  readonly knowsEnumNamesOnly: boolean;
}

const LONGEST_NAME = 60;

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
  return line === "" ? "unnamed client" : line.slice(0, LONGEST_NAME).toWellFormed();
}

/** Forms came first: who declares nothing in particular has these. */
function hasForms(capabilities: ClientCapabilities | undefined): boolean {
  const { elicitation } = capabilities ?? {};
  if (elicitation === undefined) return false;
  return elicitation.form !== undefined || elicitation.url === undefined;
}
