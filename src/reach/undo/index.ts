export { type EntryState } from "./entry-state.ts";
export { checkFolder, type UnkeptFolderReason } from "./git-names.ts";
export {
  type ChangeKeeper,
  keepChanges,
  type KeepChangesOptions,
  type KeptFile,
  type KeptFolder,
  type PlannedChange,
} from "./keep-changes.ts";
export { type KeptTurn } from "./kept-turn.ts";
export {
  applyUndo,
  compareWithStart,
  planUndo,
  readStep,
  type StepContents,
  type UndoPlan,
  type UndoStep,
} from "./restore.ts";
export { SNAPSHOT_LIMITS } from "./snapshot.ts";
export { STORE_LIMITS, UndoStore } from "./store.ts";
