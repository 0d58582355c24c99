/** The official client, loaded when the first server is started: it takes a tenth of a second. */
import type * as client from "@modelcontextprotocol/client";

export type Sdk = typeof client;

export function loadSdk(): Promise<Sdk> {
  return import("@modelcontextprotocol/client");
}
