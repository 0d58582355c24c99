/** What a surface is: how it is driven, what cannot be said there, and how the record says what has become of a reply. */
import type { Prompter } from "../../src/core/agent/index.ts";
import type { ConversationEvent, Directory } from "../../src/record/conversation/index.ts";
import { type ResumeOptions, resumeTurn } from "../../src/assemble/index.ts";
import type { ConversationStore } from "../../src/stores/index.ts";
import { ScriptedModel } from "../../src/testing/index.ts";
import type { JsonObject } from "../../src/util/index.ts";
import {
  eventsIn,
  isForRole,
  type Kind,
  KINDS,
  type ReplyName,
  saidIn,
  type Scene,
} from "./matrix-scene.ts";
import { type Cell, refused } from "./matrix-table.ts";

/** What a surface cannot say, or says otherwise, for these kinds and replies. */
export interface Exception {
  readonly kinds: readonly Kind[];
  readonly replies: readonly ReplyName[];
  readonly cell: Cell | ((kind: Kind) => Cell);
}

export interface Surface {
  readonly name: string;
  /** Who has decided, as the record says it. */
  readonly by: (kind: Kind, reply: ReplyName) => JsonObject;
  readonly exceptions: readonly Exception[];
  /** Opens it for these decisions. */
  readonly open: (scenes: readonly Scene[]) => Promise<Answer>;
}

/** Says what the scene is about. Returns the code of what has become of it, and the record. */
export type Answer = (scene: Scene) => Promise<Answered>;

/** For what needs no opening. */
export function each(answer: Answer): Pick<Surface, "open"> {
  return { open: async () => answer };
}

export interface Answered {
  readonly code: string;
  readonly events: readonly ConversationEvent[];
  /** Where the turn goes on, if the surface has a store and people of its own. */
  readonly elsewhere?: { readonly store: ConversationStore; readonly directory: Directory };
}

export const QUESTIONS: readonly Kind[] = [
  "boolean",
  "acting",
  "select",
  "several",
  "text",
  "secret",
];
export const OPEN_QUESTIONS: readonly Kind[] = ["select", "several", "text", "secret"];

export const VOTES: readonly ReplyName[] = ["vote", "second_vote", "last_vote"];

export function user(channel: string, auth: string) {
  return (_kind: Kind, reply: ReplyName) => ({
    kind: "user",
    channel,
    name: "ada",
    auth,
    ...(isForRole(reply) && { role: "finance" }),
  });
}

/** Arguments are checked where the tool runs. */
export const NOT_EDITABLE: Exception = {
  kinds: ["permission"],
  replies: ["edited"],
  cell: refused("not_editable"),
};

/** Secrets reach only a process that asks for them right now. `answer` returns its code. */
export async function whileLive(scene: Scene, answer: () => Promise<string>): Promise<string> {
  if (scene.kind !== "secret" || isForRole(scene.reply) || scene.reply === "taken") return answer();
  const { parts, item, store } = scene;
  const opened = Promise.withResolvers<void>();
  const prompter: Prompter = {
    channel: "held",
    canAsk: () => true,
    ask: async ({ inquiryId, signal }) => {
      opened.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { type: "interrupted", inquiryId };
    },
  };
  const stop = new AbortController();
  await using conversation = await store.open(item.conversation);
  const model = new ScriptedModel({ replies: ["Done."] });
  const turn = resumeTurn(conversation, { ...parts, model, prompter, signal: stop.signal });
  await Promise.race([opened.promise, turn]);
  const code = await answer();
  if (code !== "recorded") stop.abort();
  await turn;
  return code;
}

/** Another process continues the turn, and asks. Returns what the record says. */
export async function resumeWith(scene: Scene, parts: Partial<ResumeOptions>): Promise<Answered> {
  const { store, item, parts: own } = scene;
  await using conversation = await store.open(item.conversation);
  const model = new ScriptedModel({ replies: ["Done.", "Done."] });
  await resumeTurn(conversation, { ...own, model, ...parts });
  const events = await eventsIn(scene);
  return { code: codeInRecord(scene, events), events };
}

const ENDS: Readonly<Record<string, string>> = {
  timed_out: "overdue",
  backend_error: "backend_error",
  prompt_failed: "backend_error",
  declined_by_client: "declined_by_client",
};

/** Where a turn asks, the record alone says what has become of the reply. */
function codeInRecord(scene: Scene, events: readonly ConversationEvent[]): string {
  const last = saidIn(scene, events).at(-1);
  if (last === undefined) return scene.reply === "taken" ? "taken" : "waits";
  if (last.type === "decision_vote") return "counted";
  const isCancelled = last.type === "inquiry_response" && last.outcome === "cancelled";
  const end = last.type === "permission_decision" ? last.cause : isCancelled && last.reason;
  return (typeof end === "string" && ENDS[end]) || "recorded";
}

/** The decision stays as it is, for someone who may make it. */
export const LEFT: Exception = {
  kinds: KINDS,
  replies: ["wrong_person", "unsigned", "second_vote"],
  cell: refused("waits"),
};
