/** The desk's API and the logic of its page, as surfaces on which people decide. */
import { DeskClient, DeskError } from "../../src/surfaces/desk/client.ts";
import { createDesk } from "../../src/surfaces/desk/index.ts";
import { type Draft, isMine, newDraft, toReply } from "../../src/surfaces/desk/page/draft.ts";
import { type Item, readItem } from "../../src/surfaces/desk/page/item.ts";
import { bearer, ServedDesk } from "../../src/surfaces/desk/served.fixture.ts";
import type { DeskUser } from "../../src/surfaces/desk/wire.ts";
import { STRANGER_CODES } from "../../src/record/conversation/index.ts";
import { KnownPeople } from "../../src/assemble/people.fixture.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/util/index.ts";
import { eventsIn, OTHER_DIGEST, PEOPLE, type Scene, TOO_LONG_MS } from "./matrix-scene.ts";
import { type Answer, NOT_EDITABLE, type Surface, user, whileLive } from "./matrix-surface.ts";
import { decides, refused, TABLE } from "./matrix-table.ts";

/** Each decision is in a workspace of its own. Ada has a token. */
async function openDesk(scenes: readonly Scene[]) {
  const workspaces = scenes.map(({ reply, store }) => ({ root: reply, conversations: store }));
  const clock = new FakeClock();
  clock.advance(TOO_LONG_MS); // Only what comes too late has a deadline.
  const directory = new KnownPeople("ada", PEOPLE);
  const desk = await createDesk(workspaces, { clock, directory });
  const served = await ServedDesk.start({ desk, directory, clock });
  return { served, token: await served.addPerson("ada") };
}

/** What the API calls them. */
const CODES: Readonly<Record<string, string>> = {
  already_answered: "taken",
  already_counted: "repeated",
};

function codeOf({ code = "", reason }: { readonly code?: string; readonly reason?: string }) {
  return reason ?? CODES[code] ?? code;
}

export const apiSurface: Surface = {
  name: "the desk's API",
  by: user("desk", "token"),
  // Arguments are not even part of a request.
  exceptions: [{ ...NOT_EDITABLE, cell: refused("invalid_request") }],
  open: async (scenes) => {
    const { served, token } = await openDesk(scenes);
    return answerBy(async (scene) => {
      const { item, reply } = scene;
      const path = `/conversations/${item.conversation}/inquiries/${encodeURIComponent(item.id)}`;
      const operation = "isCancelled" in scene.said ? "cancel" : "answer";
      const { status, json } = await served.send(`${path}/${operation}?workspace=${reply}`, {
        method: "POST",
        headers: bearer(token),
        body: bodyOf(scene),
      });
      const { error, type } = json;
      if (status === 200 && typeof type === "string") return type;
      return codeOf(isJsonObject(error) ? error : {});
    });
  },
};

function answerBy(send: (scene: Scene) => Promise<string>): Answer {
  return async (scene) => ({
    code: await whileLive(scene, () => send(scene)),
    events: await eventsIn(scene),
  });
}

function bodyOf({ said, reply, item }: Scene): JsonObject {
  const digest = reply === "wrong_digest" ? OTHER_DIGEST : (item.digest ?? "");
  if ("isCancelled" in said) return { digest };
  const { answer, note, isRemembered: remember, content, arguments: edited } = said;
  return {
    answer,
    digest,
    ...(note !== undefined && { note }),
    ...(remember !== undefined && { remember }),
    ...(content !== undefined && { content }),
    ...(edited !== undefined && { arguments: edited }),
  };
}

/** Of what has no field on the page, nothing is sent. */
export const pageSurface: Surface = {
  name: "the desk's page",
  by: user("desk", "token"),
  exceptions: [
    {
      kinds: ["acting", "several", "secret", "delivery", "in_doubt"],
      replies: ["remembered"],
      cell: (kind) => TABLE[kind].yes,
    },
    {
      kinds: ["boolean", "acting", "select", "several", "text", "secret", "in_doubt"],
      replies: ["yes_with_note", "edited"],
      cell: (kind) => TABLE[kind].yes,
    },
    { kinds: ["permission"], replies: ["edited"], cell: TABLE.permission.yes },
    {
      kinds: ["boolean", "acting", "several", "permission", "delivery"],
      replies: ["other"],
      cell: refused("incomplete"),
    },
    { kinds: ["select"], replies: ["no", "no_with_note"], cell: refused("incomplete") },
    // None of the options, and what is typed, are answers.
    { kinds: ["several"], replies: ["no", "no_with_note"], cell: decides({ answer: [] }) },
    { kinds: ["text"], replies: ["no", "no_with_note"], cell: decides({ answer: "no" }) },
    { kinds: ["secret"], replies: ["no", "no_with_note"], cell: TABLE.secret.yes },
  ],
  open: async (scenes) => {
    const { served, token } = await openDesk(scenes);
    const client = new DeskClient({ url: served.service.apiUrl, token });
    const me = await client.me();
    return answerBy(async (scene) => {
      const { conversation, id } = scene.item;
      const json = await client.inquiry({ workspace: scene.reply, conversation, id });
      const item = readItem(json);
      if (item === undefined) throw new Error("the page cannot read it");
      const code = await sendAs(client, scene, item);
      assertShown(item, me, code);
      return code;
    });
  },
};

/** The page shows someone whether they may decide before they try. */
function assertShown(item: Item, me: DeskUser, code: string): void {
  if (isMine(item, me) === STRANGER_CODES.has(code)) {
    throw new Error(`the page and the server disagree about who may decide: ${code}`);
  }
}

async function sendAs(client: DeskClient, scene: Scene, item: Item): Promise<string> {
  const { said, reply } = scene;
  const read = reply === "wrong_digest" ? { ...item, digest: OTHER_DIGEST } : item;
  try {
    if ("isCancelled" in said) {
      await client.cancel(read);
      return "recorded";
    }
    const result = toReply(item, draftOf(scene, item));
    if (result.type === "incomplete") return result.type;
    const { answer, ...extras } = result.reply;
    return (await client.answer(read, answer, extras)).type;
  } catch (error) {
    if (!(error instanceof DeskError)) throw error;
    const { code, reason } = error;
    return codeOf({ code, ...(reason !== undefined && { reason }) });
  }
}

/** What the person has typed and chosen. */
function draftOf({ said }: Scene, item: Item): Draft {
  const draft = newDraft(item);
  if ("isCancelled" in said) return draft;
  const { answer, note = "", isRemembered = false, content } = said;
  const extras = { note, isRemembered, ...(content !== undefined && { content }) };
  return { ...draft, ...extras, ...fieldsOf(answer, item) };
}

function fieldsOf(answer: Json, { question: { answerType } }: Item): Partial<Draft> {
  switch (answerType.type) {
    case "boolean":
      return typeof answer === "boolean" ? { truth: answer } : {};
    case "select": {
      const values = [answer].flat();
      const options = answerType.options.map(({ value }) => value);
      const own = values.find((value) => typeof value === "string" && !options.includes(value));
      const chosen = options.flatMap((value, index) => (values.includes(value) ? [index] : []));
      return { chosen, ...(typeof own === "string" && { isOther: true, other: own }) };
    }
    default:
      return { text: typeof answer === "string" ? answer : "no" };
  }
}
