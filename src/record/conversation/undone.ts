/** What the user has undone: how the record has it, and what models are told of it with the next message. */
import {
  arrayField,
  type Json,
  type JsonObject,
  oneOf,
  optionalBoolean,
  type Shape,
  shapeOf,
  stringField,
} from "../../util/index.ts";
import type { ConversationEvent, TurnUndo, UndoneFile } from "./event.ts";
import { parseTimestamp } from "./timestamp.ts";

const CHANGES = ["restored", "removed"] as const;
/** A model looks at the files anyway. */
const MAX_LISTED = 50;

/**
 * The files that were undone since the last message: `events` are those of the last turn. Without those of turns that
 * models no longer see, which includes the last one if it `isReplaced`.
 */
export function undoneSince(
  events: readonly ConversationEvent[],
  isReplaced: boolean,
): readonly UndoneFile[] {
  const undos = events.filter((event): event is TurnUndo => event.type === "turn_undo");
  const hidden = new Set(undos.filter(({ hidesTurn }) => hidesTurn).map(({ turn }) => turn));
  const [first] = events;
  if (isReplaced && first?.type === "turn_start") hidden.add(first.timestamp);
  const files = undos.filter(({ turn }) => !hidden.has(turn)).flatMap((undo) => undo.files);
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

/** For the model, before the message. Names of files are quoted: they may contain anything. */
export function describeUndone(files: readonly UndoneFile[]): string {
  const listed = files
    .slice(0, MAX_LISTED)
    .map(({ path, change }) => `- ${JSON.stringify(path)}: ${WORDS[change]}`);
  const more = files.length - listed.length;
  return [
    "[The user has undone changes to files that you made in earlier turns:",
    ...listed,
    ...(more > 0 ? [`- and ${more} more`] : []),
    "The files are as they were before those turns. Read them again before you change them.]",
  ].join("\n");
}

const WORDS: Readonly<Record<UndoneFile["change"], string>> = {
  restored: "as it was before",
  removed: "removed, because it did not exist before",
};

export function filesToJson(files: readonly UndoneFile[]): Json {
  return files.map(({ path, change }) => ({ path, change }));
}

/** Throws `ShapeError`. */
export function parseUndoneFiles(shape: Shape, key: string): readonly UndoneFile[] {
  return arrayField(shape, key).map((value) => {
    const file = shapeOf(value, key);
    return { path: stringField(file, "path"), change: oneOf(file, "change", CHANGES) };
  });
}

/** Throws `ShapeError`. */
export function parseTurnUndo(shape: Shape): Omit<TurnUndo, "timestamp"> {
  return {
    type: "turn_undo",
    turn: parseTimestamp(shape.value["turn"], "turn"),
    files: parseUndoneFiles(shape, "files"),
    ...(optionalBoolean(shape, "hides_turn") === true && { hidesTurn: true }),
    ...(optionalBoolean(shape, "forced") === true && { isForced: true }),
  };
}

export function turnUndoToJson({ turn, files, hidesTurn, isForced }: TurnUndo): JsonObject {
  return {
    turn,
    files: filesToJson(files),
    ...(hidesTurn === true && { hides_turn: true }),
    ...(isForced === true && { forced: true }),
  };
}
