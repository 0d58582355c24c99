/** The JSON that the API answers with, as schemas. What is not listed may come on top: the fields are those of the record. */
import * as v from "valibot";
import { DECISION_KINDS, UNDO_FORECASTS } from "../conversation/index.ts";
import type { JsonObject } from "../util/index.ts";
import type { ResponseSpec } from "./operation.ts";
import { RIGHTS } from "../people/index.ts";
import type {
  ConversationJson,
  ConversationPart,
  DeciderJson,
  DecisionJson,
  DeskUser,
  Page,
} from "./wire.ts";

const decider = v.pipe(
  v.looseObject({
    kind: v.string(),
    channel: v.exactOptional(v.string()),
    name: v.exactOptional(v.string()),
    auth: v.exactOptional(v.string()),
    role: v.exactOptional(v.string()),
    model: v.exactOptional(v.string()),
    key: v.exactOptional(v.string()),
    entry: v.exactOptional(v.string()),
  }),
  v.description("Who decided, as in the record: a person has `kind`, `channel` and `name`."),
) satisfies v.GenericSchema<unknown, DeciderJson>;

const time = v.pipe(v.string(), v.description("UTC, as in the record."));
const digest = v.pipe(v.string(), v.description("SHA-256, in hexadecimal digits."));
/** Any object. */
const object = v.record(v.string(), v.any()) satisfies v.GenericSchema<unknown, JsonObject>;

export const kind = v.picklist(DECISION_KINDS);

const origin = v.variant("type", [
  v.looseObject({
    type: v.literal("builtin"),
    confinement: v.pipe(
      v.exactOptional(v.picklist(["sandbox", "none"])),
      v.description("Of a tool that runs commands: how this one is confined."),
    ),
    network: v.pipe(
      v.exactOptional(v.boolean()),
      v.description("In the sandbox: whether it reaches other machines."),
    ),
    undo: v.pipe(
      v.exactOptional(v.picklist(UNDO_FORECASTS)),
      v.description(
        "Of a tool that runs commands: whether what it changes can be undone. `git`: yes, except for files that Git ignores. All others: no.",
      ),
    ),
  }),
  v.looseObject({ type: v.literal("program") }),
  v.looseObject({ type: v.literal("local"), command: v.string() }),
  v.looseObject({
    type: v.literal("mcp"),
    server: v.string(),
    tool: v.string(),
    command: v.string(),
  }),
]);

const source = v.variant("source", [
  v.looseObject({ source: v.picklist(["assistant", "user"]) }),
  v.looseObject({ source: v.picklist(["tool", "other"]), name: v.string() }),
]);

const codes = v.array(v.string());

