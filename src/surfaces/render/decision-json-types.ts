/**
 * The JSON of a decision, as types. Generated from desk/decision-schema.ts by test/support/decision-types.ts; do not edit.
 */
import type { Json, JsonObject } from "../../util/index.ts";

/** A question, a permission, a delivery, or a call in doubt, pending or ended. */
export type DecisionJson = {
  /** The root of the workspace, or its name in a database. */
  readonly workspace: string;
  /** The ID of the conversation. */
  readonly conversation: string;
  /** The title of the conversation. */
  readonly title?: string;
  /** A later decision of the same conversation may have the same ID, but not the same `asked_at`. */
  readonly id: string;
  readonly kind: "question" | "permission" | "delivery" | "in_doubt";
  /** The name of the tool. */
  readonly tool: string;
  /** Absent in older records. */
  readonly tool_call_id?: string;
  /** The tool's own name for its question. */
  readonly question_id?: string;
  /** Who asks, in words. */
  readonly label: string;
  /** Who asks the question, as in the record. */
  readonly source?:
    | { readonly source: "assistant" | "user" }
    | { readonly source: "tool" | "other"; readonly name: string };
  /** Where the tool comes from. Absent in older records. */
  readonly origin?:
    | {
        readonly type: "builtin";
        /** How a command is confined. */
        readonly confinement?: "sandbox" | "none";
        /** Whether the sandbox has network access. */
        readonly network?: boolean;
        /** In the sandbox: the command can change nothing in the workspace. */
        readonly workspace?: "read_only";
        /** Whether the command may write to `.git`, except for what makes Git run programs. */
        readonly git?: boolean;
        /** Whether the changes of a command can be undone. `git`: yes, except for files that Git ignores and nested repositories. All others: no. */
        readonly undo?: "git" | "not_git" | "git_failed" | "too_large" | "off";
      }
    | { readonly type: "program" }
    | { readonly type: "local"; readonly command: string }
    | {
        readonly type: "mcp";
        readonly server: string;
        readonly tool: string;
        readonly command: string;
      };
  /** Where the tool runs, relative to the workspace. */
  readonly folder?: string;
  /** Files outside the workspace that the arguments name. */
  readonly outside?: readonly string[];
  /** The arguments of the call, exactly as it would run. */
  readonly arguments?: JsonObject;
  readonly question: QuestionJson;
  /** A yes makes a tool run or change something. At the desk, that takes the right `approve`. */
  readonly acts: boolean;
  /** SHA-256 of what is decided, in hexadecimal digits. An answer repeats it. Absent in older records. */
  readonly digest?: string;
  /** The ID of the decision that this one replaces. */
  readonly replaces?: string;
  /** Codes for what has changed since then, such as `arguments` or `file`. */
  readonly changed?: readonly string[];
  /** UTC, as in the record. */
  readonly asked_at: string;
  /** An answer counts only until this time. UTC, as in the record. */
  readonly deadline?: string;
  /** The only person who may decide. */
  readonly for?: string;
  /** The people and roles of whom any may decide. */
  readonly for_any?: readonly ({ readonly user: string } | { readonly role: string })[];
  /** What else a decision takes: a quorum, or a signature. */
  readonly terms?: {
    /** How many people have to agree. */
    readonly quorum?: number;
    /** A no needs the same quorum. Otherwise the first no decides. */
    readonly refusal?: "counts";
    /** Whoever started the turn may not decide. */
    readonly not_by?: "asker";
    /** Who started the turn, if that is known. */
    readonly asker?: string;
    /** Every yes has to be signed. */
    readonly proof?: "signed";
    /** A newer version of jp set terms that this one does not know. */
    readonly unknown?: true;
  };
  /** The permanent IDs of the people whom `for`, `for_any` and `terms` name, by name. */
  readonly person_ids?: Readonly<Record<string, string>>;
  /** What an answer may bring with it. Absent in older records. */
  readonly takes?: {
    /** What an answer for the rest of the turn covers. Absent if it cannot be remembered. */
    readonly turn?: {
      /** `calls`: similar calls of the tool. `label`: everything that the tool asks under the same label. `question`: the same question. */
      readonly code: "calls" | "label" | "question";
      readonly label?: string;
    };
    /** Every answer takes a note. A no always does. */
    readonly note?: "any";
  };
  /** The votes so far, if several people decide together. */
  readonly votes?: readonly VoteJson[];
  /** The tool's result that is to be delivered to the model. */
  readonly result?: { readonly content: string; readonly is_error: boolean };
  /** What the tool's own check says about a call in doubt: `done`, `not_done`, `unknown`, `failed` or `timed_out`. */
  readonly check?: string;
  /** How a model answered before the question went to a person. */
  readonly escalation?: OutcomeJson;
  /** While the decision is pending: whether a process waits for it. If not, the turn has to be continued afterwards. */
  readonly is_live?: boolean;
  /** The number of the turn, starting at 1. Absent while the decision is pending: it belongs to the last turn. */
  readonly turn?: number;
  /** `answered`, `redacted` or `cancelled` for a question; `approved`, `denied` or `edited` for anything else; `unanswered` if the turn ended or went on without an answer. Absent while the decision is pending. */
  readonly outcome?: string;
  /** The answer to a question. */
  readonly answer?: Json;
  /** The answer is not one of the options. */
  readonly other?: boolean;
  /** The person's note on an answer. */
  readonly note?: string;
  /** The model's reason for its answer. */
  readonly answer_reason?: string;
  /** The person's reason for a decision, or the code for why a question was cancelled. */
  readonly reason?: string;
  /** The code for why a call was denied, other than by a person's no. */
  readonly cause?: string;
  /** Details of the reason or the cause, in words. */
  readonly problem?: string;
  /** The arguments that the call ran with instead. */
  readonly edited_arguments?: JsonObject;
  /** The result that the model gets instead. */
  readonly edited_content?: string;
  readonly answered_by?: DeciderJson;
  /** UTC, as in the record. */
  readonly answered_at?: string;
  /** The digest of what was decided. Differs from `digest` if the arguments were edited. */
  readonly answered_digest?: string;
  /** It no longer counts: codes for what has changed since, as in `changed`. */
  readonly void?: readonly string[];
  /** When it was found void. UTC, as in the record. */
  readonly void_at?: string;
};

