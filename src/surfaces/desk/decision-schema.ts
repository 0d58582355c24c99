/**
 * The JSON of a decision. The OpenAPI document is rendered from these schemas, and the types in
 * `surfaces/render/decision-json-types.ts` are generated from them: after a change, run `test/support/decision-types.ts`.
 * `surfaces/render/decision-json.ts` makes the JSON. Newer versions may add fields.
 */
import * as v from "valibot";
import { DECISION_KINDS, UNDO_FORECASTS } from "../../record/conversation/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";

/** Any object. */
export const object = v.record(v.string(), v.any()) satisfies v.GenericSchema<unknown, JsonObject>;
export const time = v.pipe(v.string(), v.description("UTC, as in the record."));
export const codes = v.array(v.string());
export const kind = v.picklist(DECISION_KINDS);
const json = v.any() satisfies v.GenericSchema<unknown, Json>;

function described<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(schema, v.description(description));
}

function optional<Schema extends v.GenericSchema>(schema: Schema, description: string) {
  return v.pipe(v.exactOptional(schema), v.description(description));
}

export const decider = described(
  v.looseObject({
    kind: described(
      v.string(),
      "`user`, `assistant`, `config`, `remembered`, `policy`, `default`, `answers_file` or `tool`.",
    ),
    channel: optional(v.string(), "How a person was reached."),
    scope: optional(v.string(), "`turn`: the answer counts until the turn ends."),
    name: optional(v.string(), "Name of the person."),
    person_id: optional(v.string(), "Permanent ID of the person."),
    auth: optional(v.string(), "How jp knows who answered, such as `os_user` or `token`."),
    role: optional(v.string(), "The role in which the person decided."),
    on_behalf_of: optional(v.string(), "The absent person whom the decider stood in for."),
    model: optional(v.string(), "The model that answered."),
    key: optional(v.string(), "The config key that decided."),
    rules: optional(
      v.array(
        v.looseObject({
          from: described(v.string(), "Where the rule is set, such as `user` or `saved`."),
          key: described(v.string(), "The rule's key or ID there."),
          file: optional(v.string(), "SHA-256 of the file that has the rule."),
          rule: described(object, "The rule as written."),
        }),
      ),
      "The rules that decided, if `kind` is `policy`.",
    ),
    from: optional(v.string(), "ID of the earlier answer that was remembered."),
    entry: optional(v.string(), "The entry of the answers file."),
  }),
  "Who or what decided, as in the record.",
);

