/** A worker's output: lines for people, or one JSON object per line for programs. */
import type { Output } from "../../../surfaces/terminal/index.ts";
import { assertNever, type Clock, jsonLine, oneLine } from "../../../util/index.ts";

export type LoggedEvent =
  | {
      readonly event: "start";
      readonly workspace: string;
      readonly queue: string;
      readonly concurrency: number;
      /** The workspace's tools on this machine, except those of servers that offer all their tools. */
      readonly tools: readonly string[];
    }
  | { readonly event: "health"; readonly url: string }
  | { readonly event: "turn_start"; readonly conversation: string }
  /** `outcome` is how the turn ended, `passed_on` or `failed`. */
  | {
      readonly event: "turn_end";
      readonly conversation: string;
      readonly outcome: string;
      readonly code?: string;
      readonly message?: string;
    }
  /** A command's notice. */
  | { readonly event: "notice"; readonly conversation: string; readonly message: string }
  /** An error of the worker itself, which keeps running. */
  | {
      readonly event: "problem";
      readonly code?: string;
      readonly message: string;
      readonly hint?: string;
    }
  | { readonly event: "stop"; readonly running: number };

export class WorkerLog {
  readonly #output: Output;
  readonly #format: "text" | "json";
  readonly #clock: Clock;

  constructor(output: Output, format: "text" | "json", clock: Clock) {
    this.#output = output;
    this.#format = format;
    this.#clock = clock;
  }

  write(logged: LoggedEvent): void {
    if (this.#format === "text") return this.#output.notice(oneLine(textOf(logged)));
    const time = this.#clock.now().toISOString();
    const level = levelOf(logged);
    this.#output.write(`${jsonLine({ time, level, ...logged })}\n`);
  }
}

function levelOf(logged: LoggedEvent): "info" | "warn" | "error" {
  if (logged.event === "problem") return "warn";
  if (logged.event === "turn_end" && logged.outcome === "passed_on") return "warn";
  return logged.event === "turn_end" && logged.outcome === "failed" ? "error" : "info";
}

function textOf(logged: LoggedEvent): string {
  switch (logged.event) {
    case "start": {
      const { workspace, queue, concurrency, tools } = logged;
      const named = queue === "default" ? "" : ` in the queue ${queue}`;
      const has = tools.length === 0 ? "no tools" : `the tools ${tools.join(", ")}`;
      return `Running the turns of ${workspace}${named} with ${has}, at most ${concurrency} at once. Ctrl-C to stop.`;
    }
    case "health":
      return `Health and metrics: ${logged.url}`;
    case "turn_start":
      return `${logged.conversation}: Continuing the turn.`;
    case "turn_end":
      return `${logged.conversation}: ${endOf(logged)}`;
    case "notice":
      return `${logged.conversation}: ${logged.message}`;
    case "problem":
      return [`Problem: ${logged.message}`, logged.hint].filter(Boolean).join(" ");
    case "stop": {
      const { running } = logged;
      if (running === 0) return "Stopping.";
      return `Stopping. ${running === 1 ? "1 turn is" : `${running} turns are`} still running.`;
    }
    default:
      return assertNever(logged);
  }
}

function endOf({ outcome, message = "" }: Extract<LoggedEvent, { event: "turn_end" }>): string {
  switch (outcome) {
    case "waiting":
      return "The turn is waiting for an answer.";
    case "interrupted":
      return "The turn is left to another worker.";
    case "cycle_limit":
      return "The turn has reached its limit of requests, and stays as it is.";
    case "passed_on":
      return `The turn is left to another worker: ${message}`;
    case "failed":
      return `The turn could not go on: ${message}`;
    default:
      return "The turn is complete.";
  }
}
