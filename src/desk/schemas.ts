/** The JSON that the API answers with. What is not listed may come on top: the fields are those of the record. */
import * as v from "valibot";
import type { ResponseSpec } from "./operation.ts";
import { RIGHTS } from "./people.ts";

const decider = v.pipe(
  v.looseObject({ kind: v.string() }),
  v.description("Who decided, as in the record: a person has `kind`, `channel` and `name`."),
);

const time = v.pipe(v.string(), v.description("UTC, as in the record."));

const pending = v.pipe(
  v.looseObject({
    workspace: v.string(),
    conversation: v.string(),
    id: v.string(),
    kind: v.picklist(["question", "permission", "delivery", "in_doubt"]),
    tool: v.string(),
    text: v.string(),
    asked_at: time,
  }),
  v.description("Something that waits: the fields of `jp inquiry ls --pending --format json`."),
);

const inquiry = v.pipe(
  v.looseObject({
    conversation: v.string(),
    id: v.string(),
    question: v.optional(v.looseObject({ text: v.string() })),
    outcome: v.optional(v.string()),
    answered_by: v.optional(decider),
    asked_at: time,
    answered_at: v.optional(time),
  }),
  v.description("A question on record: the fields of `jp inquiry ls --format json`."),
);

const conversation = v.pipe(
  v.looseObject({
    workspace: v.string(),
    id: v.string(),
    state: v.pipe(
      v.optional(v.string()),
      v.description("`running`, `waiting_for_input` and the like; absent after a complete turn."),
    ),
  }),
  v.description("A conversation in a list."),
);

const error = v.looseObject({
  error: v.looseObject({
    code: v.pipe(v.string(), v.description("Does not change between versions.")),
    message: v.pipe(v.string(), v.description("For people.")),
  }),
});

/** The schemas that the OpenAPI document refers to by name. */
export const NAMED = { pending, inquiry, conversation, decider, error };

const person = { name: v.string(), rights: v.array(v.picklist(RIGHTS)) };

export const session = v.object({ csrf: v.string() });
export const me = v.object({
  ...person,
  csrf: v.pipe(v.optional(v.string()), v.description("With a session: for `x-csrf-token`.")),
  runs: v.pipe(v.boolean(), v.description("Whether turns continue once they are answered.")),
});
export const people = v.object({ items: v.array(v.object(person)) });
export const newPerson = v.object({ ...person, token: v.string() });
export const removed = v.object({ type: v.literal("removed") });
export const inquiryItem = v.union([pending, inquiry]);
export const inquiries = pageOf(inquiryItem);
export const conversations = pageOf(conversation);
export const conversationPart = v.object({
  conversation,
  first: v.pipe(v.number(), v.description("The index of the first of these events.")),
  events: v.array(v.looseObject({})),
});
export const recorded = v.object({ type: v.literal("recorded") });
export const started = v.object({ type: v.literal("started") });
export const loggedOut = v.object({ type: v.literal("logged_out") });
export const eventStream = v.pipe(
  v.string(),
  v.description(
    "Server-sent events. `event` is `pending`, `answered`, `conversation` or `reset`, after which " +
      "everything has to be read again. `data` is JSON. Send the last `id` as `Last-Event-ID` to resume.",
  ),
);
export const document = v.looseObject({ openapi: v.string() });

const answered = v.intersect([error, v.looseObject({ answered_by: v.optional(decider) })]);

function pageOf<Item extends v.GenericSchema>(item: Item) {
  return v.object({
    items: v.array(item),
    next: v.pipe(v.optional(v.string()), v.description("The `cursor` of the next page.")),
  });
}

export const NOT_FOUND: ResponseSpec = { description: "Unknown.", schema: error };
export const REFUSED: ResponseSpec = { description: "Not now: see the message.", schema: error };
export const DOES_NOT_FIT: ResponseSpec = {
  description: "The answer does not fit the question: `does_not_fit`.",
  schema: error,
};
export const ANSWERED: ResponseSpec = {
  description: "Someone was faster: `already_answered`.",
  schema: answered,
};
/** Any operation that needs a login, or has parameters, may answer with these. */
export const COMMON_RESPONSES: Readonly<Record<number, ResponseSpec>> = {
  400: { description: "The request is not valid.", schema: error },
  401: { description: "Without a valid token or session.", schema: error },
  403: { description: "This person may not.", schema: error },
};
