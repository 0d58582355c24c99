/** Where a turn asks by itself: a program's prompter, the form of an MCP client, and a file of answers. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Prompter, PromptResult } from "../../src/core/agent/index.ts";
import { AnswersFile } from "../../src/assemble/index.ts";
import { createElicitationPrompter, type Form } from "../../src/surfaces/serve-mcp/elicitation.ts";
import { temporaryFolder } from "../../src/stores/temporary-workspace.fixture.ts";
import { isJpError, type JsonObject } from "../../src/util/index.ts";
import {
  eventsIn,
  type Kind,
  KINDS,
  OTHER_DIGEST,
  REPLIES,
  type ReplyName,
  type Scene,
  TOO_LONG_MS,
} from "./matrix-scene.ts";
import {
  each,
  type Exception,
  LEFT,
  OPEN_QUESTIONS,
  QUESTIONS,
  resumeWith,
  type Surface,
  user,
  VOTES,
} from "./matrix-surface.ts";
import { refused, TABLE } from "./matrix-table.ts";

/** A prompter that returns what does not fit is broken, and the question ends. */
const BROKEN: readonly Exception[] = [
  { kinds: OPEN_QUESTIONS, replies: ["no", "no_with_note"], cell: refused("backend_error") },
  {
    kinds: ["boolean", "acting", "several", "permission", "delivery"],
    replies: ["other"],
    cell: refused("backend_error"),
  },
];

export const prompterSurface: Surface = {
  name: "a prompter",
  by: user("chat", "program"),
  exceptions: [
    ...BROKEN,
    {
      kinds: [...QUESTIONS, "in_doubt"],
      replies: ["edited"],
      cell: refused("backend_error"),
    },
    // What the request does not offer is ignored.
    { kinds: QUESTIONS, replies: ["yes_with_note"], cell: (kind) => TABLE[kind].yes },
    { kinds: ["in_doubt"], replies: ["yes_with_note"], cell: TABLE.in_doubt.yes },
    {
      kinds: ["acting", "several", "secret", "delivery", "in_doubt"],
      replies: ["remembered"],
      cell: (kind) => TABLE[kind].yes,
    },
    // It sends no digest, only the id of the request: here that of another one.
    { kinds: KINDS, replies: ["wrong_digest"], cell: refused("backend_error") },
    { kinds: ["secret"], replies: VOTES, cell: refused("backend_error") },
    LEFT,
  ],
  ...each(async (scene) => {
    const { said, reply, clock } = scene;
    const prompter: Prompter = {
      channel: "chat",
      canAsk: () => true,
      canReach: () => true,
      ask: async ({ inquiryId }): Promise<PromptResult> => {
        if (reply === "late") clock.advance(TOO_LONG_MS);
        const id = reply === "wrong_digest" ? (`${inquiryId}x` as typeof inquiryId) : inquiryId;
        return "isCancelled" in said
          ? { inquiryId: id, type: "cancelled", userName: "ada" }
          : { inquiryId: id, type: "answered", ...said, userName: "ada" };
      },
    };
    return resumeWith(scene, { prompter });
  }),
};

/** What is for certain people, or takes more than one: a form may have answered by itself. */
const NEVER_ASKED: readonly ReplyName[] = ["wrong_person", "unsigned", ...VOTES];