const decision = v.pipe(
  v.looseObject({
    workspace: v.string(),
    conversation: v.string(),
    id: v.string(),
    kind,
    tool: v.string(),
    tool_call_id: v.exactOptional(v.string()),
    question_id: v.pipe(
      v.exactOptional(v.string()),
      v.description("Of a question that a tool asked: the name that the tool gave it."),
    ),
    label: v.pipe(v.string(), v.description("Who asks, in words.")),
    source: v.exactOptional(source),
    origin: v.pipe(v.exactOptional(origin), v.description("Where the tool comes from.")),
    folder: v.pipe(
      v.exactOptional(v.string()),
      v.description("Where the tool runs, relative to the workspace."),
    ),
    arguments: v.pipe(
      v.exactOptional(object),
      v.description("Of the call, exactly as it would run."),
    ),
    question: v.pipe(
      v.looseObject({ text: v.string(), answer_type: v.any() }),
      v.description("As in the record. Every decision can be put as a question."),
    ),
    acts: v.pipe(
      v.boolean(),
      v.description("A yes makes a tool run or change something: it takes the right `approve`."),
    ),
    digest: v.exactOptional(digest),
    replaces: v.exactOptional(v.string()),
    changed: v.pipe(
      v.exactOptional(codes),
      v.description("What has changed since it was decided before, such as `arguments`."),
    ),
    asked_at: time,
    deadline: v.exactOptional(time),
    for: v.pipe(v.exactOptional(v.string()), v.description("The only person who may decide.")),
    for_any: v.pipe(
      v.exactOptional(
        v.array(v.union([v.object({ user: v.string() }), v.object({ role: v.string() })])),
      ),
      v.description("Several, of whom any may decide: people, and those who have a role."),
    ),
    terms: v.pipe(
      v.exactOptional(
        v.looseObject({
          quorum: v.exactOptional(v.number()),
          refusal: v.exactOptional(v.literal("counts")),
          not_by: v.exactOptional(v.literal("asker")),
          asker: v.exactOptional(v.string()),
          proof: v.exactOptional(v.literal("signed")),
          unknown: v.exactOptional(v.literal(true)),
        }),
      ),
      v.description(
        "What it takes besides: so many people who say the same, of whom none has started the turn, or a signature of each.",
      ),
    ),
    votes: v.pipe(
      v.exactOptional(
        v.array(
          v.looseObject({
            by: decider,
            decision: v.exactOptional(v.string()),
            answer: v.exactOptional(v.any()),
            note: v.exactOptional(v.string()),
            at: time,
          }),
        ),
      ),
      v.description("What people have said so far who decide together."),
    ),
    result: v.pipe(
      v.exactOptional(v.looseObject({ content: v.string(), is_error: v.boolean() })),
      v.description("For a delivery that waits."),
    ),
    check: v.pipe(
      v.exactOptional(v.string()),
      v.description(
        "For a call in doubt: what the tool's own check said. `done`, `not_done`, `unknown`, `failed` or `timed_out`.",
      ),
    ),
    title: v.pipe(v.exactOptional(v.string()), v.description("Of the conversation.")),
    is_live: v.pipe(
      v.exactOptional(v.boolean()),
      v.description("While it waits: whether a process waits for the answer."),
    ),
    outcome: v.pipe(
      v.exactOptional(v.string()),
      v.description(
        "Absent while it is pending. `unanswered` if its turn went on, or ended, without an answer.",
      ),
    ),
    answer: v.exactOptional(v.any()),
    answered_by: v.exactOptional(decider),
    answered_at: v.exactOptional(time),
    answered_digest: v.pipe(v.exactOptional(digest), v.description("Of what was decided.")),
    void: v.pipe(
      v.exactOptional(codes),
      v.description("It does not count, because these have changed since."),
    ),
  }),
  v.description(
    "A question, a permission, a delivery, or a call in doubt: it waits, or is on record.",
  ),
) satisfies v.GenericSchema<unknown, DecisionJson>;

const conversation = v.pipe(
  v.looseObject({
    workspace: v.string(),
    id: v.string(),
    title: v.exactOptional(v.string()),
    state: v.pipe(
      v.exactOptional(v.string()),
      v.description("`running`, `waiting_for_input` and the like; absent after a complete turn."),
    ),
    last_event_at: v.exactOptional(time),
    last_activated_at: v.exactOptional(time),
  }),
  v.description("A conversation in a list."),
) satisfies v.GenericSchema<unknown, ConversationJson>;

const error = v.looseObject({
  error: v.looseObject({
    code: v.pipe(v.string(), v.description("Does not change between versions.")),
    message: v.pipe(v.string(), v.description("For people.")),
  }),
});

/** The schemas that the OpenAPI document refers to by name. */
export const NAMED = { decision, conversation, decider, error };

const person = { name: v.string(), rights: v.array(v.picklist(RIGHTS)) };

