export {
  offlineToolbox,
  replayConversation,
  type ReplayOptions,
  type ReplayResult,
} from "./replay.ts";