/** A form has nothing but an answer. Whatever else a client sends with it is ignored. */
export const mcpSurface: Surface = {
  name: "the form of an MCP client",
  by: () => ({ kind: "user", channel: "mcp:editor", auth: "client" }),
  exceptions: [
    { kinds: KINDS, replies: NEVER_ASKED, cell: refused("waits") },
    { kinds: ["permission", "delivery", "in_doubt"], replies: ["late"], cell: refused("waits") },
    // Some types have no form.
    {
      kinds: ["several", "secret"],
      replies: REPLIES.filter((reply) => reply !== "taken"),
      cell: refused("backend_error"),
    },
    ...BROKEN,
    {
      kinds: KINDS,
      replies: ["yes_with_note", "remembered", "edited", "wrong_digest"],
      cell: (kind) => TABLE[kind].yes,
    },
    { kinds: KINDS, replies: ["no_with_note"], cell: (kind) => TABLE[kind].no },
    { kinds: KINDS, replies: ["cancelled"], cell: refused("declined_by_client") },
  ],
  ...each(async (scene) => {
    const { said, reply, clock } = scene;
    const elicit = async ({ requestedSchema: { properties } }: Form) => {
      if (reply === "late") clock.advance(TOO_LONG_MS);
      if ("isCancelled" in said) return { action: "decline" } as const;
      const { answer, isRemembered: remember, ...extras } = said;
      const isOwn = reply === "other" && scene.kind === "select";
      const content = Object.hasOwn(properties, "answer_other")
        ? { answer_other: answer }
        : { ...extras, remember, digest: OTHER_DIGEST, answer: isOwn ? "Other" : answer };
      return { action: "accept", content } as const;
    };
    const parts = { channel: "mcp:editor", elicit, notation: "titles" } as const;
    return resumeWith(scene, { prompter: createElicitationPrompter(parts) });
  }),
};

/** Someone has written the answer down before the turn is continued. */
export const fileSurface: Surface = {
  name: "an answers file",
  by: (kind) => ({ kind: "answers_file", entry: `${sectionOf(kind)}[0]` }),
  exceptions: [
    // It stands in for whoever names it, but under terms only people count.
    { kinds: KINDS, replies: ["wrong_person"], cell: (kind) => TABLE[kind].yes },
    { kinds: KINDS, replies: [...VOTES, "unsigned"], cell: refused("waits") },
    {
      kinds: KINDS,
      replies: ["remembered", "edited", "wrong_digest", "cancelled"],
      cell: refused("answers_invalid"),
    },
    {
      kinds: ["permission", "delivery"],
      replies: ["yes_with_note", "other"],
      cell: refused("answers_invalid"),
    },
    { kinds: OPEN_QUESTIONS, replies: ["no", "no_with_note"], cell: refused("waits") },
    { kinds: ["boolean", "acting", "several"], replies: ["other"], cell: refused("waits") },
    // What the question does not take is ignored.
    { kinds: KINDS, replies: ["yes_with_note"], cell: (kind) => TABLE[kind].yes },
  ],
  ...each(async (scene) => {
    const { reply, clock } = scene;
    if (reply === "late") clock.advance(TOO_LONG_MS);
    const file = path.join(temporaryFolder(), "answers.json");
    writeFileSync(file, JSON.stringify({ [sectionOf(scene.kind)]: [entryOf(scene)] }));
    try {
      const answers = await AnswersFile.read(file, { PASSWORD: "s3cret" });
      return await resumeWith(scene, { answers });
    } catch (error) {
      if (!isJpError(error)) throw error;
      return { code: error.code, events: await eventsIn(scene) };
    }
  }),
};

function sectionOf(kind: Kind): string {
  if (kind === "permission") return "permissions";
  return kind === "delivery" ? "deliveries" : "answers";
}

function entryOf({ kind, reply, said }: Scene): JsonObject {
  if ("isCancelled" in said) return { tool: "pay", cancel: true };
  const { answer, note, isRemembered, content, arguments: edited } = said;
  const extras = {
    ...(isRemembered === true && { remember: true }),
    ...(content !== undefined && { content }),
    ...(edited !== undefined && { edited }),
    ...(reply === "wrong_digest" && { digest: OTHER_DIGEST }),
  };
  if (kind === "permission" || kind === "delivery") {
    const decision = answer === true ? "approve" : answer === false ? "deny" : answer;
    return { tool: "pay", decision, ...(note !== undefined && { reason: note }), ...extras };
  }
  const given =
    kind === "secret" && typeof answer === "string" ? { secret_env: "PASSWORD" } : { answer };
  const question = kind === "in_doubt" ? "rerun" : "q";
  return { tool: "pay", question, ...given, ...(note !== undefined && { note }), ...extras };
}
