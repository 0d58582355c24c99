/** What a server needs of the program around it. */
import type * as server from "@modelcontextprotocol/server";
import type { Prompter, Toolbox } from "../agent/index.ts";
import type { ConversationStore, CreateOptions } from "../storage/index.ts";
import type { Clock, JsonObject } from "../util/index.ts";

/** The one tool that is offered. */
export const ASK_USER = "ask_user";

export interface ServeSetup {
  readonly version: string;
  readonly conversations: ConversationStore;
  /** How conversations with questions of clients are made. */
  readonly newConversation: Omit<CreateOptions, "title">;
  /** Of these only `ask_user` is offered, if it is among them. */
  readonly tools: Toolbox;
  readonly readInquiries: ReadInquiries;
  /** Who is asked where a client cannot pass a question on. */
  readonly person: Prompter;
  readonly clock: Clock;
  /** Something went wrong that no client is told of. One line of foreign text. Must not throw. */
  readonly onProblem: (message: string) => void;
}

/** In the order of the record, as `jp inquiry ls --format json` prints them. May throw `CodedError`. */
export type ReadInquiries = (filter: InquiryFilter) => AsyncIterable<JsonObject>;

/** Absent means all of them. */
export interface InquiryFilter {
  /** Targets, as on the command line. */
  readonly conversation?: readonly string[];
  readonly outcome?: readonly string[];
  readonly by?: readonly string[];
}

export type Sdk = typeof server;

export function loadSdk(): Promise<Sdk> {
  return import("@modelcontextprotocol/server");
}
