/** System parts and pieces as the messages of the AI SDK, with their options and cache marks. */
import type { LanguageModelV4Message } from "@ai-sdk/provider";
import type { SystemPart } from "../../conversation/index.ts";
import { assertNever, type JsonObject } from "../../util/index.ts";
import type { Dialect } from "../dialect/index.ts";
import { optionsFor } from "../sdk-json.ts";
import type { CachePoints } from "./cache-points.ts";
import type { Piece } from "./pieces.ts";

export interface Marking {
  readonly dialect: Dialect;
  readonly points: CachePoints;
  /** The options that make a cache point; empty where there are none. */
  readonly mark: JsonObject;
}

export function systemMessages(
  parts: readonly SystemPart[],
  { dialect, points, mark }: Marking,
): LanguageModelV4Message[] {
  if (parts.length === 0) return [];
  if (dialect.joinsSystemParts) {
    return [{ role: "system", content: parts.map(({ text }) => text).join("\n\n") }];
  }
  return parts.map(({ text }, position) => {
    const options = points.systemParts.has(position) ? mark : {};
    return { role: "system", content: text, ...optionsFor(dialect.key, options) };
  });
}

/** Neighbouring pieces of one role are one message. */
export function conversationMessages(
  pieces: readonly Piece[],
  marking: Marking,
): LanguageModelV4Message[] {
  const messages: LanguageModelV4Message[] = [];
  for (const [position, piece] of pieces.entries()) {
    const options = pieceOptions(piece, position, marking);
    const last = messages.at(-1);
    switch (piece.role) {
      case "user":
        if (last?.role === "user") last.content.push({ ...piece.part, ...options });
        else messages.push({ role: "user", content: [{ ...piece.part, ...options }] });
        break;
      case "assistant":
        if (last?.role === "assistant") last.content.push({ ...piece.part, ...options });
        else messages.push({ role: "assistant", content: [{ ...piece.part, ...options }] });
        break;
      case "tool":
        if (last?.role === "tool") last.content.push({ ...piece.part, ...options });
        else messages.push({ role: "tool", content: [{ ...piece.part, ...options }] });
        break;
      default:
        assertNever(piece);
    }
  }
  return messages;
}

function pieceOptions({ event }: Piece, position: number, { dialect, points, mark }: Marking) {
  const own = dialect.toPartOptions(event);
  return optionsFor(dialect.key, points.pieces.has(position) ? { ...own, ...mark } : own);
}
