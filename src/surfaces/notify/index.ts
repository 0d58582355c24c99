export { type Channel, type ChannelMachine, openChannels } from "./channels.ts";
export type { ChangedKey, PendingNotice } from "./message.ts";
export {
  announceOnce,
  type ChannelResult,
  createNotifier,
  type Notifier,
  type NotifierOptions,
  testChannels,
} from "./notifier.ts";
