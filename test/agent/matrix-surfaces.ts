/** Every surface on which people decide, and what is expected of a reply there. */
import { commandSurface } from "./matrix-command.ts";
import { apiSurface, pageSurface } from "./matrix-desk.ts";
import { answerAndResumeSurface, answerInquirySurface, workerSurface } from "./matrix-program.ts";
import type { Kind, ReplyName } from "./matrix-scene.ts";
import type { Surface } from "./matrix-surface.ts";
import { type Cell, TABLE } from "./matrix-table.ts";
import { drawnSurface, plainSurface } from "./matrix-terminal.ts";
import { fileSurface, mcpSurface, prompterSurface } from "./matrix-turn.ts";

export const SURFACES: readonly Surface[] = [
  drawnSurface,
  plainSurface,
  commandSurface,
  apiSurface,
  pageSurface,
  mcpSurface,
  prompterSurface,
  answerInquirySurface,
  answerAndResumeSurface,
  fileSurface,
  workerSurface,
];

export function expectedOf(surface: Surface, kind: Kind, reply: ReplyName): Cell {
  const { code, recorded } = cellOf(surface, kind, reply);
  if (recorded === undefined) return { code };
  const by = recorded.outcome === "cancelled" ? {} : { by: surface.by(kind, reply) };
  return { code, recorded: { ...recorded, ...by } };
}

/** The cell of the table, unless the surface has another one. */
export function cellOf(surface: Surface, kind: Kind, reply: ReplyName): Cell {
  const usual = TABLE[kind][reply];
  const { cell = usual } = findException(surface, kind, reply) ?? {};
  return typeof cell === "function" ? cell(kind) : cell;
}

export function findException({ exceptions }: Surface, kind: Kind, reply: ReplyName) {
  return exceptions.find(({ kinds, replies }) => kinds.includes(kind) && replies.includes(reply));
}
