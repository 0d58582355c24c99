/** The dependencies of a server, provided by the program that runs it. */
import type * as server from "@modelcontextprotocol/server";
import type { Prompter, Toolbox } from "../../core/agent/index.ts";
import type { ConversationStore, WorkspaceCreateOptions } from "../../stores/index.ts";
import { type Clock, type JsonObject, loadModule } from "../../util/index.ts";

/** The only tool offered besides the list of inquiries. */
export const ASK_USER = "ask_user";

export interface ServeSetup {
  readonly version: string;
  readonly conversations: ConversationStore;
  /** For conversations that record clients' questions. */
  readonly newConversation: Omit<WorkspaceCreateOptions, "title">;
  /** Only `ask_user` is offered, if it is enabled. */
  readonly tools: Toolbox;
  readonly readInquiries: ReadInquiries;
  /** Asked when a client cannot show forms. */
  readonly person: Prompter;
  readonly clock: Clock;
  /** Reports an error that no client receives. One line of untrusted text. Must not throw. */
  readonly onProblem: (message: string) => void;
}

/** Inquiries as printed by `jp inquiry ls --format json`, in recorded order. May throw `JpError`. */
export type ReadInquiries = (filter: InquiryFilter) => AsyncIterable<JsonObject>;

/** An absent field matches everything. */
export interface InquiryFilter {
  /** Targets, as on the command line. */
  readonly conversation?: readonly string[];
  readonly kind?: readonly string[];
  readonly outcome?: readonly string[];
  readonly by?: readonly string[];
}

export type Sdk = typeof server;

export function loadSdk(): Promise<Sdk> {
  return loadModule(() => import("@modelcontextprotocol/server"));
}
