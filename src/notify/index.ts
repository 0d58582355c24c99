export { type Channel, type ChannelMachine, openChannels } from "./channels.ts";
export type { WaitingItem } from "./message.ts";
export {
  type ChannelTest,
  createNotifier,
  type Notifier,
  type NotifierOptions,
  testChannels,
} from "./notifier.ts";
