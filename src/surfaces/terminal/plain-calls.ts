/** Several calls that need permission, in plain mode: printed in full and decided by number. Pure. */
import { describeWords } from "./key-menu.ts";
import {
  approve,
  type CallList,
  type CallListEnding,
  type CallListState,
  deny,
  describeCalls,
  idsOf,
  type ListedCall,
} from "./listed-calls.ts";
import {
  accept,
  askAgain,
  type LineResult,
  type PlainQuestion,
  readNo,
  WHY_COMMAND,
} from "./plain-questions.ts";

const ALONE = "   Only decided alone: all does not include it.";
const ALL = new Set(["all", "y", "yes"]);
const NONE = new Set(["none", "n", "no"]);
/** `1,3`, `no 2` and `show 2`. */
const NUMBERED = /^(?:(no|show)\s+)?(\d+(?:[\s,]+\d+)*)$/;

/** Calls keep their numbers when they are asked about again. */
export function numberedCalls<State extends CallListState>(
  list: CallList,
  state: State,
): PlainQuestion<CallListEnding, State> {
  const seen = numberCalls(list.calls, state.seen);
  const { readLine, ...question } = plainCalls(list, seen);
  return {
    ...question,
    readLine: (line) => {
      const reading = readLine(line);
      return reading.type === "end" ? accept(reading.ending, { ...state, seen }) : reading;
    },
  };
}

/** The ids of all listed calls in the order of their numbers, which stay the same when some are decided. */
export function numberCalls(calls: readonly ListedCall[], before: readonly string[]) {
  const isSameList = calls.some(({ id }) => before.includes(id));
  return [...new Set([...(isSameList ? before : []), ...idsOf(calls)])];
}

export function plainCalls(
  { calls, escape, sendsWords = true }: CallList,
  numbered: readonly string[] = idsOf(calls),
): PlainQuestion<CallListEnding> {
  const words = describeWords(sendsWords);
  const byNumber = new Map(calls.map((call) => [numbered.indexOf(call.id) + 1, call]));
  const [one = 1, two = 2] = byNumber.keys();
  const hint = `Type all, none, or the numbers of the calls to run, such as ${one},${two}, and press Enter, or say ${words}.`;
  return {
    lines: [
      `${calls.length} calls wait for your permission:`,
      ...[...byNumber].flatMap(([number, { text, isDecidedAlone }]) => [
        ...text.map((line, row) => (row === 0 ? `${number}. ${line}` : `   ${line}`)),
        ...(isDecidedAlone ? [ALONE] : []),
      ]),
      describeCalls(calls),
    ],
    hint,
    commands: [`show ${one} to decide about call ${one} alone`, WHY_COMMAND],
    cancelHint: `/cancel to ${escape}`,
    help: [
      "all, yes or y: run all of them, except those that are only decided alone",
      "none, no or n: run none of them",
      `${one},${two}: run calls ${one} and ${two}; jp asks again about the others`,
      `no ${one},${two}: do not run calls ${one} and ${two}; jp asks again about the others`,
      `show ${one}: decide about call ${one} alone, with all its choices`,
    ],
    takesPaste: true,
    readLine: (line) => {
      const typed = line.trim();
      const command = typed.toLowerCase();
      if (ALL.has(command)) return accept(approve(calls, isPrinted));
      if (NONE.has(command)) return accept(deny(calls));
      const [, verb = "", numbers] = NUMBERED.exec(command) ?? [];
      if (numbers !== undefined) return readNumbers(byNumber, verb, numbers);
      const said = readNo(typed, sendsWords);
      if (said === undefined) return askAgain(hint);
      if (said.type === "again") return said;
      return accept(deny(calls, said.ending));
    },
  };
}

function readNumbers(
  calls: ReadonlyMap<number, ListedCall>,
  verb: string,
  numbers: string,
): LineResult<CallListEnding> {
  const named = [...new Set(numbers.split(/[\s,]+/).map(Number))];
  const unknown = named.find((number) => !calls.has(number));
  if (unknown !== undefined) return askAgain(`There is no call ${unknown}.`);
  const some = named.flatMap((number) => calls.get(number) ?? []);
  const [first] = some;
  if (verb === "show" && first !== undefined) {
    return some.length > 1
      ? askAgain("Type one number after show.")
      : accept({ type: "opened", id: first.id });
  }
  return accept(verb === "no" ? deny(some) : approve(some, isPrinted));
}

/** Each call is printed in full. */
function isPrinted(): boolean {
  return true;
}