const origin = v.variant("type", [
  v.looseObject({
    type: v.literal("builtin"),
    confinement: optional(v.picklist(["sandbox", "none"]), "How a command is confined."),
    network: optional(v.boolean(), "Whether the sandbox has network access."),
    workspace: optional(
      v.literal("read_only"),
      "In the sandbox: the command can change nothing in the workspace.",
    ),
    git: optional(
      v.boolean(),
      "Whether the command may write to `.git`, except for what makes Git run programs.",
    ),
    undo: optional(
      v.picklist(UNDO_FORECASTS),
      "Whether the changes of a command can be undone. `git`: yes, except for files that Git ignores and nested repositories. All others: no.",
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

const addressee = v.union([v.object({ user: v.string() }), v.object({ role: v.string() })]);

export const question = described(
  v.looseObject({
    text: v.string(),
    context: optional(v.string(), "Details to read before answering, such as a diff."),
    answer_type: described(
      v.looseObject({
        type: described(v.string(), "`boolean`, `select`, `text` or `secret`."),
        options: optional(
          v.array(
            v.looseObject({
              value: json,
              title: optional(v.string(), "Shown instead of the value."),
              description: v.exactOptional(v.string()),
              preview: v.exactOptional(v.string()),
            }),
          ),
          "The choices of a `select`.",
        ),
        other: optional(v.boolean(), "An answer may be some other text."),
        multiple: optional(v.boolean(), "The answer is a list of choices."),
      }),
      "The type of the answer.",
    ),
    default: optional(json, "The suggested answer."),
    exclusive: optional(v.boolean(), "Only a person may answer."),
    persistence: optional(v.string(), "`none`: asked every time."),
    note: optional(v.boolean(), "The tool takes a note with the answer."),
    acts: optional(v.boolean(), "The tool says that a yes runs or changes something."),
    remember_as: optional(v.string(), "The tool's label for what a remembered answer covers."),
    for: optional(
      v.union([addressee, v.array(addressee)]),
      "Whom the tool itself wants to be asked. `for` and `for_any` of the decision say who may answer.",
    ),
  }),
  "What is asked, as in the record. Every decision can be put as a question.",
);

export const vote = described(
  v.looseObject({
    by: decider,
    decision: optional(v.string(), "On a call: `approved`, `denied` or `edited`."),
    answer: optional(json, "On a question."),
    note: v.exactOptional(v.string()),
    at: time,
  }),
  "One person's vote on a decision that needs several.",
);

const outcomeFields = {
  outcome: optional(
    v.string(),
    "`answered`, `redacted` or `cancelled` for a question; `approved`, `denied` or `edited` for anything else; `unanswered` if the turn ended or went on without an answer. Absent while the decision is pending.",
  ),
  answer: optional(json, "The answer to a question."),
  other: optional(v.boolean(), "The answer is not one of the options."),
  note: optional(v.string(), "The person's note on an answer."),
  answer_reason: optional(v.string(), "The model's reason for its answer."),
  reason: optional(
    v.string(),
    "The person's reason for a decision, or the code for why a question was cancelled.",
  ),
  cause: optional(v.string(), "The code for why a call was denied, other than by a person's no."),
  problem: optional(v.string(), "Details of the reason or the cause, in words."),
  edited_arguments: optional(object, "The arguments that the call ran with instead."),
  edited_content: optional(v.string(), "The result that the model gets instead."),
  answered_by: v.exactOptional(decider),
};

export const outcome = described(v.looseObject(outcomeFields), "How a decision ended.");

const terms = v.looseObject({
  quorum: optional(v.number(), "How many people have to agree."),
  refusal: optional(
    v.literal("counts"),
    "A no needs the same quorum. Otherwise the first no decides.",
  ),
  not_by: optional(v.literal("asker"), "Whoever started the turn may not decide."),
  asker: optional(v.string(), "Who started the turn, if that is known."),
  proof: optional(v.literal("signed"), "Every yes has to be signed."),
  unknown: optional(
    v.literal(true),
    "A newer version of jp set terms that this one does not know.",
  ),
});

const takes = v.looseObject({
  turn: optional(
    v.looseObject({
      code: described(
        v.picklist(["calls", "label", "question"]),
        "`calls`: similar calls of the tool. `label`: everything that the tool asks under the same label. `question`: the same question.",
      ),
      label: v.exactOptional(v.string()),
    }),
    "What an answer for the rest of the turn covers. Absent if it cannot be remembered.",
  ),
  note: optional(v.literal("any"), "Every answer takes a note. A no always does."),
});

export const decision = described(
  v.looseObject({
    workspace: described(v.string(), "The root of the workspace, or its name in a database."),
    conversation: described(v.string(), "The ID of the conversation."),
    title: optional(v.string(), "The title of the conversation."),
    id: described(
      v.string(),
      "A later decision of the same conversation may have the same ID, but not the same `asked_at`.",
    ),
    kind,
    tool: described(v.string(), "The name of the tool."),
    tool_call_id: optional(v.string(), "Absent in older records."),
    question_id: optional(v.string(), "The tool's own name for its question."),
    label: described(v.string(), "Who asks, in words."),
    source: optional(source, "Who asks the question, as in the record."),
    origin: optional(origin, "Where the tool comes from. Absent in older records."),
    folder: optional(v.string(), "Where the tool runs, relative to the workspace."),
    outside: optional(v.array(v.string()), "Files outside the workspace that the arguments name."),
    arguments: optional(object, "The arguments of the call, exactly as it would run."),
    question,
    acts: described(
      v.boolean(),
      "A yes makes a tool run or change something. At the desk, that takes the right `approve`.",
    ),
    digest: optional(
      v.string(),
      "SHA-256 of what is decided, in hexadecimal digits. An answer repeats it. Absent in older records.",
    ),
    replaces: optional(v.string(), "The ID of the decision that this one replaces."),
    changed: optional(
      codes,
      "Codes for what has changed since then, such as `arguments` or `file`.",
    ),
    asked_at: time,
    deadline: optional(time, "An answer counts only until this time. UTC, as in the record."),
    for: optional(v.string(), "The only person who may decide."),
    for_any: optional(v.array(addressee), "The people and roles of whom any may decide."),
    terms: optional(terms, "What else a decision takes: a quorum, or a signature."),
    person_ids: optional(
      v.record(v.string(), v.string()),
      "The permanent IDs of the people whom `for`, `for_any` and `terms` name, by name.",
    ),
    takes: optional(takes, "What an answer may bring with it. Absent in older records."),
    votes: optional(v.array(vote), "The votes so far, if several people decide together."),
    result: optional(
      v.looseObject({ content: v.string(), is_error: v.boolean() }),
      "The tool's result that is to be delivered to the model.",
    ),
    check: optional(
      v.string(),
      "What the tool's own check says about a call in doubt: `done`, `not_done`, `unknown`, `failed` or `timed_out`.",
    ),
    escalation: optional(outcome, "How a model answered before the question went to a person."),
    is_live: optional(
      v.boolean(),
      "While the decision is pending: whether a process waits for it. If not, the turn has to be continued afterwards.",
    ),
    turn: optional(
      v.number(),
      "The number of the turn, starting at 1. Absent while the decision is pending: it belongs to the last turn.",
    ),
    ...outcomeFields,
    answered_at: v.exactOptional(time),
    answered_digest: optional(
      v.string(),
      "The digest of what was decided. Differs from `digest` if the arguments were edited.",
    ),
    void: optional(
      codes,
      "It no longer counts: codes for what has changed since, as in `changed`.",
    ),
    void_at: optional(time, "When it was found void. UTC, as in the record."),
  }),
  "A question, a permission, a delivery, or a call in doubt, pending or ended.",
);
