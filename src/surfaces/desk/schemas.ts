/** The schemas of the API's JSON. Responses may have unlisted fields: those of the record. */
import * as v from "valibot";
import { RIGHTS } from "../../settings/people/index.ts";
import {
  codes,
  decider,
  decision,
  kind,
  object,
  outcome,
  question,
  time,
  vote,
} from "./decision-schema.ts";
import type { ResponseSpec } from "./operation.ts";
import type {
  ConversationJson,
  ConversationPart,
  DecisionJson,
  DeskUser,
  KeyChangeJson,
  Page,
  PersonJson,
} from "./wire.ts";

export { kind };

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
    reason: v.pipe(
      v.exactOptional(v.string()),
      v.description(
        "For `does_not_fit` and `not_for_you`: the code of why the answer does not count.",
      ),
    ),
  }),
});

/** The schemas that the OpenAPI document refers to by name. */
export const NAMED = { decision, question, vote, outcome, decider, conversation, error };

const person = {
  id: v.exactOptional(v.string()),
  name: v.string(),
  rights: v.array(v.picklist(RIGHTS)),
};

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
const id = v.pipe(v.string(), v.description("Never given to anyone else."));
const known = { id: v.exactOptional(id), name: v.string(), roles: v.array(v.string()) };
const keyChange = v.pipe(
  v.looseObject({
    at: v.string(),
    what: v.string(),
    person_id: v.string(),
    name: v.string(),
    by: v.pipe(
      object,
      v.description(
        "`channel`: `cli` with an `os_user`, or `desk` with the `person_id` and `name` of who did it.",
      ),
    ),
    key: v.exactOptional(v.string()),
    key_type: v.exactOptional(v.string()),
    rp_id: v.exactOptional(v.string()),
    replaced: v.exactOptional(v.string()),
    allowed_by: v.pipe(
      v.exactOptional(v.string()),
      v.description("`link`, or the id of the passkey that signed."),
    ),
  }),
  v.description("A key was added, replaced or removed, as in `jp serve people log --format json`."),
) satisfies v.GenericSchema<unknown, KeyChangeJson>;
const confirmation = v.pipe(
  v.exactOptional(v.union([v.string(), v.literal(false)])),
  v.description(
    "For an account that was made at the desk: when it was confirmed, or false. Until then, it decides nothing that names people.",
  ),
);
export const me = v.object({
  ...person,
  known: v.pipe(
    v.exactOptional(
      v.object({
        ...known,
        confirmed: confirmation,
        is_owner: v.pipe(
          v.exactOptional(v.boolean()),
          v.description("Known by the OS user that runs the desk, not by a token."),
        ),
        stands_in_for: v.pipe(
          v.exactOptional(v.array(v.object(known))),
          v.description("Those who are away now, and in whose place they decide."),
        ),
      }),
    ),
    v.description("Who they are for what is for a role. Absent if no one knows them."),
  ),
  no_people: v.pipe(
    v.exactOptional(v.boolean()),
    v.description("No people are known, so that what takes people waits."),
  ),
  owner_alone: v.pipe(
    v.exactOptional(v.boolean()),
    v.description("Then whoever uses the machine stands in for them."),
  ),
  key_changes: v.pipe(
    v.exactOptional(v.array(keyChange)),
    v.description("Changes of the caller's keys in the last 30 days, newest first."),
  ),
  runs: v.pipe(v.boolean(), v.description("Whether turns continue once they are answered.")),
}) satisfies v.GenericSchema<unknown, DeskUser>;
export const people = v.object({
  items: v.array(
    v.object({
      ...person,
      roles: v.pipe(v.array(v.string()), v.description("What they decide for others.")),
      made_by: v.pipe(
        v.exactOptional(v.array(v.string())),
        v.description(
          "For an account that was made at the desk, the ids of its maker, of whoever made the maker at the desk, and so on.",
        ),
      ),
      confirmed: confirmation,
      may_confirm: v.pipe(
        v.boolean(),
        v.description("Whether it is not confirmed yet, and the caller may do so."),
      ),
    }),
  ),
}) satisfies v.GenericSchema<unknown, { readonly items: readonly PersonJson[] }>;
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
export const changed = v.object({ type: v.literal("changed") });
export const confirmed = v.object({ type: v.literal("confirmed") });
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
const wasRecorded = [
  v.object({
    type: v.literal("recorded"),
    notice: v.pipe(
      v.exactOptional(v.string()),
      v.description("For the person: what has to happen before the turn continues."),
    ),
  }),
  v.object({
    type: v.pipe(
      v.literal("counted"),
      v.description("Others have to say the same before anything is decided."),
    ),
    count: v.pipe(v.number(), v.description("How many have said the same.")),
    quorum: v.pipe(v.number(), v.description("How many have to.")),
  }),
] as const;
export const recorded = v.union(wasRecorded);
export const file = v.pipe(v.string(), v.metadata({ format: "binary" }));
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

const answerOf = {
  workspace: v.exactOptional(v.string()),
  conversation: v.string(),
  id: v.string(),
  status: v.pipe(v.number(), v.description("The status that the answer would have alone.")),
};
export const answers = v.object({
  items: v.array(v.intersect([v.looseObject(answerOf), v.union([...wasRecorded, conflict])])),
});

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
/** Responses of every operation that needs a login or has parameters. */
export const COMMON_RESPONSES: Readonly<Record<number, ResponseSpec>> = {
  400: { description: "The request is not valid.", schema: error },
  401: { description: "Without a valid token or session.", schema: error },
  403: { description: "This person may not.", schema: error },
  503: {
    description: "The desk has too much to do: wait as long as `Retry-After` says.",
    schema: error,
  },
};
