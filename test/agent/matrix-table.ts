/** What becomes of every reply to every kind of decision, wherever it is given. What a surface cannot say is in its own list. */
import {
  EDITED_ARGUMENTS,
  EDITED_RESULT,
  type Kind,
  NOTE,
  OWN_WORDS,
  type Recorded,
  type ReplyName,
} from "./matrix-scene.ts";

/** The code of what becomes of a reply. If the record has it, also how. */
export interface Cell {
  readonly code: string;
  readonly recorded?: Recorded;
}

export type Row = Readonly<Record<ReplyName, Cell>>;

/** It decides. */
export function decides(words: Recorded): Cell {
  return { code: "recorded", recorded: { digest: "as_shown", ...words } };
}

/** It is a vote. */
function counts(words: Recorded): Cell {
  return { code: "counted", recorded: { digest: "as_shown", ...words } };
}

/** Nothing is recorded, and the decision waits as before. */
export function refused(code: string): Cell {
  return { code };
}

/** The same for every kind. */
const TROUBLE = {
  wrong_digest: refused("changed"),
  wrong_person: refused("wrong_person"),
  second_vote: refused("repeated"),
  unsigned: refused("unsigned"),
  late: refused("overdue"),
  taken: refused("taken"),
} satisfies Partial<Row>;

/** To a question, whose yes is this. */
function asked(yes: Recorded): Row {
  return {
    ...TROUBLE,
    yes: decides(yes),
    no: refused("misfit"),
    no_with_note: refused("misfit"),
    yes_with_note: refused("no_note"),
    remembered: decides({ ...yes, scope: "turn" }),
    other: refused("misfit"),
    edited: refused("no_result"),
    vote: counts(yes),
    last_vote: decides(yes),
    cancelled: { code: "recorded", recorded: { outcome: "cancelled" } },
  };
}

const NO = { answer: false };
const YES_OR_NO: Row = {
  ...asked({ answer: true }),
  no: decides(NO),
  no_with_note: decides({ ...NO, note: NOTE }),
};

/** About a call. A yes takes a note too, unless it lets a call in doubt run again. */
const CALL: Row = {
  ...asked({ decision: "approved" }),
  no: decides({ decision: "denied" }),
  no_with_note: decides({ decision: "denied", note: NOTE }),
  yes_with_note: decides({ decision: "approved", note: NOTE }),
  cancelled: decides({ decision: "denied", cause: "closed" }),
};

const NOT_REMEMBERED = { remembered: refused("not_remembered") };

export const TABLE: Readonly<Record<Kind, Row>> = {
  boolean: YES_OR_NO,
  acting: { ...YES_OR_NO, ...NOT_REMEMBERED },
  select: { ...asked({ answer: "live" }), other: decides({ answer: OWN_WORDS, isOther: true }) },
  several: { ...asked({ answer: ["live"] }), ...NOT_REMEMBERED },
  text: { ...asked({ answer: "soon" }), other: decides({ answer: OWN_WORDS }) },
  secret: {
    ...asked({ outcome: "redacted" }),
    ...NOT_REMEMBERED,
    other: decides({ outcome: "redacted" }),
    vote: refused("secret_of_several"),
    second_vote: refused("secret_of_several"),
    last_vote: refused("secret_of_several"),
  },
  permission: {
    ...CALL,
    edited: decides({
      decision: "edited",
      arguments: EDITED_ARGUMENTS,
      digest: "of_the_edit",
    }),
  },
  delivery: {
    ...CALL,
    ...NOT_REMEMBERED,
    edited: decides({ decision: "edited", result: EDITED_RESULT }),
  },
  in_doubt: {
    ...CALL,
    ...NOT_REMEMBERED,
    yes_with_note: refused("no_note"),
    other: decides({ decision: "edited", result: OWN_WORDS }),
  },
};
