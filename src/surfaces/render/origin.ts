/** A tool's origin in words, for the person who decides on its call. */
import type {
  Confinement,
  Opening,
  ToolOrigin,
  ToolSource,
  UndoForecast,
} from "../../record/tool/index.ts";
import { assertNever } from "../../util/index.ts";
import { verbatim } from "./verbatim.ts";

/** `local command "sh deploy.sh"`: one line, verbatim, with all names quoted. */
export function describeOrigin(origin: ToolOrigin): string {
  switch (origin.type) {
    case "builtin":
      return `built into jp${describeConfinement(origin)}`;
    case "program":
      return "defined by the program that runs jp";
    case "local":
      return `local command ${quote(origin.command)}`;
    case "mcp": {
      const { server, tool, command } = origin;
      const ofTool = tool === "" ? "" : `, tool ${quote(tool)}`; // The server itself has none.
      return `MCP server ${quote(server)} (${quote(command)})${ofTool}`;
    }
    default:
      return assertNever(origin);
  }
}

/** `, in the sandbox` or `, not sandboxed`, with what is open in it. Empty for anything but a command. */
export function describeConfinement(confined: Confinement): string {
  const { confinement } = confined;
  switch (confinement) {
    case undefined:
      return "";
    case "none":
      return ", not sandboxed";
    case "sandbox":
      return `, in the sandbox${confined.workspace === "read_only" ? READ_ONLY : openingWords(confined)}`;
    default:
      return assertNever(confinement);
  }
}

const READ_ONLY = ", where it can change nothing";

const OPENINGS: readonly (readonly [Opening, string])[] = [
  ["git", "write access to .git"],
  ["network", "a network, which reaches programs on this machine too"],
];

/** ` with write access to .git and a network, …`; empty if it has neither. */
function openingWords(confined: Confinement): string {
  const words = OPENINGS.flatMap(([each, text]) => (confined[each] === true ? [text] : []));
  return words.length === 0 ? "" : ` with ${words.join(" and ")}`;
}

/**
 * Lines below a call: what would start it, unless that is jp itself, its sandbox, its folder, the files it names
 * outside the workspace, and whether it can be undone.
 */
export function originLines(
  origin: ToolOrigin,
  { folder, outside = [] }: Pick<ToolSource, "folder" | "outside"> = {},
): readonly string[] {
  const isShown =
    origin.type === "local" ||
    origin.type === "mcp" ||
    (origin.type === "builtin" && origin.confinement !== undefined);
  const files = outside.map((file) => quote(file)).join(", ");
  return [
    ...sourceLines(isShown ? origin : undefined, folder),
    ...(outside.length === 0 ? [] : [`Outside the workspace: ${files}`]),
  ];
}

const UNDO: Readonly<Record<UndoForecast, string>> = {
  git: "Can be undone, except for files that Git ignores and nested repositories",
  not_git: "Cannot be undone: not in a Git work tree",
  git_failed: "Cannot be undone: git is missing or does not work",
  too_large: "Cannot be undone: too many files, or too large ones",
  off: "Cannot be undone: jp keeps no copies here",
};

const UNDO_WITH_GIT =
  "Can be undone, except for changes in .git (commits, branches), files that Git ignores and nested repositories";

/** `Source: …` and `Folder: …`, if known, and whether it could be undone. */
export function sourceLines(
  origin: ToolOrigin | undefined,
  folder: string | undefined,
): readonly string[] {
  return [
    ...(origin === undefined ? [] : [`Source: ${describeOrigin(origin)}`]),
    ...(folder === undefined ? [] : [`Folder: ${quote(folder)}`]),
    ...(origin?.type === "builtin" ? describeUndo(origin) : []),
  ];
}

/** A sentence without its period, or none. */
export function describeUndo({ undo, git = false }: Confinement): readonly string[] {
  if (undo === undefined) return [];
  return [undo === "git" && git ? UNDO_WITH_GIT : UNDO[undo]];
}

function quote(text: string): string {
  return verbatim(JSON.stringify(text));
}
