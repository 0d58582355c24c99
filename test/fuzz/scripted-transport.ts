/** A server of MCP that answers each method with what it was given, whatever that is. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { Json } from "../../src/util/index.ts";

export class ScriptedTransport implements Transport {
  onmessage?: Transport["onmessage"];
  onclose?: Transport["onclose"];
  readonly #results: Readonly<Record<string, Json>>;

  constructor(results: Readonly<Record<string, Json>>) {
    this.#results = results;
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (!("method" in message) || !("id" in message)) return;
    const { id, method } = message;
    const result =
      method === "initialize"
        ? {
            protocolVersion: "2025-06-18",
            capabilities: { tools: {} },
            serverInfo: { name: "scripted", version: "1" },
          }
        : this.#results[method];
    const reply: unknown =
      result === undefined
        ? { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }
        : { jsonrpc: "2.0", id, result };
    queueMicrotask(() => this.onmessage?.(reply as JSONRPCMessage)); // Whatever it is.
  }

  async close(): Promise<void> {
    this.onclose?.();
  }
}
