/**
 * Prepared answers for a run without a person. The file stands in for the person: it has to answer everything they
 * would be asked, and nothing else.
 */
import type { AnswerSource, CallToDecide, DecisionToGive, Given } from "../core/agent/index.ts";
import { readConfigFile } from "../settings/config/index.ts";
import type { PendingItem } from "../record/conversation/index.ts";
import { explainMisfit, type Question } from "../record/tool/index.ts";
import { assertNever, isDeepEqual } from "../util/index.ts";
import {
  type AnswerEntry,
  type DecisionEntry,
  type Entries,
  type Entry,
  parseEntries,
} from "./answers-file-codec.ts";
import { printable } from "./pending.ts";

/** A file's entries and how they were used, for one turn. */
export class AnswersFile implements AnswerSource {
  readonly isComplete = true;
  readonly #file: string;
  readonly #entries: Entries;
  readonly #uses = new Map<Entry, number>();
  /** Why something got no answer. */
  readonly #reasons = new Map<string, string>();

  private constructor(file: string, entries: Entries) {
    this.#file = file;
    this.#entries = entries;
  }

  /**
   * Reads a file in TOML, JSON or YAML. Secrets come from `variables`. Throws `config_not_found`,
   * `config_unreadable`, `answers_invalid`.
   */
  static async read(
    file: string,
    variables: Readonly<Record<string, string | undefined>>,
  ): Promise<AnswersFile> {
    const read = await readConfigFile(file, "Answers file");
    return new AnswersFile(file, parseEntries(read, variables));
  }

  find(asked: DecisionToGive): Given {
    switch (asked.kind) {
      case "question":
      case "in_doubt":
        return this.#answer(asked);
      case "permission":
        return this.#decide(this.#entries.permissions, asked);
      case "delivery":
        return this.#decide(this.#entries.deliveries, asked);
      default:
        return assertNever(asked);
    }
  }

  /** Describes each pending decision that no entry matches, one line each. */
  explainOpen(pending: readonly PendingItem[]): readonly string[] {
    return pending.map((item) => {
      const { what, key } = describePending(item);
      return `${printable(item.tool)} ${what}: ${this.#reasons.get(key) ?? `no entry in ${this.#file}`}.`;
    });
  }

  /** Entries that were never used, one line each. */
  explainUnused(): readonly string[] {
    const { answers, permissions, deliveries } = this.#entries;
    const isUnused = (entry: Entry) => !this.#uses.has(entry);
    return [
      ...answers.filter(isUnused).map(({ name, tool, question, text }) => {
        const asked = text === undefined ? "" : ` ${JSON.stringify(text)}`;
        return `${name} was never used: ${printable(tool)} did not ask ${printable(question)}${asked}.`;
      }),
      ...permissions
        .filter(isUnused)
        .map(
          ({ name, tool }) =>
            `${name} was never used: no matching call of ${printable(tool)} needed permission to run.`,
        ),
      ...deliveries
        .filter(isUnused)
        .map(
          ({ name, tool }) =>
            `${name} was never used: no matching call of ${printable(tool)} needed permission to show its result.`,
        ),
    ];
  }

  #answer(asked: Extract<DecisionToGive, { readonly question: Question }>): Given {
    const { question, toolCallId } = asked;
    const key = keyOf("question", toolCallId, question.id);
    const isMatch = ({ question: id, text = question.text }: AnswerEntry) =>
      id === question.id && text === question.text;
    const entry = this.#use(this.#entries.answers.filter(isMatch), asked, key);
    if (entry === undefined) return undefined;
    const { name, answer, note } = entry;
    const misfit = findMisfit(entry, question);
    if (misfit !== undefined) {
      this.#reasons.set(key, `${name} does not fit: ${misfit}`);
      return "later";
    }
    const decidedBy = { kind: "answers_file", entry: name } as const;
    return { answer, ...(note !== undefined && { note }), decidedBy };
  }

  #decide(entries: readonly DecisionEntry[], asked: DecisionToGive): Given {
    const entry = this.#use(entries, asked, keyOf(asked.kind, asked.toolCallId));
    if (entry === undefined) return undefined;
    const { name, isApproved: answer, reason: note } = entry;
    const decidedBy = { kind: "answers_file", entry: name } as const;
    return { answer, ...(note !== undefined && { note }), decidedBy };
  }

  /** Picks the most specific entry that matches; among equals, the first that is not used up. */
  #use<Found extends Entry & { readonly text?: string }>(
    entries: readonly Found[],
    asked: CallToDecide,
    key: string,
  ): Found | undefined {
    const matching = entries.filter((entry) => appliesTo(entry, asked));
    const [found] = matching
      .filter((entry) => (this.#uses.get(entry) ?? 0) < entry.times)
      .toSorted((one, other) => countNamed(other) - countNamed(one));
    if (found !== undefined) this.#uses.set(found, (this.#uses.get(found) ?? 0) + 1);
    else if (matching.length > 0) {
      const names = matching.map(({ name }) => name).join(", ");
      this.#reasons.set(key, `${names} cannot be used again (times)`);
    }
    return found;
  }
}

function appliesTo({ tool, arguments: wanted = {}, isExact }: Entry, asked: CallToDecide): boolean {
  return (
    tool === asked.tool &&
    (!isExact || Object.keys(asked.arguments).length === Object.keys(wanted).length) &&
    Object.entries(wanted).every(
      ([name, value]) =>
        Object.hasOwn(asked.arguments, name) && isDeepEqual(asked.arguments[name], value),
    )
  );
}

function countNamed({ arguments: args = {}, text }: Entry & { readonly text?: string }): number {
  return Object.keys(args).length + (text === undefined ? 0 : 1);
}

function findMisfit(
  { answer, isSecret }: AnswerEntry,
  { answerType }: Question,
): string | undefined {
  if (answerType.type === "secret" && !isSecret) {
    return "the answer is a secret, and a secret comes from a variable (secret_env)";
  }
  if (answerType.type !== "secret" && isSecret) {
    return "the answer is not a secret, and would be recorded (use answer, not secret_env)";
  }
  return explainMisfit(answerType, answer);
}

/** Long enough to tell calls apart. */
const SHOWN_ARGUMENTS = 200;

function describePending({ kind, toolCallId, request }: PendingItem) {
  if (request?.type === "inquiry_request") {
    const { question, questionId = request.id } = request;
    return {
      what: `asks ${printable(questionId)} ${JSON.stringify(question.text)}`,
      key: keyOf("question", toolCallId, questionId),
    };
  }
  if (kind === "in_doubt") {
    const what = "asks rerun (it may or may not have finished)";
    return { what, key: keyOf("question", toolCallId, "rerun") };
  }
  if (kind === "delivery") {
    return { what: "needs permission to show its result", key: keyOf("delivery", toolCallId) };
  }
  const args = JSON.stringify(request?.arguments ?? {});
  const shown = args.length > SHOWN_ARGUMENTS ? `${args.slice(0, SHOWN_ARGUMENTS)}…` : args;
  return { what: `needs permission to run with ${shown}`, key: keyOf("permission", toolCallId) };
}

/** Names may contain any separator, so the parts are joined as JSON. */
function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}
