/** The official server, loaded when it is wanted: it takes a tenth of a second. */
import type * as server from "@modelcontextprotocol/server";

export type Sdk = typeof server;

export function loadSdk(): Promise<Sdk> {
  return import("@modelcontextprotocol/server");
}
