/**
 * The capabilities of a call, apart from its arguments, as shown to a person. A yes for more than one call covers what
 * was shown, and no call that can do more.
 */
import { isPathWithin } from "../../util/index.ts";
import type { Confinement, ToolOrigin, ToolSource } from "./source.ts";

/** How a call is confined, where it runs, and which files outside the workspace it names. */
export interface Capabilities extends Omit<Confinement, "undo"> {
  /** Relative to the workspace. Tools that run in no folder have the workspace itself, `.`. */
  readonly folder: string;
  /** Real paths. Absent if there are none. */
  readonly outside?: readonly string[];
}

/** The limits of a rule granted at a prompt: what the person was shown. */
export interface GrantLimits extends Capabilities {
  /** If the rule is about the first words of a command: the only options that may follow, as written. */
  readonly options?: readonly string[];
}

/** The part of a request or source that describes capabilities. */
type Described = Partial<Pick<ToolSource, "origin" | "folder" | "outside">>;

/** The capabilities of a call, according to a request or a source. */
export function capabilitiesOf({ origin, folder = ".", outside = [] }: Described): Capabilities {
  const { type: _type, undo: _undo, ...confinement } = origin?.type === "builtin" ? origin : NONE;
  return { ...confinement, folder, ...(outside.length > 0 && { outside }) };
}

const NONE: { readonly type: "builtin" } & Confinement = { type: "builtin" };

/** What a sandbox opens only for a call that a person was asked about, each time. Empty without a sandbox. */
export function opensOf({ network = false, git = false }: Confinement): readonly Opening[] {
  return [...(git ? (["git"] as const) : []), ...(network ? (["network"] as const) : [])];
}

/** Whether a yes to several calls must not cover one from here: no sandbox, or one that is open. */
export function isUnconfined(origin: ToolOrigin | undefined): boolean {
  if (origin?.type !== "builtin") return false;
  return origin.confinement === "none" || opensOf(origin).length > 0;
}

/** The name of the argument that asks for it. */
export type Opening = "network" | "git";

/** Whether `asked` can do no more than `shown`. */
export function coversCapabilities(shown: Capabilities, asked: Capabilities): boolean {
  return Object.values(COVERS).every((covers) => covers(shown, asked));
}

/** One row for each capability: a new one does not compile without it. */
const COVERS = {
  confinement: ({ confinement: shown }, { confinement: asked }) =>
    asked === shown || (shown === "none" && asked === "sandbox"),
  network: ({ network: shown = false }, { network: asked = false }) => shown || !asked,
  git: ({ git: shown = false }, { git: asked = false }) => shown || !asked,
  workspace: ({ workspace: shown }, { workspace: asked }) => shown === undefined || asked === shown,
  folder: (shown, asked) => isPathWithin(shown.folder, asked.folder),
  outside: ({ outside: shown = [] }, { outside: asked = [] }) =>
    asked.every((file) => shown.includes(file)),
} satisfies Record<keyof Capabilities, (shown: Capabilities, asked: Capabilities) => boolean>;
