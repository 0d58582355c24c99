/**
 * MCP over the standard streams of a process group. The SDK's own transport ends only the process it
 * started, passes variables on that nobody named, and asks a second process for its version.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isOverWithin } from "./is-over-within.ts";
import { LineSplitter } from "./line-splitter.ts";
import { LineTail } from "./line-tail.ts";
import { ProcessGroup, type Program } from "./process-group.ts";
import type { Sdk } from "./sdk.ts";

const ENDING_MS = 500;

export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #sdk: Sdk;
  readonly #program: Program;
  readonly #tail = new LineTail();
  readonly #splitter = new LineSplitter();
  #starting: Promise<ProcessGroup> | undefined;
  #group: ProcessGroup | undefined;
  #delivered: Promise<void> = Promise.resolve();
  #fault: string | undefined;
  #isClosed = false;

  constructor(sdk: Sdk, program: Program) {
    this.#sdk = sdk;
    this.#program = program;
  }

  /** By `stderr` and `pid` the SDK knows that silence on its first question means an old server. */
  get stderr(): readonly string[] {
    return this.#tail.lines;
  }

  get pid(): number | null {
    return this.#group?.pid ?? null;
  }

  /** What ended it, unless it still runs or was closed from here. */
  get ending(): string | undefined {
    return this.#fault ?? (this.#isClosed ? undefined : this.#group?.ending);
  }

  async start(): Promise<void> {
    this.#starting = ProcessGroup.start(this.#program);
    const group = await this.#starting;
    this.#group = group;
    group.onErrorOutput((text) => this.#tail.add(text));
    group.onOutput((piece) => this.#read(piece));
    void group.over.then(() => this.#delivered).then(() => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const group = this.#group;
    if (group === undefined) throw new Error("the program was not started");
    try {
      await group.write(this.#sdk.serializeMessage(message));
    } catch (error) {
      await isOverWithin(group.over, ENDING_MS); // How it ended says more than that it cannot read.
      throw error;
    }
  }

  /** Nothing that it started is left then. Never rejects. */
  async close(): Promise<void> {
    this.#fault ??= this.ending;
    this.#isClosed = true;
    const group = await this.#starting?.catch(() => undefined);
    await group?.close();
  }

  /** Closes it for something that the program did. Nothing that it says from now on counts. */
  fail(reason: string): void {
    this.#fault ??= reason;
    void this.close();
  }

  /** One after the other: the SDK forgets of progress that comes together with the answer. */
  #read(piece: Buffer): void {
    if (this.#fault !== undefined) return;
    try {
      for (const line of this.#splitter.add(piece)) {
        this.#delivered = this.#delivered.then(() => this.#deliver(line));
      }
    } catch (error) {
      this.fail(toError(error).message);
    }
  }

  #deliver(line: string): void {
    if (this.#fault !== undefined) return;
    try {
      this.onmessage?.(this.#sdk.deserializeMessage(line));
    } catch (error) {
      this.#tail.addLine(line); // Programs greet on standard output, too.
      this.onerror?.(toError(error));
    }
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
