/**
 * The fields of every event in `events.json`, as jp writes them. `test/events-schema.test.ts` compares them with the codec
 * in both directions. What a decision has on every surface is described with the desk's API.
 */
import * as v from "valibot";
import type { EventType } from "../../src/record/conversation/event.ts";
import {
  codes,
  decider,
  decision,
  object,
  question,
  time,
} from "../../src/surfaces/desk/decision-schema.ts";

const text = v.string();
const json = v.any();
const optionalText = v.exactOptional(text);
const optionalFlag = v.exactOptional(v.literal(true));
const optionalCount = v.exactOptional(v.pipe(v.number(), v.minValue(0)));
const present = v.pipe(json, v.description("Any JSON."));

const result = v.looseObject({
  content: text,
  is_error: v.boolean(),
  blocks: v.exactOptional(v.array(object)),
  added: v.exactOptional(v.looseObject({ before: v.number(), after: v.number() })),
  is_json: optionalFlag,
});

const files = v.array(v.looseObject({ path: text, change: v.picklist(["restored", "removed"]) }));

const action = v.picklist(["run", "deliver", "rerun"]);
const decided = v.picklist(["approved", "denied", "edited"]);

const { for: person, for_any, terms, person_ids } = decision.entries;
const whom = { for: person, for_any, terms, person_ids };

const { takes, replaces, origin, folder, outside, digest, deadline } = decision.entries;

const subject = {
  rung: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  deadline,
  ...whom,
  takes,
  replaces,
  person: optionalFlag,
  origin,
  folder,
  outside,
  digest,
  subject_version: v.exactOptional(v.number()),
  subject_parts: v.exactOptional(v.record(text, text)),
  traceparent: optionalText,
};

/** The fields of a person's answer. Newer versions sign and grant in other ways. */
const answered = {
  redirects: optionalFlag,
  grant: v.exactOptional(json),
  signature: v.exactOptional(json),
  digest: optionalText,
};

/** Without `outcome`, in records that the Rust original has saved, it is an answer. */
const outcome = {
  outcome: v.exactOptional(v.picklist(["answered", "redacted", "cancelled"])),
  id: text,
  answer: present,
  other: optionalFlag,
  note: optionalText,
  answer_reason: optionalText,
  answered_by: v.exactOptional(decider),
  reason: optionalText,
  problem: optionalText,
};

/** By type: the fields besides `timestamp`, `type` and `metadata`. */
export const EVENT_FIELDS = {
  turn_start: {},
  chat_request: {
    content: text,
    schema: v.exactOptional(object),
    author: optionalText,
    started_by: optionalText,
    checked: optionalFlag,
    correction: optionalText,
    replaces: optionalFlag,
    undone: v.exactOptional(files),
    steering: optionalFlag,
  },
  chat_response: { message: optionalText, reasoning: optionalText, data: v.exactOptional(json) },
  tool_call_request: { id: text, name: text, arguments: object },
  tool_call_response: { id: text, ...v.omit(result, ["blocks"]).entries },
  inquiry_request: {
    id: text,
    source: v.looseObject({ source: text, name: optionalText }),
    question,
    tool_call_id: optionalText,
    question_id: optionalText,
    state: optionalText,
    bound: optionalFlag,
    ...subject,
  },
  inquiry_escalation: { ...outcome, deadline },
  inquiry_response: { ...outcome, ...answered },
  permission_request: {
    id: text,
    tool_call_id: text,
    tool: text,
    action,
    arguments: v.exactOptional(object),
    edited: optionalFlag,
    result: v.exactOptional(result),
    check: optionalText,
    ...subject,
  },
  permission_decision: {
    id: optionalText,
    tool_call_id: text,
    tool: text,
    action: v.exactOptional(action),
    decision: decided,
    arguments: v.exactOptional(object),
    result: v.exactOptional(result),
    check: optionalText,
    decided_by: decider,
    reason: optionalText,
    cause: optionalText,
    problem: optionalText,
    ...answered,
  },
  decision_void: { id: text, changed: codes },
  decision_vote: {
    id: text,
    tool_call_id: optionalText,
    by: decider,
    decision: v.exactOptional(decided),
    result: v.exactOptional(result),
    answer: v.exactOptional(json),
    note: optionalText,
    digest: optionalText,
    signature: v.exactOptional(json),
  },
  attempt_start: { tool_call_id: text, is_idempotent: optionalFlag, ...whom },
  tool_step: {
    tool_call_id: text,
    call_index: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(1))),
    name: text,
    result: v.exactOptional(json),
    failure: optionalText,
  },
  reply_failure: { code: text },
  turn_resume: {},
  turn_end: {
    reason: v.picklist(["done", "stopped", "discarded"]),
    cause: v.exactOptional(v.picklist(["length", "refused", "invalid_data"])),
    problem: optionalText,
  },
  reply_sources: {
    sources: v.array(
      v.looseObject({
        url: optionalText,
        title: optionalText,
        filename: optionalText,
        media_type: optionalText,
      }),
    ),
  },
  reply_file: {
    media_type: text,
    digest: v.pipe(text, v.regex(/^[0-9a-f]{64}$/)),
    size: v.pipe(v.number(), v.integer()),
  },
  token_usage: {
    model: text,
    purpose: text,
    inquiry_id: optionalText,
    requests: optionalCount,
    input: optionalCount,
    cached_input: optionalCount,
    cache_writes: optionalCount,
    output: optionalCount,
    reasoning: optionalCount,
    cost: optionalCount,
  },
  turn_undo: { turn: time, files, hides_turn: optionalFlag, forced: optionalFlag },
} as const satisfies Record<EventType, v.ObjectEntries>;

/** The values that several events have, by the name of their definition. */
export const SHARED_VALUES = { decider, question, result };
