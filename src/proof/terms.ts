/** Judges every decision of an export again, conversation by conversation, and counts the results. */
import type { ChainLink } from "../record/conversation/index.ts";
import type { ApprovalCheck } from "./approvals.ts";
import { judgeLinked, type NotJudgedReason, type UnmetCode } from "./judge-links.ts";
import { LinkedDecisions } from "./linked-decisions.ts";
import { type Content, findObject } from "./statement.ts";

export interface TermsEvents {
  /** A decision does not meet its terms. The line belongs to its link, or to a vote. */
  readonly onUnmet: (ruling: UnmetCode, line: number) => void;
  /** The machine's owner stood in for people. */
  readonly onOwner: (line: number) => void;
}

export class TermsCheck {
  readonly #approvals: Pick<ApprovalCheck, "find">;
  readonly #events: TermsEvents;
  #decisions = new LinkedDecisions();
  /** Whether each answer in the export is a no, by its link's position. */
  #noes = new Map<number, boolean>();
  judged = 0;
  ownerStoodIn = 0;
  readonly notJudged = new Map<NotJudgedReason, number>();

  constructor(approvals: Pick<ApprovalCheck, "find">, events: TermsEvents) {
    this.#approvals = approvals;
    this.#events = events;
  }

  readLink(link: ChainLink, line: number): void {
    this.#decisions.read(link, line);
    if (findObject(link.json, "by")?.["auth"] !== "owner") return;
    this.ownerStoodIn += 1;
    this.#events.onOwner(line);
  }

  readContent({ seq, event }: Content): void {
    if (event["answer"] !== undefined) this.#noes.set(seq, event["answer"] === false);
  }

  /** Call at the end of each conversation, before reading the next one's signatures. */
  leave(): void {
    const known = {
      findSignature: (seq: number) => this.#approvals.find(seq),
      isNo: (seq: number) => this.#noes.get(seq),
    };
    for (const answer of this.#decisions.answers) {
      const result = judgeLinked(answer, known);
      if (result?.type === "met") this.judged += 1;
      if (result?.type === "unmet") this.#events.onUnmet(result.code, result.line);
      if (result?.type === "not_judged") {
        this.notJudged.set(result.reason, (this.notJudged.get(result.reason) ?? 0) + 1);
      }
    }
    this.#decisions = new LinkedDecisions();
    this.#noes = new Map();
  }
}