/** What is asked, as in the record. Every decision can be put as a question. */
export type QuestionJson = {
  readonly text: string;
  /** Details to read before answering, such as a diff. */
  readonly context?: string;
  /** The type of the answer. */
  readonly answer_type: {
    /** `boolean`, `select`, `text` or `secret`. */
    readonly type: string;
    /** The choices of a `select`. */
    readonly options?: readonly {
      readonly value: Json;
      /** Shown instead of the value. */
      readonly title?: string;
      readonly description?: string;
      readonly preview?: string;
    }[];
    /** An answer may be some other text. */
    readonly other?: boolean;
    /** The answer is a list of choices. */
    readonly multiple?: boolean;
  };
  /** The suggested answer. */
  readonly default?: Json;
  /** Only a person may answer. */
  readonly exclusive?: boolean;
  /** `none`: asked every time. */
  readonly persistence?: string;
  /** The tool takes a note with the answer. */
  readonly note?: boolean;
  /** The tool says that a yes runs or changes something. */
  readonly acts?: boolean;
  /** The tool's label for what a remembered answer covers. */
  readonly remember_as?: string;
  /** Whom the tool itself wants to be asked. `for` and `for_any` of the decision say who may answer. */
  readonly for?:
    | { readonly user: string }
    | { readonly role: string }
    | readonly ({ readonly user: string } | { readonly role: string })[];
};

/** One person's vote on a decision that needs several. */
export type VoteJson = {
  readonly by: DeciderJson;
  /** On a call: `approved`, `denied` or `edited`. */
  readonly decision?: string;
  /** On a question. */
  readonly answer?: Json;
  readonly note?: string;
  /** UTC, as in the record. */
  readonly at: string;
};

/** How a decision ended. */
export type OutcomeJson = {
  /** `answered`, `redacted` or `cancelled` for a question; `approved`, `denied` or `edited` for anything else; `unanswered` if the turn ended or went on without an answer. Absent while the decision is pending. */
  readonly outcome?: string;
  /** The answer to a question. */
  readonly answer?: Json;
  /** The answer is not one of the options. */
  readonly other?: boolean;
  /** The person's note on an answer. */
  readonly note?: string;
  /** The model's reason for its answer. */
  readonly answer_reason?: string;
  /** The person's reason for a decision, or the code for why a question was cancelled. */
  readonly reason?: string;
  /** The code for why a call was denied, other than by a person's no. */
  readonly cause?: string;
  /** Details of the reason or the cause, in words. */
  readonly problem?: string;
  /** The arguments that the call ran with instead. */
  readonly edited_arguments?: JsonObject;
  /** The result that the model gets instead. */
  readonly edited_content?: string;
  readonly answered_by?: DeciderJson;
};

/** Who or what decided, as in the record. */
export type DeciderJson = {
  /** `user`, `assistant`, `config`, `remembered`, `policy`, `default`, `answers_file` or `tool`. */
  readonly kind: string;
  /** How a person was reached. */
  readonly channel?: string;
  /** `turn`: the answer counts until the turn ends. */
  readonly scope?: string;
  /** Name of the person. */
  readonly name?: string;
  /** Permanent ID of the person. */
  readonly person_id?: string;
  /** How jp knows who answered, such as `os_user` or `token`. */
  readonly auth?: string;
  /** The role in which the person decided. */
  readonly role?: string;
  /** The absent person whom the decider stood in for. */
  readonly on_behalf_of?: string;
  /** The model that answered. */
  readonly model?: string;
  /** The config key that decided. */
  readonly key?: string;
  /** The rules that decided, if `kind` is `policy`. */
  readonly rules?: readonly {
    /** Where the rule is set, such as `user` or `saved`. */
    readonly from: string;
    /** The rule's key or ID there. */
    readonly key: string;
    /** SHA-256 of the file that has the rule. */
    readonly file?: string;
    /** The rule as written. */
    readonly rule: JsonObject;
  }[];
  /** ID of the earlier answer that was remembered. */
  readonly from?: string;
  /** The entry of the answers file. */
  readonly entry?: string;
};
