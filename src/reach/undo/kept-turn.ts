/** The content of a turn's journal: each path's original state, and the states that jp has left there. */
import { type EntryState, isSameState } from "./entry-state.ts";
import type { JournalLine, PlannedState } from "./journal.ts";

export interface KeptTurn {
  /** Its journal. */
  readonly file: string;
  readonly conversation: string;
  readonly turn: string;
  readonly root: string;
  /** By path. */
  readonly paths: ReadonlyMap<string, KeptPath>;
  /** Snapshots before commands that did not finish: their changes are unknown. */
  readonly openTrees: readonly OpenTree[];
  /** Codes for why nothing, or not everything, was saved before commands. */
  readonly unkept: readonly string[];
  /** Commands may have changed something that is never saved. */
  readonly hasCommands: boolean;
  /** Some lines of the journal cannot be read. */
  readonly isDamaged: boolean;
  /** Everything was restored. */
  readonly isUndone: boolean;
  /** A process has started to restore it, and has not finished. */
  readonly isBeingUndone: boolean;
}

export interface KeptPath {
  readonly before: EntryState;
  /** The line of the journal at which it had this state. */
  readonly seq: number;
  /** States that jp has left there, or may have left. Any other is someone else's change. */
  readonly left: readonly (EntryState | PlannedState)[];
}

export interface OpenTree {
  readonly seq: number;
  /** The digest of the snapshot. */
  readonly manifest: string;
}

/** Undefined if it has no header. */
export function toKeptTurn(
  file: string,
  lines: readonly (JournalLine | undefined)[],
): KeptTurn | undefined {
  const header = lines.find((line) => line?.type === "turn");
  if (header === undefined) return undefined;
  const reader = new JournalReader();
  for (const [seq, line] of lines.entries()) if (line !== undefined) reader.read(line, seq);
  const { conversation, turn, root } = header;
  const isDamaged = lines.includes(undefined);
  return { file, conversation, turn, root, isDamaged, ...reader.result() };
}

/** Whether jp has left this state. */
export function isLeft({ left }: KeptPath, now: EntryState): boolean {
  return left.some((state) => {
    if ("mode" in state || state.kind === "link" || state.kind === "unkept") {
      return isSameState(state, now);
    }
    // A planned state has no mode.
    if (state.kind === "file") return now.kind === "file" && now.digest === state.digest;
    return state.kind === now.kind;
  });
}

type KeepLine = Extract<JournalLine, { readonly type: "keep" }>;

class JournalReader {
  readonly #paths = new Map<string, KeptPath>();
  readonly #trees = new Map<string, OpenTree>();
  #unkept: string[] = [];
  #hasCommands = false;
  #isUndone = false;
  #isBeingUndone = false;

  read(line: JournalLine, seq: number): void {
    switch (line.type) {
      case "turn":
      case "names":
      case "torn":
        return;
      case "keep":
        this.#isUndone = false;
        return this.#keep(line, line.seq ?? seq);
      case "plan":
        return this.#leave(line.path, (left) => [...left, line.planned]);
      case "wrote":
        return this.#leave(line.path, () => [line.after]);
      case "tree":
        this.#isUndone = false;
        this.#hasCommands = true;
        this.#trees.set(line.id, { seq, manifest: line.manifest });
        return;
      case "tree_end":
        this.#trees.delete(line.id);
        return;
      case "unkept":
        this.#unkept.push(line.reason);
        return;
      case "undo_start":
        this.#isBeingUndone = true;
        for (const { path, state } of line.replaced) {
          const absent = { kind: "absent" } as const; // An entry that is replaced by another kind is removed first.
          this.#leave(path, (left) => [...left, state, absent]);
        }
        return;
      case "undo_end":
        this.#paths.clear();
        this.#trees.clear();
        this.#unkept = [];
        this.#hasCommands = false;
        this.#isUndone = true;
        this.#isBeingUndone = false;
    }
  }

  result() {
    return {
      paths: this.#paths,
      openTrees: [...this.#trees.values()],
      unkept: this.#unkept,
      hasCommands: this.#hasCommands,
      isUndone: this.#isUndone,
      isBeingUndone: this.#isBeingUndone,
    };
  }

  /** The earliest state counts, whichever line recorded it. */
  #keep({ path, before, planned }: KeepLine, seq: number): void {
    const known = this.#paths.get(path);
    const left = [...(known?.left ?? [before]), ...(planned === undefined ? [] : [planned])];
    this.#paths.set(
      path,
      known === undefined || seq < known.seq ? { before, seq, left } : { ...known, left },
    );
  }

  #leave(path: string, change: (left: KeptPath["left"]) => KeptPath["left"]): void {
    const known = this.#paths.get(path);
    if (known !== undefined) this.#paths.set(path, { ...known, left: change(known.left) });
  }
}