export const challenge = v.object({ nonce: v.string() });
export const session = v.object({
  token: v.pipe(
    v.string(),
    v.description("For `Authorization: Session TOKEN`, until the server stops."),
  ),
});
export const newLogin = v.object({
  login: v.pipe(
    v.string(),
    v.description("The page takes it from the fragment of its address: `#login=…`."),
  ),
});
const known = { name: v.string(), roles: v.array(v.string()) };
export const me = v.object({
  ...person,
  known: v.pipe(
    v.exactOptional(
      v.object({
        ...known,
        stands_in_for: v.pipe(
          v.exactOptional(v.array(v.object(known))),
          v.description("Those who are away now, and in whose place they decide."),
        ),
      }),
    ),
    v.description("Who they are for what is for a role. Absent if no one knows them."),
  ),
  decides_all: v.pipe(
    v.exactOptional(v.boolean()),
    v.description("No people are known, so that everyone may decide what is for a role."),
  ),
  runs: v.pipe(v.boolean(), v.description("Whether turns continue once they are answered.")),
}) satisfies v.GenericSchema<unknown, DeskUser>;
export const people = v.object({
  items: v.array(
    v.object({
      ...person,
      roles: v.pipe(v.array(v.string()), v.description("What they decide for others.")),
    }),
  ),
});
export const newPerson = v.object({ ...person, token: v.string() });
export const passkey = v.object({
  id: v.pipe(v.string(), v.description("Of the credential, in base64url.")),
  added: v.string(),
  rp_id: v.pipe(v.string(), v.description("The name of the desk that it works for.")),
});
export const passkeys = v.object({ items: v.array(passkey) });
export const passkeyChallenge = v.object({
  challenge: v.pipe(v.string(), v.description("In base64url.")),
  rp_id: v.string(),
  name: v.pipe(v.string(), v.description("Of the person that it will be of.")),
  known: v.pipe(v.array(v.string()), v.description("Their passkeys so far.")),
});
export const signingRequest = v.object({
  nonce: v.string(),
  challenge: v.pipe(
    v.string(),
    v.description(
      "What to sign, in base64url: SHA-256 over the canonical JSON (RFC 8785) of digest, id, answer, person and nonce.",
    ),
  ),
  rp_id: v.string(),
  credentials: v.array(v.object({ id: v.string(), transports: v.array(v.string()) })),
});
export const removed = v.object({ type: v.literal("removed") });
export const inquiryItem = decision;
export const inquiries = pageOf(decision) satisfies v.GenericSchema<unknown, Page<DecisionJson>>;
export const conversations = pageOf(conversation) satisfies v.GenericSchema<
  unknown,
  Page<ConversationJson>
>;
export const conversationPart = v.object({
  conversation,
  first: v.pipe(v.number(), v.description("The index of the first of these events.")),
  count: v.pipe(v.number(), v.description("How many events the conversation has.")),
  events: v.array(object),
}) satisfies v.GenericSchema<unknown, ConversationPart>;
export const recorded = v.union([
  v.object({ type: v.literal("recorded") }),
  v.object({
    type: v.pipe(
      v.literal("counted"),
      v.description("Others have to say the same before anything is decided."),
    ),
    count: v.pipe(v.number(), v.description("How many have said the same.")),
    quorum: v.pipe(v.number(), v.description("How many have to.")),
  }),
]);
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

const conflict = v.intersect([
  error,
  v.looseObject({
    answered_by: v.exactOptional(decider),
    changed: v.pipe(
      v.exactOptional(codes),
      v.description("For the code `changed`: what differs from what was read, if that is known."),
    ),
  }),
]);

function pageOf<Item extends v.GenericSchema>(item: Item) {
  return v.object({
    items: v.array(item),
    next: v.pipe(v.exactOptional(v.string()), v.description("The `cursor` of the next page.")),
  });
}

export const NOT_FOUND: ResponseSpec = { description: "Unknown.", schema: error };
export const REFUSED: ResponseSpec = { description: "Not now: see the message.", schema: error };
export const DOES_NOT_FIT: ResponseSpec = {
  description:
    "The answer does not fit the question: `does_not_fit`. Another one had the same key: `idempotency_key_reused`.",
  schema: error,
};
export const CONFLICT: ResponseSpec = {
  description:
    "Someone was faster: `already_answered`. The same person has said so: `already_counted`. It is not what was read: `changed`. It was asked in another folder: `other_workspace`.",
  schema: conflict,
};
export const DIGEST_REQUIRED: ResponseSpec = {
  description: "The answer does not say what was read: `digest_required`.",
  schema: error,
};
/** Any operation that needs a login, or has parameters, may answer with these. */
export const COMMON_RESPONSES: Readonly<Record<number, ResponseSpec>> = {
  400: { description: "The request is not valid.", schema: error },
  401: { description: "Without a valid token or session.", schema: error },
  403: { description: "This person may not.", schema: error },
  503: {
    description: "The desk has too much to do: wait as long as `Retry-After` says.",
    schema: error,
  },
};
